package market

import "time"

// localClock turns times without a zone into instants. Where clocks are set back an
// hour of the day comes twice, where they are set forward one does not come:
//
//	local   00:00  01:00  01:00  02:00        local   01:00  03:00
//	UTC     04:00  05:00  06:00  07:00        UTC     06:00  07:00
//
// Only the order of the rows tells the two hours apart, so that rows of the
// repeated hour are held back until it is over: see repeated.
type localClock struct {
	zone     *time.Location
	from, to int64 // instants between which offset is certain
	offset   int64 // seconds east of UTC
}

// certain is how far from a change of the offset a local time can be trusted:
// more than any offset is away from UTC.
const certain = day

// instants gives the instants at which a clock of the zone shows sec, a local
// time written as if it were UTC: one, two in the repeated hour, or none.
func (c *localClock) instants(sec int64) (first, second int64, n int) {
	if at := sec - c.offset; at >= c.from && at < c.to {
		return at, at, 1
	}
	before, after := c.offsetAt(sec-certain), c.offsetAt(sec+certain)
	for _, offset := range []int64{max(before, after), min(before, after)} { // the greater one gives the earlier instant
		at := sec - offset
		if c.offsetAt(at) != offset || n == 1 && at == first {
			continue
		}
		if n++; n == 1 {
			first = at
		}
		second = at
	}
	if n == 1 {
		c.remember(first)
	}
	return first, second, n
}

func (c *localClock) offsetAt(at int64) int64 {
	_, offset := time.Unix(at, 0).In(c.zone).Zone()
	return int64(offset)
}

// remember keeps the span around an instant in which its offset is certain.
func (c *localClock) remember(at int64) {
	t := time.Unix(at, 0).In(c.zone)
	start, end := t.ZoneBounds()
	c.from, c.to = -1<<62, 1<<62
	if !start.IsZero() {
		c.from = start.Unix() + certain
	}
	if !end.IsZero() {
		c.to = end.Unix() - certain
	}
	c.offset = c.offsetAt(at)
}

// dayStart is the instant at which a day begins that has no midnight: the one at which clocks are set forward.
func (c *localClock) dayStart(sec int64) (at int64, ok bool) {
	return sec - c.offsetAt(sec-certain), mod(sec, day) == 0
}

type twice struct {
	line          int
	bar           Bar
	local         int64 // as if it were UTC
	first, second int64 // the instants it may stand for
}

// repeated holds the rows of one repeated hour.
type repeated struct {
	rows   []twice // in the order of the file
	before int64   // instant of the row above them
	any    bool    // there is one
}

// longStep is a step between bars beside which an hour does not matter: a bar of
// a day that opens in the repeated hour opens the first time.
const longStep = 12 * 3600

// settle gives each row its instant, in place of bar.Time, and tells whether it
// could. next is the instant of the row below them, if there is one.
func (r *repeated) settle(next int64, hasNext bool) bool {
	rows := r.rows
	alone := len(rows) == 1 && (r.any || hasNext) &&
		(!r.any || far(rows[0].first, r.before)) && (!hasNext || far(rows[0].first, next))
	if alone {
		rows[0].bar.Time = rows[0].first
		return true
	}
	falling := r.falling(next, hasNext)
	turn := 0 // the first row of the second hour
	for i := 1; i < len(rows); i++ {
		back := rows[i].local <= rows[i-1].local
		if falling {
			back = rows[i].local >= rows[i-1].local
		}
		switch {
		case back && turn > 0:
			return false // a third time
		case back:
			turn = i
		}
	}
	if turn == 0 {
		return false // it is there once: nothing tells which of the two it is
	}
	for i := range rows {
		rows[i].bar.Time = rows[i].first
		if (i >= turn) != falling {
			rows[i].bar.Time = rows[i].second
		}
	}
	return true
}

// falling tells whether the file has the newest rows first.
func (r *repeated) falling(next int64, hasNext bool) bool {
	switch {
	case r.any:
		return r.before > r.rows[0].first
	case hasNext:
		return next < r.rows[len(r.rows)-1].first
	}
	return false
}

func far(a, b int64) bool { return max(a-b, b-a) >= longStep }

// placer gives rows their instants and adds them to the table.
type placer struct {
	clock localClock
	held  repeated
	rows  *rows
	ticks *ticks // that makes bars of the rows, where they are ticks
	rep   *DataReport
}

// mostRepeated is more rows than a repeated hour can have, twice and by seconds.
const mostRepeated = 20_000

// add adds a row. Its time is an instant, or local: a clock's, as if it were UTC.
func (p *placer) add(line int, b Bar, local bool) {
	if !local {
		p.put(line, b)
		return
	}
	first, second, n := p.clock.instants(b.Time)
	switch n {
	case 0:
		at, ok := p.clock.dayStart(b.Time)
		if !ok {
			p.rep.add(line, NoSuchTime, "%s does not come in %s: clocks are set forward over it", moment(b.Time), p.clock.zone)
			p.rep.Dropped++
			return
		}
		first = at
	case 2:
		if h := p.held.rows; len(h) > 0 && far(h[0].first, first) || len(h) == mostRepeated {
			p.flush(first, true)
		}
		p.held.rows = append(p.held.rows, twice{line, b, b.Time, first, second})
		return
	}
	b.Time = first
	p.put(line, b)
}

// put adds a row whose time is an instant, behind those that were held back.
func (p *placer) put(line int, b Bar) {
	p.flush(b.Time, true)
	p.row(line, b)
	p.held.before, p.held.any = b.Time, true
}

// row adds a row to the table, or to the bar that it is a tick of.
func (p *placer) row(line int, b Bar) {
	if p.ticks != nil {
		p.ticks.add(line, b)
	} else {
		p.rows.add(line, b)
	}
}

// end adds what is held back when there are no more rows.
func (p *placer) end() error {
	p.flush(0, false)
	if p.ticks != nil {
		p.ticks.flush()
	}
	err := p.rows.unspill()
	p.rows.join()
	return err
}

// flush adds the rows of a repeated hour that is over, or says that nothing
// tells where they belong. They are never moved.
func (p *placer) flush(next int64, hasNext bool) {
	if len(p.held.rows) == 0 {
		return
	}
	known := p.held.settle(next, hasNext)
	for _, t := range p.held.rows {
		if !known {
			p.rep.add(t.line, AmbiguousTime,
				"%s comes twice in %s, when clocks are set back, and the file does not have both hours in order: write its times in UTC",
				moment(t.local), p.clock.zone)
			p.rep.Dropped++
			continue
		}
		p.row(t.line, t.bar)
		p.held.before, p.held.any = t.bar.Time, true
	}
	p.held.rows = p.held.rows[:0]
}
