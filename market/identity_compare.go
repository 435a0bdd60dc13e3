package market

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"time"
)

// Likeness is how alike two series are where they are most alike.
type Likeness struct {
	Shared      int           // returns that both have
	Correlation float64       // of those returns; negative where one series quotes the inverse
	Timeframe   Timeframe     // length of the returns
	Offset      time.Duration // added to the times of the second series
	Clocks      string        // summer time that only one of them keeps; "" where both move alike

	Part            int     // returns of the most alike part, in a row; 0 where fewer than sameReturns are shared
	PartCorrelation float64 // of those returns
}

// Compare finds the offset at which the returns of two series are most alike,
// and says how alike they are. It tries every offset that a wrong zone can
// cause, with and without summer time.
//
// The finer series is compounded to the coarser one: of each coarser bar it
// takes the last close inside. A return is shared where both series have a
// close at its beginning and at its end. Bars shorter than an hour are also
// compared compounded up to an hour, since a vendor's noise hides the small
// moves of a minute. Returns are cut at cutMoves usual ones, so that neither
// one bad price nor one crash decides.
//
// A copy may have a foreign beginning or end. Parts of at least sameReturns
// returns in a row are therefore compared as well.
//
// The order of a and b changes only the sign of the offset.
func Compare(a, b *Prices) Likeness {
	if swapped(a, b) {
		l := Compare(b, a)
		l.Offset = -l.Offset
		return l
	}
	best := Likeness{Timeframe: a.Timeframe}
	if a.Len() == 0 || b.Len() == 0 {
		return best
	}
	const far = maxOffset + 2*week // the two may touch at one of the offsets
	x, y := a.all().between(b.first()-far, b.last+far), b.all().between(a.first()-far, a.last+far)
	if !x.atLeast(1) || !y.atLeast(1) {
		return best
	}
	found, r := search(x, y)
	for _, tf := range levels(a.Timeframe) {
		if l := newOverlay(x, y, tf).likeness(found); l.betterThan(best) {
			best = l
		}
		if r < unrelated {
			break
		}
	}
	if l, ok := byWeeks(x, y, found, best); ok {
		return l
	}
	return best
}

// unrelated is a correlation at the best offset that no other length of returns raises to askCorrelation.
const unrelated = 0.3

// byWeeks compares weekly returns. Bars that are cut at different hours, such
// as days of London and days of New York, close at different moments at every
// offset: of two copies of one market, only a part of each daily return is
// shared. Most of them agree on the last close of a week. It is not ok where
// weeks say no more than the bars did.
func byWeeks(a, b part, found setting, bars Likeness) (Likeness, bool) {
	if a.Timeframe == W1 || a.Timeframe == Mo1 || bars.Identity() == Same {
		return Likeness{}, false
	}
	l := newOverlay(a, b, W1).likeness(found)
	if l.Identity() == Same {
		return l, true
	}
	// Different markets are about as alike by weeks as by bars. Copies that are
	// cut at different hours are much more alike by weeks.
	closer := 1-math.Abs(l.Correlation) <= (1-math.Abs(bars.Correlation))/3
	return l, l.Identity() == Ask && closer && bars.Identity() == Different
}

// swapped tells whether b is to be the first of a pair. The coarser one is;
// of two that are equally coarse, one is chosen by its content.
func swapped(a, b *Prices) bool {
	if x, y := atMost(a.Timeframe), atMost(b.Timeframe); x != y {
		return x < y
	}
	if bytes.Equal(a.text, b.text) {
		return false
	}
	n := min(a.n, b.n)
	var atA, atB place
	if n > 0 {
		atA, atB = a.marks[0], b.marks[0]
	}
	var time, log [2][closesBlock]int64
	byLog := 0
	for i := 0; i < n; {
		k := min(closesBlock, n-i)
		a.read(&atA, time[0][:k], log[0][:k])
		b.read(&atB, time[1][:k], log[1][:k])
		if c := slices.Compare(time[0][:k], time[1][:k]); c != 0 {
			return c > 0
		}
		byLog = cmp.Or(byLog, slices.Compare(log[0][:k], log[1][:k]))
		i += k
	}
	return cmp.Or(cmp.Compare(a.n, b.n), byLog) > 0
}

// levels are the lengths of returns at which a pair is compared whose coarser series has a timeframe.
func levels(coarser Timeframe) []Timeframe {
	all := []Timeframe{coarser}
	for _, tf := range Timeframes {
		if tf != Mo1 && tf.seconds() > coarser.seconds() && tf.seconds() <= hour && coarser != Mo1 {
			all = append(all, tf)
		}
	}
	return all
}

type setting struct {
	offset int64 // seconds, added to the times of the second series
	clocks clocks
}

// search finds the setting in which two series are most alike, and the size of
// their correlation in it. Long series of short bars are searched compounded to
// 15 minutes, the step of the offsets, and then by a single bar either way.
func search(a, b part) (setting, float64) {
	length := a.Timeframe.seconds()
	if length == 0 || length >= offsetStep {
		offsets := zoneOffsets(0)
		if a.Timeframe == D1 || a.Timeframe == W1 { // a bar may carry the time of its close
			offsets = zoneOffsets(0, length, -length)
		}
		return newOverlay(a, b.thinned(), a.Timeframe).best(offsets, allClocks(), sameReturns)
	}
	shifts := barShifts(length, b.Timeframe.seconds())
	thinA, thinB := a.thinned(), b.thinned()
	if !thinA.atLeast(sameReturns) || !thinB.atLeast(sameReturns) {
		return newOverlay(a, b, a.Timeframe).best(zoneOffsets(shifts...), allClocks(), sameReturns)
	}
	found, r := newOverlay(thinA, thinB, M15).best(zoneOffsets(0), allClocks(), thinReturns)
	if r < unrelated {
		return found, r
	}
	for i := range shifts {
		shifts[i] += found.offset
	}
	return newOverlay(a, b, a.Timeframe).best(shifts, []clocks{found.clocks}, sameReturns)
}

// thinReturns is the length of the parts by which the offset of short bars is
// searched, in returns of 15 minutes: less than three days.
const thinReturns = 250

// barShifts are 0 and the lengths of a bar of either series, both ways: bars
// may carry the time at which they close.
func barShifts(x, y int64) []int64 {
	all := []int64{0, x, -x}
	if x != y {
		all = append(all, y, -y)
	}
	return all
}
