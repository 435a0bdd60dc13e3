package indicator

import "math"

var _ = register(Definition{
	Name:   "bollingerbandwidth",
	Params: []Param{period(20, 2, 200), multiplier("multiplier", 2, 10), sourceParam}, Units: []Unit{Pure},
	Doc: "Width of the Bollinger bands over their middle, with the standard deviation of a sample (divided by period-1); " +
		"undefined where the middle is 0.",
	Follows: "reference", build: makeBandWidth,
})

func makeBandWidth(a Args) built {
	p, width, source := a.Int("period"), a.Float("multiplier"), a.Source()
	return built{
		warm: []int{p - 1}, reads: source.reads(), cost: 7, memory: 3 * p,
		start: func() machine {
			var means scratch
			m := newMoments(p, 1)
			return source.machine(func(x, out []float64) {
				middle, y := means.take(len(x)), out[:len(x)]
				m.run(x, middle, y)
				for i, v := range middle {
					if v == 0 {
						y[i] = math.NaN()
						continue
					}
					y[i] = 2 * width * y[i] / v
				}
			})
		},
	}
}
