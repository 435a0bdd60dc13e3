package report

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/research"
)

// LeaderDetails are the figures of a row that its backtest and its assessment
// keep. They are of the test part.
type LeaderDetails struct {
	BuyAndHold  *float64         `json:"buy_and_hold_return"` // of the same bars; null: it was not backtested
	CostPerSide *float64         `json:"cost_per_side"`       // of the value of one entry or exit, as a fraction
	Checks      int              `json:"checks"`              // that were made; 0: it was not judged
	Passed      int              `json:"checks_passed"`
	Failures    int              `json:"checks_failed"`          // also those of the gate that stopped it
	Failed      *evidence.Reason `json:"failed_check,omitempty"` // the first of them
}

// childrenOfRows is how many rows are read at once: each has a backtest and an
// assessment, and a page of operations has at most 1000.
const childrenOfRows = 400

// addDetails reads what the backtests and assessments of rows say.
func (r Reporter) addDetails(ctx context.Context, rows []Leader) error {
	for i := range rows {
		rows[i].Details = &LeaderDetails{}
	}
	for some := range slices.Chunk(rows, childrenOfRows) {
		of := make([]ktrdr.OperationID, len(some))
		details := make(map[ktrdr.OperationID]*LeaderDetails, len(some))
		for i := range some {
			of[i] = some[i].Operation
			details[of[i]] = some[i].Details
		}
		page, err := r.engine.List(ctx, ktrdr.OperationQuery{
			Parents: of, Type: []ktrdr.Type{ktrdr.Backtesting, ktrdr.AgentAssessment}, Status: []ktrdr.Status{ktrdr.Completed}, Limit: 1000,
		})
		if err != nil {
			return err
		}
		for i := range page.Operations {
			op := &page.Operations[i]
			details[op.Parent].read(op)
		}
	}
	for i := range rows {
		if rows[i].Rung == ktrdr.RungRejected { // its checks are those of a gate
			rows[i].Details.Checks, rows[i].Details.Passed = 0, 0
		}
	}
	return nil
}

// read takes what a child of a research says. One of an earlier version that
// cannot be read says nothing.
func (d *LeaderDetails) read(op *ktrdr.Operation) {
	if op.Type == ktrdr.Backtesting {
		var run jobs.BacktestResult
		if json.Unmarshal(op.Result, &run) == nil {
			f := research.FiguresOf(&run)
			d.BuyAndHold, d.CostPerSide = f.BuyAndHold, &f.CostPerSide
		}
		return
	}
	var judged struct {
		Reasons []evidence.Reason `json:"reasons"`
	}
	if json.Unmarshal(op.Result, &judged) != nil || d.Checks > 0 { // the newest comes first
		return
	}
	d.Checks = len(judged.Reasons)
	for i := range judged.Reasons {
		switch reason := &judged.Reasons[i]; {
		case reason.Passed:
			d.Passed++
		default:
			d.Failures++
			if d.Failed == nil {
				d.Failed = reason
			}
		}
	}
}

// cells are the details in a table of the terminal.
func (d *LeaderDetails) cells() []any {
	cost, checks, failed := "-", "-", "-"
	if d.CostPerSide != nil {
		cost = fmt.Sprintf("%.1f", *d.CostPerSide*1e4)
	}
	if d.Checks > 0 {
		checks = fmt.Sprintf("%d/%d", d.Passed, d.Checks)
	}
	if d.Failed != nil {
		failed = string(d.Failed.Code)
	}
	return []any{term.Percent(d.BuyAndHold), cost, checks, failed}
}
