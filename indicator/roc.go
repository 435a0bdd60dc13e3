package indicator

import "github.com/ktrdr/ktrdr/market"

func init() {
	register(Definition{
		Name:    "roc",
		Params:  []Param{period(10, 1, 100), sourceParam},
		Outputs: []string{single}, Units: []Unit{Pure},
		Doc:     "Rate of change in percent against the value period bars ago; 0 if that value is 0.",
		Follows: "TA-Lib",
		Make:    makeROC,
	})
}

func makeROC(a Args) Indicator {
	p, source := a.Int("period"), a.Source()
	return built{
		outputs: []string{single}, warm: []int{p}, reads: source.reads(), cost: 3, memory: 2 * p,
		start: func() machine {
			var room scratch
			past := newHistory(p)
			return func(in *market.Bars, out [][]float64) {
				x := source.of(in, &room)
				y, old := out[0][:len(x)], past.extend(x)[:len(x)]
				for i, v := range x {
					y[i] = 0
					if old[i] != 0 {
						y[i] = (v/old[i] - 1) * 100
					}
				}
			}
		},
	}
}
