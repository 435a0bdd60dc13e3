package view

import (
	"fmt"
	"io"

	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/jobs"
)

// Curve shows when a backtest earned what it did, its deepest falls, and how
// far its Sharpe ratio could be off.
func Curve(w io.Writer, c *evidence.Curve) {
	if c == nil {
		return
	}
	fmt.Fprintln(w, sharpeText(c.Sharpe))
	fmt.Fprintln(w, "Returns in %:")
	term.Rows(w, "YEAR\tJAN\tFEB\tMAR\tAPR\tMAY\tJUN\tJUL\tAUG\tSEP\tOCT\tNOV\tDEC\tWHOLE", func(row func(...any)) {
		for _, y := range c.Years {
			cells := []any{y.Year}
			for _, m := range y.Months {
				if m == nil {
					cells = append(cells, "")
				} else {
					cells = append(cells, term.Cents(100**m))
				}
			}
			row(append(cells, term.Cents(100*y.Return))...)
		}
	})
	if len(c.Drawdowns) == 0 {
		return
	}
	fmt.Fprintln(w, "Deepest drawdowns:")
	term.Rows(w, "PEAK\tTROUGH\tDEPTH\tRECOVERED\tBARS", func(row func(...any)) {
		for _, d := range c.Drawdowns {
			recovered := "not yet"
			if d.Recovered != nil {
				recovered = term.Minute(d.Recovered.Unix())
			}
			row(term.Minute(d.Peak.Unix()), term.Minute(d.Trough.Unix()), term.Cents(100*d.Depth)+" %", recovered, d.Bars)
		}
	})
}

// sharpeText is the ratio with its interval, in a sentence.
func sharpeText(s evidence.Interval) string {
	if s.Estimate == nil || s.Low == nil || s.High == nil || s.P == nil {
		return "Sharpe ratio: undefined: " + term.Plain(s.Undefined)
	}
	per := "bar"
	if s.PerYear {
		per = "year"
	}
	return fmt.Sprintf("Sharpe ratio per %s: %.4g, from %.4g to %.4g with %.4g %% confidence; chance alone does as well in %.3g %% of cases "+
		"(%d resamples in blocks of about %.0f bars; strategies tried before are not counted)",
		per, *s.Estimate, *s.Low, *s.High, 100*s.Level, 100**s.P, s.Draws, s.Block)
}

// printReturns shows the net return of each day.
func printReturns(w io.Writer, days []jobs.Point) {
	if len(days) == 0 {
		return
	}
	term.Table(w, "DAY\tRETURN", days, func(d jobs.Point) []any {
		return []any{d.Time.Format("2006-01-02"), fmt.Sprintf("%+.3f %%", 100*d.Value)}
	})
}
