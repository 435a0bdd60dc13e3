package indicator

import "github.com/ktrdr/ktrdr/market"

var _ = register(Definition{
	Name: "bollingerbands", Aliases: []string{"bbands"},
	Params:  []Param{period(20, 2, 200), multiplier("multiplier", 2, 10), sourceParam},
	Outputs: []string{"upper", "middle", "lower"}, Units: []Unit{InPrice, InPrice, InPrice},
	Doc: "Bollinger bands: the simple mean, and multiplier standard deviations of the population (divided by period) " +
		"above and below it.",
	Follows: "TA-Lib", build: makeBollingerBands,
})

func makeBollingerBands(a Args) built {
	p, width, source := a.Int("period"), a.Float("multiplier"), a.Source()
	return built{
		warm: []int{p - 1, p - 1, p - 1}, reads: source.reads(), cost: 7, memory: 3 * p,
		start: func() machine {
			var room scratch
			m := newMoments(p, 0)
			return func(in *market.Bars, out [][]float64) {
				x := source.of(in, &room)
				upper, middle, lower := out[0][:len(x)], out[1][:len(x)], out[2][:len(x)]
				m.run(x, middle, upper)
				for i, v := range middle {
					d := float64(width * upper[i])
					upper[i] = v + d
					lower[i] = v - d
				}
			}
		},
	}
}
