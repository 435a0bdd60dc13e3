package indicator

var _ = register(Definition{
	Name: "distancefromma",
	Params: []Param{
		period(20, 1, 200),
		{Name: "ma_type", Kind: Choice, Choices: []string{"SMA", "EMA"}, Doc: "kind of the moving average"},
		sourceParam,
	},
	Units: []Unit{Pure},
	Doc: "Distance from a moving average, in percent of it; undefined where it is 0. The EMA is the one whose weights " +
		"add up to one from the first bar on (adjust of ema), so with it the distance is defined from there.",
	Follows: "reference", build: makeDistance,
})

func makeDistance(a Args) built {
	p, source := a.Int("period"), a.Source()
	simple := a.Choice("ma_type") == "SMA"
	warm := 0
	if simple {
		warm = p - 1
	}
	return built{
		warm: []int{warm}, reads: source.reads(), cost: 4, memory: 2 * p,
		start: func() machine {
			average := average(p, simple)
			return source.machine(func(x, out []float64) {
				y := out[:len(x)]
				average(x, y)
				for i, v := range x {
					y[i] = percentAbove(v, y[i])
				}
			})
		},
	}
}

// average begins a moving average.
func average(period int, simple bool) step {
	if simple {
		return newMean(period)
	}
	return newWeighted(period)
}
