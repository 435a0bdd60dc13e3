package evidence

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/ktrdr/ktrdr/num"
)

// Year is a row of the table of monthly returns.
type Year struct {
	Year   int          `json:"year"`
	Months [12]*float64 `json:"months"` // nil where the curve has no bar
	Return float64      `json:"return"` // of the whole year, as far as the curve has it
}

// Monthly breaks an equity curve into calendar months, UTC, by the opening
// instants of its bars. A month's return is from the last equity before it, or
// the first of all, to its last; so the months compound to the whole.
func Monthly(times []int64, equity []float64) ([]Year, error) {
	if err := fits(times, equity); err != nil {
		return nil, err
	}
	years := []Year{}
	var monthFrom, yearFrom float64
	var month time.Month
	for i, x := range equity {
		at := time.Unix(times[i], 0).UTC()
		before := equity[max(i-1, 0)]
		if n := len(years); n == 0 || years[n-1].Year != at.Year() {
			years = append(years, Year{Year: at.Year()})
			yearFrom, month = before, 0
		}
		if at.Month() != month {
			month, monthFrom = at.Month(), before
		}
		y := &years[len(years)-1]
		y.Months[month-1] = num.Finite(x/monthFrom - 1)
		y.Return = x/yearFrom - 1
	}
	return years, nil
}

// Drawdown is a fall below the highest equity until then.
type Drawdown struct {
	Depth     float64    `json:"depth"` // as a fraction of the peak
	Peak      time.Time  `json:"peak"`  // openings of the bars
	Trough    time.Time  `json:"trough"`
	Recovered *time.Time `json:"recovered"` // nil while it lasts
	Bars      int        `json:"bars"`      // from the peak to the recovery, or to the end
}

// Drawdowns are the deepest falls of an equity curve, deepest first and at most
// top of them. They do not overlap: a fall lasts until its peak is reached again.
func Drawdowns(times []int64, equity []float64, top int) ([]Drawdown, error) {
	if err := fits(times, equity); err != nil {
		return nil, err
	}
	falls := []Drawdown{}
	peak, under := 0, false
	for i, x := range equity {
		if x >= equity[peak] {
			if under {
				falls[len(falls)-1].Recovered = new(instant(times[i]))
				falls[len(falls)-1].Bars = i - peak
			}
			peak, under = i, false
			continue
		}
		if !under {
			falls = append(falls, Drawdown{Peak: instant(times[peak])})
			under = true
		}
		d := &falls[len(falls)-1]
		d.Bars = i - peak
		if depth := 1 - x/equity[peak]; depth > d.Depth {
			d.Depth, d.Trough = depth, instant(times[i])
		}
	}
	slices.SortStableFunc(falls, func(a, b Drawdown) int { return cmp.Compare(b.Depth, a.Depth) })
	return falls[:min(max(top, 0), len(falls))], nil
}

// fits checks that a curve can be broken into parts. Ruin ends a curve at zero or below; nothing may follow it.
func fits(times []int64, equity []float64) error {
	if len(times) != len(equity) || len(equity) == 0 {
		return fmt.Errorf("equity curve: %d values do not fit %d times; there must be one for each, and one at least", len(equity), len(times))
	}
	for i, x := range equity {
		if num.Finite(x) == nil || x <= 0 && i < len(equity)-1 {
			return fmt.Errorf("equity curve: value %d is %v; it must be a number above 0", i, x)
		}
		if i > 0 && times[i] <= times[i-1] {
			return fmt.Errorf("equity curve: time %d does not come after the one before it", i)
		}
	}
	if equity[0] <= 0 {
		return fmt.Errorf("equity curve: it begins with %v; it must begin above 0", equity[0])
	}
	return nil
}

func instant(seconds int64) time.Time { return time.Unix(seconds, 0).UTC() }
