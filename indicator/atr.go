package indicator

import "github.com/ktrdr/ktrdr/market"

var _ = register(Definition{
	Name: "atr", Params: []Param{period(14, 1, 100)}, Units: []Unit{InPrice},
	Doc: "Average true range, smoothed as Wilder does: begun with the mean of the true ranges of the bars 1 to period, " +
		"then (before*(period-1)+new)/period. The first bar has no true range, for it has no close before it.",
	Follows: "TA-Lib", build: makeATR,
})

func makeATR(a Args) built {
	p := a.Int("period")
	return built{
		warm: []int{p}, reads: highs | lows | closes, cost: 4, memory: 8,
		start: func() machine {
			mean := newWilder(p)
			mean.lead = 1
			return (&atr{mean: mean}).run
		},
	}
}

type atr struct {
	before float64 // the close of the bar before
	mean   ema
}

func (r *atr) run(in *market.Bars, out [][]float64) {
	n := in.Len()
	h, l, c, y := in.High[:n], in.Low[:n], in.Close[:n], out[0][:n]
	i := 0
	for ; i < n && !r.mean.begun(); i++ {
		y[i] = r.mean.next(reach(h[i], l[i], r.before))
		r.before = c[i]
	}
	before, value, near, far := r.before, r.mean.value, r.mean.near, r.mean.far
	for ; i < n; i++ {
		value = float64(far*value) + float64(near*reach(h[i], l[i], before))
		before = c[i]
		y[i] = value
	}
	r.before, r.mean.value = before, value
}

// trueRange is how far the price went since the close before: the bar's range,
// stretched over the gap if there was one. The first bar has its range only.
type trueRange struct {
	begun bool
	close float64 // of the bar before
}

// run takes the next bars.
func (t *trueRange) run(in *market.Bars, out []float64) {
	n := in.Len()
	h, l, c := in.High[:n], in.Low[:n], in.Close[:n]
	before := t.close
	if !t.begun {
		t.begun = true
		before = l[0]
	}
	out = out[:n]
	for i := range out {
		out[i] = reach(h[i], l[i], before)
		before = c[i]
	}
	t.close = before
}

// reach is the range of a bar that includes the close before it.
func reach(high, low, before float64) float64 {
	if before > high {
		high = before
	}
	if before < low {
		low = before
	}
	return high - low
}
