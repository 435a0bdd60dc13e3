package indicator

import "math"

// block is how a window moves over a series without ever taking a value out.
//
// The series is cut into blocks as long as the window. A window then is the end
// of one block and the beginning of the next, and each part is kept as a total:
//
//	          block before       this block
//	        ┌────────────────┐ ┌────────────────┐
//	values   x  x  x  x  x  x   x  x  x  ·  ·  ·
//	window            └────────────────┘
//	                   suffix    total
//
// The totals towards the end of a block are made once, when it is full; the one
// from its beginning grows with every value. A total may be a sum, a maximum,
// or a sum of squares. Nothing is subtracted, so nothing drifts, a NaN or a
// huge value is gone when it leaves, and a bar costs the same for any length.
//
// Before the first block is full the totals of "the block before" are NaN, so
// the window has no value until it is full.
type block struct {
	at     int       // values in this block
	values []float64 // this block, and from at on what is left of the block before
	suffix []float64 // suffix[i]: total of the block before from i to its end
}

// newBlock begins a series; none is the total of no values.
func newBlock(length int, none float64) block {
	b := block{values: make([]float64, length), suffix: make([]float64, length+1)}
	undefined(b.suffix)
	b.suffix[length] = none
	return b
}

// room is how many of n values still go into this block.
func (b *block) room(n int) int { return min(n, len(b.values)-b.at) }

type sum struct {
	block
	total float64
}

func newSum(length int) step { return (&sum{block: newBlock(length, 0)}).run }

// newOpenSum is a sum that has a value from the first bar on, over fewer values until there are enough.
func newOpenSum(length int) step {
	s := &sum{block: newBlock(length, 0)}
	clear(s.suffix)
	return s.run
}

func (s *sum) run(x, out []float64) {
	out = out[:len(x)]
	for len(x) > 0 {
		if s.at == len(s.values) {
			s.turn()
		}
		n := s.room(len(x))
		total := s.total
		suffix, values := s.suffix[s.at+1:][:n], s.values[s.at:][:n]
		for i, v := range x[:n] {
			values[i] = v
			total += v
			out[i] = total + suffix[i]
		}
		s.total = total
		s.at += n
		x, out = x[n:], out[n:]
	}
}

func (s *sum) turn() {
	s.at, s.total = 0, 0
	total := 0.0
	suffix := s.suffix[:len(s.values)]
	for i := len(suffix) - 1; i > 0; i-- {
		total += s.values[i]
		suffix[i] = total
	}
}

// mean is the mean of the last values. It adds up distances from an anchor, the
// first value of the block, which every window of that block holds: the mean of
// equal values is that value exactly.
type mean struct {
	block
	anchor, total float64
	share         float64 // 1 / length
}

func newMean(length int) step {
	if length <= shortest {
		return newShortMean(length)
	}
	return (&mean{block: newBlock(length, 0), share: 1 / float64(length)}).run
}

func (m *mean) run(x, out []float64) {
	out = out[:len(x)]
	for len(x) > 0 {
		if m.at == len(m.values) {
			m.turn(x[0])
		}
		if m.at == 0 {
			m.anchor = x[0]
		}
		n := m.room(len(x))
		anchor, total, share := m.anchor, m.total, m.share
		suffix, values := m.suffix[m.at+1:][:n], m.values[m.at:][:n]
		for i, v := range x[:n] {
			values[i] = v
			total += v - anchor
			out[i] = anchor + float64((total+suffix[i])*share)
		}
		m.total = total
		m.at += n
		x, out = x[n:], out[n:]
	}
}

func (m *mean) turn(anchor float64) {
	m.at, m.total = 0, 0
	total := 0.0
	suffix := m.suffix[:len(m.values)]
	for i := len(suffix) - 1; i > 0; i-- {
		total += m.values[i] - anchor
		suffix[i] = total
	}
}

// shortest is the longest window whose mean is summed again for every value:
// that takes less time than keeping blocks.
const shortest = 4

func newShortMean(length int) step {
	past, share := newHistory(length-1), 1/float64(length)
	return func(x, out []float64) {
		window := past.extend(x)
		out = out[:len(x)]
		for i, v := range x {
			total := 0.0
			for _, w := range window[i : i+length-1] {
				total += w - v
			}
			out[i] = v + float64(total*share)
		}
	}
}

// moments are mean and standard deviation of the last values, from sums of distances
// from an anchor and of their squares. As the anchor is one of the values, the
// squares add up to no more than length+1 times the squares around the mean: the
// difference that makes the variance loses little and cannot come out negative.
type moments struct {
	block
	squares         []float64 // as suffix, of the squares
	anchor          float64
	total, square   float64
	share, shareDev float64 // 1 / length, and 1 over the divisor of the variance
}

// newMoments divides the variance by length less lost.
func newMoments(length, lost int) moments {
	b := newBlock(length, 0)
	return moments{
		block: b, squares: append([]float64(nil), b.suffix...),
		share: 1 / float64(length), shareDev: 1 / float64(length-lost),
	}
}

// run takes the next values.
func (m *moments) run(x, means, deviations []float64) {
	means, deviations = means[:len(x)], deviations[:len(x)]
	for len(x) > 0 {
		if m.at == len(m.values) {
			m.turn(x[0])
		}
		if m.at == 0 {
			m.anchor = x[0]
		}
		n := m.room(len(x))
		anchor, total, square := m.anchor, m.total, m.square
		suffix, squares, values := m.suffix[m.at+1:][:n], m.squares[m.at+1:][:n], m.values[m.at:][:n]
		for i, v := range x[:n] {
			values[i] = v
			d := v - anchor
			total += d
			square += float64(d * d)
			t := total + suffix[i]
			off := float64(t * m.share)
			means[i] = anchor + off
			variance := square + squares[i] - float64(t*off)
			deviations[i] = math.Sqrt(variance * m.shareDev)
		}
		m.total, m.square = total, square
		m.at += n
		x, means, deviations = x[n:], means[n:], deviations[n:]
	}
}

func (m *moments) turn(anchor float64) {
	m.at, m.total, m.square = 0, 0, 0
	total, square := 0.0, 0.0
	suffix := m.suffix[:len(m.values)]
	squares := m.squares[:len(suffix)]
	for i := len(suffix) - 1; i > 0; i-- {
		d := m.values[i] - anchor
		total += d
		square += float64(d * d)
		suffix[i], squares[i] = total, square
	}
}
