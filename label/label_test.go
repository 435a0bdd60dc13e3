package label_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ktrdr/ktrdr/label"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/num"
)

// every is one source of each kind and of each way of measuring.
var every = map[string]label.Source{
	"zigzag":                 label.Zigzag{Threshold: 0.01},
	"forward return":         label.ForwardReturn{Horizon: 7},
	"context":                label.Context{Horizon: 5, Bullish: 0.005, Bearish: -0.005},
	"triple barrier":         label.TripleBarrier{Target: 2, Stop: 1.5, Holding: 20, Span: 20},
	"triple barrier, ewm":    label.TripleBarrier{Target: 2, Stop: 2, Holding: 10, Span: 30, Volatility: label.ReturnVolatility},
	"triple barrier, events": label.TripleBarrier{Target: 2, Stop: 2, Holding: 10, Span: 30, Events: &label.CUSUM{Multiplier: 1.5}},
	"triple barrier, fixed":  label.TripleBarrier{Target: 2, Stop: 2, Holding: 10, Span: 30, Events: &label.CUSUM{Threshold: 0.01}},
	"regime":                 label.Regime{Macro: 3, Micro: 1, ATRPeriod: 14, Lookback: 40, Crisis: 1.6, Tolerance: 0.5},
}

// walk is a seeded random walk whose volatility comes in waves, with a flat
// stretch and a gap.
func walk(n int, seed uint64) *market.Bars {
	r, b := num.NewRand(seed), &market.Bars{Symbol: "WALK", Timeframe: market.H1}
	price := 100.0
	for i := range n {
		vol := 0.002
		switch i / 60 % 4 {
		case 1:
			vol = 0.008
		case 3:
			vol = 0
		}
		open := price
		if i%97 == 96 {
			open *= 1.02
		}
		price = open * (1 + vol*r.Norm())
		wick := 0.5 * vol * r.Float64()
		b.Append(market.Bar{
			Time: int64(i) * 3600, Open: open, High: max(open, price) * (1 + wick),
			Low: min(open, price) * (1 - wick), Close: price, Volume: 1,
		})
	}
	return b
}

func TestLabel_CuttingTheFutureChangesNoLabelThatHadEnded(t *testing.T) {
	for name, src := range every {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				b := walk(rapid.IntRange(0, 500).Draw(rt, "bars"), rapid.Uint64().Draw(rt, "seed"))
				cut := rapid.IntRange(0, b.Len()).Draw(rt, "cut")
				full, part := labels(t, src, b), labels(t, src, b.Slice(0, cut))
				for i, row := range part.Row {
					if part.End[i] >= int32(cut) {
						rt.Fatalf("bar %d of %d: its label ends at %d, past the data", row, cut, part.End[i])
					}
					k, found := slices.BinarySearch(full.Row, row)
					if !found || full.End[k] != part.End[i] || !same(full, k, part, i) {
						rt.Fatalf("bar %d: label differs when bars from %d on are cut", row, cut)
					}
				}
				checkShape(rt, full, b.Len())
			})
		})
	}
}

func same(a *label.Set, i int, b *label.Set, j int) bool {
	if a.Classes == 0 {
		return a.Value[i] == b.Value[j]
	}
	return a.Class[i] == b.Class[j]
}

// checkShape demands what every set promises.
func checkShape(rt *rapid.T, s *label.Set, bars int) {
	for i, row := range s.Row {
		switch {
		case i > 0 && row <= s.Row[i-1]:
			rt.Fatalf("rows are not ascending at sample %d", i)
		case s.End[i] <= row || int(s.End[i]) >= bars:
			rt.Fatalf("bar %d: ends at %d of %d", row, s.End[i], bars)
		case s.Classes > 0 && (s.Class[i] < 0 || int(s.Class[i]) >= s.Classes):
			rt.Fatalf("bar %d: class %d of %d", row, s.Class[i], s.Classes)
		}
	}
	if len(s.Names) != s.Classes {
		rt.Fatalf("%d names for %d classes", len(s.Names), s.Classes)
	}
}

// A pivot needs the bar that confirms it: with that bar cut off, the leg that
// it ends may not be labelled.
func TestZigzag_EndsAtTheBarThatMakesThePivotKnown(t *testing.T) {
	b := closes(100, 103, 106, 105, 104.5, 101, 100, 110)
	s := labels(t, label.Zigzag{Threshold: 0.03}, b)
	want := map[int32][2]int32{ // bar: class, end
		0: {1, 1}, 1: {0, 5}, 2: {1, 5}, 3: {2, 7}, 4: {2, 7}, 5: {2, 7}, 6: {1, 7},
	}
	if s.Len() != len(want) {
		t.Errorf("%d samples, want %d", s.Len(), len(want))
	}
	for i, row := range s.Row {
		if got := [2]int32{int32(s.Class[i]), s.End[i]}; got != want[row] {
			t.Errorf("bar %d: class and end %v, want %v", row, got, want[row])
		}
	}
}

func TestCUSUM_LabelsOnlyEventBarsAndKeepsTheirRow(t *testing.T) {
	b := walk(600, 3)
	every := label.TripleBarrier{Target: 2, Stop: 2, Holding: 10, Span: 30}
	filtered := every
	filtered.Events = &label.CUSUM{Threshold: 0.015}
	all, some := labels(t, every, b), labels(t, filtered, b)
	if some.Len() == 0 || some.Len() > all.Len()/2 {
		t.Fatalf("%d of %d bars are events: the test has nothing to tell", some.Len(), all.Len())
	}
	sum, next := 0.0, 0
	down := 0.0
	for i := 1; i < b.Len()-10; i++ {
		r := num.Log(b.Close[i] / b.Close[i-1])
		sum, down = max(0, sum+r), min(0, down+r)
		if sum <= 0.015 && down >= -0.015 {
			continue
		}
		sum, down = 0, 0
		k, labelled := slices.BinarySearch(all.Row, int32(i))
		if !labelled {
			continue
		}
		if next >= some.Len() || some.Row[next] != int32(i) || some.Class[next] != all.Class[k] {
			t.Fatalf("event at bar %d: sample %d is not its label", i, next)
		}
		next++
	}
	if next != some.Len() {
		t.Errorf("%d samples, want %d", some.Len(), next)
	}
}

func TestUniqueness_IsTheMeanInverseConcurrency(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		const n = 60
		var row, end []int32
		for t := range int32(n - 1) {
			if rapid.Bool().Draw(rt, "sample") {
				row = append(row, t)
				end = append(end, rapid.Int32Range(t+1, n-1).Draw(rt, "end"))
			}
		}
		got := label.Uniqueness(row, end, n)
		var want []float64
		sum := 0.0
		for i := range row {
			w := 0.0
			for t := row[i] + 1; t <= end[i]; t++ {
				c := 0.0
				for k := range row {
					if row[k] < t && t <= end[k] {
						c++
					}
				}
				w += 1 / c
			}
			want = append(want, w/float64(end[i]-row[i]))
			sum += want[i]
		}
		for i := range got {
			if w := want[i] * float64(len(row)) / sum; math.Abs(float64(got[i])-w) > 1e-6 {
				rt.Fatalf("weight %d = %v, want %v", i, got[i], w)
			}
		}
	})
}

func TestRegime_TellsTrendFromRangeFromPanic(t *testing.T) {
	r := num.NewRand(11)
	b := &market.Bars{Symbol: "REGIME", Timeframe: market.H1}
	price := 100.0
	grow := func(n int, drift, vol float64) {
		for range n {
			open := price
			price *= 1 + drift + vol*r.Norm()
			b.Append(market.Bar{
				Time: int64(b.Len()) * 3600, Open: open, High: max(open, price) * 1.0005,
				Low: min(open, price) * 0.9995, Close: price,
			})
		}
	}
	grow(200, 0, 0.001)      // warm-up
	grow(100, 0.002, 0.001)  // 200: a clean rise
	grow(100, -0.002, 0.001) // 300: a clean fall
	grow(30, 0, 0.02)        // 400: panic
	grow(200, 0.001, 0.001)
	s := labels(t, label.Regime{Macro: 12, Micro: 2, ATRPeriod: 14, Lookback: 60, Crisis: 2, Tolerance: 0.5}, b)
	for _, c := range []struct {
		from, to int32
		name     string
	}{{220, 290, "TRENDING_UP"}, {320, 390, "TRENDING_DOWN"}, {415, 430, "VOLATILE"}} {
		hits, bars := 0, 0
		for i, row := range s.Row {
			if row >= c.from && row < c.to {
				bars++
				if s.Names[s.Class[i]] == c.name {
					hits++
				}
			}
		}
		if bars == 0 || hits*10 < bars*9 {
			t.Errorf("bars %d to %d: %d of %d are %s", c.from, c.to, hits, bars, c.name)
		}
	}
}

func TestRegime_ALegWhoseLowsFallIsNoTrend(t *testing.T) {
	// Two rising legs of 10 %: in one every small low is above the last, in
	// the other every small low is below it, and a last leap makes the leg.
	steady := []float64{100, 103, 102, 105, 104, 107, 106, 110}
	ragged := []float64{100, 103, 101.5, 104, 101.2, 104, 101, 110}
	for name, c := range map[string]struct {
		leg  []float64
		want string
	}{"rising lows": {steady, "TRENDING_UP"}, "falling lows": {ragged, "RANGING"}} {
		t.Run(name, func(t *testing.T) {
			var series []float64
			for i := range 30 { // a calm past, from which the deviation is measured
				series = append(series, 100+0.5*float64(i%2))
			}
			series = append(append(series, c.leg...), 90, 99)
			b := closes(series...)
			s := labels(t, label.Regime{Macro: 12, Micro: 1.5, ATRPeriod: 4, Lookback: 4, Crisis: 100, Tolerance: 0.5}, b)
			for i, row := range s.Row {
				if int(row) == 32 && s.Names[s.Class[i]] != c.want {
					t.Errorf("bar %d is %s, want %s", row, s.Names[s.Class[i]], c.want)
				}
			}
			if s.Len() < 10 {
				t.Errorf("%d samples: the leg was not labelled", s.Len())
			}
		})
	}
}

func TestLabel_RefusesParametersWithoutMeaning(t *testing.T) {
	for name, c := range map[string]struct {
		src  label.Source
		says string
	}{
		"a zigzag without threshold":     {label.Zigzag{}, "zigzag_threshold is 0"},
		"a threshold that is no number":  {label.Zigzag{Threshold: math.NaN()}, "zigzag_threshold is NaN"},
		"a return over no bars":          {label.ForwardReturn{}, "horizon is 0"},
		"thresholds on the wrong side":   {label.Context{Horizon: 1, Bullish: -1, Bearish: 1}, "bearish_threshold must be below 0"},
		"a barrier without holding time": {label.TripleBarrier{Target: 1, Stop: 1, Span: 5}, "max_holding_period is 0"},
		"events that never come":         {label.TripleBarrier{Target: 1, Stop: 1, Span: 5, Holding: 5, Events: &label.CUSUM{}}, "CUSUM"},
		"a small zigzag that is larger":  {label.Regime{Macro: 1, Micro: 2, ATRPeriod: 14, Lookback: 20, Crisis: 2}, "above micro_atr_mult"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := c.src.Label(walk(50, 1)); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("err = %v, want one that says %q", err, c.says)
			}
		})
	}
}

// closes makes bars that are their closes.
func closes(c ...float64) *market.Bars {
	b := &market.Bars{Symbol: "CLOSES", Timeframe: market.H1}
	for i, v := range c {
		b.Append(market.Bar{Time: int64(i) * 3600, Open: v, High: v, Low: v, Close: v})
	}
	return b
}

func BenchmarkLabel(b *testing.B) {
	bars := walk(50_000, 5)
	for name, src := range every {
		b.Run(strings.ReplaceAll(name, " ", "_"), func(b *testing.B) {
			for b.Loop() {
				labels(b, src, bars)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(bars.Len()), "ns/bar")
		})
	}
}

func TestSet_SelectKeepsEveryColumnAligned(t *testing.T) {
	s := labels(t, label.TripleBarrier{Target: 2, Stop: 1.5, Holding: 20, Span: 20, Weights: true}, walk(300, 2))
	odd := s.Select(func(i int) bool { return s.Row[i]%2 == 1 })
	k := 0
	for i, row := range s.Row {
		if row%2 == 0 {
			continue
		}
		if odd.Row[k] != row || odd.Class[k] != s.Class[i] || odd.End[k] != s.End[i] || odd.Weight[k] != s.Weight[i] {
			t.Fatalf("sample %d is not bar %d", k, row)
		}
		k++
	}
	if odd.Len() != k || len(odd.Weight) != k || odd.Classes != 3 {
		t.Errorf("selected %d samples with %d weights, want %d", odd.Len(), len(odd.Weight), k)
	}
}
