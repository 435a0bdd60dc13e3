package designer

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"

	"github.com/ktrdr/ktrdr/market"
)

// Stats describe a market to the designer: how much it moves, and where the
// values of the indicators lie, both as they were before the test part of a
// design: what it is judged by must not have shaped it.
type Stats struct {
	Bars       int      `json:"bars"`       // all that research may see
	Volatility float64  `json:"volatility"` // root mean square of the returns from close to close
	Columns    []Column `json:"columns"`    // by name and period; what has no values or only one is left out
}

// Column is where the values of one reading lie.
type Column struct {
	Name      string     `json:"name"`
	Period    int        `json:"period"`
	Quantiles [7]float64 `json:"quantiles"` // at the levels of quantileLevels
}

// quantileLevels are the shares of the values that lie below each quantile.
var quantileLevels = [7]float64{0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.98}

// The middle three, and the outer ones, by their place.
const (
	q02 = iota
	q10
	q25
	q50
	q75
	q90
	q98
)

// mostValues is how many values a quantile is taken from: more would not move a fuzzy set.
const mostValues = 4096

// mostBars is how many bars are looked at, the latest ones before the test part:
// where values lie now matters more than where they lay long ago.
const mostBars = 20_000

// LeastBars is how many bars a market must have to be described at all.
const LeastBars = 300

// Measure describes a market by those of its bars that lie before the test part. Give it
// the bars that research may see and never the holdout. It refuses fewer than 300 bars.
func Measure(b *market.Bars) (Stats, error) {
	if err := enough(b); err != nil {
		return Stats{}, err
	}
	return measure(b, b.Time[testBegins(b)], mostBars, nil)
}

func enough(b *market.Bars) error {
	if n := b.Len(); n < LeastBars {
		return fmt.Errorf("%s %s has %d bars for research; at least %d are needed to design for it: import more data", b.Symbol, b.Timeframe,
			n, LeastBars)
	}
	return nil
}

func testBegins(b *market.Bars) int {
	return int((shareOfTrain + shareOfValidation) * float64(b.Len()))
}

// closedBy are the bars that have closed by an instant.
func closedBy(b *market.Bars, until int64) *market.Bars {
	return b.Slice(0, sort.Search(b.Len(), func(i int) bool { return b.Timeframe.End(b.Time[i]) > until }))
}

// latest are the last n bars.
func latest(b *market.Bars, n int) *market.Bars { return b.Slice(max(0, b.Len()-n), b.Len()) }

// looked is how many bars of each of some symbols are looked at.
func looked(symbols int) int { return max(mostBars/symbols, mostValues) }

// measure describes a market by the last of its bars that have closed by an instant, n at
// most: by the readings of the catalogue, and more.
func measure(b *market.Bars, until int64, most int, more []reading) (Stats, error) {
	s := Stats{Bars: b.Len()}
	b = latest(closedBy(b, until), most)
	s.Volatility = round(volatility(b.Close))
	if !(s.Volatility > 0) {
		return Stats{}, fmt.Errorf("%s %s never moves in %d bars: there is nothing to trade", b.Symbol, b.Timeframe, b.Len())
	}
	for _, r := range slices.Concat(readings, more) {
		for _, p := range r.windows() {
			x, err := r.values(p, b)
			if err != nil {
				return Stats{}, err
			}
			if q, ok := quantiles(x); ok {
				s.Columns = append(s.Columns, Column{r.name, p, q})
			}
		}
	}
	slices.SortFunc(s.Columns, compareColumns)
	return s, nil
}

func volatility(price []float64) float64 {
	var squares float64
	for i := 1; i < len(price); i++ {
		r := price[i]/price[i-1] - 1
		squares += float64(r * r)
	}
	return math.Sqrt(squares / float64(len(price)-1))
}

// quantiles are those of the defined values, and whether they say anything: a
// reading that is undefined for most bars or has one value throughout does not.
func quantiles(x []float64) ([7]float64, bool) {
	step := (len(x) + mostValues - 1) / mostValues
	var v []float64
	looked := 0
	for i := 0; i < len(x); i += step {
		looked++
		if finite(x[i]) {
			v = append(v, x[i])
		}
	}
	var q [7]float64
	if 2*len(v) < looked || len(v) == 0 {
		return q, false
	}
	slices.Sort(v)
	for i, level := range quantileLevels {
		q[i] = round(v[int(level*float64(len(v)-1))])
	}
	return q, q[q98] > q[q02]
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// round keeps five digits: strategies are read by people.
func round(x float64) float64 {
	y, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 5, 64), 64)
	if err != nil {
		return x
	}
	return y + 0 // no negative zero
}

func (s *Stats) column(name string, period int) (Column, bool) {
	i, ok := slices.BinarySearchFunc(s.Columns, Column{Name: name, Period: period}, compareColumns)
	if !ok {
		return Column{}, false
	}
	return s.Columns[i], true
}

func compareColumns(a, b Column) int {
	return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Period, b.Period))
}

// check refuses statistics that Measure did not make.
func (s *Stats) check() error {
	switch {
	case len(s.Columns) == 0:
		return errors.New("the brief has no statistics of its market: set Brief.Stats to what Measure says of the bars that research may see")
	case !(s.Volatility > 0) || math.IsInf(s.Volatility, 0):
		return fmt.Errorf("the statistics of the market give a volatility of %v, which is no positive number", s.Volatility)
	case !slices.IsSortedFunc(s.Columns, compareColumns):
		return errors.New("the statistics of the market are out of order: they must be as Measure returned them")
	}
	for _, c := range s.Columns {
		if r, known := find(c.Name); !known || !slices.Contains(r.windows(), c.Period) {
			return fmt.Errorf("the statistics of the market have %q over %d bars, which this version does not use: measure the market again",
				c.Name, c.Period)
		}
	}
	return nil
}
