package market

import (
	"math"
	"slices"
)

// overlay is two series to be laid over each other: the coarser one in spans,
// which reach from one instant, excluded, to another, and the finer one. Both are read
// from their beginning to their end, and never are whole in memory.
type overlay struct {
	tf   Timeframe
	a, b part
	cut  float64 // the largest return that counts in full, of either series
}

// pieceSpans is the largest number of spans in a piece. A piece lies in one
// season. Parts of a series are made of whole pieces.
const pieceSpans = 64

// cutMoves: a return counts as at most this many usual ones of the coarser
// series. Copies have moves of one size, so that both are cut alike.
const cutMoves = 10

// newOverlay lays out a, the coarser series, in spans of tf, and b beside it.
func newOverlay(a, b part, tf Timeframe) *overlay {
	p := &overlay{tf: tf, a: a, b: b}
	p.cut = cutMoves * p.usualMove()
	return p
}

// usualMove is that of Bars, of the last closes of the spans.
func (p *overlay) usualMove() float64 {
	n := 0
	for s := p.spans(); s.next(); {
		n++
	}
	step := max(1, n/sampledMoves)
	var moves []float64
	i, before := 0, 0.0
	for s := p.spans(); s.next(); i++ {
		if i > 0 && i%step == 0 {
			if m := math.Abs(s.x - before); m > 0 {
				moves = append(moves, m)
			}
		}
		before = s.x
	}
	return middle(moves)
}

// weekend is 18:00 on the first Saturday of 1970. Most markets are closed then in every
// zone. A short last day of the week opens before it, and a short first day after it.
const weekend = 2*day + 18*hour

// instants gives the calendar that places a bar by its opening. Bars are placed
// by their closes. Only the weeks that hold shorter bars are made of the bars
// that open in them, since a last day may close after the weekend by its name.
func (p *overlay) instants(of Timeframe) calendar {
	if p.tf == W1 && of != W1 {
		return calendar{length: 1} // spans exclude their beginning and include their end
	}
	return of.calendar()
}

// span is a bar of the coarser series, or a longer span that holds some.
type span struct {
	start, end int64
	x          float64 // logarithm of its last close
}

// spans reads the spans of an overlay one after the other.
type spans struct {
	span

	closes *closes
	block  []someClose
	at     calendar
	joined bool  // spans may hold several bars
	first  int64 // where the first span of all times begins
	length int64
	ahead  span
	begun  bool
}

func (p *overlay) spans() *spans {
	s := &spans{closes: p.a.closes(), at: p.instants(p.a.Timeframe), joined: p.tf != p.a.Timeframe, length: p.tf.seconds()}
	if p.tf == W1 {
		s.first = weekend
	}
	return s
}

// next reads a span, and tells whether there was one.
func (s *spans) next() bool {
	for {
		if len(s.block) == 0 {
			if s.block = s.closes.next(); len(s.block) == 0 {
				s.span = s.ahead
				was := s.begun
				s.begun = false
				return was
			}
		}
		c := s.block[0]
		s.block = s.block[1:]
		now := span{c.time, s.at.end(c.time), c.log}
		if s.joined {
			now.start = s.first + floor(now.end-1-s.first, s.length)
			now.end = now.start + s.length
		}
		was := s.ahead
		if s.begun && was.end == now.end {
			s.ahead.x = now.x
			continue
		}
		s.ahead = now
		if s.begun {
			s.span = was
			return true
		}
		s.begun = true
	}
}

// sums is what the shared returns of an overlay come to in a setting.
type sums struct {
	total moments
	part  moments // the most alike part of some of the returns in a row; empty where fewer are shared
	alike int     // parts that are alike

	setting setting
	scans   [seasons]*scan
	returns int // of a part; 0: parts are not looked at
	highest float64
	joint   moments   // pieces joined until they have some of the returns
	list    []moments // those joined before, from which a part may begin
	sum     moments   // of them
}

// sumUp sums up the shared returns in each of some settings, and of the first few of them
// also those of parts of that number of returns.
func (p *overlay) sumUp(settings []setting, few, returns int) []sums {
	w := p.window(settings)
	all := make([]sums, len(settings))
	for i, s := range settings {
		all[i] = sums{setting: s, highest: -1}
		if i < few {
			all[i].returns = returns
		}
		for k := range season(seasons) {
			all[i].scans[k] = w.byOffset[s.offset+s.clocks.extra(k)]
		}
	}
	for w.fill() {
		for _, s := range w.scans {
			s.lay(w)
		}
		for i := range all {
			all[i].take(w.seasonOf)
		}
	}
	for i := range all {
		if t := &all[i]; t.returns > 0 && t.joint.n > 0 {
			t.join()
		}
	}
	return all
}

// take adds up the pieces of a window.
func (t *sums) take(seasonOf []season) {
	for i, s := range seasonOf {
		m := &t.scans[s].sums[i]
		t.total.addAll(m)
		if t.returns == 0 {
			continue
		}
		if t.joint.addAll(m); t.joint.n >= t.returns/32 {
			t.join()
		}
	}
}

// join ends some pieces that are joined. Parts begin and end with them, and overlap.
func (t *sums) join() {
	t.list = append(t.list, t.joint)
	t.sum.addAll(&t.joint)
	t.joint = moments{}
	for t.sum.n >= t.returns {
		r := math.Abs(t.sum.correlation())
		if r > t.highest {
			t.highest, t.part = r, t.sum
		}
		if r >= askCorrelation {
			t.alike++
		}
		t.list, t.sum = slices.Delete(t.list, 0, 1), moments{}
		for k := 0; k < len(t.list) && t.sum.n < t.returns; k++ {
			t.sum.addAll(&t.list[k])
		}
	}
}

// within is v where it lies between -limit and limit, else the nearer of them.
func within(v, limit float64) float64 { return max(-limit, min(limit, v)) }

type moments struct {
	n                int
	exact            int // returns whose last closes fall on the same instant
	x, y, xx, yy, xy float64
}

func (m *moments) add(x, y float64) {
	m.n++
	m.x += x
	m.y += y
	m.xx += float64(x * x)
	m.yy += float64(y * y)
	m.xy += float64(x * y)
}

func (m *moments) addAll(o *moments) {
	m.n += o.n
	m.exact += o.exact
	m.x += o.x
	m.y += o.y
	m.xx += o.xx
	m.yy += o.yy
	m.xy += o.xy
}

// correlation is Pearson's; 0 where one side does not move.
func (m moments) correlation() float64 {
	if m.n == 0 {
		return 0
	}
	n := float64(m.n)
	xx := m.xx - float64(m.x*m.x)/n
	yy := m.yy - float64(m.y*m.y)/n
	xy := m.xy - float64(m.x*m.y)/n
	if xx <= 0 || yy <= 0 {
		return 0
	}
	return max(-1, min(1, xy/(math.Sqrt(xx)*math.Sqrt(yy))))
}
