package indicator

import (
	"math"

	"github.com/ktrdr/ktrdr/market"
)

var _ = register(Definition{
	Name: "vwap",
	Params: []Param{
		{Name: "period", Kind: Int, Default: 20, Max: 200, Doc: "bars in the window; 0 means all bars so far"},
		flag("use_typical_price", true, "(high+low+close)/3 instead of the close"),
	},
	Units: []Unit{InPrice},
	Doc: "Volume-weighted average price of the last period bars, of those there are at the start of the series, " +
		"so that it is defined from the first bar on; undefined where they have no volume.",
	Follows: "reference", build: makeVWAP,
})

func makeVWAP(a Args) built {
	p, source := a.Int("period"), Close
	if a.Bool("use_typical_price") {
		source = HLC3
	}
	return built{
		warm: []int{0}, reads: source.reads() | volumes, cost: 10, memory: 4*p + 2,
		start: func() machine { return (&vwap{source: source, value: total(p), volume: total(p)}).run },
	}
}

// total begins a sum over the last period values, or over all for 0.
func total(period int) step {
	if period > 0 {
		return newOpenSum(period)
	}
	all := 0.0
	return func(x, out []float64) {
		for i, v := range x {
			all += v
			out[i] = all
		}
	}
}

type vwap struct {
	source        Source
	value, volume step
	room, weights scratch
}

func (v *vwap) run(in *market.Bars, out [][]float64) {
	n := in.Len()
	y, weights := out[0][:n], v.weights.take(n)
	for i, x := range v.source.of(in, &v.room) {
		y[i] = float64(x * in.Volume[i])
	}
	v.value(y, y)
	v.volume(in.Volume[:n], weights)
	for i, w := range weights {
		if w == 0 {
			y[i] = math.NaN()
			continue
		}
		y[i] /= w
	}
}
