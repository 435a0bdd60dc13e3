package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/report"
	"github.com/ktrdr/ktrdr/research"
)

// Results prints the result of an operation, with the verdict of a research.
func Results(w io.Writer, p term.Palette, r api.Results, verdict *research.Assessment, run *report.Panel, next string) {
	fmt.Fprintf(w, "%s  %s\n", r.Operation, p.Status(r.Status))
	if r.ErrorMessage != "" {
		fmt.Fprintln(w, term.Plain(r.ErrorMessage))
	}
	Figures(w, r.Results)
	Verdict(w, p, verdict)
	RunEvidence(w, run)
	printLedger(w, r)
	Ladder(w, p, r.Ladder)
	if r.Examination != nil {
		Examination(w, p, &r.Examination.Examination)
	}
	Curve(w, r.Curve)
	for _, f := range r.Artifacts {
		fmt.Fprintf(w, "%s  %s  %s\n", term.Plain(f.Name), term.Bytes(f.Size), f.URL)
	}
	printTrades(w, r.Trades)
	printPoints(w, "EQUITY", r.Equity, r.Accounts, func(a jobs.AccountColumns) []jobs.Point { return a.Equity })
	printPoints(w, "POSITION", r.Positions, r.Accounts, func(a jobs.AccountColumns) []jobs.Point { return a.Positions })
	printReturns(w, r.Returns)
	if next != "" {
		fmt.Fprintf(w, "There is more: add --cursor %s.\n", next)
	}
}

// shownResult is what is shown of a result on a terminal; --json has the rest.
type shownResult struct {
	Summary    string                 `json:"summary"`
	Warnings   []string               `json:"warnings"`
	ResultHash string                 `json:"result_hash"`
	Metrics    map[string]*float64    `json:"metrics"`         // of a backtest: numbers, or null where undefined
	Judged     researchFigures        `json:"backtest_result"` // of a research: likewise
	Accounts   []shownAccount         `json:"accounts"`        // of a backtest of several symbols
	Costs      []research.PaidCosts   `json:"costs"`           // of a research
	MadeUp     *bool                  `json:"made_up"`
	Data       []research.SeriesFacts `json:"data"` // of a research
	Holds      *struct {
		Undefined int `json:"undefined"`
		Unsure    int `json:"unsure"`
		Answered  int `json:"answered"`
	} `json:"holds"` // of a backtest
	Test *struct {
		Accuracy  float64  `json:"test_accuracy"`
		Loss      float64  `json:"test_loss"`
		Precision *float64 `json:"precision"`
		Recall    *float64 `json:"recall"`
		F1        *float64 `json:"f1_score"`
		MAE       *float64 `json:"mae"`
	} `json:"test_metrics"`
}

// Summary is the sentence in which a result sums itself up; empty when it has
// none.
func Summary(result json.RawMessage) string {
	var r shownResult
	if json.Unmarshal(result, &r) != nil {
		return ""
	}
	return r.Summary
}

// ResultWords are the plain values of a result without a summary: "steps 60".
func ResultWords(result json.RawMessage) string {
	var all map[string]any
	read := json.NewDecoder(bytes.NewReader(result))
	read.UseNumber()
	if len(result) == 0 || read.Decode(&all) != nil {
		return ""
	}
	var words []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		switch all[name].(type) {
		case string, json.Number, bool:
			words = append(words, fmt.Sprintf("%s %v", strings.ReplaceAll(name, "_", " "), all[name]))
		}
	}
	return strings.Join(words, ", ")
}

// Figures prints a result for people: in words and numbers where it has
// them, else as it is.
func Figures(w io.Writer, result json.RawMessage) {
	var r shownResult
	if len(result) == 0 || string(result) == "null" { // it has not ended, or failed
		return
	}
	if json.Unmarshal(result, &r) != nil || r.Summary == "" {
		fmt.Fprintln(w, term.Plain(string(result)))
		return
	}
	fmt.Fprintln(w, term.Plain(r.Summary))
	for _, x := range r.Warnings {
		fmt.Fprintln(w, "warning:", term.Plain(x))
	}
	costs(w, r.Costs)
	printGroups(w, backtestFigures, r.Metrics)
	printGroups(w, researchGroups, r.Judged.figures)
	if h := r.Holds; h != nil {
		printFigure(w, "bars without a signal", fmt.Sprintf("%d undefined, %d unsure, %d answered hold", h.Undefined, h.Unsure, h.Answered))
	}
	if t := r.Test; t != nil {
		fmt.Fprintln(w, "Test part")
		printFigure(w, "accuracy", fraction.show(&t.Accuracy))
		printFigure(w, "loss", asIs.show(&t.Loss))
		for _, x := range []struct {
			name  string
			value *float64
			unit  figureUnit
		}{
			{"precision", t.Precision, fraction}, {"recall", t.Recall, fraction}, {"F1 score", t.F1, fraction}, {"mean absolute error", t.MAE, asIs},
		} {
			if x.value != nil { // of the other kind of network
				printFigure(w, x.name, x.unit.show(x.value))
			}
		}
	}
	if r.MadeUp != nil {
		printFigure(w, "prices", term.Prices(r.MadeUp))
	}
	for _, s := range r.Data {
		printFigure(w, "data", term.Plain(s.String()))
	}
	printAccounts(w, r.Accounts, r.Judged.symbols)
	if r.ResultHash != "" {
		printFigure(w, "result_hash", term.Plain(r.ResultHash))
	}
}

// Verdict prints every check, those that failed first, and what to try next.
func Verdict(w io.Writer, p term.Palette, a *research.Assessment) {
	if a == nil {
		return
	}
	failed := 0
	for _, r := range a.Reasons {
		if !r.Passed {
			failed++
		}
	}
	fmt.Fprintf(w, "Verdict: %s, %d of %s failed%s\n", a.Verdict, failed, text.Counted(len(a.Reasons), "check"), term.OnMadeUp("", a.MadeUp))
	for _, passed := range []bool{false, true} {
		for _, r := range a.Reasons {
			if r.Passed == passed {
				fmt.Fprintf(w, "  %s %s\n", p.Mark(passed), term.Plain(r.Text))
			}
		}
	}
	for _, s := range a.Suggestions {
		fmt.Fprintf(w, "  try: %s\n", term.Plain(s))
	}
}

// RunEvidence prints what all trials of the run of a research say together; nothing
// without a panel.
func RunEvidence(w io.Writer, p *report.Panel) {
	if p == nil {
		return
	}
	fmt.Fprintln(w, "Evidence of the whole run")
	if line := p.OfTrial(); line != "" {
		fmt.Fprintln(w, " ", term.Plain(line))
	}
	for _, line := range p.Lines() {
		fmt.Fprintln(w, " ", term.Plain(line))
	}
}

// printLedger prints the row of the ledger that belongs to a result, and the
// looks at the holdout.
func printLedger(w io.Writer, r api.Results) {
	if t := r.Trial; t != nil {
		fmt.Fprintf(w, "%s %s, prices %s: %s and %s at the holdout so far; this one: %s\n", term.Plain(t.Symbols), term.Plain(t.Timeframes),
			term.Prices(t.MadeUp), text.Counted(t.MarketTrials, "trial"), text.Counted(t.MarketLooks, "look"), research.Standing(t))
	}
	for i := range r.Looks {
		printLook(w, &r.Looks[i])
	}
	if r.Calibration != "" {
		fmt.Fprintln(w, term.Plain(r.Calibration))
	}
}

func printLook(w io.Writer, l *ktrdr.Look) {
	fmt.Fprintf(w, "%s (%s): %s\n", lookNumbers(l), strings.ReplaceAll(string(l.Kind), "_", " "), term.Plain(lookSays(l)))
	if h := report.HoldoutOf(l); h != nil && h.Sharpe != nil {
		printFigure(w, "holdout Sharpe", report.HoldoutText(h))
	}
	if l.Hash != (ktrdr.Hash{}) {
		printFigure(w, "look_hash", l.Hash.String())
	}
}

// lookNumbers counts a look at the holdout of its market, or at that of each of its markets.
func lookNumbers(l *ktrdr.Look) string {
	if len(l.Markets) == 1 {
		return fmt.Sprintf("look %d at the holdout", l.Markets[0].Number)
	}
	return strings.Join(text.Map(l.Markets, func(m ktrdr.LookMarket) string {
		return fmt.Sprintf("look %d at the holdout of %s", m.Number, m.Market)
	}), ", ")
}

// lookSays is what a look showed, in a sentence.
func lookSays(l *ktrdr.Look) string {
	var c research.Confirmation
	switch {
	case l.EndedAt.IsZero():
		return "it has not ended."
	case len(l.Result) > 0 && json.Unmarshal(l.Result, &c) == nil && c.Summary != "":
		return c.Summary
	case l.Claim:
		return fmt.Sprintf("edge claimed, %s after adjustment.", report.PValue(l.Adjusted))
	case l.Kind == ktrdr.LookByHand:
		return "the figures are the operation's own; a look by hand claims nothing."
	}
	return "no edge claimed."
}
