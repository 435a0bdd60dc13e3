package indicator

import "github.com/ktrdr/ktrdr/market"

func init() {
	register(Definition{
		Name:    "momentum",
		Params:  []Param{period(10, 1, 100), sourceParam},
		Outputs: []string{single}, Units: []Unit{InPrice},
		Doc:     "Momentum: the value less the value period bars ago.",
		Follows: "TA-Lib",
		Make:    makeMomentum,
	})
}

func makeMomentum(a Args) Indicator {
	p, source := a.Int("period"), a.Source()
	return built{
		outputs: []string{single}, warm: []int{p}, reads: source.reads(), cost: 2, memory: 2 * p,
		start: func() machine {
			var room scratch
			past := newHistory(p)
			return func(in *market.Bars, out [][]float64) {
				x := source.of(in, &room)
				difference(x, past.extend(x), out[0])
			}
		},
	}
}
