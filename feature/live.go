package feature

import (
	"fmt"
	"math"
	"slices"

	"github.com/ktrdr/ktrdr/indicator"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/strategy"
)

// Live computes features bar by bar, as they arrive: the same bits as Build on the same bars.
//
// A bar is pushed when it has closed. A longer bar, or one of a context symbol, that
// closes at the same instant as a base bar is pushed before it, or the row would not see it.
type Live struct {
	base   market.Timeframe
	feeds  []*feed
	row    []float32
	cols   int
	closed int64 // when the last base bar closed
}

// feed is one series: its indicators, and values that are not visible yet
// because their bar closes after the base bar that comes next.
type feed struct {
	series  strategy.Series
	sources []liveSource
	width   int
	last    int64 // opening of the last bar
	waiting []pending
	age     market.Age // of what is shown; the base's own bars are never old
	base    bool
}

type liveSource struct {
	stream  indicator.Stream
	out     []float64
	columns []column
}

type pending struct {
	end    int64
	values []float32 // in the order of the feed's columns
}

// NewLive begins with no bars.
func NewLive(s *strategy.Strategy) *Live {
	p := planFor(s)
	l := &Live{base: s.Data.Base, cols: len(p.columns), closed: math.MinInt64}
	l.row = make([]float32, (l.cols+15)/16*16)
	for i := range l.cols {
		l.row[i] = float32(math.NaN())
	}
	for _, from := range p.series {
		f := &feed{series: from, last: math.MinInt64, age: market.NewAge(s.Data.Base, from.Timeframe)}
		f.base = from == strategy.Series{Timeframe: s.Data.Base}
		for _, src := range p.sources[from] {
			f.sources = append(f.sources, liveSource{src.indicator.Stream(), make([]float64, len(src.indicator.Outputs())), src.columns})
			f.width += len(src.columns)
		}
		l.feeds = append(l.feeds, f)
	}
	return l
}

// Push takes the next bar of a timeframe of the symbol. For a base bar it returns
// the row of features, padded as in a Matrix and valid until the next Push, and
// whether every feature has a value; for a longer bar, nothing. It refuses bars out
// of order and bars that come too late to be seen.
func (l *Live) Push(tf market.Timeframe, bar market.Bar) (row []float32, defined bool, err error) {
	f, err := l.push(strategy.Series{Timeframe: tf}, bar)
	if err != nil || !f.base {
		return nil, false, err
	}
	end := tf.End(bar.Time)
	l.closed = end
	for _, f := range l.feeds {
		f.show(l.row, end)
	}
	return l.row, l.defined(), nil
}

// PushContext takes the next bar of a context symbol.
func (l *Live) PushContext(from strategy.Series, bar market.Bar) error {
	_, err := l.push(from, bar)
	return err
}

func (l *Live) push(from strategy.Series, bar market.Bar) (*feed, error) {
	k := slices.IndexFunc(l.feeds, func(f *feed) bool { return f.series == from })
	tf, of := from.Timeframe, ""
	if from.Symbol != "" {
		of = " of " + from.Symbol
	}
	if k < 0 {
		return nil, fmt.Errorf("the strategy does not use %s bars%s", tf, of)
	}
	f := l.feeds[k]
	end := tf.End(bar.Time)
	switch {
	case bar.Time <= f.last:
		return nil, fmt.Errorf("the %s bar%s of %d comes after that of %d", tf, of, bar.Time, f.last)
	case !f.base && end <= l.closed:
		return nil, fmt.Errorf("the %s bar%s of %d comes after a %s bar that should have seen it", tf, of, bar.Time, l.base)
	}
	f.last = bar.Time
	f.push(bar, end)
	return f, nil
}

func (f *feed) push(bar market.Bar, end int64) {
	values := make([]float32, 0, f.width)
	for _, src := range f.sources {
		src.stream.Push(bar, src.out)
		for _, c := range src.columns {
			values = append(values, c.at(src.out[c.output]))
		}
	}
	f.waiting = append(f.waiting, pending{end, values})
}

// show puts the newest values that are known at an instant into the row, and takes out what has become too old.
func (f *feed) show(row []float32, now int64) {
	newest := -1
	for newest+1 < len(f.waiting) && f.waiting[newest+1].end <= now {
		newest++
	}
	if newest >= 0 {
		f.age.Begin(f.waiting[newest].end)
		i := 0
		for _, src := range f.sources {
			for _, c := range src.columns {
				row[c.index] = f.waiting[newest].values[i]
				i++
			}
		}
		f.waiting = f.waiting[newest+1:]
	}
	if f.base || !f.age.Stale(now) {
		return
	}
	for _, src := range f.sources {
		for _, c := range src.columns {
			row[c.index] = float32(math.NaN())
		}
	}
}

func (l *Live) defined() bool {
	return !slices.ContainsFunc(l.row[:l.cols], func(v float32) bool { return v-v != 0 })
}
