package indicator

import (
	"fmt"
	"math"

	"github.com/ktrdr/ktrdr/market"
)

var _ = register(Definition{
	Name: "parabolicsar",
	Params: []Param{
		{Name: "initial_af", Kind: Float, Default: 0.02, Min: 0.001, Max: 0.1, Doc: "acceleration at the start of a trend"},
		{Name: "step_af", Kind: Float, Default: 0.02, Min: 0.001, Max: 0.1, Doc: "acceleration that a new extreme adds"},
		{Name: "max_af", Kind: Float, Default: 0.2, Min: 0.01, Max: 1, Doc: "largest acceleration"},
	},
	Units: []Unit{InPrice},
	Doc: "Parabolic stop and reverse. It begins at the second bar, downwards only if that bar moved down further than up; " +
		"TA-Lib's has one number for initial_af and step_af.",
	Follows: "TA-Lib",
	Check: func(a Args) error {
		if first, most := a.Float("initial_af"), a.Float("max_af"); first > most {
			return fmt.Errorf("initial_af is %v; it must not be above max_af, which is %v", first, most)
		}
		return nil
	},
	build: makeSAR,
})

func makeSAR(a Args) built {
	return built{
		warm: []int{1}, reads: highs | lows, cost: 17, memory: 10,
		start: func() machine {
			return (&sar{first: a.Float("initial_af"), add: a.Float("step_af"), most: a.Float("max_af")}).run
		},
	}
}

type sar struct {
	first, add, most float64

	seen      int // bars, as far as it matters: 0, 1, 2
	long      bool
	stop      float64 // for the bar to come
	extreme   float64 // of the trend
	factor    float64 // how fast the stop follows
	high, low float64 // of the bar before
}

func (s *sar) run(in *market.Bars, out [][]float64) {
	n := in.Len()
	h, l, y := in.High[:n], in.Low[:n], out[0][:n]
	for i := range y {
		if s.seen < 2 && !s.begin(h[i], l[i]) {
			y[i] = math.NaN()
			continue
		}
		if s.long {
			y[i] = s.up(h[i], l[i])
		} else {
			// A downward trend is an upward one of the prices with their sign changed.
			s.mirror()
			y[i] = -s.up(-l[i], -h[i])
			s.mirror()
		}
		s.high, s.low = h[i], l[i]
	}
}

// begin takes the first two bars; the second sets direction, stop and extreme.
func (s *sar) begin(high, low float64) bool {
	s.seen++
	if s.seen == 1 {
		s.high, s.low = high, low
		return false
	}
	down := s.low - low
	s.long = !(down > 0 && down > high-s.high)
	s.stop, s.extreme = s.low, high
	if !s.long {
		s.stop, s.extreme = s.high, low
	}
	s.factor, s.high, s.low = s.first, high, low
	return true
}

// up takes a bar of an upward trend and returns its stop.
func (s *sar) up(high, low float64) float64 {
	if low <= s.stop { // the trend turns: the stop jumps to the other side
		stop := max(s.extreme, s.high, high)
		s.long = !s.long
		s.factor, s.extreme = s.first, low
		s.stop = max(stop+float64(s.factor*(low-stop)), s.high, high)
		return stop
	}
	stop := s.stop
	if high > s.extreme {
		s.extreme = high
		s.factor = min(s.factor+s.add, s.most)
	}
	s.stop = min(stop+float64(s.factor*(s.extreme-stop)), s.low, low)
	return stop
}

// mirror changes the sign of the prices.
func (s *sar) mirror() {
	s.stop, s.extreme = -s.stop, -s.extreme
	s.high, s.low = -s.low, -s.high
}
