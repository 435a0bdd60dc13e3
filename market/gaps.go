package market

import (
	"maps"
	"slices"
	"time"
)

// session is when a market trades, learnt from its bars: for each place in the
// week, whether a bar is usual there. A market closes on weekends, some close
// every night, and no file says so; but what is open three weeks in four and
// has no bar in this one is a hole.
type session struct {
	step   int64 // length of a bar
	before []int // open places before each place of the week; one more entry than places
}

// observe learns the session of a series.
func observe(b *Bars) session {
	step := b.Timeframe.seconds()
	n := int(week / step)
	seen := make([]int, n)
	weeks, last := 0, int64(-1<<62)
	for i := range b.Places(0, b.Len(), 1) {
		x := b.Time[i]
		if w := floor(x-firstMonday, week); w != last {
			weeks, last = weeks+1, w
		}
		seen[mod(x-firstMonday, week)/step]++
	}
	if weeks < 3 { // too little to learn from
		return weekdays(step)
	}
	return sessionOf(step, func(i int) bool { return seen[i]*4 >= weeks*3 })
}

// weekdays is the session of a market that is open from Monday to Friday.
func weekdays(step int64) session {
	return sessionOf(step, func(i int) bool { return int64(i)*step < 5*day })
}

func sessionOf(step int64, open func(place int) bool) session {
	n := int(week / step)
	s := session{step: step, before: make([]int, n+1)}
	for i := range n {
		s.before[i+1] = s.before[i]
		if open(i) {
			s.before[i+1]++
		}
	}
	return s
}

// missing is the number of bars that should stand between a bar at a and the next at b.
func (s session) missing(a, b int64) int {
	first, last := a+s.step-firstMonday, b-firstMonday
	return s.upTo(last) - s.upTo(first)
}

func (s session) upTo(t int64) int {
	n := len(s.before) - 1
	weeks := floor(t, week) / week
	return int(weeks)*s.before[n] + s.before[mod(t, week)/s.step]
}

// findGaps notes the gaps between the bars: holes inside the trading week one
// by one, times at which the market is closed as a count.
func (r *DataReport) findGaps(b *Bars, line func(i int) int) {
	tf, cal := b.Timeframe, b.Timeframe.calendar()
	var s session
	if cal.length > 0 && cal.length <= day {
		s = observe(b)
	}
	for i := range b.Places(1, b.Len(), 1) {
		from, to := b.Time[i-1], b.Time[i]
		next := cal.end(from)
		if to <= next {
			continue
		}
		n := 0
		switch {
		case s.step > 0:
			if n = s.missing(from, to); n == 0 && to-next > longestBreak {
				n = weekdays(s.step).missing(from, to) // no market is shut that long, whatever the bars show
			}
		case tf == W1:
			n = int((to - next) / week)
		default:
			n = months(next, to)
		}
		if n <= 0 {
			r.Closed++
			continue
		}
		r.add(line(i), Missing, "%d bars are missing between %s and %s", n, moment(from), moment(to))
		if len(r.Holes) < KeptFindings {
			r.Holes = append(r.Holes, Gap{from, to, n})
		}
	}
}

func months(a, b int64) int {
	x, y := time.Unix(a, 0).UTC(), time.Unix(b, 0).UTC()
	return 12*(y.Year()-x.Year()) + int(y.Month()) - int(x.Month())
}

// GapsOf puts the gaps of a series in place of those of the report: of all files where several
// make one series. Of nil there are no gaps.
func (r *DataReport) GapsOf(b *Bars) {
	r.Findings = slices.DeleteFunc(slices.Clone(r.Findings), func(f Finding) bool { return f.Rule == Missing })
	r.Counts = maps.Clone(r.Counts)
	delete(r.Counts, Missing)
	r.Holes, r.Closed = nil, 0
	if b == nil {
		return
	}
	r.findGaps(b, func(i int) int { return i + 1 })
	r.order()
}
