package indicator

var _ = register(Definition{
	Name: "momentum", Params: []Param{period(10, 1, 100), sourceParam}, Units: []Unit{InPrice},
	Doc: "Momentum: the value less the value period bars ago.", Follows: "TA-Lib", build: makeMomentum,
})

func makeMomentum(a Args) built {
	p, source := a.Int("period"), a.Source()
	return built{
		warm: []int{p}, reads: source.reads(), cost: 2, memory: 2 * p,
		start: func() machine {
			past := newHistory(p)
			return source.machine(func(x, out []float64) { difference(x, past.extend(x), out) })
		},
	}
}
