package indicator

import "github.com/ktrdr/ktrdr/market"

var _ = register(Definition{
	Name:    "donchianchannels",
	Params:  []Param{period(20, 2, 500), flag("include_middle", true, "whether there is the output middle")},
	Outputs: []string{"upper", "middle", "lower"}, Units: []Unit{InPrice, InPrice, InPrice},
	Doc:     "Donchian channels: highest high and lowest low of the window, and the middle between them.",
	Follows: "reference", build: makeDonchian,
})

func makeDonchian(a Args) built {
	p := a.Int("period")
	x := built{
		outputs: []string{"upper", "lower"}, warm: []int{p - 1, p - 1}, reads: highs | lows, cost: 8, memory: 4 * p,
		start: func() machine {
			high, low := newHighest(p), newLowest(p)
			return func(in *market.Bars, out [][]float64) {
				high(in.High, out[0])
				low(in.Low, out[len(out)-1])
				if len(out) == 3 {
					between(out[0], out[2], out[1])
				}
			}
		},
	}
	if a.Bool("include_middle") {
		x.outputs, x.warm = []string{"upper", "middle", "lower"}, []int{p - 1, p - 1, p - 1}
	}
	return x
}
