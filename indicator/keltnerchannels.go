package indicator

import "github.com/ktrdr/ktrdr/market"

var _ = register(Definition{
	Name: "keltnerchannels",
	Params: []Param{
		period(20, 2, 500),
		length("atr_period", 10, 2, 200, "bars of the mean true range"),
		multiplier("multiplier", 2, 10),
	},
	Outputs: []string{"upper", "middle", "lower"}, Units: []Unit{InPrice, InPrice, InPrice},
	Doc: "Keltner channels: the exponential mean of the close, begun with the first close and so defined from the first bar on, " +
		"and multiplier mean true ranges above and below it. " +
		"The mean true range is a simple mean, and the first bar's true range its high less its low.",
	Follows: "reference", build: makeKeltner,
})

func makeKeltner(a Args) built {
	p, r := a.Int("period"), a.Int("atr_period")
	return built{
		warm: []int{r - 1, 0, r - 1}, reads: highs | lows | closes, cost: 10, memory: 2*r + 12,
		start: func() machine {
			k := newKeltner(p, r, a.Float("multiplier"))
			return func(in *market.Bars, out [][]float64) { k.run(in, out[0], out[1], out[2]) }
		},
	}
}

// keltner is also what squeezeintensity measures against.
type keltner struct {
	middle ema
	moves  trueRange
	reach  step
	width  float64
}

func newKeltner(period, atrPeriod int, width float64) keltner {
	return keltner{middle: newEWM(period, 0), reach: newMean(atrPeriod), width: width}
}

func (k *keltner) run(in *market.Bars, upper, middle, lower []float64) {
	n := in.Len()
	upper, middle, lower = upper[:n], middle[:n], lower[:n]
	k.middle.run(in.Close[:n], middle)
	k.moves.run(in, upper)
	k.reach(upper, upper)
	for i, v := range middle {
		d := float64(k.width * upper[i])
		upper[i] = v + d
		lower[i] = v - d
	}
}
