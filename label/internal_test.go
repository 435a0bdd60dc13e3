package label

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/ktrdr/ktrdr/market"
)

func TestRunningMedian_IsTheMedianOfWhatWasAdded(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		x := rapid.SliceOfN(rapid.Float64Range(-10, 10), 1, 40).Draw(rt, "x")
		var m runningMedian
		for i, v := range x {
			got := m.add(v)
			s := slices.Sorted(slices.Values(x[:i+1]))
			want := (s[i/2] + s[(i+1)/2]) / 2
			if got != want {
				rt.Fatalf("median of %v = %v, want %v", x[:i+1], got, want)
			}
		}
	})
}

// The definition, by explicit weights: what pandas computes for
// ewm(span).std().
func TestEwmDeviation_EqualsItsDefinition(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		x := rapid.SliceOfN(rapid.Float64Range(-0.1, 0.1), 2, 60).Draw(rt, "x")
		span := rapid.IntRange(2, 50).Draw(rt, "span")
		d := newEwmDeviation(span)
		got := 0.0
		for _, v := range x {
			got = d.add(v)
		}
		decay := 1 - 2/(float64(span)+1)
		w, sum, sum2, mean := make([]float64, len(x)), 0.0, 0.0, 0.0
		for i := range x {
			w[i] = math.Pow(decay, float64(len(x)-1-i))
			sum += w[i]
			sum2 += w[i] * w[i]
			mean += w[i] * x[i]
		}
		mean /= sum
		squares := 0.0
		for i, v := range x {
			squares += w[i] * (v - mean) * (v - mean)
		}
		want := math.Sqrt(squares / sum * sum * sum / (sum*sum - sum2))
		if math.Abs(got-want) > 1e-9*max(want, 1e-6) {
			rt.Fatalf("deviation = %v, want %v", got, want)
		}
	})
}

func TestDeviationRatio_EqualsItsDefinition(t *testing.T) {
	const period, lookback = 3, 5
	returns := make([]float64, 60)
	for i := range returns {
		returns[i] = float64((i*i)%7) - 3
	}
	got := deviationRatio(returns, period, lookback)
	for i := range returns {
		first := i - lookback + 1
		if first < period {
			if !math.IsNaN(got[i]) {
				t.Errorf("bar %d has a ratio before there are %d deviations", i, lookback)
			}
			continue
		}
		sum := 0.0
		for k := first; k <= i; k++ {
			sum += deviation(returns[k-period+1 : k+1])
		}
		want := deviation(returns[i-period+1:i+1]) / (sum / lookback)
		if math.Abs(got[i]-want) > 1e-12 {
			t.Errorf("bar %d: ratio %v, want %v", i, got[i], want)
		}
	}
}

// A large deviation that has left the sum leaves no rounding error behind: the
// sum is made again from time to time.
func TestDeviationRatio_ForgetsALargeDeviation(t *testing.T) {
	const period, lookback = 2, 4
	returns := make([]float64, 40)
	for i := range returns {
		returns[i] = 1e-9 * float64(1-2*(i%2))
	}
	returns[6] = 1e9
	got := deviationRatio(returns, period, lookback)
	for i := 6 + period + 2*lookback; i < len(returns); i++ {
		if !(math.Abs(got[i]-1) <= 1e-12) {
			t.Errorf("bar %d: ratio %v of deviations that are all alike, want 1", i, got[i])
		}
	}
}

func TestCUSUM_EventsByHand(t *testing.T) {
	for name, c := range map[string]struct {
		filter  CUSUM
		returns []float64
		want    []int
	}{
		// Up: 0.25, 0.5 (not above 0.5), 0.75: event. Then 0, -0.25, -0.5 (not below), -0.75: event.
		"a threshold must be passed": {CUSUM{Threshold: 0.5}, []float64{0, 0.25, 0.25, 0.25, -0.25, -0.25, -0.25}, []int{3, 6}},
		// A rise makes no credit for the fall: the sum down starts at 0.
		"each side has its own sum": {CUSUM{Threshold: 0.5}, []float64{0, 0.5, -0.75, 0.5, 0.25}, []int{2, 4}},
		// The deviation of two returns is their distance over the root of 2: 0.4/1.41 = 0.283.
		"a multiple of the deviation":   {CUSUM{Multiplier: 1}, []float64{0, 0.1, -0.3}, []int{2}},
		"a larger multiple":             {CUSUM{Multiplier: 1.1}, []float64{0, 0.1, -0.3}, nil},
		"one return has no deviation":   {CUSUM{Multiplier: 1}, []float64{0, 10}, nil},
		"the first bar has no return":   {CUSUM{Threshold: 0.5}, []float64{10, 0.25}, nil},
		"a threshold before a multiple": {CUSUM{Threshold: 0.5, Multiplier: 0.001}, []float64{0, 0.1, -0.3}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []int
			for i, event := range c.filter.events(c.returns, 10) {
				if event {
					got = append(got, i)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("events at %v, want %v", got, c.want)
			}
		})
	}
}

// All changes are exactly a quarter, which is the threshold.
func TestPivots_ByHand(t *testing.T) {
	quarter := func(int) float64 { return 0.25 }
	for name, c := range map[string]struct {
		x     []float64
		start int
		want  []pivot
	}{
		"the first of equal extremes": {
			[]float64{64, 80, 80, 60, 60, 75, 100, 75},
			0,
			[]pivot{{0, 1, false}, {1, 3, true}, {3, 5, false}, {6, 7, true}},
		},
		"first down":               {[]float64{64, 48, 60}, 0, []pivot{{0, 1, true}, {1, 2, false}}},
		"from a later bar":         {[]float64{1000, 64, 80, 60}, 1, []pivot{{1, 2, false}, {2, 3, true}}},
		"less than the threshold":  {[]float64{64, 79, 64, 49, 60}, 0, nil},
		"turns that are too small": {[]float64{64, 80, 61, 80, 60}, 0, []pivot{{0, 1, false}, {1, 4, true}}},
		"nothing after the start":  {[]float64{64}, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if got := pivots(c.x, c.start, quarter); !slices.Equal(got, c.want) {
				t.Errorf("pivots %v, want %v", got, c.want)
			}
		})
	}
}

func TestRegimeLeg_ByHand(t *testing.T) {
	low := func(at, known int32) pivot { return pivot{at, known, false} }
	high := func(at, known int32) pivot { return pivot{at, known, true} }
	for name, c := range map[string]struct {
		close     []float64
		micro     []pivot
		to        pivot
		tolerance float64
		want      int8
	}{
		"half of the lows are higher": {
			[]float64{0, 10, 0, 11, 0, 10.5, 0},
			[]pivot{low(1, 2), high(2, 3), low(3, 4), low(5, 6)},
			high(6, 7), 0.5, trendingUp,
		},
		"half is less than the tolerance": {
			[]float64{0, 10, 0, 11, 0, 10.5, 0},
			[]pivot{low(1, 2), low(3, 4), low(5, 6)},
			high(6, 7),
			0.51, ranging,
		},
		"an equal low is no progress":  {[]float64{0, 10, 0, 10, 0, 0, 0}, []pivot{low(1, 2), low(3, 4)}, high(6, 7), 0.5, ranging},
		"an equal high is no progress": {[]float64{0, 10, 0, 10, 0, 0, 0}, []pivot{high(1, 2), high(3, 4)}, low(6, 7), 0.5, ranging},
		"lower highs": {
			[]float64{0, 10, 0, 9, 0, 0, 0},
			[]pivot{high(1, 2), high(3, 4)},
			low(6, 7), 0.5,
			trendingDown,
		},
		"one low is a clean move":               {[]float64{0, 10, 0, 0, 0, 0, 0}, []pivot{low(1, 2)}, high(6, 7), 1, trendingUp},
		"one high is a clean move":              {[]float64{0, 10, 0, 0, 0, 0, 0}, []pivot{high(1, 2)}, low(6, 7), 1, trendingDown},
		"a low known with the end of the leg":   {[]float64{0, 10, 0, 9, 0, 0, 0}, []pivot{low(1, 2), low(3, 7)}, high(6, 7), 0.5, ranging},
		"a low known only later does not speak": {[]float64{0, 10, 0, 9, 0, 0, 0}, []pivot{low(1, 2), low(3, 8)}, high(6, 7), 0.5, trendingUp},
		"a low after the leg's end does not speak": {
			[]float64{0, 10, 0, 0, 0, 0, 0, 9},
			[]pivot{low(1, 2), low(7, 7)},
			high(6, 7), 0.5,
			trendingUp,
		},
		"any tolerance of 0 is a trend": {[]float64{0, 10, 0, 9, 0, 0, 0}, []pivot{low(1, 2), low(3, 4)}, high(6, 7), 0, trendingUp},
	} {
		t.Run(name, func(t *testing.T) {
			if got := (Regime{Tolerance: c.tolerance}).leg(c.close, c.micro, c.to); got != c.want {
				t.Errorf("the leg is %s, want %s", RegimeNames[got], RegimeNames[c.want])
			}
		})
	}
}

func TestRelativeRange_ByHand(t *testing.T) {
	b := &market.Bars{Symbol: "ROWS", Timeframe: market.H1}
	for i, r := range [][3]float64{
		{10, 6, 8},   // true range 4
		{9, 7, 8},    // 2; mean of two 3
		{20, 19, 20}, // from the close before: 12; mean 7, median 5
		{5, 4, 4},    // from the close before: 16; mean 14, median 7
	} {
		b.Append(market.Bar{Time: int64(i) * 3600, Open: r[2], High: r[0], Low: r[1], Close: r[2]})
	}
	got := relativeRange(b, 2)
	if !math.IsNaN(got[0]) {
		t.Errorf("bar 0: %v, want NaN", got[0])
	}
	for i, want := range []float64{3. / 8, 5. / 8, 7. / 8} { // the median close is 8 throughout
		if got[i+1] != want {
			t.Errorf("bar %d: %v, want %v", i+1, got[i+1], want)
		}
	}
}

func TestVolatility_FirstBars(t *testing.T) {
	returns := logReturns([]float64{64, 128, 64})
	if returns[0] != 0 || math.Abs(returns[1]-math.Ln2) > 1e-15 || math.Abs(returns[2]+math.Ln2) > 1e-15 {
		t.Errorf("returns %v, want 0 and the logarithms of 2 and a half", returns)
	}
	vol := returnVolatility(returns, 5)
	if !math.IsNaN(vol[0]) || !math.IsNaN(vol[1]) || math.Abs(vol[2]-math.Sqrt2*math.Ln2) > 1e-15 {
		t.Errorf("volatilities %v, want NaN, NaN and the distance of two returns over the root of 2", vol)
	}
	// A span of 3 weighs the bar before by a half: (1/2·1/8 + 1/4) / (3/2).
	ranges := rangeVolatility([]float64{8, 10}, []float64{7, 8}, []float64{8, 8}, 3)
	if ranges[0] != 0.125 || math.Abs(ranges[1]-(0.0625+0.25)/1.5) > 1e-15 {
		t.Errorf("ranges %v, want 0.125 and %v", ranges, (0.0625+0.25)/1.5)
	}
}

// The mean of 1, 2 and 4 is 7/3; the squared differences sum to 16/9 + 1/9 +
// 25/9 = 14/3, of which half is 7/3. The same holds a long way from 0, where
// the difference of two squares would have lost it.
func TestDeviation_ByHand(t *testing.T) {
	for _, far := range []float64{0, 1e9} {
		if got, want := deviation([]float64{far + 1, far + 2, far + 4}), math.Sqrt(7./3); !(math.Abs(got-want) <= 1e-7) {
			t.Errorf("deviation at %v = %v, want %v", far, got, want)
		}
	}
}
