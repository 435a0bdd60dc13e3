package indicator

import (
	"math"

	"github.com/ktrdr/ktrdr/market"
)

var _ = register(Definition{
	Name: "rvi",
	Params: []Param{
		period(10, 4, 100),
		length("signal_period", 4, 1, 50, "bars of the mean that makes the signal"),
	},
	Outputs: []string{"rvi", "signal"}, Units: []Unit{Pure, Pure},
	Doc: "Relative vigor index: close less open and high less low, each weighted 1, 2, 2, 1 over four bars, " +
		"the sum over period bars of the first over that of the second, undefined where that is 0. " +
		"The signal is its simple mean.",
	Follows: "reference", build: makeRVI,
})

func makeRVI(a Args) built {
	p, signal := a.Int("period"), a.Int("signal_period")
	return built{
		warm: []int{p + 2, p + signal + 1}, reads: opens | highs | lows | closes,
		cost: 18, memory: 4*p + 2*signal + 16,
		start: func() machine {
			return (&vigor{
				bodies: newHistory(3), ranges: newHistory(3),
				body: newSum(p), reach: newSum(p), signal: newMean(signal),
			}).run
		},
	}
}

type vigor struct {
	bodies, ranges history
	body, reach    step
	signal         step
	up, wide       scratch
}

func (v *vigor) run(in *market.Bars, out [][]float64) {
	n := in.Len()
	up, wide := v.up.take(n), v.wide.take(n)
	difference(in.Close[:n], in.Open, up)
	difference(in.High[:n], in.Low, wide)
	symmetric(v.bodies.extend(up), up)
	symmetric(v.ranges.extend(wide), wide)
	v.body(up, up)
	v.reach(wide, wide)
	y := out[0][:n]
	for i := range y {
		y[i] = math.NaN()
		if wide[i] != 0 {
			y[i] = up[i] / wide[i]
		}
	}
	v.signal(y, out[1])
}

// symmetric weights four values 1, 2, 2, 1; x has three values more than out.
// The sixth by which to divide cancels in the quotient, and doubling is exact.
func symmetric(x, out []float64) {
	for i := range out {
		out[i] = x[i+3] + 2*x[i+2] + 2*x[i+1] + x[i]
	}
}
