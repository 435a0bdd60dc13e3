package indicator

import "github.com/ktrdr/ktrdr/market"

var _ = register(Definition{
	Name: "williamsr", Params: []Param{period(14, 1, 100)}, Units: []Unit{Pure},
	Doc: "Williams %R: how far the close is below the window's highest high, in percent of the window's range, " +
		"from -100 to 0; 0 when the range is 0.",
	Follows: "TA-Lib", build: makeWilliamsR,
})

func makeWilliamsR(a Args) built {
	p := a.Int("period")
	return built{
		warm: []int{p - 1}, reads: highs | lows | closes, cost: 11, memory: 4 * p,
		start: func() machine {
			var tops, bottoms scratch
			high, low := newHighest(p), newLowest(p)
			return func(in *market.Bars, out [][]float64) {
				n := in.Len()
				top, bottom := tops.take(n), bottoms.take(n)
				high(in.High, top)
				low(in.Low, bottom)
				y := out[0][:n]
				for i, c := range in.Close[:n] {
					y[i] = 0
					if width := top[i] - bottom[i]; width != 0 {
						y[i] = 100 * (c - top[i]) / width
					}
				}
			}
		},
	}
}
