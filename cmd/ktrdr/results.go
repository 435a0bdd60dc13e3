package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/research"
)

const resultsHelp = `Show the result of an operation: its figures and files. For a backtest also the return
of every month, the five deepest drawdowns, and the 95 % interval of the Sharpe ratio.
--include trades,equity,positions,returns shows a page of these columns too (returns
are daily and net); --limit and --cursor choose the page.

A research without a claim keeps its figures and daily returns. Its other files are
computed again on demand. "ktrdr pin ID" keeps them.

A backtest of several symbols shows the figures of the sum and of each symbol. A
research shows every check of its verdict, or why a gate rejected it, and what to try
next.`

func newResults(a *app) *cobra.Command {
	var (
		include []string
		limit   int
		cursor  string
	)
	cmd := a.onOperation("results", "Show the result of an operation",
		func(ctx context.Context, c *client.Client, id ktrdr.OperationID) error {
			r, next, err := c.Results(ctx, id, include, limit, cursor)
			if err != nil {
				return err
			}
			var lost error
			if cursor == "" && r.Type == ktrdr.Backtesting && r.Status == ktrdr.Completed {
				var shown api.Results
				shown, _, lost = c.Results(ctx, id, []string{"curve"}, 0, "")
				r.Curve = shown.Curve
			}
			verdict, err := verdictOn(ctx, c, r, cursor)
			if err != nil {
				return err
			}
			err = a.print(resultsPage{r, verdict, next}, func(w io.Writer) { a.printResults(w, r, verdict, next) })
			return errors.Join(err, lost) // the figures are known though the file is not
		})
	cmd.Long = resultsHelp
	cmd.Flags().StringSliceVar(&include, "include", nil, "`COLUMNS` of a backtest: trades, equity, positions, returns")
	cmd.Flags().IntVar(&limit, "limit", 0, "entries of each column (default 100)")
	notZero(cmd.Flags(), "limit")
	cmd.Flags().StringVar(&cursor, "cursor", "", "start of the page, as the page before printed it")
	return cmd
}

// resultsPage is the answer with the verdict, of a research, and where the next
// page begins.
type resultsPage struct {
	api.Results
	Verdict *research.Assessment `json:"verdict,omitempty"`
	Next    string               `json:"next_cursor,omitempty"`
}

func (a *app) printResults(w io.Writer, r api.Results, verdict *research.Assessment, next string) {
	fmt.Fprintf(w, "%s  %s\n", r.Operation, a.palette().status(r.Status))
	if r.ErrorMessage != "" {
		fmt.Fprintln(w, plain(r.ErrorMessage))
	}
	printFigures(w, r.Results)
	printVerdict(w, a.palette(), verdict)
	printLedger(w, r)
	printCurve(w, r.Curve)
	for _, f := range r.Artifacts {
		fmt.Fprintf(w, "%s  %s  %s\n", plain(f.Name), bytesText(f.Size), f.URL)
	}
	printTrades(w, r.Trades)
	printPoints(w, "EQUITY", r.Equity, r.Accounts, func(a jobs.AccountColumns) []jobs.Point { return a.Equity })
	printPoints(w, "POSITION", r.Positions, r.Accounts, func(a jobs.AccountColumns) []jobs.Point { return a.Positions })
	printReturns(w, r.Returns)
	if next != "" {
		fmt.Fprintf(w, "There is more: add --cursor %s.\n", next)
	}
}

func six(x float64) string   { return fmt.Sprintf("%.6g", x) }
func cents(x float64) string { return fmt.Sprintf("%.2f", x) }

// shownResult is what is shown of a result on a terminal; --json has the rest.
type shownResult struct {
	Summary    string               `json:"summary"`
	Warnings   []string             `json:"warnings"`
	ResultHash string               `json:"result_hash"`
	Metrics    map[string]*float64  `json:"metrics"`         // of a backtest: numbers, or null where undefined
	Judged     researchFigures      `json:"backtest_result"` // of a research: likewise
	Accounts   []shownAccount       `json:"accounts"`        // of a backtest of several symbols
	Costs      []research.PaidCosts `json:"costs"`           // of a research
	MadeUp     *bool                `json:"made_up"`
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

// summary is the sentence in which a result sums itself up; empty when it has
// none.
func summary(result json.RawMessage) string {
	var r shownResult
	if json.Unmarshal(result, &r) != nil {
		return ""
	}
	return r.Summary
}

// resultWords are the plain values of a result without a summary: "steps 60".
func resultWords(result json.RawMessage) string {
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

// printFigures prints a result for people: in words and numbers where it has
// them, else as it is.
func printFigures(w io.Writer, result json.RawMessage) {
	var r shownResult
	if len(result) == 0 {
		return
	}
	if json.Unmarshal(result, &r) != nil || r.Summary == "" {
		fmt.Fprintln(w, plain(string(result)))
		return
	}
	fmt.Fprintln(w, plain(r.Summary))
	for _, x := range r.Warnings {
		fmt.Fprintln(w, "warning:", plain(x))
	}
	printCosts(w, r.Costs)
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
		printFigure(w, "prices", pricesText(r.MadeUp))
	}
	printAccounts(w, r.Accounts, r.Judged.symbols)
	if r.ResultHash != "" {
		printFigure(w, "result_hash", plain(r.ResultHash))
	}
}
