package view

import (
	"io"
	"slices"
	"strconv"

	"github.com/ktrdr/ktrdr/instrument"
	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/report"
	"github.com/ktrdr/ktrdr/research"
)

// costText is the cost of one side of a trade in a table, marked where it is
// below the default of the asset class.
func costText(perSide float64, below bool) string {
	text := strconv.FormatFloat(perSide*instrument.BasisPoints, 'g', 3, 64) + "bp"
	if below {
		text += "*"
	}
	return text
}

// costs prints what a research paid, and where the costs come from.
func costs(w io.Writer, paid []research.PaidCosts) {
	if len(paid) == 0 {
		return
	}
	term.Table(w, "COSTS OF\tCLASS\tCOMMISSION\tSLIPPAGE\tSPREAD\tPER SIDE\tSOURCE\tOVERRULED", paid, func(p research.PaidCosts) []any {
		overruled := "-"
		if p.Overruled != nil {
			overruled = costText(p.Overruled.PerSide(), false)
		}
		return []any{
			p.Symbol, p.Class, costText(p.Commission, false), costText(p.Slippage, false), costText(p.Spread, false),
			costText(p.PerSide(), p.BelowDefault), string(p.Source), overruled,
		}
	})
	report.PrintCostLegend(w, slices.ContainsFunc(paid, func(p research.PaidCosts) bool { return p.BelowDefault }))
}
