package indicator

import "github.com/ktrdr/ktrdr/market"

func init() {
	register(Definition{
		Name: "ema", Aliases: []string{"exponentialmovingaverage"},
		Params: []Param{
			period(20, 1, 500), sourceParam,
			flag("adjust", false, "weights that add up to one from the first bar on, instead of a simple mean to begin with"),
		},
		Outputs: []string{single}, Units: []Unit{InPrice},
		Doc: "Exponential moving average with weight 2/(period+1), begun with the simple mean of the first period values. " +
			"With adjust it is pandas' weighted form, which has a value from the first bar on and is the Python system's default.",
		Follows: "TA-Lib",
		Make:    makeEMA,
	})
}

func makeEMA(a Args) Indicator {
	p, source := a.Int("period"), a.Source()
	x := built{outputs: []string{single}, warm: []int{p - 1}, reads: source.reads(), cost: 3, memory: 8}
	x.start = func() machine {
		var room scratch
		e := newEMA(p, 0)
		return func(in *market.Bars, out [][]float64) { e.run(source.of(in, &room), out[0]) }
	}
	if a.Bool("adjust") {
		x.warm = []int{0}
		x.start = func() machine {
			var room scratch
			e := newWeighted(p)
			return func(in *market.Bars, out [][]float64) { e.run(source.of(in, &room), out[0]) }
		}
	}
	return x
}
