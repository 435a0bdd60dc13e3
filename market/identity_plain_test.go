package market

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// plainSums is sumUp of one setting in its plain form, with all spans, closes and pieces in memory.
func plainSums(a, b *Prices, tf Timeframe, at setting, returns int) (total, best moments, alike int) {
	p := &overlay{tf: tf, a: a.all(), b: b.all()}
	var all []span
	for _, c := range closesOf(a) {
		s := span{c.time, p.instants(a.Timeframe).end(c.time), c.log}
		if tf != a.Timeframe {
			first := int64(0)
			if tf == W1 {
				first = weekend
			}
			s.start = first + floor(s.end-1-first, tf.seconds())
			s.end = s.start + tf.seconds()
		}
		if n := len(all); n > 0 && all[n-1].end == s.end {
			all[n-1].x = s.x
		} else {
			all = append(all, s)
		}
	}
	var moves []float64
	step := max(1, len(all)/sampledMoves)
	for i := step; i < len(all); i += step {
		if m := math.Abs(all[i].x - all[i-1].x); m > 0 {
			moves = append(moves, m)
		}
	}
	cut := cutMoves * middle(moves)
	finer := closesOf(b)
	for i := range finer {
		finer[i].time = p.instants(b.Timeframe).end(finer[i].time)
	}
	var pieces []moments
	var last [seasons]struct{ x, y float64 }
	var begun [seasons]bool
	was, in := season(seasons), 0
	for _, s := range all {
		now := seasonOf(floor(s.end, day))
		if in++; now != was || in > pieceSpans {
			pieces, was, in = append(pieces, moments{}), now, 1
		}
		for k := range season(seasons) { // each season has an offset of its own, and only its own pieces count
			offset := at.offset + at.clocks.extra(k)
			i, _ := slices.BinarySearchFunc(finer, s.end+1, func(c someClose, t int64) int { return int(c.time + offset - t) })
			if i == 0 || finer[i-1].time+offset <= s.start {
				continue
			}
			y, m := finer[i-1].log, &pieces[len(pieces)-1]
			if begun[k] && k == now {
				if finer[i-1].time+offset == s.end {
					m.exact++
				}
				m.add(within(s.x-last[k].x, cut), within(y-last[k].y, cut))
			}
			last[k].x, last[k].y, begun[k] = s.x, y, true
		}
	}
	var list []moments
	var joint moments
	for i := range pieces {
		total.addAll(&pieces[i])
		if joint.addAll(&pieces[i]); joint.n >= returns/32 || i == len(pieces)-1 && joint.n > 0 {
			list, joint = append(list, joint), moments{}
		}
	}
	for i, highest := 0, -1.0; i < len(list); i++ {
		var sum moments
		for k := i; k < len(list) && sum.n < returns; k++ {
			sum.addAll(&list[k])
		}
		r := math.Abs(sum.correlation())
		if sum.n < returns {
			break
		}
		if r > highest {
			highest, best = r, sum
		}
		if r >= askCorrelation {
			alike++
		}
	}
	return total, best, alike
}

// TestOverlay_IsItsPlainForm lays series over each other that are the same, scaled, shifted, in
// part the same, with bars missing and with holes of years, and other ones.
func TestOverlay_IsItsPlainForm(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		tf := rapid.SampledFrom(Timeframes).Draw(rt, "timeframe")
		bars := rapid.SampledFrom([]int{1, 60, 900, 9000}).Draw(rt, "bars")
		if tf == Mo1 || tf == W1 {
			bars = min(bars, 900)
		}
		b := from2015(tf, bars, rapid.Uint64Range(1, 1000).Draw(rt, "seed"))
		hole := rapid.SampledFrom([]int64{0, 0, 400 * week}).Draw(rt, "hole")
		if tf == Mo1 {
			hole = 0
		}
		from, until := rapid.IntRange(0, bars).Draw(rt, "from"), rapid.IntRange(0, bars).Draw(rt, "until")
		foreign := rapid.IntRange(0, bars).Draw(rt, "foreign")
		scale := rapid.SampledFrom([]float64{1, 1, 3.7}).Draw(rt, "scale")
		every := rapid.SampledFrom([]int{0, 0, 7, 300}).Draw(rt, "missing every")
		other := from2015(tf, bars, 1001)
		copied := altered(b, func(i int, at int64, c float64) (int64, float64) {
			if i < min(from, until) || every > 0 && i%every == 0 {
				return 0, 0
			}
			if i < foreign {
				c = other.Close[i]
			}
			return at, c * scale
		})
		half := b.Time[bars/2]
		for _, x := range []*Bars{b, copied} {
			for i := range x.Time {
				if x.Time[i] >= half {
					x.Time[i] += hole
				}
			}
		}
		if finer := rapid.SampledFrom(Timeframes).Draw(rt, "of the coarser"); finer.MadeOf(tf) {
			b = resampled(t, b, finer)
		}
		x, y := NewPrices(b), NewPrices(copied)
		if x.Len() != b.Len() || y.Len() != copied.Len() {
			rt.Fatalf("%d and %d closes, want %d and %d", x.Len(), y.Len(), b.Len(), copied.Len())
		}
		rules := allClocks()
		at := setting{rapid.Int64Range(-60, 60).Draw(rt, "offset") * offsetStep, rapid.SampledFrom(rules).Draw(rt, "clocks")}
		returns := rapid.SampledFrom([]int{thinReturns, sameReturns}).Draw(rt, "returns")
		of := b.Timeframe
		if of.seconds() > 0 && of.seconds() < week {
			of = rapid.SampledFrom([]Timeframe{of, W1}).Draw(rt, "spans")
		}
		all := []setting{at, {0, at.clocks}, {}}
		for i, got := range newOverlay(x.all(), y.all(), of).sumUp(all, len(all), returns) {
			total, part, alike := plainSums(x, y, of, all[i], returns)
			if got.total != total || got.part != part || got.alike != alike {
				rt.Fatalf("%v: %+v, %+v and %d, want %+v, %+v and %d", all[i], got.total, got.part, got.alike, total, part, alike)
			}
		}
	})
}
