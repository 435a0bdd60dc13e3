package market

import (
	"encoding/binary"
	"math"
	"sort"
)

// place is where reading the closes of some prices has come to.
type place struct {
	i     int   // of the close that is read next
	time  int64 // of the close before it; of close 0 its own
	left  int   // closes of this run of distances that are not read
	step  int64 // seconds between them
	runs  int   // where the next run stands in the text
	log   int64 // of the close before
	logAt int   // where the next logarithm stands
}

const (
	markEvery = 4096
	markBytes = 56
	// closesBlock is how many closes are read at once.
	closesBlock = 512
)

// read reads the next closes into time and log, which have one length.
func (p *Prices) read(at *place, time, log []int64) {
	at.i += len(time)
	for i := range time {
		if at.left == 0 {
			run, n := binary.Uvarint(p.text[at.runs:])
			steps, m := binary.Uvarint(p.text[at.runs+n:])
			at.left, at.step, at.runs = int(run), int64(steps)*p.unit, at.runs+n+m
		}
		at.left--
		at.time += at.step
		time[i] = at.time
	}
	text, sum, k := p.text, at.log, at.logAt
	for i := range log {
		v := uint64(text[k])
		if k++; v >= 0x80 { // binary.Varint, which is not inlined
			v &= 0x7f
			for shift := 7; ; shift += 7 {
				c := text[k]
				k++
				v |= uint64(c&0x7f) << shift
				if c < 0x80 {
					break
				}
			}
		}
		sum += int64(v>>1) ^ -int64(v&1)
		log[i] = sum
	}
	at.log, at.logAt = sum, k
}

// part is some closes of prices in a row.
type part struct {
	*Prices
	from, to int
	thin     bool // only the last close of every 15 minutes
}

func (p *Prices) all() part { return part{Prices: p, to: p.n} }

// between is the closes that open from one instant until another, both of them included.
func (p part) between(from, to int64) part {
	p.from, p.to = max(p.from, p.place(from)), min(p.to, p.place(to+1))
	p.to = max(p.from, p.to)
	return p
}

// place is that of the first close at an instant or later.
func (p *Prices) place(instant int64) int {
	k := sort.Search(len(p.marks), func(k int) bool { return p.marks[k].before() >= instant })
	if k == 0 {
		return 0
	}
	at := p.marks[k-1]
	var time, log [closesBlock]int64
	for at.i < p.n {
		i, n := at.i, min(closesBlock, p.n-at.i)
		p.read(&at, time[:n], log[:n])
		if time[n-1] >= instant {
			return i + sort.Search(n, func(i int) bool { return time[i] >= instant })
		}
	}
	return p.n
}

// before is an instant that no close after the place is before.
func (p place) before() int64 {
	if p.i == 0 {
		return p.time - 1
	}
	return p.time
}

// thinned keeps the last close of every 15 minutes.
func (p part) thinned() part {
	length := p.Timeframe.seconds()
	p.thin = length > 0 && length < offsetStep
	return p
}

// atLeast tells whether there are n closes or more.
func (p part) atLeast(n int) bool {
	if !p.thin {
		return p.to-p.from >= n
	}
	c := p.closes()
	for block := c.next(); len(block) > 0; block = c.next() {
		if n -= len(block); n <= 0 {
			return true
		}
	}
	return n <= 0
}

// someClose is one close of a series that is compared.
type someClose struct {
	time int64
	log  float64
}

// closes reads a part from its beginning to its end.
type closes struct {
	part
	at    place
	scale float64
	quiet int64 // length of the bars where closes are left out
	block [closesBlock]someClose
	time  [closesBlock + 1]int64
	log   [closesBlock + 1]int64
}

func (p part) closes() *closes {
	c := &closes{part: p, scale: math.Ldexp(1, -int(p.digits))}
	if p.thin {
		c.quiet = p.Timeframe.seconds()
	}
	if p.from == p.to {
		c.at.i = p.to
		return c
	}
	c.at = p.marks[p.from/markEvery]
	for c.at.i < p.from {
		n := min(closesBlock, p.from-c.at.i)
		p.read(&c.at, c.time[:n], c.log[:n])
	}
	return c
}

// next is the next closes, valid until it is called again; none at the end.
func (c *closes) next() []someClose {
	for c.at.i < c.to {
		n := min(closesBlock, c.to-c.at.i)
		c.read(&c.at, c.time[:n], c.log[:n])
		out := c.block[:0]
		if c.quiet == 0 {
			for i := range n {
				out = append(out, someClose{c.time[i], float64(float64(c.log[i]) * c.scale)})
			}
			return out
		}
		if c.at.i < c.to { // the close behind decides about the last one
			behind := c.at
			c.read(&behind, c.time[n:n+1], c.log[n:n+1])
		}
		for i := range n {
			end := c.time[i] + c.quiet - 1
			if c.at.i-n+i+1 < c.to && floor(end, offsetStep) == floor(c.time[i+1]+c.quiet-1, offsetStep) {
				continue
			}
			out = append(out, someClose{c.time[i], float64(float64(c.log[i]) * c.scale)})
		}
		if len(out) > 0 {
			return out
		}
	}
	return nil
}
