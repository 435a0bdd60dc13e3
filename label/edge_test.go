package label_test

import (
	"math"
	"slices"
	"testing"

	"github.com/ktrdr/ktrdr/label"
	"github.com/ktrdr/ktrdr/market"
)

// bars makes hourly bars of rows of high, low and close. The numbers of these
// tests are chosen so that every product and quotient is exact in binary.
func bars(rows ...[3]float64) *market.Bars {
	b := &market.Bars{Symbol: "ROWS", Timeframe: market.H1}
	for i, r := range rows {
		b.Append(market.Bar{Time: int64(i) * 3600, Open: r[2], High: r[0], Low: r[1], Close: r[2]})
	}
	return b
}

// The first bar closes at 64 with a range of 8, so that its volatility is
// 8/64 = 0.125. One volatility away lie 72 and 56, two away 80 and 48.
func TestTripleBarrier_AtTheBarriersThemselves(t *testing.T) {
	entry := [3]float64{68, 60, 64}
	calm := [3]float64{65, 63, 64}
	closing := func(c float64) [3]float64 { return [3]float64{c, c, c} }
	narrow := label.TripleBarrier{Target: 1, Stop: 1, Holding: 2, Span: 2}
	wide := label.TripleBarrier{Target: 2, Stop: 2, Holding: 4, Span: 2}
	for _, c := range []struct {
		name  string
		src   label.TripleBarrier
		after [][3]float64
		class int8
		end   int32
	}{
		{"the high touches the target", narrow, [][3]float64{{72, 63, 64}, calm}, label.Buy, 1},
		{"the high misses the target", narrow, [][3]float64{{71.5, 63, 64}, calm}, label.Hold, 2},
		{"the low touches the stop", narrow, [][3]float64{{65, 56, 64}, calm}, label.Sell, 1},
		{"the low misses the stop", narrow, [][3]float64{{65, 56.5, 64}, calm}, label.Hold, 2},
		{"the last bar of the holding time counts", narrow, [][3]float64{calm, {72, 63, 64}}, label.Buy, 2},
		{"both touched, closed where it was entered", narrow, [][3]float64{{72, 56, 64}, calm}, label.Buy, 1},
		{"both touched, closed below", narrow, [][3]float64{{72, 56, 63.5}, calm}, label.Sell, 1},
		// At expiry: half of 0.125 times the root of 4 bars is 0.125, which is 8 of 64.
		{"expired as high as can be expected", wide, [][3]float64{calm, calm, calm, closing(72)}, label.Buy, 4},
		{"expired a little lower", wide, [][3]float64{calm, calm, calm, closing(71.5)}, label.Hold, 4},
		{"expired as low as can be expected", wide, [][3]float64{calm, calm, calm, closing(56)}, label.Sell, 4},
		{"expired a little higher", wide, [][3]float64{calm, calm, calm, closing(56.5)}, label.Hold, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := labels(t, c.src, bars(append([][3]float64{entry}, c.after...)...))
			if s.Len() != 1 || s.Row[0] != 0 {
				t.Fatalf("samples at bars %v, want one at bar 0", s.Row)
			}
			if s.Class[0] != c.class || s.End[0] != c.end {
				t.Errorf("class %d known at bar %d, want %d at %d", s.Class[0], s.End[0], c.class, c.end)
			}
		})
	}
}

func TestTripleBarrier_AStandstillHasNoSamples(t *testing.T) {
	flat := closes(64, 64, 64, 64, 64, 64)
	for name, v := range map[string]label.Volatility{"atr": label.RangeVolatility, "ewm": label.ReturnVolatility} {
		if s := labels(t, label.TripleBarrier{Target: 2, Stop: 2, Holding: 2, Span: 2, Volatility: v}, flat); s.Len() != 0 {
			t.Errorf("%s: %d samples of a price that never moves, want none", name, s.Len())
		}
	}
}

// The volatility of returns exists from the third bar on: two returns have a
// deviation.
func TestTripleBarrier_ReturnVolatilityBeginsAtTheThirdBar(t *testing.T) {
	s := labels(t, label.TripleBarrier{Target: 2, Stop: 2, Holding: 1, Span: 2, Volatility: label.ReturnVolatility},
		closes(64, 65, 64, 66, 63, 64))
	if want := []int32{2, 3, 4}; !slices.Equal(s.Row, want) {
		t.Errorf("samples at bars %v, want %v", s.Row, want)
	}
}

func TestContext_AThresholdItselfIsNeutral(t *testing.T) {
	src := label.Context{Horizon: 1, Bullish: 0.25, Bearish: -0.25}
	// 64 to 80 and 80 to 60 are exactly a quarter; 60 to 90 and 90 to 45 are half.
	s := labels(t, src, closes(64, 80, 60, 90, 45))
	if want := []int8{2, 2, 0, 1}; !slices.Equal(s.Class, want) {
		t.Errorf("classes %v, want %v", s.Class, want)
	}
}

func TestRegime_AlternatingPricesByHand(t *testing.T) {
	// Every bar is a turning point of both zigzags: the price doubles and
	// halves, and the thresholds are at most a half. Each leg is one clean
	// move. The deviation of the returns is the same at every bar, so that it
	// is exactly 1 times its own mean, which a threshold of 1 does not call
	// volatile.
	src := label.Regime{Macro: 0.5, Micro: 0.25, ATRPeriod: 2, Lookback: 4, Crisis: 1, Tolerance: 0.5}
	s := labels(t, src, closes(64, 128, 64, 128, 64, 128, 64, 128, 64, 128, 64, 128))
	// Deviations begin at bar 2 and their mean of four at bar 5. The last
	// turning point is bar 10, known at bar 11; its leg began at bar 9.
	if rows := []int32{5, 6, 7, 8, 9}; !slices.Equal(s.Row, rows) {
		t.Fatalf("samples at bars %v, want %v", s.Row, rows)
	}
	if want := []int8{1, 0, 1, 0, 1}; !slices.Equal(s.Class, want) { // falling from the odd bars, rising from the even
		t.Errorf("classes %v, want %v", s.Class, want)
	}
	if want := []int32{7, 8, 9, 10, 11}; !slices.Equal(s.End, want) {
		t.Errorf("ends %v, want %v", s.End, want)
	}
}

// The low at which a rising leg begins is one of its lows.
func TestRegime_ALegIsJudgedFromItsBeginning(t *testing.T) {
	var series []float64
	for i := range 30 {
		series = append(series, 100+0.5*float64(i%2))
	}
	// Lows 100.5 (the start), 101.5, 101.2: one of two is higher, which is half.
	series = append(series, 100, 103, 101.5, 104, 101.2, 110, 90, 99)
	s := labels(t, label.Regime{Macro: 12, Micro: 1.5, ATRPeriod: 4, Lookback: 4, Crisis: 100, Tolerance: 0.5}, closes(series...))
	// The fall from 110 is judged by its own highs, not by the rising ones before.
	for bar, want := range map[int32]string{32: "TRENDING_UP", 35: "TRENDING_DOWN"} {
		if k, found := slices.BinarySearch(s.Row, bar); !found || s.Names[s.Class[k]] != want {
			t.Errorf("bar %d is not %s", bar, want)
		}
	}
}

func TestRegime_TooFewBarsHaveNoSamples(t *testing.T) {
	src := label.Regime{Macro: 3, Micro: 1, ATRPeriod: 4, Lookback: 4, Crisis: 2, Tolerance: 0.5}
	for n := range 6 {
		if s := labels(t, src, closes(64, 128, 64, 128, 64, 128).Slice(0, n)); s.Len() != 0 {
			t.Errorf("%d samples of %d bars, want none", s.Len(), n)
		}
	}
}

// The least and the greatest value of each parameter, and the first one past it.
func TestLabel_BoundsOfParameters(t *testing.T) {
	barrier := label.TripleBarrier{Target: 1, Stop: 1, Holding: 1, Span: 2}
	regime := label.Regime{Macro: 2, Micro: 1, ATRPeriod: 2, Lookback: 2, Crisis: 1, Tolerance: 0.5}
	with := func(change func(*label.Regime)) label.Regime {
		r := regime
		change(&r)
		return r
	}
	for name, c := range map[string]struct {
		src label.Source
		ok  bool
	}{
		"forward return over 1 bar":   {label.ForwardReturn{Horizon: 1}, true},
		"context over 1 bar":          {label.Context{Horizon: 1, Bullish: 1e-9, Bearish: -1e-9}, true},
		"context over no bar":         {label.Context{Horizon: 0, Bullish: 1, Bearish: -1}, false},
		"context without bearish":     {label.Context{Horizon: 1, Bullish: 1}, false},
		"context without bullish":     {label.Context{Horizon: 1, Bearish: -1}, false},
		"barrier":                     {barrier, true},
		"barrier without target":      {label.TripleBarrier{Stop: 1, Holding: 1, Span: 2}, false},
		"barrier without stop":        {label.TripleBarrier{Target: 1, Holding: 1, Span: 2}, false},
		"barrier with a span of 1":    {label.TripleBarrier{Target: 1, Stop: 1, Holding: 1, Span: 1}, false},
		"regime":                      {regime, true},
		"regime of equal zigzags":     {with(func(r *label.Regime) { r.Macro = 1 }), false},
		"regime without small zigzag": {with(func(r *label.Regime) { r.Micro = 0 }), false},
		"regime without crisis":       {with(func(r *label.Regime) { r.Crisis = 0 }), false},
		"regime of 1-bar ranges":      {with(func(r *label.Regime) { r.ATRPeriod = 1 }), false},
		"regime of 1-bar lookback":    {with(func(r *label.Regime) { r.Lookback = 1 }), false},
		"regime with tolerance 0":     {with(func(r *label.Regime) { r.Tolerance = 0 }), true},
		"regime with tolerance 1":     {with(func(r *label.Regime) { r.Tolerance = 1 }), true},
		"regime below tolerance 0":    {with(func(r *label.Regime) { r.Tolerance = -0.001 }), false},
		"regime above tolerance 1":    {with(func(r *label.Regime) { r.Tolerance = 1.001 }), false},
		"regime with tolerance NaN":   {with(func(r *label.Regime) { r.Tolerance = math.NaN() }), false},
		"events by threshold":         {withEvents(barrier, label.CUSUM{Threshold: 0.1}), true},
		"events by multiplier":        {withEvents(barrier, label.CUSUM{Multiplier: 0.1}), true},
		"events with minus":           {withEvents(barrier, label.CUSUM{Threshold: -1, Multiplier: 1}), false},
		"events with minus twice":     {withEvents(barrier, label.CUSUM{Multiplier: -1}), false},
	} {
		if _, err := c.src.Label(walk(50, 1)); (err == nil) != c.ok {
			t.Errorf("%s: error is %v, want it accepted: %v", name, err, c.ok)
		}
	}
}

func withEvents(tb label.TripleBarrier, c label.CUSUM) label.TripleBarrier {
	tb.Events = &c
	return tb
}

func TestUniqueness_ByHand(t *testing.T) {
	// Bar 1 is seen by the first label, bar 2 by both, bar 3 by the second,
	// bars 4 and 5 by none, bar 6 by the third: means 3/4, 3/4 and 1, whose
	// mean is 5/6.
	got := label.Uniqueness([]int32{0, 1, 5}, []int32{2, 3, 6}, 7)
	for i, want := range []float64{0.9, 0.9, 1.2} {
		if math.Abs(float64(got[i])-want) > 1e-6 {
			t.Errorf("weight %d = %v, want %v", i, got[i], want)
		}
	}
	if label.Uniqueness(nil, nil, 7) != nil {
		t.Error("no samples have weights, want nil")
	}
}
