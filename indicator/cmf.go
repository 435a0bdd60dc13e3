package indicator

import "github.com/ktrdr/ktrdr/market"

var _ = register(Definition{
	Name: "cmf", Params: []Param{period(21, 2, 500)},
	Outputs: []string{"cmf", "mf_multiplier", "mf_volume", "momentum", "signal", "histogram", "above_zero", "below_zero"},
	Units:   []Unit{Pure, Pure, InVolume, Pure, Pure, Pure, Pure, Pure},
	Doc: "Chaikin money flow: mf_volume over volume, each summed over the window, 0 without volume. " +
		"mf_multiplier is where the close is in the bar's range, from -1 to 1 (0 without range), mf_volume is that times the volume, " +
		"momentum the difference over 5 bars, signal an exponential mean of span 9 begun with the first value, " +
		"histogram cmf less signal, above_zero and below_zero 1 or 0.",
	Follows: "reference", build: makeCMF,
})

func makeCMF(a Args) built {
	p := a.Int("period")
	return built{
		warm:  []int{p - 1, 0, 0, p + 4, p - 1, p - 1, p - 1, p - 1},
		reads: highs | lows | closes | volumes, cost: 20, memory: 4*p + 20,
		start: func() machine {
			return (&cmf{flow: newSum(p), volume: newSum(p), past: newHistory(5), signal: newEWM(9, p-1)}).run
		},
	}
}

type cmf struct {
	flow, volume step
	past         history
	signal       ema
	volumes      scratch
}

func (c *cmf) run(in *market.Bars, out [][]float64) {
	n := in.Len()
	y, momentum, signal, histogram := out[0][:n], out[3][:n], out[4][:n], out[5][:n]
	moneyFlow(in, out[1], out[2])
	c.flow(out[2][:n], y)
	total := c.volumes.take(n)
	c.volume(in.Volume[:n], total)
	for i, v := range total {
		if v == 0 {
			y[i] = 0
			continue
		}
		y[i] /= v
	}
	difference(y, c.past.extend(y), momentum)
	c.signal.run(y, signal)
	difference(y, signal, histogram)
	above, below := out[6][:n], out[7][:n]
	for i, v := range y {
		above[i], below[i] = sides(v)
	}
}

// sides says on which side of zero x is.
func sides(x float64) (above, below float64) {
	switch {
	case x > 0:
		return 1, 0
	case x < 0:
		return 0, 1
	default:
		return x - x, x - x // 0, or NaN for NaN
	}
}
