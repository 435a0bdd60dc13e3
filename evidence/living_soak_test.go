//go:build soak

package evidence

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/ktrdr/ktrdr/num"
)

// TestLiving_PowerOfHourlyBars prints how long it takes until an edge is detected, and how many dead ones are retired.
func TestLiving_PowerOfHourlyBars(t *testing.T) {
	const worst, deviation, streams, bars = 0.2, 0.0012, 20, 12 * yearBars // 9.5 % a year
	for _, sharpe := range []float64{1, 2, 3, 5, 8} {
		mean := sharpe / math.Sqrt(yearBars) * deviation
		var at []float64
		retired := 0
		for i := range streams {
			r := num.NewRand(num.Mix(77, uint64(i)))
			f := Freeze(powerStakes(r, 4000, mean, deviation, worst), 0.7)
			l := NewLiving(f)
			for _, s := range powerStakes(r, bars, mean, deviation, worst) {
				l.Add(s)
			}
			n := math.Inf(1)
			if l.Edge.Crossed != 0 {
				n = float64(l.Edge.Crossed / 3600)
			}
			at = append(at, n)
			l = NewLiving(f)
			for _, s := range powerStakes(r, bars, 0, deviation, worst) {
				l.Add(s)
			}
			if l.Decay.Crossed != 0 {
				retired++
			}
		}
		slices.Sort(at)
		t.Logf("Sharpe %.0f: detected after %s (median), %s (80 %%); of dead edges %d of %d retired in 12 years",
			sharpe, years(at[streams/2]), years(at[streams*8/10]), retired, streams)
		if sharpe == 8 && (at[streams/2] > 3*yearBars || retired < streams/2) {
			t.Errorf("at a Sharpe ratio of 8, half of the edges are found after %s, and %d of %d dead edges are retired",
				years(at[streams/2]), retired, streams)
		}
	}
}

func years(bars float64) string {
	if math.IsInf(bars, 1) {
		return "more than 12 years"
	}
	return fmt.Sprintf("%.0f bars (%.1f years)", bars, bars/yearBars)
}

// powerStakes are of positions of a quarter of the equity; the size changes nothing, because the bound grows with it.
func powerStakes(r *num.Rand, bars int, mean, deviation, worst float64) []Stake {
	const size = 0.25
	all := make([]Stake, bars)
	for i := range all {
		all[i] = Stake{
			Time: int64(i+1) * 3600, Return: size * clip(mean+deviation*r.Norm(), worst), Exposure: size, Loss: size * worst, Gain: size * worst,
		}
	}
	return all
}
