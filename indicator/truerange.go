package indicator

import "github.com/ktrdr/ktrdr/market"

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
