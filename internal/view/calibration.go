package view

import (
	"fmt"
	"io"
	"strings"

	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/research"
)

// Calibration prints a calibration that completed.
func Calibration(w io.Writer, row research.CalibrationRow) {
	c := &row.Calibration
	fmt.Fprintf(w, "%s  %s %s%s\n", row.Operation, term.Plain(c.Symbol), c.Timeframe, madeUpNote(c.MadeUp))
	printFigure(w, "false claims", fmt.Sprintf("%d of %d copies: %.1f %% (95 %% interval %.1f to %.1f %%)", c.Claimed, c.Worlds, 100*c.Rate,
		100*c.Low, 100*c.High))
	searched := fmt.Sprintf("%s of each copy, %s before the holdout", text.Counted(c.Researches, "research", "researches"),
		text.Counted(c.Bars, "bar"))
	if c.CostPerSide != nil {
		searched += ", costs of " + costText(*c.CostPerSide, false) + " per side"
	}
	printFigure(w, "searched", searched)
	var shares []string
	for _, share := range []float64{0.05, 0.5, 0.95} {
		if x := c.Luckiest(share); x != nil {
			shares = append(shares, fmt.Sprintf("%.0f %% below %.2f", 100*share, *x))
		}
	}
	if len(shares) == 0 {
		shares = []string{"undefined: no copy let a strategy pass the gates"}
	}
	printFigure(w, "luckiest Sharpe ratio", strings.Join(shares, ", "))
	for _, p := range c.Power {
		printFigure(w, fmt.Sprintf("planted edge %.2f", p.Strength),
			fmt.Sprintf("net Sharpe ratio %s: found in %d of %d copies (95 %% interval %.0f to %.0f %%)", orUndefined(p.Sharpe, 1), p.Found,
				p.Worlds, 100*p.Low, 100*p.High))
	}
	switch {
	case c.Least != nil:
		printFigure(w, "found with 80 %", fmt.Sprintf("from a net Sharpe ratio of %.2f on", *c.Least))
	case c.Why != "":
		printFigure(w, "found with 80 %", c.Why)
	}
	if row.Stale != "" {
		printFigure(w, "stale", row.Stale)
	}
}

func madeUpNote(madeUp *bool) string {
	if madeUp != nil && *madeUp {
		return "  (made-up prices)"
	}
	return ""
}
