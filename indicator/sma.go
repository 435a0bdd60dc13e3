package indicator

var _ = register(Definition{
	Name: "sma", Aliases: []string{"simplemovingaverage"}, Params: []Param{period(20, 2, 500), sourceParam},
	Units: []Unit{InPrice},
	Doc:   "Simple moving average: the mean of the last period values.", Follows: "TA-Lib", build: makeSMA,
})

func makeSMA(a Args) built {
	p, source := a.Int("period"), a.Source()
	return built{
		warm: []int{p - 1}, reads: source.reads(), cost: 3, memory: 2 * p,
		start: func() machine { return source.machine(newMean(p)) },
	}
}
