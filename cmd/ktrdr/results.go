package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/backend"
	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/export"
	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/internal/view"
	"github.com/ktrdr/ktrdr/page"
	"github.com/ktrdr/ktrdr/report"
	"github.com/ktrdr/ktrdr/research"
)

const resultsHelp = `Show the result of an operation: its figures and files. For a backtest also the return
of every month, the five deepest drawdowns, and the 95 % interval of the Sharpe ratio.
--include trades,equity,positions,returns shows a page of these columns too (returns
are daily and net); --limit and --cursor choose the page.

On a terminal it also draws curves: the equity of a backtest or of the test part, never
past a holdout that was not opened, and the training loss. --curves draws them into a
pipe too, and --curves=false leaves them out.

A research that is not a finalist keeps only its figures and daily returns. Its other
files are computed again on demand. "ktrdr pin ID" keeps them.

--html FILE writes the page of a research as one file that can be sent: verdict, charts,
trades and strategy, at most 1 MB, readable without a network and without a script.

--csv DIR and --parquet DIR write trades, equity, positions and figures as files for
pandas, DuckDB and spreadsheets: of a backtest, or of the backtest of a research.
"ktrdr help formats" says what each column means.

A backtest of several symbols shows the figures of the sum and of each symbol. A
research shows every check of its verdict, or why a gate rejected it, and what to try
next. It also shows what all trials of its run say together: SPA, StepM and PBO.`

func newResults(a *app) *cobra.Command {
	var (
		include []string
		limit   int
		cursor  string
		files   exportFlags
		html    htmlFlags
		curves  curveFlag
	)
	cmd := a.onOperation("results", "Show the result of an operation",
		func(ctx context.Context, c *client.Client, id ktrdr.OperationID) error {
			if err := curves.check(a, files.wanted() || html.file != ""); err != nil {
				return err
			}
			if (files.wanted() || html.file != "") && (len(include) > 0 || limit > 0 || cursor != "") {
				return usagef("--html, --csv and --parquet write everything: leave out --include, --limit and --cursor")
			}
			switch {
			case files.wanted() && html.file != "":
				return usagef("--html writes a file, --csv and --parquet a folder: give one of them")
			case html.file != "":
				return a.strategyHTML(ctx, c, html, id)
			case files.wanted():
				return a.exportTables(&files, func() ([]export.Table, error) { return export.Results(ctx, c, id) })
			}
			r, next, err := c.Results(ctx, id, include, limit, cursor)
			if err != nil {
				return err
			}
			var lost error
			if cursor == "" && slices.Contains(backend.Types()[r.Type].Columns, "curve") && r.Status == ktrdr.Completed {
				var shown api.Results
				shown, _, lost = c.Results(ctx, id, []string{"curve"}, 0, "")
				r.Curve = shown.Curve
			}
			verdict, err := verdictOn(ctx, c, r, cursor)
			if err != nil {
				return err
			}
			var run *report.Panel
			if verdict != nil {
				if run, err = panelOf(ctx, c, r.Operation); err != nil {
					return err
				}
			}
			var figures []*term.Figure
			if curves.wanted(a) && cursor == "" {
				if figures, err = curvesOf(ctx, c, r, verdict); err != nil {
					return err
				}
			}
			err = a.print(resultsPage{r, verdict, run, next}, func(w io.Writer) {
				w = term.Words(w)
				view.Results(w, a.palette(), r, verdict, run, next)
				view.Curves(w, a.palette(), figures...)
			})
			return errors.Join(err, lost) // the figures are known though the file is not
		})
	cmd.Long = resultsHelp
	cmd.Flags().StringSliceVar(&include, "include", nil, "`COLUMNS` of a backtest: trades, equity, positions, returns")
	cmd.Flags().IntVar(&limit, "limit", 0, "entries of each column (default 100)")
	notZero(cmd.Flags(), "limit")
	cursorFlag(cmd, &cursor)
	files.add(cmd, "trades, equity, positions and figures")
	html.add(cmd, &files.force)
	curves.add(cmd)
	return cmd
}

// curvesOf are the figures of a result: of a backtest its equity, of a training its
// loss, of a research both.
func curvesOf(ctx context.Context, c *client.Client, r api.Results, verdict *research.Assessment) ([]*term.Figure, error) {
	switch r.Type {
	case ktrdr.Backtesting:
		return []*term.Figure{view.EquityOf(r.Results)}, nil
	case ktrdr.Training:
		return []*term.Figure{view.TrainingLoss(r.Results)}, nil
	case ktrdr.AgentResearch:
		trained, err := childResult(ctx, c, r.Operation, ktrdr.Training)
		return []*term.Figure{view.EquityInTest(verdict), view.TrainingLoss(trained)}, err
	}
	return nil, nil
}

// strategyHTML writes the page of a research into a file.
func (a *app) strategyHTML(ctx context.Context, c *client.Client, f htmlFlags, id ktrdr.OperationID) error {
	op, err := c.Operation(ctx, id)
	if err != nil {
		return err
	}
	if op.Type != ktrdr.AgentResearch {
		hint := "`ktrdr leaderboard` lists researches"
		if op.Parent != "" {
			hint = "its research may be " + string(op.Parent)
		}
		return usagef("--html shows a research, and %s is of the type %s: %s", id, op.Type, hint)
	}
	return a.writeHTML(f, c, func(cfg page.Config, w io.Writer) error { return page.WriteStrategy(ctx, cfg, w, string(id)) })
}

// resultsPage is the answer with the verdict, of a research, and where the next
// page begins.
type resultsPage struct {
	api.Results
	Verdict *research.Assessment `json:"verdict,omitempty"`
	Panel   *report.Panel        `json:"panel,omitempty"` // of its run
	Next    string               `json:"next_cursor,omitempty"`
}

// panelOf judges the run of a research; nil where it belongs to no run.
func panelOf(ctx context.Context, c *client.Client, id ktrdr.OperationID) (*report.Panel, error) {
	p, err := c.Panel(ctx, report.PanelQuery{Research: id})
	if ktrdr.CodeOf(err) == ktrdr.CodeInvalid || ktrdr.CodeOf(err) == ktrdr.CodeNotFound {
		return nil, nil //nolint:nilnil // made by an earlier version
	}
	return &p, err
}

// verdictOn reads the verdict on a research that has one: the result of its newest
// assessment. It is nil for other operations, and on later pages.
func verdictOn(ctx context.Context, c *client.Client, r api.Results, cursor string) (*research.Assessment, error) {
	if r.Type != ktrdr.AgentResearch || r.Status != ktrdr.Completed || cursor != "" {
		return nil, nil //nolint:nilnil // it has no such file
	}
	result, err := childResult(ctx, c, r.Operation, ktrdr.AgentAssessment)
	if err != nil || result == nil {
		return nil, err
	}
	var a research.Assessment
	if json.Unmarshal(result, &a) != nil { // of another version
		return nil, nil //nolint:nilerr,nilnil // the summary says what it came to
	}
	return &a, nil
}

// childResult is the result of the newest child of a type that has completed; nil
// without one.
func childResult(ctx context.Context, c *client.Client, parent ktrdr.OperationID, kind ktrdr.Type) (json.RawMessage, error) {
	found, err := c.List(ctx, ktrdr.OperationQuery{
		Parent: parent, Type: []ktrdr.Type{kind}, Status: []ktrdr.Status{ktrdr.Completed}, Limit: 1,
	})
	if err != nil || len(found.Operations) == 0 {
		return nil, err
	}
	op, err := c.Operation(ctx, found.Operations[0].ID)
	return op.Result, err
}
