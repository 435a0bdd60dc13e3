package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/research"
)

// printPreview prints what a dry run answers.
func printPreview(w io.Writer, p *research.Preview) {
	what := "designed by " + p.Model
	if p.Strategy != "" {
		what = "of the strategy " + term.Plain(p.Strategy)
	}
	fmt.Fprintf(w, "Nothing was started. It would be %s on %s, %s bars, %s.\n", text.Counted(p.Count, "research", "researches"),
		strings.Join(p.Symbols, ", "), strings.Join(p.Timeframes, " and "), what)
	for _, s := range p.Series {
		role := "read as context, not traded"
		if s.Costs != nil {
			role = s.Costs.Charged()
		}
		fmt.Fprintf(w, "%s %s: %d bars to search, %d in the holdout, which begins on %s; %s; prices %s.\n", s.Symbol, s.Timeframe,
			s.Searched, s.Sealed, s.HoldoutFrom.UTC().Format(time.DateOnly), role, term.Prices(s.MadeUp))
	}
	unit, before, after := "standard errors of the Sharpe ratio", p.LuckBeforeZ, p.LuckAfterZ
	if p.LuckBefore != nil && p.LuckAfter != nil {
		unit, before, after = "Sharpe ratio", *p.LuckBefore, *p.LuckAfter
	}
	fmt.Fprintf(w, "Expected best by luck: %.2f now, %.2f afterwards (%s); %s on the market.\n", before, after, unit,
		text.Counted(p.Trials, "trial"))
	fmt.Fprintf(w, "%s at the holdout; the next needs p <= %.2g before adjustment.\n", text.Counted(p.Looks, "look"), p.NeededP)
	if p.Seconds != nil {
		fmt.Fprintf(w, "About %s, %d at a time; %d active and %d waiting now.\n", term.Brief(time.Duration(*p.Seconds*float64(time.Second))),
			p.Limit, p.Active, p.Waiting)
	}
}
