package indicator

import "github.com/ktrdr/ktrdr/market"

func init() {
	register(Definition{
		Name: "sma", Aliases: []string{"simplemovingaverage"},
		Params:  []Param{period(20, 2, 500), sourceParam},
		Outputs: []string{single}, Units: []Unit{InPrice},
		Doc:     "Simple moving average: the mean of the last period values.",
		Follows: "TA-Lib",
		Make:    makeSMA,
	})
}

func makeSMA(a Args) Indicator {
	p, source := a.Int("period"), a.Source()
	return built{
		outputs: []string{single}, warm: []int{p - 1}, reads: source.reads(), cost: 3, memory: 2 * p,
		start: func() machine {
			var room scratch
			m := newMean(p)
			return func(in *market.Bars, out [][]float64) { m(source.of(in, &room), out[0]) }
		},
	}
}
