package indicator

import "github.com/ktrdr/ktrdr/market"

var _ = register(Definition{
	Name: "supertrend", Params: []Param{period(10, 2, 200), multiplier("multiplier", 3, 10)},
	Outputs: []string{"trend", "direction"}, Units: []Unit{InPrice, Pure},
	Doc: "SuperTrend: bands multiplier mean true ranges around the bar's midpoint that only move towards the price " +
		"until a close reaches them; trend is the lower band while direction is 1 and the upper one while it is -1. " +
		"It begins upwards at the first bar that has a mean true range, which is a simple mean " +
		"(the first bar's true range is its high less its low).",
	Follows: "reference", build: makeSuperTrend,
})

func makeSuperTrend(a Args) built {
	p := a.Int("period")
	return built{
		warm: []int{p - 1, p - 1}, reads: highs | lows | closes, cost: 20, memory: 2*p + 8,
		start: func() machine {
			return (&superTrend{reach: newMean(p), width: a.Float("multiplier"), hidden: lead(p - 1)}).run
		},
	}
}

type superTrend struct {
	moves  trueRange
	reach  step
	width  float64
	hidden lead // bars before the first mean

	begun        bool
	up           bool
	upper, lower float64
	before       float64 // the close of the bar before
}

func (s *superTrend) run(in *market.Bars, out [][]float64) {
	n := in.Len()
	trend, direction := out[0][:n], out[1][:n]
	s.moves.run(in, trend)
	s.reach(trend, trend)
	from := s.hidden.skip(n)
	undefined(direction[:from])
	h, l, c := in.High[:n], in.Low[:n], in.Close[:n]
	for i := from; i < n; i++ {
		middle, d := float64((h[i]+l[i])/2), float64(s.width*trend[i])
		s.move(middle+d, middle-d, c[i])
		if s.up {
			trend[i], direction[i] = s.lower, 1
		} else {
			trend[i], direction[i] = s.upper, -1
		}
	}
}

// move takes a bar's own bands and its close.
func (s *superTrend) move(upper, lower, price float64) {
	if !s.begun {
		s.begun, s.up, s.upper, s.lower, s.before = true, true, upper, lower, price
		return
	}
	if upper < s.upper || s.before > s.upper {
		s.upper = upper
	}
	if lower > s.lower || s.before < s.lower {
		s.lower = lower
	}
	if s.up { // a close on the band turns the trend, either way
		s.up = price > s.lower
	} else {
		s.up = price >= s.upper
	}
	s.before = price
}
