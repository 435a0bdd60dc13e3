package market

import "math"

// overlay is two series made ready to be laid over each other: the spans of the
// coarser one and the closes of the finer one.
type overlay struct {
	tf    Timeframe
	start []int64 // a span reaches from start, excluded, to end
	end   []int64
	x     []float64 // logarithm of the last close of each span
	at    []int64   // closing instants of the finer series
	y     []float64 // logarithms of its closes
	cut   float64   // the largest return that counts in full, of either series

	piece    []int    // the piece to which each span belongs
	seasonOf []season // of each piece
}

// pieceSpans is the largest number of spans in a piece. A piece lies in one
// season. Parts of a series are made of whole pieces.
const pieceSpans = 64

// cutMoves: a return counts as at most this many usual ones of the coarser
// series. Copies have moves of one size, so that both are cut alike.
const cutMoves = 10

// newOverlay lays out a, the coarser series, in spans of tf, and b beside it.
func newOverlay(a, b *Prices, tf Timeframe) *overlay {
	p := &overlay{tf: tf}
	p.spans(a)
	p.closes(b)
	p.pieces()
	p.cut = cutMoves * usualMove(p.x)
	return p
}

// weekend is 18:00 on the first Saturday of 1970. Most markets are closed then in every
// zone. A short last day of the week opens before it, and a short first day after it.
const weekend = 2*day + 18*hour

// instants gives the function that places a bar by its opening. Bars are placed
// by their closes. Only the weeks that hold shorter bars are made of the bars
// that open in them, since a last day may close after the weekend by its name.
func (p *overlay) instants(of Timeframe) func(t int64) int64 {
	if p.tf == W1 && of != W1 {
		return func(t int64) int64 { return t + 1 } // spans exclude their beginning and include their end
	}
	return of.calendar().end
}

// spans takes the bars of the coarser series, or longer spans that hold them.
func (p *overlay) spans(a *Prices) {
	at, unit := p.instants(a.Timeframe), math.Ldexp(1, -int(a.digits))
	length, first := p.tf.seconds(), int64(0)
	if p.tf == W1 {
		first = weekend
	}
	for i, t := range a.time {
		start, end := t, at(t)
		if p.tf != a.Timeframe {
			start = first + floor(end-1-first, length)
			end = start + length
		}
		x := float64(float64(a.log[i]) * unit)
		if n := len(p.end); n > 0 && p.end[n-1] == end {
			p.x[n-1] = x
			continue
		}
		p.start, p.end, p.x = append(p.start, start), append(p.end, end), append(p.x, x)
	}
}

func (p *overlay) closes(b *Prices) {
	at, unit := p.instants(b.Timeframe), math.Ldexp(1, -int(b.digits))
	p.at, p.y = make([]int64, b.Len()), make([]float64, b.Len())
	for i, t := range b.time {
		p.at[i], p.y[i] = at(t), float64(float64(b.log[i])*unit)
	}
}

func (p *overlay) pieces() {
	p.piece = make([]int, len(p.end))
	spans := 0
	for i, s := range seasonsAt(p.end) {
		if n := len(p.seasonOf); n == 0 || p.seasonOf[n-1] != s || spans == pieceSpans {
			p.seasonOf, spans = append(p.seasonOf, s), 0
		}
		p.piece[i] = len(p.seasonOf) - 1
		spans++
	}
}

// scan lays the closes over the spans at an offset and sums up the shared returns of each piece.
func (p *overlay) scan(offset int64) []moments {
	sums := make([]moments, len(p.seasonOf))
	var lastX, lastY float64
	begun, k := false, 0
	for i, end := range p.end {
		for k < len(p.at) && p.at[k]+offset <= end {
			k++
		}
		if k == 0 || p.at[k-1]+offset <= p.start[i] {
			continue
		}
		x, y := p.x[i], p.y[k-1]
		if begun {
			s := &sums[p.piece[i]]
			if p.at[k-1]+offset == end {
				s.exact++
			}
			s.add(within(x-lastX, p.cut), within(y-lastY, p.cut))
		}
		lastX, lastY, begun = x, y, true
	}
	return sums
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
