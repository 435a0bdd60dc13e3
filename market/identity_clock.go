package market

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// The offsets that are tried. The same prices may carry other times: a file
// was read in a wrong zone, on a clock with or without summer time, or its
// bars carry the time at which they close.
const (
	offsetStep = 15 * 60   // zones differ from UTC by multiples of 15 minutes
	maxOffset  = 14 * 3600 // no zone is further from UTC
	hour       = 3600      // what summer time adds
)

// summerTime is a rule by which clocks are moved in summer. The days are those
// of the present rules. A return on a day of older rules is compared at the
// wrong hour, which concerns a few weeks of a year.
type summerTime struct {
	name  string
	holds func(day time.Time) bool
}

var summerTimes = [...]summerTime{
	{"European", func(d time.Time) bool {
		return !d.Before(lastSunday(d.Year(), time.March)) && d.Before(lastSunday(d.Year(), time.October))
	}},
	{"US", func(d time.Time) bool {
		if d.Year() < 2007 {
			return !d.Before(firstSunday(d.Year(), time.April)) && d.Before(lastSunday(d.Year(), time.October))
		}
		return !d.Before(firstSunday(d.Year(), time.March).AddDate(0, 0, 7)) && d.Before(firstSunday(d.Year(), time.November))
	}},
	{"Australian", func(d time.Time) bool {
		return !d.Before(firstSunday(d.Year(), time.October)) || d.Before(firstSunday(d.Year(), time.April))
	}},
}

func firstSunday(year int, month time.Month) time.Time {
	first := time.Date(year, month, 1, 0, 0, 0, 0, time.UTC)
	return first.AddDate(0, 0, (7-int(first.Weekday()))%7)
}

func lastSunday(year int, month time.Month) time.Time {
	last := time.Date(year, month+1, 0, 0, 0, 0, 0, time.UTC)
	return last.AddDate(0, 0, -int(last.Weekday()))
}

// season says which summer times hold on a day: bit i is set where rule i does.
type season uint8

const seasons = 1 << len(summerTimes)

// seasonOf is the season of the day that begins at an instant.
func seasonOf(midnight int64) (of season) {
	at := time.Unix(midnight, 0).UTC()
	for k, rule := range summerTimes {
		if rule.holds(at) {
			of |= 1 << k
		}
	}
	return of
}

// clocks is how the clocks of two series move in summer. Each is 0 for a clock
// that does not move, else the number of a rule from 1.
type clocks struct{ first, second int }

// allClocks lists every pair of clocks that move differently, after the pair that moves alike.
func allClocks() []clocks {
	all := []clocks{{}}
	for i := range len(summerTimes) + 1 {
		for k := range len(summerTimes) + 1 {
			if i != k {
				all = append(all, clocks{i, k})
			}
		}
	}
	return all
}

// extra is what must be added to the second clock in a season beside the
// offset, so that it shows the time of the first.
func (c clocks) extra(s season) int64 {
	moved := func(rule int) int64 {
		if rule > 0 && s&(1<<(rule-1)) != 0 {
			return hour
		}
		return 0
	}
	return moved(c.first) - moved(c.second)
}

// zoneOffsets are the multiples of 15 minutes up to 14 hours either way around
// each of the centres, the smallest first.
func zoneOffsets(centres ...int64) []int64 {
	var all []int64
	for _, centre := range centres {
		for d := int64(-maxOffset); d <= maxOffset; d += offsetStep {
			all = append(all, centre+d)
		}
	}
	slices.SortFunc(all, func(a, b int64) int {
		return cmp.Or(cmp.Compare(max(a, -a), max(b, -b)), cmp.Compare(b, a))
	})
	return slices.Compact(all)
}

// String names the rule of each clock that moves.
func (c clocks) String() string {
	name := func(rule int) string { return summerTimes[rule-1].name + " summer time" }
	switch {
	case c.first > 0 && c.second > 0:
		return fmt.Sprintf("one clock keeps %s and the other %s", name(c.first), name(c.second))
	case c.first+c.second > 0:
		return "one clock keeps " + name(c.first+c.second)
	}
	return ""
}
