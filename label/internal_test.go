package label

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
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
