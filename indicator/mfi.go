package indicator

import "github.com/ktrdr/ktrdr/market"

var _ = register(Definition{
	Name: "mfi", Params: []Param{period(14, 1, 100)}, Units: []Unit{Pure},
	Doc: "Money flow index: typical price times volume of the bars whose typical price rose, in percent of that of those " +
		"whose price rose or fell; 0 without such a bar (TA-Lib: when the sum is below 1, which depends on the unit of the price).",
	Follows: "TA-Lib", build: makeMFI,
})

func makeMFI(a Args) built {
	p := a.Int("period")
	return built{
		warm: []int{p}, reads: highs | lows | closes | volumes, cost: 11, memory: 4 * p,
		start: func() machine { return (&mfi{rises: newSum(p), falls: newSum(p), first: 1}).run },
	}
}

type mfi struct {
	first        lead // the first bar has neither risen nor fallen
	before       float64
	rises, falls step
	typical, up  scratch
	down         scratch
}

func (m *mfi) run(in *market.Bars, out [][]float64) {
	n := in.Len()
	x, volume := typicalPrices(in, &m.typical), in.Volume[:n]
	up, down := m.up.take(n), m.down.take(n)
	before := m.before
	for i, v := range x {
		flow := float64(v * volume[i])
		up[i], down[i] = keep(flow, v > before), keep(flow, v < before)
		before = v
	}
	m.before = before

	k := m.first.skip(n)
	undefined(out[0][:k])
	y := out[0][k:n]
	up, down = up[k:], down[k:]
	m.rises(up, up)
	m.falls(down, down)
	for i := range y {
		y[i] = percentOf(up[i], down[i])
	}
}
