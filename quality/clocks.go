package quality

import (
	"slices"
	"time"
	_ "time/tzdata" // summer times must be known where the system has no zone files
)

const (
	weekendGap  = 30 * 3600 // a pause this long ends a week of trading
	clockWeeks  = 12        // weeks that show when a market usually opens
	shiftWeeks  = 2         // weeks in a row of which both ends moved
	openWeeks   = 4         // weeks in a row of which only the opening moved
	quarterHour = 15 * 60
	agreeing    = 0.5 // share of weeks that open at the usual time, else none is usual
	dstShare    = 0.6 // share of clock changes at which an hour is missing
)

// clockZones are cities whose summer time markets follow.
var clockZones = locations("America/New_York", "Europe/London", "Australia/Sydney")

// skipZones are cities whose clocks skip different hours.
var skipZones = locations("America/New_York", "Europe/London", "Europe/Berlin", "Europe/Athens", "Australia/Sydney", "America/Chicago")

func locations(names ...string) []*time.Location {
	all := make([]*time.Location, len(names))
	for i, n := range names {
		loc, err := time.LoadLocation(n)
		if err != nil {
			loc = time.UTC // without its rules no week is told apart by it
		}
		all[i] = loc
	}
	return all
}

// weekEnds is when a week of trading opened and closed.
type weekEnds struct {
	open, close int64
	summer      [3]bool // which of clockZones have summer time
}

// clocks finds weeks that open and close at another hour than the others, and
// hours that are missing where clocks are set forward.
func (j *judge) clocks() {
	if !j.intraday() {
		return
	}
	weeks := j.weeks()
	if len(weeks) < clockWeeks {
		j.skippedHours()
		return
	}
	opens := deviations(weeks, func(w weekEnds) int64 { return w.open })
	closes := deviations(weeks, func(w weekEnds) int64 { return w.close })
	if opens == nil {
		return
	}
	for i := 0; i < len(weeks); {
		k := i + 1
		for k < len(weeks) && opens[k] == opens[i] {
			k++
		}
		if opens[i] != 0 {
			j.shifted(weeks[i:k], opens[i], closes, i)
		}
		i = k
	}
}

// shifted notes weeks that opened at another hour.
func (j *judge) shifted(weeks []weekEnds, by int64, closes []int64, from int) {
	both := 0
	for k := range weeks {
		if closes != nil && closes[from+k] == by {
			both++
		}
	}
	n := len(weeks)
	severity := Severe
	ends := "opens and closes"
	switch {
	case n >= shiftWeeks && both*2 > n:
	case n >= openWeeks:
		severity, ends = Warning, "opens"
	default:
		return
	}
	direction := "later"
	if by < 0 {
		direction = "earlier"
	}
	j.notes.add(ShiftedClock, severity, weeks[0].open, weeks[n-1].close, float64(n),
		"the week %s %s %s than usual in %d weeks in a row, from %s to %s",
		ends, time.Duration(max(by, -by))*time.Second, direction, n, when(weeks[0].open), when(weeks[n-1].close))
}

// weeks lists when each week of trading opened and closed. A market without
// pauses has none.
func (j *judge) weeks() []weekEnds {
	b := j.bars
	var all []weekEnds
	start := -1
	for k, d := range j.eachDay() {
		i := d.from
		if k == 0 || b.Time[i]-b.Time[i-1] < weekendGap {
			continue
		}
		if start >= 0 {
			all = append(all, weekOf(b.Time[start], b.Time[i-1]+j.step))
		}
		start = i
	}
	return all
}

func weekOf(open, end int64) weekEnds {
	w := weekEnds{open: open, close: end}
	for z, loc := range clockZones {
		w.summer[z] = time.Unix(open, 0).In(loc).IsDST()
	}
	return w
}

// deviations is how far from its usual time of day an end of each week is. The
// usual time may follow summer times: all combinations are tried, and the one
// that most weeks agree with is taken, the simplest of several. nil where no time
// is usual.
func deviations(weeks []weekEnds, end func(weekEnds) int64) []int64 {
	best, agree := []int64(nil), 0
	for _, follow := range clockModels() {
		at := make([]int64, len(weeks))
		for i, w := range weeks {
			at[i] = modulo(end(w)+follow.moved(w), daySeconds)
		}
		usual, n := mostFrequent(at)
		// A clock that follows one more summer time must explain one week in 20 more.
		if n <= agree+agree/20 {
			continue
		}
		best, agree = at, n
		for i := range best {
			best[i] = modulo(best[i]-usual+daySeconds/2, daySeconds) - daySeconds/2
		}
	}
	if float64(agree) < agreeing*float64(len(weeks)) {
		return nil
	}
	for i, d := range best {
		if d%quarterHour != 0 {
			best[i] = 0 // a late first bar, no clock
		}
	}
	return best
}

// clockModel says by how many hours a clock follows each summer time.
type clockModel [3]int64

func (m clockModel) moved(w weekEnds) int64 {
	sum := int64(0)
	for z, by := range m {
		if w.summer[z] {
			sum += by * 3600
		}
	}
	return sum
}

func clockModels() []clockModel {
	var all []clockModel
	for us := int64(-1); us <= 1; us++ {
		for eu := int64(-1); eu <= 1; eu++ {
			all = append(all, clockModel{us, eu, 0})
		}
	}
	all = append(all, clockModel{0, 0, 1}, clockModel{0, 0, -1})
	slices.SortStableFunc(all, func(a, b clockModel) int { return int(a.terms() - b.terms()) })
	return all
}

func (m clockModel) terms() int64 {
	n := int64(0)
	for _, by := range m {
		n += max(by, -by)
	}
	return n
}

func mostFrequent(x []int64) (value int64, times int) {
	sorted := slices.Sorted(slices.Values(x))
	for i := 0; i < len(sorted); {
		k := i
		for k < len(sorted) && sorted[k] == sorted[i] {
			k++
		}
		if k-i > times {
			value, times = sorted[i], k-i
		}
		i = k
	}
	return value, times
}

// skippedHours finds a market without pauses whose bars miss an hour where
// clocks are set forward: its times are of a zone, and were read as UTC.
func (j *judge) skippedHours() {
	b := j.bars
	if j.step > 3600 {
		return
	}
	for _, loc := range skipZones {
		changes, missing := 0, []int64{}
		for year := time.Unix(b.Time[0], 0).UTC().Year(); year <= time.Unix(b.Time[b.Len()-1], 0).UTC().Year(); year++ {
			at := forward(loc, year)
			i, _ := slices.BinarySearch(b.Time, at)
			if at == 0 || i == 0 || i >= b.Len()-1 || b.Time[i]-b.Time[i-1] > daySeconds {
				continue
			}
			changes++
			if b.Time[i] == at+3600 && b.Time[i-1] == at-j.step {
				missing = append(missing, at)
			}
		}
		if len(missing) == 0 || float64(len(missing)) < dstShare*float64(changes) {
			continue
		}
		severity := Warning
		if len(missing) > 1 {
			severity = Severe
		}
		last := missing[len(missing)-1]
		j.notes.add(SkippedHour, severity, missing[0], last, float64(len(missing)),
			"the hour from %s is missing, which clocks in %s skip: the times are of that zone and were read as UTC", when(last), loc)
		j.notes.count(SkippedHour, severity, len(missing))
		return
	}
}

// forward is the time on the clock, as if it were UTC, from which clocks of a
// zone skip an hour in a year; 0 if they do not.
func forward(loc *time.Location, year int) int64 {
	for d := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC); d.Year() == year; d = d.AddDate(0, 0, 1) {
		if d.Weekday() != time.Sunday {
			continue
		}
		for h := range 4 {
			clock := d.Add(time.Duration(h) * time.Hour)
			shown := time.Date(year, d.Month(), d.Day(), h, 0, 0, 0, loc)
			if shown.Hour() != clock.Hour() {
				return clock.Unix()
			}
		}
	}
	return 0
}
