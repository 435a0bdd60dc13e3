package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/httpapi"
	"github.com/ktrdr/ktrdr/research"
)

// This file prints what came of researches. A figure of the test part never
// stands alone: the search has chosen by it.

// evidenceOf puts the figures of a research into the API's words. What a gate
// refused has no verdict, but its backtest measured the same test part.
func evidenceOf(f *research.Figures) httpapi.Evidence {
	if f == nil {
		return httpapi.Evidence{}
	}
	return httpapi.Evidence{
		TestSharpe: cmp.Or(f.TestSharpe, f.Sharpe), HoldoutSharpe: f.HoldoutSharpe, Deflated: f.Deflated, Trials: f.Trials, Openings: f.Openings,
		Luck: f.Luck, BuyAndHold: f.BuyAndHold, CostPerSide: &f.CostPerSide,
	}
}

// evidenceHead are the columns that evidenceCells fills.
var evidenceHead = []string{"TEST SHARPE", "HOLDOUT", "DEFLATED", "TRIALS", "HOLD", "COST"}

func evidenceCells(e httpapi.Evidence) []any {
	holdout, trials, cost := "sealed", "-", "-"
	if e.HoldoutSharpe != nil || e.Luck != nil {
		holdout = hundredths(e.HoldoutSharpe)
	}
	if e.Trials > 0 {
		trials = fmt.Sprint(e.Trials)
	}
	if e.CostPerSide != nil {
		cost = fmt.Sprintf("%.3gbp", *e.CostPerSide*basisPoints)
	}
	return []any{hundredths(e.TestSharpe), holdout, hundredths(e.Deflated), trials, percentOf(e.BuyAndHold), cost}
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

func resultOf(op ktrdr.Operation) (r research.Result) {
	_ = json.Unmarshal(op.Result, &r) // one that failed has none
	return r
}

// verdictOf is the judgement in two words.
func verdictOf(r research.Result) string {
	switch {
	case r.Claim:
		return string(r.Verdict) + ", an edge is claimed"
	case r.Outcome == research.OutcomeRejected:
		return "refused by a gate: " + r.GateReason
	case r.Verdict == "":
		return "-"
	}
	return string(r.Verdict)
}

// printVerdicts prints the result table, and what it means.
func printVerdicts(w io.Writer, ops []ktrdr.Operation) {
	head := "\nRESEARCH\tSTRATEGY\t" + strings.Join(evidenceHead, "\t") + "\tRETURN\tDRAWDOWN\tTRADES\tVERDICT"
	table(w, head, func(row func(...any)) {
		for _, op := range ops {
			r := resultOf(op)
			net, fall, trades, verdict := "-", "-", "-", verdictOf(r)
			if f := r.Figures; f != nil {
				net, fall, trades = percentText(f.NetReturn), percentText(f.MaxDrawdown), fmt.Sprint(f.Trades)
			}
			if op.Status != ktrdr.Completed {
				verdict = string(op.Status) + ": " + op.ErrorMessage
			}
			row(cells(tail(op.ID), dash(r.StrategyName), evidenceCells(evidenceOf(r.Figures)), net, fall, trades, verdict)...)
		}
	})
	fmt.Fprintf(w, "\n%s\n", closing(ops))
	if said := withoutModel(ops); said != "" {
		fmt.Fprintln(w, said)
	}
}

// withoutModel says how much of it the program did itself although a model was
// asked for, and why the first time; empty where it did not.
func withoutModel(ops []ktrdr.Operation) string {
	n, first := 0, ""
	for _, op := range ops {
		if r := resultOf(op); len(r.Instead) > 0 {
			n++
			first = cmp.Or(first, r.Instead[0])
		}
	}
	if n == 0 {
		return ""
	}
	return plain(fmt.Sprintf("In %d of %d the program did itself what a model was asked for. %s", n, len(ops), first))
}

// closing says in a sentence what came of all of them.
func closing(ops []ktrdr.Operation) string {
	claims, opened := 0, 0
	var against count
	for _, op := range ops {
		r := resultOf(op)
		if r.Claim {
			claims++
		}
		if r.HoldoutOpened {
			opened++
		}
		against.add(r.Figures)
	}
	said := fmt.Sprintf("Nothing survived: no edge is claimed by any of %d%s.", len(ops), against)
	if claims > 0 {
		said = fmt.Sprintf("%d of %d claim an edge: it is left after costs, on a holdout that the design did not see%s.", claims, len(ops), against)
	}
	return fmt.Sprintf("%s In all, the holdout was opened %s.", said, numbered(opened, "time", "times"))
}

// count is what verdicts were counted against: of several the most. The openings
// are those that luck is granted, which is not how often the holdout was opened:
// see evidence.Openings.
type count struct{ trials, openings int }

func (c *count) add(f *research.Figures) {
	if f != nil {
		c.trials, c.openings = max(c.trials, f.Trials), max(c.openings, f.Openings)
	}
}

func (c count) String() string {
	if c.trials == 0 { // nothing came to a verdict
		return ""
	}
	return fmt.Sprintf(", where each verdict grants luck up to %s and %s of the holdout", numbered(c.trials, "trial", "trials"), numbered(c.openings, "opening", "openings"))
}

func percentText(x float64) string { return fmt.Sprintf("%.1f%%", 100*x) }

func percentOf(x *float64) string {
	if x == nil {
		return "-"
	}
	return percentText(*x)
}
