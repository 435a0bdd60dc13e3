package httpapi

import (
	"context"
	"encoding/json"
	"time"

	"github.com/ktrdr/ktrdr"
)

// Research is what the API needs of whoever knows about researches. What they
// are once they run, the engine knows: they are operations.
type Research interface {
	Reporter

	// Trigger makes researches of a request, and says what is wrong with it
	// before anything is created. A run that has a name is asked for again
	// under that name; an empty one gets a new name.
	Trigger(ctx context.Context, r ResearchRequest, run string) (ResearchOrder, error)
	// Rest makes the researches of a run whose first exists, after its spec and
	// not after what is true now.
	Rest(r ResearchRequest, run string, first json.RawMessage) (ResearchOrder, error)
	// Status lists so many at most of those who wait for their turn.
	Status(ctx context.Context, waiting int) (ResearchStatus, error)
	Budget(ctx context.Context) (ModelBudget, error)

	// Memory returns a page of one kind of what researches left, newest first,
	// and where the next begins.
	Memory(ctx context.Context, q MemoryQuery) (Memory, string, error)
	// Experiment returns all that is remembered of a research; CodeNotFound.
	Experiment(ctx context.Context, id ktrdr.OperationID) (Experiment, error)
	// Conversation returns what a research and models said to each other.
	Conversation(ctx context.Context, id ktrdr.OperationID) (Conversation, error)
	// Leaderboard ranks researches.
	Leaderboard(ctx context.Context, q LeaderboardQuery) (Leaderboard, error)
}

// ResearchRequest asks for researches: of a goal in words, or of a strategy.
type ResearchRequest struct {
	Brief         string    `json:"brief,omitempty"`         // the goal; empty means anything that works
	Strategy      string    `json:"strategy,omitempty"`      // name of a strategy, instead of designing one
	StrategyYAML  string    `json:"strategy_yaml,omitempty"` // or its text
	Model         string    `json:"model,omitempty"`         // that designs and assesses; empty means builtin, which costs nothing
	TriggerReason string    `json:"trigger_reason,omitempty"`
	BypassGates   bool      `json:"bypass_gates,omitempty"`         // go on whatever the gates say
	Force         bool      `json:"force,omitempty"`                // wait for a turn where there is no room; several always do
	RefuseUnknown bool      `json:"refuse_unknown,omitempty"`       // refuse a brief of which nothing is understood; else that is a warning
	Count         int       `json:"count,omitempty" zero:"refused"` // how many; absent means 1, or a generation with until
	Until         time.Time `json:"until,omitzero"`                 // keep beginning generations until then
	Seed          *uint64   `json:"seed,omitempty"`
	Symbols       []string  `json:"symbols,omitempty"`    // researched together: one account each with the same share of the capital
	Timeframe     string    `json:"timeframe,omitempty"`  // or timeframes
	Timeframes    []string  `json:"timeframes,omitempty"` // decisions are made at the shortest; designs may also read the others
	Costs         string    `json:"costs,omitempty"`      // cost floors of this run in basis points: SYMBOL=COMMISSION/SLIPPAGE/SPREAD, comma separated; * is every other symbol
}

// ResearchOrder is a run of researches to be created, in their order.
type ResearchOrder struct {
	Run        string
	Seed       uint64
	Operations []ktrdr.NewOperation
	Understood []string // what was read out of the brief
	Warnings   []string

	NotUnderstood []string // content words of the brief that had no effect
}

// Triggered is the answer to a request for researches. The first of them is
// named at the top, for who asked for one.
type Triggered struct {
	Operation  ktrdr.OperationID   `json:"operation_id"`
	Session    int64               `json:"session_id"`
	Status     ktrdr.Status        `json:"status"`
	Run        string              `json:"run"`
	Seed       uint64              `json:"seed"`
	Operations []TriggeredResearch `json:"operations"`
	Understood []string            `json:"understood,omitempty"` // what was read out of the brief
	Warnings   []string            `json:"warnings,omitempty"`

	NotUnderstood []string `json:"not_understood,omitempty"` // content words of the brief that had no effect
}

// TriggeredResearch is one of them.
type TriggeredResearch struct {
	Operation ktrdr.OperationID `json:"operation_id"`
	Session   int64             `json:"session_id"`
	Status    ktrdr.Status      `json:"status"`
}

// ResearchStatus is how research stands.
type ResearchStatus struct {
	Status   string                       `json:"status"` // active or idle
	Phase    string                       `json:"phase"`  // of the newest that is active; IDLE where none is
	Active   []ActiveResearch             `json:"active_researches"`
	Lasting  []LastingRun                 `json:"lasting_runs"` // that begin more of them by themselves
	Workers  map[string]ktrdr.WorkerSlots `json:"workers"`
	Capacity ktrdr.QueueHealth            `json:"capacity"`
	Budget   ModelBudget                  `json:"budget"`
	Last     *EndedResearch               `json:"last_cycle"`
}

// LastingRun is a run that begins one generation after the other until a time.
type LastingRun struct {
	Run        string    `json:"run"`
	Until      time.Time `json:"until"`
	Generation int       `json:"generation"` // the newest there is
	Open       int       `json:"open"`       // researches of it that have not ended
}

// ActiveResearch is a research that has not ended.
type ActiveResearch struct {
	Operation  ktrdr.OperationID `json:"operation_id"`
	Session    int64             `json:"session_id"`
	Status     ktrdr.Status      `json:"status"`
	Phase      string            `json:"phase"`
	Strategy   string            `json:"strategy_name,omitempty"`
	Brief      string            `json:"brief,omitempty"`
	Seed       uint64            `json:"seed"`
	MadeUp     *bool             `json:"made_up"` // its prices, or some of them, were made up; null: not known
	Run        string            `json:"run"`
	Generation int               `json:"generation"`
	Index      int               `json:"index"`
	Child      ktrdr.OperationID `json:"child_operation_id,omitempty"` // that does the work of the phase
	Progress   *ktrdr.Progress   `json:"child_progress,omitempty"`
	CreatedAt  time.Time         `json:"created_at"`
	StartedAt  time.Time         `json:"started_at,omitzero"`
	Seconds    float64           `json:"duration_seconds"` // since it started
}

// EndedResearch is a research that has ended.
type EndedResearch struct {
	Operation   ktrdr.OperationID `json:"operation_id"`
	Session     int64             `json:"session_id"`
	Status      ktrdr.Status      `json:"status"`
	Outcome     string            `json:"outcome"`
	Strategy    string            `json:"strategy_name,omitempty"`
	Verdict     string            `json:"verdict,omitempty"`
	Summary     string            `json:"summary,omitempty"`
	MadeUp      *bool             `json:"made_up"` // its prices, or some of them, were made up; null: not known
	Error       string            `json:"error_message,omitempty"`
	CompletedAt time.Time         `json:"completed_at"`
}

// ModelBudget is how much of a day's money for models is left, in US dollars.
type ModelBudget struct {
	Limit     float64 `json:"daily_limit_usd"`
	Spent     float64 `json:"spent_today_usd"`
	Remaining float64 `json:"remaining_usd"`
}

// MemoryQuery says which part of memory is wanted.
type MemoryQuery struct {
	Kind   string // one of memoryKinds
	Run    string // empty means all
	Limit  int
	Cursor string
}

// Memory is a page of what researches left. The list of the kind that was asked
// for is there; Counts says how many there are of every kind.
type Memory struct {
	Kind        string           `json:"kind"`
	Counts      map[string]int64 `json:"counts"`
	Experiments []Experiment     `json:"experiments,omitzero"`
	Hypotheses  []Hypothesis     `json:"hypotheses,omitzero"`
	Trials      []ktrdr.Trial    `json:"trials,omitzero"`
}

// Experiment is how a research ended. The figures are those of the test part.
type Experiment struct {
	Operation  ktrdr.OperationID `json:"operation_id"`
	At         time.Time         `json:"at"`
	Run        string            `json:"run"`
	Generation int               `json:"generation"`
	Index      int               `json:"index"`

	Strategy   string `json:"strategy_name,omitempty"`
	Status     string `json:"status"` // completed, gate_rejected, failed
	Verdict    string `json:"verdict,omitempty"`
	Rung       string `json:"rung,omitempty"` // gate_rejected, nothing or finalist
	Summary    string `json:"summary,omitempty"`
	GateReason string `json:"gate_rejection_reason,omitempty"`
	Error      string `json:"error_message,omitempty"`

	Sharpe      *float64 `json:"sharpe_ratio,omitempty"`
	NetReturn   *float64 `json:"net_return,omitempty"`
	MaxDrawdown *float64 `json:"max_drawdown,omitempty"`
	Trades      int      `json:"total_trades"`
	Evidence

	Standing     string `json:"standing,omitempty"` // what it came to, in words
	MarketTrials int    `json:"market_trials"`      // on its market now
	MarketLooks  int    `json:"market_looks"`
	MadeUp       *bool  `json:"made_up"` // its prices, or some of them, were made up; null: not known

	// Only in the answer about one research, not in a list.
	Trial *ktrdr.Trial    `json:"trial,omitempty"` // its row in the ledger
	Note  json.RawMessage `json:"note,omitempty"`  // strategy, hypotheses, hashes
}

// Evidence stands beside every figure of the test part, which the search has
// chosen by. All of it is empty where there was no verdict.
type Evidence struct {
	TestSharpe  *float64 `json:"test_sharpe"`         // per year, net of costs
	Alpha       *float64 `json:"alpha"`               // per year: the return that buy-and-hold does not explain
	Deflated    *float64 `json:"deflated_sharpe"`     // probability that the test part shows more than the luckiest of all trials, when it was judged
	Trials      int      `json:"trials_counted"`      // then
	BuyAndHold  *float64 `json:"buy_and_hold_return"` // in the time of the test part
	CostPerSide *float64 `json:"cost_per_side"`       // of a trade's value

	CostBelowDefault bool `json:"cost_below_default"` // below the default costs of the symbol's asset class
}

// Hypothesis is something to find out, with what is known of it now.
type Hypothesis struct {
	ID        string `json:"id"`
	Text      string `json:"text"`
	Rationale string `json:"rationale,omitempty"`
	Status    string `json:"status"` // untested, validated, refuted, inconclusive
	Source    string `json:"source_experiment"`
	MadeUp    *bool  `json:"made_up"` // prices of that experiment were made up; null: not known
	TestedBy  string `json:"tested_by,omitempty"`
}
