package indicator

import "github.com/ktrdr/ktrdr/market"

var _ = register(Definition{
	Name: "adline",
	Params: []Param{
		flag("use_sma_smoothing", false, "whether line is smoothed by a simple mean"),
		length("smoothing_period", 21, 2, 200, "bars of that mean"),
	},
	Outputs: []string{"line", "mf_multiplier", "mf_volume", "roc_10", "momentum_21", "relative_strength"},
	Units:   []Unit{InVolume, Pure, InVolume, Pure, InVolume, Pure},
	Doc: "Accumulation/distribution line: the running total of mf_volume, which is mf_multiplier, " +
		"where the close is in the bar's range from -1 to 1 (0 without range), times the volume. " +
		"Of the line before smoothing: roc_10 is its change over 10 bars in percent, momentum_21 its difference over 21 bars, " +
		"relative_strength its distance in percent from its mean over 50 bars (from 20 on); undefined where they divide by 0. " +
		"TA-Lib defines the line, the reference the rest.",
	Follows: "TA-Lib", build: makeADLine,
})

func makeADLine(a Args) built {
	smoothing := 1
	if a.Bool("use_sma_smoothing") {
		smoothing = a.Int("smoothing_period")
	}
	return built{
		warm:  []int{smoothing - 1, 0, 0, 10, 21, strengthFrom - 1},
		reads: highs | lows | closes | volumes, cost: 24, memory: 2*smoothing + 200,
		start: func() machine {
			x := adLine{
				ago10: newHistory(10), ago21: newHistory(21), recent: newOpenSum(strengthOver),
				hidden: strengthFrom - 1, smooth: newMean(smoothing),
			}
			return x.run
		},
	}
}

// relative_strength compares with the mean over that number of bars, once there are as many.
const (
	strengthOver = 50
	strengthFrom = 20
)

type adLine struct {
	total        float64
	ago10, ago21 history
	recent       step
	seen         int  // bars in the sum
	hidden       lead // bars before the sum has enough
	smooth       step
	sums         scratch
}

func (x *adLine) run(in *market.Bars, out [][]float64) {
	n := in.Len()
	line, roc, momentum, strong := out[0][:n], out[3][:n], out[4][:n], out[5][:n]
	moneyFlow(in, out[1], out[2])
	for i, v := range out[2][:n] {
		x.total += v
		line[i] = x.total
	}
	old := x.ago10.extend(line)[:n]
	for i, v := range line {
		roc[i] = percentAbove(v, old[i])
	}
	difference(line, x.ago21.extend(line), momentum)

	sums := x.sums.take(n)
	x.recent(line, sums)
	for i, v := range line {
		x.seen = min(x.seen+1, strengthOver)
		strong[i] = percentAbove(v, sums[i]/float64(x.seen))
	}
	undefined(strong[:x.hidden.skip(n)])
	x.smooth(line, line)
}
