package view

import (
	"io"
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

// belowDefault says whether a table of experiments has a marked cost.
func belowDefault(list []research.ExperimentRow) bool {
	for _, e := range list {
		if e.CostBelowDefault {
			return true
		}
	}
	return false
}

// printCosts prints what a research paid, and where the costs come from.
func costs(w io.Writer, paid []research.PaidCosts) {
	if len(paid) == 0 {
		return
	}
	marked := false
	term.Table(w, "COSTS OF\tCLASS\tCOMMISSION\tSLIPPAGE\tSPREAD\tPER SIDE\tSOURCE\tOVERRULED", func(row func(...any)) {
		for _, p := range paid {
			overruled := "-"
			if p.Overruled != nil {
				overruled = costText(p.Overruled.PerSide(), false)
			}
			row(p.Symbol, p.Class, costText(p.Commission, false), costText(p.Slippage, false), costText(p.Spread, false),
				costText(p.PerSide(), p.BelowDefault), string(p.Source), overruled)
			marked = marked || p.BelowDefault
		}
	})
	report.PrintCostLegend(w, marked)
}
