package indicator

import (
	"math"

	"github.com/ktrdr/ktrdr/market"
)

func init() {
	register(Definition{
		Name:    "bollingerbandwidth",
		Params:  []Param{period(20, 2, 200), multiplier("multiplier", 2, 10), sourceParam},
		Outputs: []string{single}, Units: []Unit{Pure},
		Doc: "Width of the Bollinger bands over their middle, with the standard deviation of a sample (divided by period-1); " +
			"undefined where the middle is 0.",
		Follows: "reference",
		Make:    makeBandWidth,
	})
}

func makeBandWidth(a Args) Indicator {
	p, width, source := a.Int("period"), a.Float("multiplier"), a.Source()
	return built{
		outputs: []string{single}, warm: []int{p - 1}, reads: source.reads(), cost: 7, memory: 3 * p,
		start: func() machine {
			var room, means scratch
			m := newMoments(p, 1)
			return func(in *market.Bars, out [][]float64) {
				x := source.of(in, &room)
				middle, y := means.take(len(x)), out[0][:len(x)]
				m.run(x, middle, y)
				for i, v := range middle {
					if v == 0 {
						y[i] = math.NaN()
						continue
					}
					y[i] = 2 * width * y[i] / v
				}
			}
		},
	}
}
