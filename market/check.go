package market

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/ktrdr/ktrdr/internal/text"
)

// Mode says what happens to a file with something wrong in it.
type Mode int

// The modes.
const (
	// Refuse answers with an InvalidError.
	Refuse Mode = iota
	// Normalise leaves out rows that cannot be read, that are not finite, not
	// positive or beyond all prices, those between the openings of the timeframe,
	// and those whose time of a zone stands for two instants or none; it sorts; it
	// keeps the last of several rows with one time; it moves high and low to
	// hold open and close; it makes a negative volume 0 and a negative spread unknown. It never invents a bar.
	Normalise
)

// Check examines a series by the rules of an import and changes nothing. A
// finding's line is the number of the bar, from 1. The error is an
// InvalidError, or says why the timeframe cannot be that of the bars.
func Check(b *Bars, source string) (DataReport, error) {
	r := rows{Bars: *b, shared: true}
	_, rep, err := r.settle(ImportOptions{Source: source, Symbol: b.Symbol, Timeframe: b.Timeframe}, DataReport{Source: source, Rows: b.Len()})
	return rep, err
}

// settle makes a series of rows, or says what is wrong with them. rep holds what reading them found.
func (r *rows) settle(opt ImportOptions, rep DataReport) (*Bars, DataReport, error) {
	r.divided(opt.Divide)
	r.turn(&rep)
	r.inspect(&rep)
	r.sort(&rep)
	err := r.frame(opt, &rep)
	rep.order()
	rep.Bars = r.Len()
	switch {
	case opt.Mode == Refuse && rep.Wrong() > 0:
		rep.Bars, rep.Sorted, rep.Dropped, rep.Widened, rep.Cleared = 0, false, 0, 0, 0 // nothing was done
		return nil, rep, &InvalidError{rep}
	case err != nil:
		return nil, rep, fmt.Errorf("%s: %w", rep.Source, err)
	}
	rep.Timeframe = r.Timeframe
	rep.findGaps(&r.Bars, r.lineOf)
	rep.order()
	b := r.Bars
	b.Symbol = opt.Symbol
	return &b, rep, nil
}

// What prices and volumes lie between. Beyond it their squares and products
// are no longer numbers, and indicators of them nothing.
const leastPrice, most = 1e-30, 1e30

// turn puts the oldest row first in a file that has the newest first.
func (r *rows) turn(rep *DataReport) {
	n := r.Len()
	if n < 3 || r.Time[0] <= r.Time[n-1] {
		return
	}
	for i := 1; i < n; i++ {
		if r.Time[i] >= r.Time[i-1] {
			return
		}
	}
	r.own()
	slices.Reverse(r.Time)
	slices.Reverse(r.line)
	for _, c := range r.columns() {
		slices.Reverse(*c)
	}
	if rep.Recognised != nil {
		rep.Recognised.note("newest row first: reversed")
	}
}

// inspect looks at each row by itself, mends what Normalise mends and drops what cannot be mended.
func (r *rows) inspect(rep *DataReport) {
	if r.settled {
		return
	}
	w := 0
	newest := int64(math.MinInt64)
	for i := range r.Places(0, r.Len(), 1) {
		if !r.clean(i) && !r.mend(i, rep) {
			rep.Dropped++
			continue
		}
		if r.Time[i] < newest {
			rep.add(r.lineOf(i), OutOfOrder, "%s comes after %s", moment(r.Time[i]), moment(newest))
			rep.Sorted = true
		}
		newest = max(newest, r.Time[i])
		if w != i {
			r.put(w, i)
		}
		w++
	}
	r.cut(w)
}

// clean tells whether nothing is wrong with row i by itself.
func (r *rows) clean(i int) bool {
	o, h, l, c, v := r.Open[i], r.High[i], r.Low[i], r.Close[i], r.Volume[i]
	return l >= leastPrice && l <= o && l <= c && h >= o && h >= c && h <= most && (v >= 0 && v <= most || v != v) &&
		(r.Spread == nil || fairSpread(r.Spread[i]))
}

// fairSpread tells whether a spread is possible, or not known.
func fairSpread(v float64) bool { return v >= 0 && v <= most || v != v }

// mend notes what is wrong with row i and tells whether the row can stay.
func (r *rows) mend(i int, rep *DataReport) bool {
	r.own()
	line := r.lineOf(i)
	names := [...]string{"open", "high", "low", "close", "volume", "spread"}
	for k, of := range r.columns() {
		column := *of
		v := column[i]
		switch {
		case math.IsNaN(v) && k >= 4: // not known
		case math.IsNaN(v):
			rep.add(line, NaN, "%s is not a number", names[k])
			return false
		case math.IsInf(v, 0):
			rep.add(line, Infinite, "%s is %v", names[k], v)
			return false
		case k < 4 && v <= 0:
			rep.add(line, NonPositive, "%s is %v", names[k], v)
			return false
		case v > most, k < 4 && v < leastPrice:
			rep.add(line, Extreme, "%s is %v", names[k], v)
			return false
		case k == 4 && v < 0:
			rep.add(line, Negative, "volume is %v", v)
			column[i] = 0
			rep.Cleared++
		case k == 5 && v < 0:
			rep.add(line, NegativeSpread, "spread is %v: the ask is below the bid", v)
			column[i] = math.NaN()
		}
	}
	o, h, l, c := r.Open[i], r.High[i], r.Low[i], r.Close[i]
	if hi, lo := max(o, h, l, c), min(o, h, l, c); h != hi || l != lo {
		rep.add(line, Inconsistent, "open %v and close %v do not both lie between low %v and high %v", o, c, l, h)
		r.High[i], r.Low[i] = hi, lo
		rep.Widened++
	}
	return true
}

// sort brings the rows into order and keeps the last of those with one time.
func (r *rows) sort(rep *DataReport) {
	if rep.Sorted {
		at := make([]int32, r.Len())
		for i := range at {
			at[i] = int32(i)
		}
		slices.SortStableFunc(at, func(a, b int32) int { return cmp.Compare(r.Time[a], r.Time[b]) })
		r.permute(at)
	}
	w := 0
	for i := range r.Places(0, r.Len(), 1) {
		if w > 0 && r.Time[i] == r.Time[w-1] {
			rep.add(r.lineOf(w-1), Duplicate, "%s comes again at %d", moment(r.Time[i]), r.lineOf(i))
			rep.Dropped++
			w--
		}
		if w != i {
			r.put(w, i)
		}
		w++
	}
	r.cut(w)
}

// frame settles the timeframe and drops rows that do not stand where its bars open.
func (r *rows) frame(opt ImportOptions, rep *DataReport) error {
	if r.Len() == 0 {
		if rep.Rows == 0 {
			return errors.New("there are no rows below the header")
		}
		return fmt.Errorf("none of the %d rows can be used", rep.Rows)
	}
	shown, usual := infer(&r.Bars)
	r.Timeframe = cmp.Or(opt.Timeframe, shown)
	switch {
	case r.Timeframe == "" && r.Len() == 1:
		return errors.New("one bar does not show its timeframe: say which it is")
	case r.Timeframe == "":
		return fmt.Errorf("bars are mostly %s apart, which is no timeframe; give the one of %s that it is",
			text.Duration(usual), text.Join(Timeframes))
	case shown != "" && shown != r.Timeframe:
		return fmt.Errorf("bars are mostly %s apart, as of timeframe %s and not %s as asked", text.Duration(usual), shown, r.Timeframe)
	case shown == "" && r.Len() > 1 && (r.Timeframe == Mo1 || int64(usual/time.Second)%r.Timeframe.seconds() != 0):
		return fmt.Errorf("bars are mostly %s apart, which is no multiple of %s as asked", text.Duration(usual), r.Timeframe)
	}
	r.align(rep)
	if r.Len() == 0 {
		return fmt.Errorf("none of the times is the opening of a %s bar", r.Timeframe)
	}
	return nil
}

// align drops rows that stand between the openings of the timeframe: a price of
// the moment at the end of a download is the common case.
func (r *rows) align(rep *DataReport) {
	cal := r.Timeframe.calendar()
	usual := r.phase(cal)
	w := 0
	for i := range r.Places(0, r.Len(), 1) {
		t := r.Time[i]
		if !cal.opens(t, usual) {
			rep.add(r.lineOf(i), Misaligned, "%s is not where a %s bar opens", moment(t), r.Timeframe)
			rep.Dropped++
			continue
		}
		if w != i && !r.settled { // a table in files is refused for such a row, and not changed
			r.put(w, i)
		}
		w++
	}
	r.cut(w)
}

// phase is how far after the UTC openings of the timeframe the bars usually
// open: half an hour for hourly bars of an exchange that opens at half past.
func (r *rows) phase(cal calendar) int64 {
	var phases tally
	for i := range r.Places(0, r.Len(), 1) {
		t := r.Time[i]
		phases.add(t - cal.start(t))
	}
	return phases.mostFrequent()
}

// opens tells whether a bar may open at t. Bars longer than an hour may be an
// hour off, as those of an exchange with summer time are; months always open
// on the first, UTC, since their length hangs on it.
func (c calendar) opens(t, phase int64) bool {
	off := t - c.start(t) - phase
	switch {
	case c.tf == Mo1:
		return t == c.start(t)
	case c.length > 3600:
		off = mod(off, c.length)
		return off == 0 || off == 3600 || off == c.length-3600
	}
	return off == 0
}
