package indicator

import (
	"math"

	"github.com/ktrdr/ktrdr/market"
)

var _ = register(Definition{
	Name: "cci", Params: []Param{period(20, 2, 100)}, Units: []Unit{Pure},
	Doc: "Commodity channel index: the typical price less its mean over the window, " +
		"over 0.015 times the mean deviation from that mean; 0 when the window is flat.",
	Follows: "TA-Lib", build: makeCCI,
})

func makeCCI(a Args) built {
	p := a.Int("period")
	return built{
		warm: []int{p - 1}, reads: highs | lows | closes, cost: 6 + float64(1.2*float64(p)), memory: 4 * p,
		start: func() machine {
			var typical, means scratch
			average, past := newMean(p), newHistory(p-1)
			return func(in *market.Bars, out [][]float64) {
				x := typicalPrices(in, &typical)
				middle, y := means.take(len(x)), out[0][:len(x)]
				average(x, middle)
				window := past.extend(x)
				for i, v := range x {
					y[i] = 0
					if dev := deviation(window[i:i+p], middle[i]) / float64(p); dev != 0 {
						y[i] = (v - middle[i]) / (0.015 * dev)
					}
				}
			}
		},
	}
}

// deviation adds up how far the values are from middle. The mean deviation has
// no form that moves with the window, short of a tree of all its values, which
// for the hundred bars at most of a window is slower than going through them.
func deviation(x []float64, middle float64) float64 {
	var a, b, c, d float64 // four sums that do not wait for each other
	i := 0
	for ; i+4 <= len(x); i += 4 {
		y := x[i : i+4 : i+4]
		a += math.Abs(y[0] - middle)
		b += math.Abs(y[1] - middle)
		c += math.Abs(y[2] - middle)
		d += math.Abs(y[3] - middle)
	}
	for ; i < len(x); i++ {
		a += math.Abs(x[i] - middle)
	}
	return (a + b) + (c + d)
}
