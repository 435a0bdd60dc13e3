package indicator

import (
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/num"
)

var _ = register(Definition{
	Name:    "fishertransform",
	Params:  []Param{period(10, 2, 100), length("smoothing", 3, 1, 20, "span of the exponential mean")},
	Outputs: []string{"fisher", "signal"}, Units: []Unit{Pure, Pure},
	Doc: "Fisher transform: where the bar's midpoint is in the window's range, from -1 to 1 (0 when the range is 0) " +
		"and kept inside 0.999, made 0.5 ln((1+x)/(1-x)) and smoothed by an exponential mean begun with the first value. " +
		"The signal is the value one bar before.",
	Follows: "reference", build: makeFisher,
})

func makeFisher(a Args) built {
	p, smoothing := a.Int("period"), a.Int("smoothing")
	return built{
		warm: []int{p - 1, p}, reads: highs | lows, cost: 44, memory: 4*p + 8,
		start: func() machine {
			f := fisher{high: newHighest(p), low: newLowest(p), smooth: newEWM(smoothing, p-1), past: newHistory(1)}
			return f.run
		},
	}
}

type fisher struct {
	high, low            step
	smooth               ema
	past                 history
	middle, tops, bottom scratch
}

func (f *fisher) run(in *market.Bars, out [][]float64) {
	n := in.Len()
	top, bottom := f.tops.take(n), f.bottom.take(n)
	f.high(in.High, top)
	f.low(in.Low, bottom)
	y := out[0][:n]
	for i, middle := range midpoints(in, &f.middle) {
		x := 0.0
		if width := top[i] - bottom[i]; width != 0 {
			x = 2*(middle-bottom[i])/width - 1
		}
		x = min(max(x, -0.999), 0.999)
		y[i] = 0.5 * num.Log((1+x)/(1-x))
	}
	f.smooth.run(y, y)
	copy(out[1], f.past.extend(y)[:n])
}
