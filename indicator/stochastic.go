package indicator

import "github.com/ktrdr/ktrdr/market"

var _ = register(Definition{
	Name: "stochastic",
	Params: []Param{
		length("k_period", 14, 1, 100, "bars in the window of the range"),
		length("d_period", 3, 1, 20, "bars of the mean that makes d of k"),
		length("smooth_k", 3, 1, 20, "bars of the mean that makes k"),
	},
	Outputs: []string{"k", "d"}, Units: []Unit{Pure, Pure},
	Doc: "Slow stochastic: where the close is in the window's range in percent (0 when the range is 0), " +
		"smoothed by simple means to k and again to d. Both begin where d begins.",
	Follows: "TA-Lib", build: makeStochastic,
})

func makeStochastic(a Args) built {
	p, smooth, d := a.Int("k_period"), a.Int("smooth_k"), a.Int("d_period")
	first := p + smooth + d - 3
	return built{
		warm: []int{first, first}, reads: highs | lows | closes, cost: 20, memory: 4*p + 2*smooth + 2*d,
		start: func() machine {
			return (&stochastic{
				high: newHighest(p), low: newLowest(p), k: newMean(smooth), d: newMean(d), hidden: lead(first),
			}).run
		},
	}
}

type stochastic struct {
	high, low    step
	k, d         step
	tops, bottom scratch
	hidden       lead // bars on which k has a value and d has none yet
}

func (s *stochastic) run(in *market.Bars, out [][]float64) {
	n := in.Len()
	top, bottom := s.tops.take(n), s.bottom.take(n)
	s.high(in.High, top)
	s.low(in.Low, bottom)
	k, d := out[0][:n], out[1][:n]
	for i, c := range in.Close[:n] {
		k[i] = 0
		if width := top[i] - bottom[i]; width != 0 {
			k[i] = 100 * (c - bottom[i]) / width
		}
	}
	s.k(k, k)
	s.d(k, d)
	undefined(k[:s.hidden.skip(n)])
}
