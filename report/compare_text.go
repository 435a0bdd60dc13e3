package report

import (
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/internal/text"
)

const (
	comparedLabel  = 18 // columns of a terminal
	comparedColumn = 12
	widestDesign   = 66
)

// PrintCompared prints strategies side by side, in at most 80 columns. What
// belongs to a holdout that was not opened is "sealed".
func PrintCompared(w io.Writer, c Compared) {
	column := columnOf(w, c)
	row := func(name string, cell func(*ComparedStrategy) string) {
		fmt.Fprintf(w, "%-*s", comparedLabel, name)
		for i := range c.Strategies {
			fmt.Fprintf(w, "%*s", column, text.Fit(term.Plain(cell(&c.Strategies[i])), column-1))
		}
		fmt.Fprintln(w)
	}
	look := func(name string, cell func(*ComparedLook) string) {
		row(name, func(s *ComparedStrategy) string {
			if s.Look == nil {
				return "sealed"
			}
			return cell(s.Look)
		})
	}
	row("RESEARCH", func(s *ComparedStrategy) string { return s.Operation.Tail() })
	row("strategy", func(s *ComparedStrategy) string { return s.Strategy })
	row("market", func(s *ComparedStrategy) string { return s.Symbols + " " + s.Timeframes })
	row("prices", func(s *ComparedStrategy) string { return term.Prices(s.MadeUp) })
	row("result", func(s *ComparedStrategy) string { return s.Standing })
	fmt.Fprintln(w, "HOLDOUT")
	look("Sharpe ratio", func(l *ComparedLook) string { return term.Hundredths(l.Sharpe) })
	look("standard error", func(l *ComparedLook) string { return term.Hundredths(l.StandardError) })
	look("needed, about", func(l *ComparedLook) string { return term.Hundredths(l.Needed) })
	look("p of one look", func(l *ComparedLook) string { return Significant(l.P) })
	look("looks counted", func(l *ComparedLook) string { return strconv.Itoa(l.Counted) })
	look("p, adjusted", func(l *ComparedLook) string { return Significant(l.Adjusted) })
	look("return", func(l *ComparedLook) string { return term.Percent(l.Return) })
	look("buy and hold", func(l *ComparedLook) string { return term.Percent(l.BuyAndHold) })
	fmt.Fprintln(w, "TEST PART")
	row("Sharpe ratio", func(s *ComparedStrategy) string { return term.Hundredths(s.Sharpe) })
	row("standard error", func(s *ComparedStrategy) string { return term.Hundredths(s.StandardError) })
	row("luck reaches", func(s *ComparedStrategy) string { return term.Hundredths(s.Luck) })
	row("deflated Sharpe", func(s *ComparedStrategy) string { return term.Hundredths(s.Deflated) })
	row("return", func(s *ComparedStrategy) string { return term.Percent(s.NetReturn) })
	row("buy and hold", func(s *ComparedStrategy) string { return term.Percent(s.BuyAndHold) })
	row("beta", func(s *ComparedStrategy) string { return term.Hundredths(s.Beta) })
	row("alpha z", func(s *ComparedStrategy) string { return term.Hundredths(s.AlphaZ) })
	row("max drawdown", func(s *ComparedStrategy) string { return term.Percent(s.MaxDrawdown) })
	row("trades", func(s *ComparedStrategy) string { return strconv.Itoa(s.Trades) })
	row("win rate", func(s *ComparedStrategy) string { return term.Percent(s.WinRate) })
	row("break-even cost", func(s *ComparedStrategy) string { return term.Optional("%.1fx", s.BreakEven) })
	row("Sharpe kept", func(s *ComparedStrategy) string { return term.Percent(s.Kept) })
	fmt.Fprintln(w, "CORRELATION of daily returns, test part")
	for i, list := range c.Correlation {
		k := 0
		row(c.Strategies[i].Operation.Tail(), func(*ComparedStrategy) string {
			k++
			return term.Hundredths(list[k-1])
		})
	}
	printDesigns(w, c)
	printComparedSummary(w, c)
}

// columnOf is how wide the column of a strategy is: as its texts need, and on a
// terminal as there is room.
func columnOf(w io.Writer, c Compared) int {
	column := comparedColumn
	for i := range c.Strategies {
		s := &c.Strategies[i]
		for _, cell := range []string{s.Strategy, s.Symbols + " " + s.Timeframes, s.Standing} {
			column = max(column, text.Width(term.Plain(cell))+1)
		}
	}
	if term.IsTerminal(w) && len(c.Strategies) > 0 {
		column = max(comparedColumn, min(column, (term.Width(w)-1-comparedLabel)/len(c.Strategies)))
	}
	return column
}

// printDesigns prints a field in a line where all values are short, else a line
// for each strategy that has it.
func printDesigns(w io.Writer, c Compared) {
	fmt.Fprintln(w, "DIFFERENCES of the designs")
	for _, d := range c.Differences {
		short := !slices.ContainsFunc(d.Values, func(v string) bool { return len(v) >= comparedColumn })
		if name := term.Plain(d.Path); !short || len(name) > comparedLabel {
			fmt.Fprintln(w, name)
		} else {
			fmt.Fprintf(w, "%-*s", comparedLabel, name)
		}
		for i, v := range d.Values {
			switch {
			case short && i == 0 && len(d.Path) > comparedLabel:
				fmt.Fprintf(w, "%*s", comparedLabel+comparedColumn, term.Plain(term.Dash(v)))
			case short:
				fmt.Fprintf(w, "%*s", comparedColumn, term.Plain(term.Dash(v)))
			case v != "":
				fmt.Fprintf(w, "  %s  %s\n", c.Strategies[i].Operation.Tail(), design(w, v))
			}
		}
		if short {
			fmt.Fprintln(w)
		}
	}
}

// design is a value of a design, cut where a terminal has no room.
func design(w io.Writer, v string) string {
	if !term.IsTerminal(w) {
		return term.Plain(v)
	}
	return text.Fit(term.Plain(v), max(widestDesign, term.Width(w)-14))
}

func printComparedSummary(w io.Writer, c Compared) {
	if c.Bets != nil {
		fmt.Fprintf(w, "They are about %.1f independent bets.\n", *c.Bets)
	}
	if c.Luck != nil {
		fmt.Fprintf(w, "The best of %s without an edge shows about %.2f Sharpe.\n", text.Counted(c.Trials, "trial"), *c.Luck)
	}
	fmt.Fprintf(w, "%s at the holdout; a claim needs adjusted p <= %v.\n", text.Counted(len(c.Looks), "look"), c.MaxAdjustedP)
}
