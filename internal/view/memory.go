package view

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/instrument"
	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/report"
	"github.com/ktrdr/ktrdr/research"
)

// Memory prints a page of experiments, hypotheses or trials; run is the one asked for.
func Memory(w io.Writer, m research.MemoryPage, run string) {
	if m.Counts[m.Kind] == 0 {
		nothingYet(w, m.Kind, run)
		return
	}
	switch m.Kind {
	case "hypotheses":
		term.Table(w, "STATUS\tHYPOTHESIS\tPRICES\tFROM\tTESTED BY", m.Hypotheses, func(h research.HypothesisRow) []any {
			return []any{h.Status, h.Text, term.Prices(h.MadeUp), h.Source, term.Dash(h.TestedBy)}
		})
	case "trials":
		trials(w, m.Trials)
	default:
		experiments(w, m.Experiments)
	}
}

// nothingYet says what to do where nothing is remembered, of one run or at all.
func nothingYet(w io.Writer, what, run string) {
	if run != "" {
		fmt.Fprintf(w, "No %s of %s yet: its researches leave them as they end. Watch them with `ktrdr status`.\n", what, run)
		return
	}
	fmt.Fprintf(w, "No %s yet. Start a research with `ktrdr research \"a goal\"`.\n", what)
}

func trials(w io.Writer, list []ktrdr.Trial) {
	const head = "OPERATION\tSTRATEGY\tMARKET\tPRICES\tRUN\tSHARPE\tALPHA\tRETURN\tTRADES\tTRIALS\tLOOKS\tAT\tRESULT"
	term.Table(w, head, list, func(t ktrdr.Trial) []any {
		return []any{
			t.Operation.Tail(), term.Dash(t.Strategy), t.Symbols + " " + t.Timeframes, term.Prices(t.MadeUp),
			term.Dash(ktrdr.ShortRun(t.Run)), term.Hundredths(t.Sharpe), term.Percent(t.Alpha),
			term.Percent(t.NetReturn), t.Trades, t.MarketTrials, t.MarketLooks, term.Ago(t.CreatedAt), research.Standing(&t),
		}
	})
}

func experiments(w io.Writer, list []research.ExperimentRow) {
	head := "RESEARCH\tSTRATEGY\tPRICES\tVERDICT\t" + strings.Join(evidenceHead, "\t") + "\tRETURN\tTRADES\tAT\tRESULT"
	term.Table(w, head, list, func(e research.ExperimentRow) []any {
		said := []string{cmp.Or(e.Standing, string(e.Status))}
		for _, why := range []string{e.GateReason, e.Error} {
			if why != "" {
				said = append(said, why)
			}
		}
		return slices.Concat(
			[]any{e.Operation.Tail(), term.Dash(e.Strategy), term.Prices(e.MadeUp), term.Dash(string(e.Verdict))}, evidenceCells(e),
			[]any{term.Percent(e.NetReturn), e.Trades, term.Ago(e.At), strings.Join(said, ": ")})
	})
	report.PrintCostLegend(w, slices.ContainsFunc(list, func(e research.ExperimentRow) bool { return e.CostBelowDefault }))
}

// Experiment prints a research: its result, what its run says together, its
// hypothesis, its strategy.
func Experiment(w io.Writer, e research.ExperimentRow, run *report.Panel) {
	experiments(w, []research.ExperimentRow{e})
	if e.Summary != "" {
		fmt.Fprintf(w, "\n%s\n", term.Plain(e.Summary))
	}
	for _, h := range e.Holdouts {
		fmt.Fprintf(w, "Holdout %s.\n", h)
	}
	if run != nil {
		fmt.Fprintln(w)
		RunEvidence(w, run)
	}
	if e.Calibration != "" {
		fmt.Fprintln(w, term.Plain(e.Calibration))
	}
	var n struct {
		Hypothesis string `json:"hypothesis"`
		Strategy   string `json:"strategy_yaml"`
		Hypotheses []struct {
			Text string `json:"text"`
		} `json:"hypotheses"`
	}
	if json.Unmarshal(e.Note, &n) != nil { // of another version: the table is all we can tell
		return
	}
	if n.Hypothesis != "" {
		fmt.Fprintf(w, "\nTested: %s\n", term.Plain(n.Hypothesis))
	}
	for _, h := range n.Hypotheses {
		fmt.Fprintf(w, "Next:   %s\n", term.Plain(h.Text))
	}
	Ladder(w, term.Palette(false), e.Steps)
	if e.Examination != nil {
		fmt.Fprintln(w)
		Examination(w, false, e.Examination)
	}
	if n.Strategy != "" {
		fmt.Fprintf(w, "\n%s", term.PlainLines(n.Strategy))
	}
}

// NoLeaders says why a leaderboard is empty.
func NoLeaders(w io.Writer, q report.LeaderboardQuery) {
	switch {
	case q.Cursor != "":
		fmt.Fprintln(w, "There are no more rows.")
	case q.Symbol == "" && q.Timeframe == "":
		nothingYet(w, "researches that ended", q.Run)
	default:
		fmt.Fprintf(w, "No research that ended fits --%s. Leave out the filter to see all; `ktrdr data list` shows the symbols.\n",
			term.Plain(strings.Join(q.Filters(), " --")))
	}
}

// ModelHead are the columns of a table of models.
const ModelHead = "TRAINING\tSTRATEGY\tDATA\tPRICES\tSEED\tACCURACY\tBASELINE\tWARNINGS\tMODEL\tCOMPLETED"

// ModelCells fills the columns of modelHead. On a narrow terminal an id is its random
// tail, which commands take: a whole one would be cut to what all ids begin with.
func ModelCells(m jobs.TrainedModel, narrow bool) []any {
	id := string(m.Operation)
	if narrow {
		id = m.Operation.Tail()
	}
	return []any{
		id, m.Strategy, strings.Join(m.Symbols, ",") + " " + strings.Join(m.Timeframes, ","), term.Prices(m.MadeUp), m.Seed,
		term.Optional("%.4f", m.TestAccuracy), term.Optional("%.4f", m.Baseline), m.Warnings, term.ShortHash(m.File.SHA256.String()),
		term.Ago(m.CompletedAt),
	}
}

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
	return []any{
		term.Hundredths(e.TestSharpe), term.Percent(e.Alpha), term.Hundredths(e.Deflated), trials, looks, term.Percent(e.BuyAndHold), cost,
	}
}

// Ended says in a few words how a research ended. A look may lift a finalist.
func Ended(op ktrdr.Operation) string {
	var r research.Result
	_ = json.Unmarshal(op.Result, &r) // one that failed has none
	if op.ErrorMessage != "" {
		return op.ErrorMessage
	}
	return r.StrategyName + ": " + term.OnMadeUp(verdictWords(r), r.MadeUp)
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
