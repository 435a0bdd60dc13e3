package quality

import (
	"math"
	"slices"

	"github.com/ktrdr/ktrdr/market"
)

const (
	// blockBars is how many bars share one scale: about ten days of hours, a
	// year of days. A median over fewer moves with the tails.
	blockBars = 256
	// hourSamples is how many moves decide what is usual at an hour of the week.
	hourSamples = 400
	hoursOfWeek = 7 * 24
	// gapSamples is how many openings decide how far prices usually open from the last close.
	gapSamples = 8192
)

// scales says how far prices usually move.
type scales struct {
	block []float64            // median move of each block, and the largest of its neighbours
	usual float64              // of all blocks
	hour  [hoursOfWeek]float64 // moves at an hour of the week, relative to their blocks
	gap   [2]float64           // usual step from a close to the next opening: within a session, after a break
	width float64              // usual range of a bar, relative to its block
	spike float64              // moves from which a close that comes back is a spike
	tick  float64              // smallest step of prices that was seen
}

// size is the distance of two prices as a share of the smaller one, so that a
// fall and the rise that undoes it are equally large.
func size(a, b float64) float64 {
	if a > b {
		a, b = b, a
	}
	return (b - a) / a
}

// measure fills the scales.
func (j *judge) measure() {
	b, s := j.bars, &j.scale
	n := (b.Len() + blockBars - 1) / blockBars
	s.block = make([]float64, n)
	moves := make([]float64, 0, blockBars)
	for at := range b.Places(0, b.Len(), blockBars) {
		k := at / blockBars
		moves = moves[:0]
		for i := max(1, at); i < min(b.Len(), at+blockBars); i++ {
			if p, c := b.Close[i-1], b.Close[i]; p != c {
				moves = append(moves, size(p, c))
			}
		}
		if len(moves) >= 8 {
			s.block[k] = median(moves)
		}
	}
	s.fill()
	s.ticks(b)
	j.measureHours()
	j.measureGaps()
}

// fill gives blocks without a scale the usual one, and each the largest of its
// neighbours: a block that turmoil begins in is judged by the turmoil.
func (s *scales) fill() {
	known := slices.DeleteFunc(slices.Clone(s.block), func(v float64) bool { return v == 0 })
	s.usual = 1e-4
	if len(known) > 0 {
		s.usual = median(known)
	}
	own := slices.Clone(s.block)
	for k := range own {
		if own[k] == 0 {
			own[k] = s.usual
		}
	}
	for k := range s.block {
		s.block[k] = slices.Max(own[max(0, k-1):min(len(own), k+2)])
	}
}

func (s *scales) at(i int) float64 { return s.block[i/blockBars] }

// ticks finds the smallest step between closes, over an even sample of them.
func (s *scales) ticks(b *market.Bars) {
	stride := max(1, b.Len()/20_000)
	for i := range b.Places(stride, b.Len(), stride) {
		if d := math.Abs(b.Close[i] - b.Close[i-1]); d > 0 && (s.tick == 0 || d < s.tick) {
			s.tick = d
		}
	}
}

// measureHours learns how large moves and ranges are at each hour of the week.
func (j *judge) measureHours() {
	b, s := j.bars, &j.scale
	for h := range s.hour {
		s.hour[h] = 1
	}
	samples := make([][]float64, hoursOfWeek)
	var widths, tails []float64
	stride := max(1, b.Len()/(hoursOfWeek*hourSamples))
	if stride%2 == 0 {
		stride++ // an even stride could miss hours
	}
	for i := range b.Places(stride, b.Len(), stride) {
		scale := s.at(i)
		if m := size(b.Close[i-1], b.Close[i]); m > 0 && j.intraday() {
			h := ofWeek(b.Time[i]) / 3600
			samples[h] = append(samples[h], m/scale)
		}
		tails = append(tails, size(b.Close[i-1], b.Close[i])/scale)
		if len(widths) < gapSamples {
			widths = append(widths, size(b.Low[i], b.High[i])/scale)
		}
	}
	s.width = max(1, median(widths))
	s.spike = min(spikeMost, max(spikeClose, 2*nth(tails, len(tails)*999/1000)))
	for h, x := range samples {
		if len(x) >= 8 {
			s.hour[h] = max(0.5, min(10, median(x)))
		}
	}
}

// measureGaps learns how far from the last close a bar opens.
func (j *judge) measureGaps() {
	var gaps [2][]float64
	b := j.bars
	stride := max(1, b.Len()/(40*gapSamples))
	for i := range b.Places(stride, b.Len(), stride) {
		kind := j.after(i)
		if len(gaps[kind]) < gapSamples {
			gaps[kind] = append(gaps[kind], size(b.Close[i-1], b.Open[i])/j.scale.at(i))
		}
	}
	for kind, x := range gaps {
		if len(x) > 0 {
			j.scale.gap[kind] = median(x)
		}
	}
}

// after is 1 for the first bar after a break, and 0 for one in a session. Each
// daily or longer bar comes after a break.
func (j *judge) after(i int) int {
	if j.intraday() && j.bars.Time[i]-j.bars.Time[i-1] <= j.step {
		return 0
	}
	return 1
}

// move is how many usual moves of its time the distance of two prices at bar i is.
func (j *judge) move(i int, distance float64) float64 {
	usual := j.scale.at(i)
	if j.intraday() {
		usual *= j.scale.hour[ofWeek(j.bars.Time[i])/3600]
	}
	return distance / max(usual, j.scale.tick/(2*j.bars.Close[i]))
}

// opening is how many usual steps from a close to an opening a distance at bar i is.
func (j *judge) opening(i int, distance float64) float64 {
	return distance / (j.scale.at(i) * max(0.5, j.scale.gap[j.after(i)]))
}

// median reorders x.
func median(x []float64) float64 {
	if len(x) == 0 {
		return 0
	}
	return nth(x, len(x)/2)
}

// nth is the k-th smallest of x, by quickselect with the middle as pivot.
func nth(x []float64, k int) float64 {
	lo, hi := 0, len(x)-1
	for lo < hi {
		pivot := x[(lo+hi)/2]
		i, j := lo, hi
		for i <= j {
			for x[i] < pivot {
				i++
			}
			for x[j] > pivot {
				j--
			}
			if i <= j {
				x[i], x[j] = x[j], x[i]
				i++
				j--
			}
		}
		switch {
		case k <= j:
			hi = j
		case k >= i:
			lo = i
		default:
			return x[k]
		}
	}
	return x[k]
}
