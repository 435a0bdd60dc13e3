package view

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/research"
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

func printReturns(w io.Writer, days []jobs.Point) {
	if len(days) == 0 {
		return
	}
	term.Table(w, "DAY\tRETURN", days, func(d jobs.Point) []any {
		return []any{d.Time.Format("2006-01-02"), fmt.Sprintf("%+.3f %%", 100*d.Value)}
	})
}

// researchFigures are the figures of a research: its numbers, and those of each
// symbol where several were traded. What is no number stands elsewhere in the
// result.
type researchFigures struct {
	figures map[string]*float64
	symbols []research.SymbolFigures
}

// UnmarshalJSON implements json.Unmarshaler.
func (j *researchFigures) UnmarshalJSON(text []byte) error {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	j.figures = map[string]*float64{}
	for name, value := range all {
		var x *float64
		if json.Unmarshal(value, &x) == nil {
			j.figures[name] = x
		}
	}
	if list, ok := all["symbols"]; ok {
		return json.Unmarshal(list, &j.symbols)
	}
	return nil
}

// shownAccount is what is shown of one symbol of a backtest of several.
type shownAccount struct {
	Symbol  string `json:"symbol"`
	Metrics struct {
		Sharpe      *float64 `json:"sharpe_ratio"`
		WinRate     *float64 `json:"win_rate"`
		Return      float64  `json:"total_return_pct"`
		Hold        *float64 `json:"buy_and_hold_return_pct"`
		MaxDrawdown float64  `json:"max_drawdown_pct"`
		Trades      int      `json:"total_trades"`
	} `json:"metrics"`
	Ended string `json:"ended"`
}

// printAccounts lists the figures of each symbol: of a backtest, or of a research.
func printAccounts(w io.Writer, accounts []shownAccount, symbols []research.SymbolFigures) {
	if len(accounts)+len(symbols) == 0 {
		return
	}
	fmt.Fprintln(w, "Figures of each symbol, in % where not a ratio:")
	term.Rows(w, "SYMBOL\tTRADES\tRETURN\tBUY AND HOLD\tSHARPE\tDRAWDOWN\tWIN RATE\tENDED", func(row func(...any)) {
		for _, a := range accounts {
			m := a.Metrics
			row(a.Symbol, m.Trades, term.Cents(m.Return), orUndefined(m.Hold, 1), orUndefined(m.Sharpe, 1), term.Cents(m.MaxDrawdown),
				orUndefined(m.WinRate, 100), a.Ended)
		}
		for _, s := range symbols {
			row(s.Symbol, s.Trades, term.Cents(100*s.NetReturn), orUndefined(s.BuyAndHold, 100), orUndefined(s.Sharpe, 1),
				term.Cents(100*s.MaxDrawdown), orUndefined(s.WinRate, 100), "")
		}
	})
}

func orUndefined(x *float64, unit float64) string {
	if x == nil {
		return "undefined"
	}
	return term.Cents(*x * unit)
}

func printTrades(w io.Writer, trades []jobs.Trade) {
	if len(trades) == 0 {
		return
	}
	head := "ENTRY\tEXIT\tSIDE\tQUANTITY\tENTERED AT\tLEFT AT\tNET\tCOSTS\tREASON"
	several := trades[0].Symbol != ""
	if several {
		head = "SYMBOL\t" + head
	}
	term.Table(w, head, trades, func(t jobs.Trade) []any {
		cells := []any{
			term.Minute(t.EntryTime.Unix()), term.Minute(t.ExitTime.Unix()), t.Side, term.Six(t.Quantity),
			term.Six(t.EntryPrice), term.Six(t.ExitPrice), term.Cents(t.Net), term.Cents(t.Costs), t.Reason,
		}
		if several {
			cells = append([]any{t.Symbol}, cells...)
		}
		return cells
	})
}

// printPoints lists a column, and that of each symbol where there are several.
func printPoints(w io.Writer, name string, sum []jobs.Point, accounts []jobs.AccountColumns, of func(jobs.AccountColumns) []jobs.Point) {
	head := "BAR"
	var columns [][]jobs.Point
	add := func(name string, points []jobs.Point) {
		if len(points) > 0 {
			head, columns = head+"\t"+name, append(columns, points)
		}
	}
	add(name, sum)
	for _, a := range accounts {
		add(name+" "+term.Plain(a.Symbol), of(a))
	}
	if len(columns) == 0 {
		return
	}
	term.Rows(w, head, func(row func(...any)) {
		for i, p := range columns[0] {
			cells := []any{term.Minute(p.Time.Unix())}
			for _, points := range columns {
				if i < len(points) {
					cells = append(cells, term.Cents(points[i].Value))
				}
			}
			row(cells...)
		}
	})
}
