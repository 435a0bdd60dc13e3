package market

import (
	"math"
	"slices"
	"sort"
)

// Align tells, for each bar of base, which bar of higher was the last to have
// closed when it closed: the newest that a decision at that moment may use. It
// is -1 where none had, and where that one is out of date as Age says: a series
// that has ended would otherwise give its last bar for ever.
func Align(base, higher *Bars) []int32 {
	at := make([]int32, base.Len())
	short, long := base.Timeframe.calendar(), higher.Timeframe.calendar()
	age := NewAge(base.Timeframe, higher.Timeframe)
	next := 0 // the first of higher that has not closed
	for i, t := range base.Time {
		end := short.end(t)
		was := next
		for next < higher.Len() && long.end(higher.Time[next]) <= end {
			next++
		}
		if next > was {
			age.Begin(long.end(higher.Time[next-1]))
		}
		at[i] = -1
		if !age.Stale(end) {
			at[i] = int32(next - 1)
		}
	}
	return at
}

// MaxAge is how many bars of base may close after a bar of higher before it
// counts as out of date: twice as many as fit into one. They are counted, not
// timed, so that nights, weekends and holidays make no bar older.
func MaxAge(base, higher Timeframe) int { return int(2 * atMost(higher) / max(atMost(base), 1)) }

// atMost is the longest that a bar of a timeframe can be, in seconds.
func atMost(tf Timeframe) int64 {
	const month = 31 * day
	if tf == Mo1 {
		return month
	}
	return tf.seconds()
}

// longestBreak is how long a market may be shut: the longest holidays of any
// exchange are shorter. More than that without a bar is a hole in the data.
const longestBreak = 14 * day

// Age counts the base bars that have closed since a longer bar did, and says
// when that one is out of date: after MaxAge of them; or once the time that has
// passed is more than a break can explain, so that the first bars behind a hole
// in the data do not see what was before it. Before the first longer bar
// everything is stale. The zero Age is not ready: see NewAge.
type Age struct {
	limit int
	most  int64 // seconds
	bars  int
	end   int64
	begun bool
}

// NewAge counts for bars of higher beside bars of base.
func NewAge(base, higher Timeframe) Age {
	return Age{limit: MaxAge(base, higher), most: 2*atMost(higher) + longestBreak}
}

// Begin says that a newer longer bar, which closed at an instant, is the one to use from now on.
func (a *Age) Begin(end int64) { a.end, a.bars, a.begun = end, 0, true }

// Stale takes the close of the next base bar and says whether the longer bar is out of date there.
func (a *Age) Stale(end int64) bool {
	if !a.begun {
		return true
	}
	if end > a.end {
		a.bars++
	}
	return a.bars > a.limit || end-a.end > a.most
}

// Coverage tells how well longer bars go with those of a base.
type Coverage struct {
	Rows  int     // base bars looked at
	Bare  int     // of those, without a longer bar that is up to date; two lengths at the beginning are forgiven
	Apart float64 // median difference of closes where a longer bar has just closed, as a share; 0 without any
}

// Share is the part of the base bars that has no longer bar.
func (c Coverage) Share() float64 {
	if c.Rows == 0 {
		return 0
	}
	return float64(c.Bare) / float64(c.Rows)
}

// Cover compares a base with longer bars, over the base bars that open from one
// instant on and close by another; 0 is no bound.
func Cover(base, higher *Bars, from, to int64) Coverage {
	n := base.Len()
	if to != 0 {
		n = sort.Search(n, func(i int) bool { return base.Timeframe.End(base.Time[i]) > to })
	}
	first := sort.Search(n, func(i int) bool { return base.Time[i] >= from })
	c := Coverage{Rows: n - first}
	at := Align(base.Slice(0, n), higher)
	var apart []float64
	leading := 0
	for i := first; i < n; i++ {
		k := at[i]
		if k < 0 {
			c.Bare++
			if c.Bare == i-first+1 {
				leading++
			}
			continue
		}
		if i == 0 || at[i-1] != k {
			apart = append(apart, math.Abs(base.Close[i]/higher.Close[k]-1))
		}
	}
	c.Bare -= min(leading, MaxAge(base.Timeframe, higher.Timeframe))
	if len(apart) > 0 {
		slices.Sort(apart)
		c.Apart = apart[len(apart)/2]
	}
	return c
}
