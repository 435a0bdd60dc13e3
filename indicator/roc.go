package indicator

var _ = register(Definition{
	Name: "roc", Params: []Param{period(10, 1, 100), sourceParam}, Units: []Unit{Pure},
	Doc:     "Rate of change in percent against the value period bars ago; 0 if that value is 0.",
	Follows: "TA-Lib", build: makeROC,
})

func makeROC(a Args) built {
	p, source := a.Int("period"), a.Source()
	return built{
		warm: []int{p}, reads: source.reads(), cost: 3, memory: 2 * p,
		start: func() machine {
			past := newHistory(p)
			return source.machine(func(x, out []float64) {
				y, old := out[:len(x)], past.extend(x)[:len(x)]
				for i, v := range x {
					y[i] = 0
					if old[i] != 0 {
						y[i] = (v/old[i] - 1) * 100
					}
				}
			})
		},
	}
}
