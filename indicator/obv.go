package indicator

import (
	"math"

	"github.com/ktrdr/ktrdr/market"
)

var _ = register(Definition{
	Name: "obv", Units: []Unit{InVolume},
	Doc:     "On-balance volume: begun with the first bar's volume, which is added when the close rises and taken off when it falls.",
	Follows: "TA-Lib", build: makeOBV,
})

func makeOBV(Args) built {
	return built{
		warm: []int{0}, reads: closes | volumes, cost: 5, memory: 2,
		start: func() machine {
			balance, before := 0.0, math.Inf(-1) // the first close counts as a rise
			return func(in *market.Bars, out [][]float64) {
				n := in.Len()
				volume, y := in.Volume[:n], out[0][:n]
				for i, c := range in.Close[:n] {
					balance += keep(volume[i], c > before) - keep(volume[i], c < before)
					before = c
					y[i] = balance
				}
			}
		},
	}
}
