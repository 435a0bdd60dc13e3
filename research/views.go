package research

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/jobs"
)

// Engine is what the views need of the engine.
type Engine interface {
	Notes
	Operation(ctx context.Context, id ktrdr.OperationID) (ktrdr.Operation, error)
	List(ctx context.Context, q ktrdr.OperationQuery) (ktrdr.OperationPage, error)
	Market(ctx context.Context, id string) (ktrdr.Market, error)
	Workers(ctx context.Context) ([]ktrdr.Worker, error)
	InQueue(ctx context.Context, name string, most int) (ktrdr.QueueState, error)
	OpenRuns(ctx context.Context) ([]ktrdr.OpenRun, error)
	CountNotes(ctx context.Context, q ktrdr.NoteQuery) (map[string]int64, error)
	Trials(ctx context.Context, q ktrdr.TrialQuery) (ktrdr.TrialPage, error)
	FindRun(ctx context.Context, id string) (ktrdr.Run, error)
	Tally(ctx context.Context, q ktrdr.TallyQuery) (ktrdr.Tally, error)
	Claims(ctx context.Context) ([]ktrdr.LivingClaim, error)
	ClaimOf(ctx context.Context, id ktrdr.OperationID) (ktrdr.LivingClaim, error)
	Looks(ctx context.Context, q ktrdr.LookQuery) (ktrdr.LookPage, error)
}

// Views shows how research stands, and what it left.
type Views struct {
	Engine Engine
	Limit  func([]ktrdr.Worker) int // how many researches may be active
	Daily  ktrdr.MicroUSD           // that may be spent on models in a day
	Calls  interface {              // the journal of calls to models
		Spending(ctx context.Context, research ktrdr.OperationID) (ktrdr.Spending, error)
	}
}

// Budget is how much of a day's money for models is left.
func (v Views) Budget(ctx context.Context) (BudgetStatus, error) {
	spent, err := v.Calls.Spending(ctx, "")
	if err != nil {
		return BudgetStatus{}, err
	}
	return BudgetStatus{Limit: v.Daily.USD(), Spent: spent.Today.USD(), Remaining: max(v.Daily-spent.Today, 0).USD()}, nil
}

// Status is how research stands, with a bounded number of those that wait.
func (v Views) Status(ctx context.Context, waiting int) (Status, error) {
	s := Snapshot{Children: map[ktrdr.OperationID]ktrdr.Operation{}, Now: time.Now()}
	var err error
	if s.Workers, err = v.Engine.Workers(ctx); err != nil {
		return Status{}, err
	}
	q, err := v.Engine.InQueue(ctx, QueueName, waiting)
	if err != nil {
		return Status{}, err
	}
	s.Queue = ktrdr.QueueHealth{Limit: v.Limit(s.Workers), Active: q.Count.Active, Waiting: q.Count.Waiting}
	s.Researches, s.Last = append(q.Started, q.Waiting...), q.Last
	for _, child := range q.Children {
		s.Children[child.ID] = child
	}
	if s.Runs, err = v.Engine.OpenRuns(ctx); err != nil {
		return Status{}, err
	}
	if s.Budget, err = v.Budget(ctx); err != nil {
		return Status{}, err
	}
	return StatusOf(s), nil
}

// MemoryQuery says which part of memory is wanted.
type MemoryQuery struct {
	Kind   string `query:"kind" oneof:"experiments,hypotheses,suggestions,trials" doc:"by default experiments"`
	Run    string `query:"run" doc:"only those of this run"`
	Limit  int    `query:"limit" doc:"entries of a page, 1 to 1000"`
	Cursor string `query:"cursor" doc:"next_cursor of the page before"`
}

// MemoryPage is a page of what researches left. The list of the kind that was asked
// for is there; Counts says how many there are of every kind.
type MemoryPage struct {
	Kind        string           `json:"kind"`
	Counts      map[string]int64 `json:"counts"`
	Experiments []ExperimentRow  `json:"experiments,omitzero"`
	Hypotheses  []HypothesisRow  `json:"hypotheses,omitzero"`
	Suggestions []Suggestion     `json:"suggestions,omitzero"`
	Trials      []ktrdr.Trial    `json:"trials,omitzero"`
}

// HypothesisRow is something to find out, with what is known of it now.
type HypothesisRow struct {
	HypothesisNote
	MadeUp *bool `json:"made_up"` // prices of the experiment that posed it were made up; null: not known
}

// ExperimentRow is how a research ended. The figures are those of the test part.
type ExperimentRow struct {
	Operation ktrdr.OperationID `json:"operation_id"`
	At        time.Time         `json:"at"`
	RunPosition

	Strategy string         `json:"strategy_name,omitempty"`
	Status   Outcome        `json:"status"` // completed, gate_rejected, failed
	Verdict  evidence.Level `json:"verdict,omitempty"`
	Rung     string         `json:"rung,omitempty"` // gate_rejected, nothing or finalist
	Summary  string         `json:"summary,omitempty"`
	// beside a claim, in the answer about one research: how often this lab claims falsely on the market
	Calibration string `json:"calibration,omitempty"`

	GateReason string `json:"gate_rejection_reason,omitempty"`
	Error      string `json:"error_message,omitempty"`

	Sharpe      *float64 `json:"sharpe_ratio,omitempty"`
	NetReturn   *float64 `json:"net_return,omitempty"`
	MaxDrawdown *float64 `json:"max_drawdown,omitempty"`
	Trades      int      `json:"total_trades"`
	TestEvidence

	Standing     string `json:"standing,omitempty"` // what it came to, in words
	MarketTrials int    `json:"market_trials"`      // on its market now
	MarketLooks  int    `json:"market_looks"`
	// in the answer about one research: the holdouts of its market with their budgets, oldest first
	Holdouts []ktrdr.Holdout `json:"holdouts,omitempty"`
	MadeUp   *bool           `json:"made_up"` // its prices, or some of them, were made up; null: not known

	// Only in the answer about one research, not in a list.
	Trial *ktrdr.Trial    `json:"trial,omitempty"`  // its row in the ledger
	Note  json.RawMessage `json:"note,omitempty"`   // strategy, hypotheses, hashes
	Steps *Ladder         `json:"ladder,omitempty"` // where it stands
	// of a finalist, when its generation is closed
	Examination *evidence.Examination `json:"examination,omitempty"`
}

// TestEvidence stands beside every figure of the test part; empty without a verdict.
type TestEvidence struct {
	TestSharpe *float64 `json:"test_sharpe"` // per year, net of costs
	Alpha      *float64 `json:"alpha"`       // per year: the return that buy-and-hold does not explain
	// probability that the test part shows more than the luckiest of all trials, when it was judged
	Deflated    *float64 `json:"deflated_sharpe"`
	Trials      int      `json:"trials_counted"`      // then
	BuyAndHold  *float64 `json:"buy_and_hold_return"` // in the time of the test part
	CostPerSide *float64 `json:"cost_per_side"`       // of a trade's value

	CostBelowDefault bool `json:"cost_below_default"` // below the default costs of the symbol's asset class
}

// Memory returns a page of one kind of notes, newest first, and the next cursor.
func (v Views) Memory(ctx context.Context, q MemoryQuery) (MemoryPage, string, error) {
	counts, err := v.Engine.CountNotes(ctx, ktrdr.NoteQuery{Run: q.Run})
	if err != nil {
		return MemoryPage{}, "", err
	}
	tally, err := v.Engine.Tally(ctx, ktrdr.TallyQuery{Run: q.Run})
	if err != nil {
		return MemoryPage{}, "", err
	}
	m := MemoryPage{Kind: q.Kind, Counts: map[string]int64{
		"experiments": counts[NoteExperiment], "hypotheses": counts[NoteHypothesis],
		"trials": int64(tally.Trials), "looks": int64(tally.Looks),
	}}
	var next string
	notes := ktrdr.NoteQuery{Run: q.Run, Limit: q.Limit, Cursor: q.Cursor}
	switch q.Kind {
	case "hypotheses":
		m.Hypotheses, err = v.hypotheses(ctx, q)
	case "suggestions":
		m.Suggestions, err = v.suggestions(ctx, q)
	case "trials":
		var page ktrdr.TrialPage
		page, err = v.Engine.Trials(ctx, ktrdr.TrialQuery{Run: q.Run, Limit: q.Limit, Cursor: q.Cursor})
		m.Trials, next = page.Trials, page.Next
	default:
		var records []Record
		if records, next, err = NewMemory(v.Engine).Records(ctx, notes); err == nil {
			m.Experiments, err = v.experiments(ctx, records)
		}
		for i := range m.Experiments {
			m.Experiments[i].Trial = nil // a row says of it what it shows
		}
	}
	return m, next, err
}

func (v Views) hypotheses(ctx context.Context, q MemoryQuery) ([]HypothesisRow, error) {
	if q.Cursor != "" {
		return nil, ktrdr.Errorf(ktrdr.CodeInvalid, "hypotheses come in one page: leave out the cursor and raise the limit")
	}
	const notesRead = 10_000 // each hypothesis has a note for each time that something became known of it
	known, err := NewMemory(v.Engine).Hypotheses(ctx, notesRead)
	if err != nil {
		return nil, err
	}
	list, marks := []HypothesisRow{}, map[string]*bool{} // by run
	for _, h := range known {
		if q.Run != "" && !strings.HasPrefix(h.Source, q.Run+"/") || q.Limit > 0 && len(list) == q.Limit {
			continue
		}
		id, _, _ := strings.Cut(h.Source, "/") // all researches of a run have the same bars
		mark, seen := marks[id]
		if !seen {
			run, err := v.Engine.FindRun(ctx, id)
			if err != nil && ktrdr.CodeOf(err) != ktrdr.CodeNotFound {
				return nil, err
			}
			mark, marks[id] = run.MadeUp, run.MadeUp
		}
		list = append(list, HypothesisRow{h, mark})
	}
	return list, nil
}

func (v Views) experiments(ctx context.Context, records []Record) ([]ExperimentRow, error) {
	list := make([]ExperimentRow, len(records))
	if len(records) == 0 {
		return list, nil
	}
	ids := text.Map(records, func(r Record) ktrdr.OperationID { return r.Operation })
	page, err := v.Engine.Trials(ctx, ktrdr.TrialQuery{Of: ids, Limit: mostRows})
	if err != nil {
		return nil, err
	}
	rows := map[ktrdr.OperationID]*ktrdr.Trial{}
	for i := range page.Trials {
		rows[page.Trials[i].Operation] = &page.Trials[i]
	}
	for i, r := range records {
		e := ExperimentRow{
			Operation: r.Operation, At: r.At, RunPosition: r.RunPosition,
			Strategy: r.Name, Status: r.Status, Verdict: r.Verdict, Rung: r.Rung, Summary: r.Summary,
			GateReason: r.GateReason, Error: r.Error,
		}
		if t := rows[r.Operation]; t != nil {
			e.Standing, e.MarketTrials, e.MarketLooks = Standing(t), t.MarketTrials, t.MarketLooks
			e.MadeUp, e.Trial = t.MadeUp, t
		}
		if f := r.Figures; f != nil {
			e.Sharpe, e.NetReturn, e.MaxDrawdown, e.Trades = f.Sharpe, &f.NetReturn, &f.MaxDrawdown, f.Trades
		}
		e.TestEvidence = evidenceOf(r.Figures)
		list[i] = e
	}
	return list, nil
}

// evidenceOf is the evidence in the figures of a research. A research that
// a gate rejected has no verdict, but its backtest measured the same test part.
func evidenceOf(f *BacktestFigures) TestEvidence {
	if f == nil {
		return TestEvidence{}
	}
	return TestEvidence{
		TestSharpe: cmp.Or(f.TestSharpe, f.Sharpe), Alpha: f.Alpha, Deflated: f.Deflated, Trials: f.Trials, BuyAndHold: f.BuyAndHold,
		CostPerSide: &f.CostPerSide, CostBelowDefault: f.CostBelowDefault,
	}
}

// Research returns a research; CodeInvalid if the id is that of something else.
func (v Views) Research(ctx context.Context, id ktrdr.OperationID) (ktrdr.Operation, error) {
	op, err := v.Engine.Operation(ctx, id)
	if err == nil && op.Type != ktrdr.AgentResearch {
		err = ktrdr.Errorf(ktrdr.CodeInvalid, "%s is not a research but %s; `ktrdr memory` lists what is remembered", id, op.Type)
	}
	return op, err
}

// Experiment returns all that is remembered of a research, by its newest note;
// CodeNotFound.
func (v Views) Experiment(ctx context.Context, id ktrdr.OperationID) (ExperimentRow, error) {
	op, err := v.Research(ctx, id)
	if err != nil {
		return ExperimentRow{}, err
	}
	records, _, err := NewMemory(v.Engine).Records(ctx, ktrdr.NoteQuery{Operation: id, Limit: 1})
	if err != nil {
		return ExperimentRow{}, err
	}
	if len(records) == 0 {
		return ExperimentRow{}, ktrdr.Errorf(ktrdr.CodeNotFound, "nothing is remembered of %s: it is %s", id, op.Status)
	}
	list, err := v.experiments(ctx, records)
	if err != nil {
		return ExperimentRow{}, err
	}
	e := list[0]
	if e.Steps, err = v.Ladder(ctx, op); err != nil {
		return ExperimentRow{}, err
	}
	if e.Trial != nil && e.Trial.Examination != "" {
		if e.Examination, err = ReadExamination(ctx, v.Engine, e.Trial.Examination); err != nil {
			return e, err
		}
	}
	if e.Trial != nil {
		m, err := v.Engine.Market(ctx, e.Trial.Market)
		if err != nil {
			return e, err
		}
		e.Holdouts = m.Holdouts
	}
	if e.Note, err = json.Marshal(records[0].Experiment); err != nil {
		return e, fmt.Errorf("experiment %s: %w", id, err)
	}
	return e, v.quote(ctx, &e)
}

// ReadExamination is what an examination found; nil if it did not complete.
func ReadExamination(ctx context.Context, store interface {
	Operation(ctx context.Context, id ktrdr.OperationID) (ktrdr.Operation, error)
}, id ktrdr.OperationID,
) (*evidence.Examination, error) {
	op, err := store.Operation(ctx, id)
	if err != nil || op.Status != ktrdr.Completed {
		return nil, err
	}
	r, err := jobs.ReadExamination(&op)
	return &r.Examination, err
}

const mostRows = 1000
