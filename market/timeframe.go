package market

import "time"

const (
	day  = 24 * 60 * 60
	week = 7 * day
	// firstMonday is 5 January 1970, from which weeks are counted.
	firstMonday = 4 * day
)

// seconds is the length of a bar; 0 for a month: months differ in length.
func (tf Timeframe) seconds() int64 { return int64(lengths[tf] / time.Second) }

// Start is the opening instant of the bar that t falls into, on the UTC
// calendar: weeks begin on Monday, months on the first.
func (tf Timeframe) Start(t int64) int64 { return tf.calendar().start(t) }

// calendar is a timeframe for loops over many bars, its length looked up.
type calendar struct {
	tf     Timeframe
	length int64 // seconds; 0 for a month
}

func (tf Timeframe) calendar() calendar { return calendar{tf, tf.seconds()} }

func (c calendar) start(t int64) int64 {
	switch c.tf {
	case Mo1:
		y, m, _ := time.Unix(t, 0).UTC().Date()
		return time.Date(y, m, 1, 0, 0, 0, 0, time.UTC).Unix()
	case W1:
		return firstMonday + floor(t-firstMonday, week)
	}
	return floor(t, c.length)
}

func (c calendar) end(t int64) int64 {
	if c.length == 0 {
		return c.tf.End(t)
	}
	return t + c.length
}

func floor(t, n int64) int64 { return t - mod(t, n) }

// mod is t modulo n, never negative.
func mod(t, n int64) int64 {
	if m := t % n; m < 0 {
		return m + n
	} else {
		return m
	}
}

// MadeOf tells whether Resample can make bars of tf of those of base.
func (tf Timeframe) MadeOf(base Timeframe) bool {
	if tf == base {
		return true
	}
	if tf == Mo1 {
		return base != W1 && day%base.seconds() == 0
	}
	return base != Mo1 && tf.seconds() > base.seconds() && tf.seconds()%base.seconds() == 0
}

// infer is the timeframe whose length is the most frequent distance between
// neighbouring bars, and that distance. The timeframe is ""
// where no timeframe has that length.
func infer(b *Bars) (Timeframe, time.Duration) {
	var distances tally
	for i := range b.Places(1, b.Len(), 1) {
		d := b.Time[i] - b.Time[i-1]
		if d >= 28*day && d <= 31*day {
			d = 30 * day // any month
		}
		distances.add(d)
	}
	usual := distances.mostFrequent()
	if usual == 30*day {
		return Mo1, 30 * day * time.Second
	}
	for _, tf := range Timeframes {
		if tf.seconds() == usual && usual > 0 {
			return tf, time.Duration(usual) * time.Second
		}
	}
	return "", time.Duration(usual) * time.Second
}

type tally struct {
	counts map[int64]int
	last   int64
	run    int // how often last came since it was entered
}

func (t *tally) add(v int64) {
	if v != t.last {
		t.enter()
		t.last = v
	}
	t.run++
}

func (t *tally) enter() {
	if t.run == 0 {
		return
	}
	if t.counts == nil {
		t.counts = map[int64]int{}
	}
	t.counts[t.last] += t.run
	t.run = 0
}

// mostFrequent is the value that came most often, the smallest of several; 0 if none came.
func (t *tally) mostFrequent() int64 {
	t.enter()
	var value int64
	best := 0
	for v, n := range t.counts {
		if n > best || n == best && v < value {
			value, best = v, n
		}
	}
	return value
}
