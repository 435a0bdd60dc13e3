package indicator

import (
	"math"

	"github.com/ktrdr/ktrdr/market"
)

// The arithmetic that several indicators share.

func difference(x, before, out []float64) {
	before, out = before[:len(x)], out[:len(x)]
	for i, v := range x {
		out[i] = v - before[i]
	}
}

// between is the middle of two series.
func between(a, b, out []float64) {
	a, b = a[:len(out)], b[:len(out)]
	for i := range out {
		out[i] = (a[i] + b[i]) / 2
	}
}

// percentAbove is how much larger x is than base; undefined if base is 0.
func percentAbove(x, base float64) float64 {
	if base == 0 {
		return math.NaN()
	}
	return (x/base - 1) * 100
}

// moneyFlow is where each close is in its bar's range, from -1 to 1 and 0
// without range, and that times the volume.
func moneyFlow(in *market.Bars, place, flow []float64) {
	n := in.Len()
	h, l, c, v := in.High[:n], in.Low[:n], in.Close[:n], in.Volume[:n]
	place, flow = place[:n], flow[:n]
	for i := range place {
		place[i] = 0
		if width := h[i] - l[i]; width != 0 {
			place[i] = ((c[i] - l[i]) - (h[i] - c[i])) / width
		}
		flow[i] = float64(place[i] * v[i])
	}
}

// percentOf is how much part is of part and rest together; 0 if they are 0.
func percentOf(part, rest float64) float64 {
	if part+rest == 0 {
		return 0
	}
	return 100 * part / (part + rest)
}

// keep is x if it is wanted and 0 if not, without a branch: which way a price
// moves is what a processor guesses worst.
func keep(x float64, wanted bool) float64 {
	var bit uint64
	if wanted {
		bit = 1
	}
	return math.Float64frombits(math.Float64bits(x) & -bit)
}

// leastSum is where a Wilder sum of a market that stands still becomes 0. The numbers
// below it lose their last digits: multiplied by 13/14 the smallest stays as it is, and
// a sum would never end.
const leastSum = 0x1p-1022
