package indicator

var _ = register(Definition{
	Name: "ema", Aliases: []string{"exponentialmovingaverage"},
	Params: []Param{
		period(20, 1, 500), sourceParam,
		flag("adjust", false, "weights that add up to one from the first bar on, instead of a simple mean to begin with"),
	},
	Units: []Unit{InPrice},
	Doc: "Exponential moving average with weight 2/(period+1), begun with the simple mean of the first period values. " +
		"With adjust it is pandas' weighted form, which has a value from the first bar on and is the Python system's default.",
	Follows: "TA-Lib", build: makeEMA,
})

func makeEMA(a Args) built {
	p, source := a.Int("period"), a.Source()
	x := built{
		warm: []int{p - 1}, reads: source.reads(), cost: 3, memory: 8,
		start: func() machine {
			e := newEMA(p, 0)
			return source.machine(e.run)
		},
	}
	if a.Bool("adjust") {
		x.warm, x.start = []int{0}, func() machine { return source.machine(newWeighted(p)) }
	}
	return x
}
