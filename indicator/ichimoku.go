package indicator

import "github.com/ktrdr/ktrdr/market"

var _ = register(Definition{
	Name: "ichimoku",
	Params: []Param{
		length("tenkan_period", 9, 1, 50, "bars of the conversion line"),
		length("kijun_period", 26, 1, 100, "bars of the base line"),
		length("senkou_b_period", 52, 1, 200, "bars of the second leading span"),
		length("displacement", 0, 0, 100, "bars by which the leading spans stand later than they were computed"),
	},
	Outputs: []string{"tenkan", "kijun", "senkou_a", "senkou_b", "chikou"},
	Units:   []Unit{InPrice, InPrice, InPrice, InPrice, InPrice},
	Doc: "Ichimoku: middles between highest high and lowest low of three windows; senkou_a is the middle of tenkan and kijun. " +
		"Unless displacement moves senkou_a and senkou_b to later bars, every line stands on the bar it was computed from; " +
		"chikou always does and so is the close itself, for moving it back would show a bar its future.",
	Follows: "reference", build: makeIchimoku,
})

func makeIchimoku(a Args) built {
	t, k, b := a.Int("tenkan_period"), a.Int("kijun_period"), a.Int("senkou_b_period")
	late := a.Int("displacement")
	return built{
		warm: []int{t - 1, k - 1, max(t, k) - 1 + late, b - 1 + late, 0}, reads: highs | lows | closes,
		cost: 25, memory: 4 * (t + k + b + late),
		start: func() machine {
			tenkan, kijun, senkou := newMiddle(t), newMiddle(k), newMiddle(b)
			pastA, pastB := newHistory(late), newHistory(late)
			return func(in *market.Bars, out [][]float64) {
				tenkan.run(in, out[0])
				kijun.run(in, out[1])
				between(out[0], out[1], out[2])
				senkou.run(in, out[3])
				copy(out[2], pastA.extend(out[2]))
				copy(out[3], pastB.extend(out[3]))
				copy(out[4], in.Close)
			}
		},
	}
}

// middle is the middle of a window's range.
type middle struct {
	high, low step
	bottom    scratch
}

func newMiddle(length int) middle {
	return middle{high: newHighest(length), low: newLowest(length)}
}

func (m *middle) run(in *market.Bars, out []float64) {
	bottom := m.bottom.take(in.Len())
	m.high(in.High, out)
	m.low(in.Low, bottom)
	between(out, bottom, out)
}
