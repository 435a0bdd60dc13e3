package view

import (
	"encoding/json"
	"fmt"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/research"
)

// This file prints the results of researches. A figure of the test part never
// stands alone: the search has chosen by it.

// evidenceHead are the columns that evidenceCells fills.
var evidenceHead = []string{"SHARPE", "ALPHA", "DEFL", "TRIALS", "LOOKS", "HOLD", "COST"}

// evidenceCells shows the trials and looks on the market now; without a row of
// the ledger, the trials that the verdict was adjusted for.
func evidenceCells(e research.ExperimentRow) []any {
	trials, looks, cost := "-", "-", "-"
	if e.Trials > 0 {
		trials = fmt.Sprint(e.Trials)
	}
	if e.Standing != "" {
		trials, looks = fmt.Sprint(e.MarketTrials), fmt.Sprint(e.MarketLooks)
	}
	if e.CostPerSide != nil {
		cost = costText(*e.CostPerSide, e.CostBelowDefault)
	}
	return []any{term.Hundredths(e.TestSharpe), term.Percent(e.Alpha), term.Hundredths(e.Deflated), trials, looks, term.Percent(e.BuyAndHold), cost}
}

// cells joins single cells and lists of them to a row.
func cells(parts ...any) (row []any) {
	for _, p := range parts {
		if list, ok := p.([]any); ok {
			row = append(row, list...)
		} else {
			row = append(row, p)
		}
	}
	return row
}

func ResultOf(op ktrdr.Operation) (r research.Result) {
	_ = json.Unmarshal(op.Result, &r) // one that failed has none
	return r
}

// VerdictOf is what a research came to, in a few words. A look may lift a
// finalist.
func VerdictOf(r research.Result) string {
	return term.OnMadeUp(verdictWords(r), r.MadeUp)
}

func verdictWords(r research.Result) string {
	switch {
	case r.Outcome == research.OutcomeRejected:
		return "rejected by a gate: " + r.GateReason
	case r.Rung == ktrdr.RungFinalist:
		return "finalist"
	case r.Verdict == "":
		return "-"
	}
	return string(r.Verdict)
}
