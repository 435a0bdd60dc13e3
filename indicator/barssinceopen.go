package indicator

import (
	"math"

	"github.com/ktrdr/ktrdr/market"
)

var _ = register(Definition{
	Name:   "barssinceopen",
	Params: []Param{length("most", 120, 2, 10_000, "largest value: later bars have it too")},
	Units:  []Unit{Pure},
	Doc: "Bars since the market opened: 0 at the first bar after a gap, and one more at each bar, up to most. " +
		"A gap is more than one and a half times the shortest distance between two bars so far. " +
		"Before the first gap the bars since the start of the series are counted.",
	Follows: "ktrdr", build: makeBarsSinceOpen,
})

func makeBarsSinceOpen(a Args) built {
	most := float64(a.Int("most"))
	return built{
		warm: []int{0}, reads: closes, cost: 3, memory: 4,
		start: func() machine { return (&sinceOpen{shortest: math.MaxInt64 / 4, most: most}).run },
	}
}

// sinceOpen counts. It learns how far apart bars are: an indicator is not told
// its timeframe, and a shorter distance shows that the one before was a gap.
type sinceOpen struct {
	begun          bool
	last, shortest int64
	count, most    float64
}

func (s *sinceOpen) run(in *market.Bars, out [][]float64) {
	y := out[0][:in.Len()]
	for i, t := range in.Time[:len(y)] {
		if s.begun {
			s.next(t - s.last)
		}
		s.begun, s.last = true, t
		y[i] = s.count
	}
}

// next takes the distance of a bar from the one before.
func (s *sinceOpen) next(distance int64) {
	switch {
	case 2*distance > 3*s.shortest:
		s.count = 0
	case 3*distance < 2*s.shortest && s.shortest < math.MaxInt64/4:
		s.count = 1 // every distance so far was a gap
	default:
		s.count = min(s.count+1, s.most)
	}
	s.shortest = min(s.shortest, distance)
}
