package indicator

import "github.com/ktrdr/ktrdr/market"

var _ = register(Definition{
	Name: "volumeratio", Params: []Param{period(20, 2, 100)}, Units: []Unit{Pure},
	Doc:     "Volume over its simple mean over the window, this bar included; 1 when the window has no volume.",
	Follows: "reference", build: makeVolumeRatio,
})

func makeVolumeRatio(a Args) built {
	p := a.Int("period")
	return built{
		warm: []int{p - 1}, reads: volumes, cost: 5, memory: 2 * p,
		start: func() machine {
			total := newSum(p)
			return func(in *market.Bars, out [][]float64) {
				y := out[0][:in.Len()]
				total(in.Volume, y)
				for i, v := range in.Volume[:len(y)] {
					if y[i] == 0 {
						y[i] = 1
						continue
					}
					y[i] = v / (y[i] / float64(p))
				}
			}
		},
	}
}
