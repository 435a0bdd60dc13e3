package indicator

import "github.com/ktrdr/ktrdr/market"

var _ = register(Definition{
	Name: "squeezeintensity",
	Params: []Param{
		length("bb_period", 20, 2, 100, "bars of the Bollinger bands"),
		multiplier("bb_multiplier", 2, 5),
		length("kc_period", 20, 2, 100, "bars of the Keltner channels' middle"),
		multiplier("kc_multiplier", 2, 5),
		sourceParam,
	},
	Units: []Unit{Pure},
	Doc: "How far the Bollinger bands of the source (deviation of a sample) are inside the Keltner channels: " +
		"the smaller of the two distances, in parts of the channels' width; 0 when a band is outside or the channels have no width. " +
		"The Keltner channels' true range is a simple mean over 10 bars, whatever kc_period is.",
	Follows: "reference", build: makeSqueeze,
})

// squeezeATR is how many bars the channels' true range is the mean of.
const squeezeATR = 10

func makeSqueeze(a Args) built {
	p, source := a.Int("bb_period"), a.Source()
	return built{
		warm:  []int{max(p, squeezeATR) - 1},
		reads: source.reads() | highs | lows | closes, cost: 20, memory: 3*p + 40,
		start: func() machine {
			s := squeeze{
				source: source, bands: newMoments(p, 1), width: a.Float("bb_multiplier"),
				channels: newKeltner(a.Int("kc_period"), squeezeATR, a.Float("kc_multiplier")),
			}
			return s.run
		},
	}
}

type squeeze struct {
	source   Source
	bands    moments
	width    float64
	channels keltner

	room, means, deviations, upper, lower scratch
}

func (s *squeeze) run(in *market.Bars, out [][]float64) {
	n := in.Len()
	middle, deviation := s.means.take(n), s.deviations.take(n)
	s.bands.run(s.source.of(in, &s.room), middle, deviation)
	upper, lower, y := s.upper.take(n), s.lower.take(n), out[0][:n]
	s.channels.run(in, upper, y, lower)
	for i := range y {
		d := float64(s.width * deviation[i])
		above, below := upper[i]-(middle[i]+d), middle[i]-d-lower[i]
		y[i] = max(0, min(above, below)) // NaN if either is
		if width := upper[i] - lower[i]; width != 0 {
			y[i] /= width
		}
	}
}
