package ktrdr

import (
	"encoding/json"
	"time"
)

// RunState is where a run stands.
//
//	RUNNING ──▶ COMPLETED               its last generation has ended and was closed
//	   ├──────▶ CANCELLED               a person cancelled it; its open operations follow
//	   └──────▶ GIVEN_UP                its last generations only failed
//
// Only a RUNNING run starts operations. EndedAt is set when nothing of it is open
// any more.
type RunState string

// The states.
const (
	RunRunning   RunState = "RUNNING"
	RunCompleted RunState = "COMPLETED"
	RunCancelled RunState = "CANCELLED"
	RunGivenUp   RunState = "GIVEN_UP"
)

// RunStates lists every state.
var RunStates = []RunState{RunRunning, RunCompleted, RunCancelled, RunGivenUp}

// Run is what one request started: a goal and generations of researches.
//
// A generation is closed when all of its researches have ended. Its best
// finalist is then confirmed, and the next generation may start.
type Run struct {
	ID        string          `json:"run"`
	Goal      string          `json:"goal,omitempty"`
	Request   json.RawMessage `json:"request,omitempty"` // as it was made
	CreatedAt time.Time       `json:"created_at"`
	Until     time.Time       `json:"until,omitzero"`  // no generation starts after this; zero: no limit
	Size      int             `json:"generation_size"` // researches of a generation
	Planned   int             `json:"planned"`         // researches the request creates; with Until, those of the first generation
	MadeUp    *bool           `json:"made_up"`         // its prices, or some of them, were made up; null: not known

	State        RunState  `json:"state"`
	CancelledAt  time.Time `json:"cancelled_at,omitzero"`
	CancelledBy  string    `json:"cancelled_by,omitempty"` // name of the token
	CancelReason string    `json:"cancel_reason,omitempty"`
	GivenUp      string    `json:"given_up,omitempty"` // why
	EndedAt      time.Time `json:"ended_at,omitzero"`
	ToldAt       time.Time `json:"told_at,omitzero"` // when the webhook's receiver accepted the end

	Generations int `json:"generations"` // that have a research
	Closed      int `json:"closed"`      // that are closed
	RunCounts

	// Test is the test of the whole run on permuted copies of its bars.
	Test RunTest `json:"factory_test,omitzero"`

	// Heads are the heads of its markets' ledgers when the run last added a link.
	Heads []ChainHead `json:"ledger_heads,omitempty"`
}

// RunTest is the test of a whole run on permuted copies of its bars. A run is tested
// once: its number is taken before the first copy is searched.
type RunTest struct {
	ReservedAt time.Time `json:"reserved_at,omitzero"` // when the number was taken; zero: the run is not tested
	// Before is how many runs on the same market before it have a test too, made or not; of several markets the most.
	Before int `json:"tests_before"`
	RunTestResult
	EndedAt time.Time `json:"ended_at,omitzero"`
}

// RunTestResult is what the test of a run came to.
type RunTestResult struct {
	Operation OperationID `json:"operation_id,omitempty"`
	P         *float64    `json:"p"`
	Threshold float64     `json:"threshold,omitempty"` // p must be at most this
	Copies    int         `json:"copies,omitempty"`    // that were searched
	Best      OperationID `json:"best,omitempty"`      // the research whose score was compared; empty: the run has no finalist
	Passed    bool        `json:"passed"`              // p is at most the threshold, and the score is above 0
}

// RunTested is what the test of a run that it names came to.
type RunTested struct {
	Run string
	RunTestResult
}

// The rungs that the store counts.
const (
	RungRejected = "gate_rejected" // a gate rejected it
	RungFinalist = "finalist"      // every check on the test part passed
)

// RunCounts is how many researches a run has, by how they stand. The store
// keeps them as researches are created and end.
type RunCounts struct {
	Created   int `json:"created"` // without retries, which the other counts include
	Open      int `json:"open"`
	Completed int `json:"completed"`     // were judged; finalists included
	Rejected  int `json:"gate_rejected"` // were refused by a gate
	Failed    int `json:"failed"`
	Cancelled int `json:"cancelled"`
	Finalists int `json:"finalists"`
	Looks     int `json:"looks"`
	Claims    int `json:"claims"`
}

// Ended is how many researches have ended.
func (c RunCounts) Ended() int { return c.Completed + c.Rejected + c.Failed + c.Cancelled }

// NewRun is what is stored of a run with its first research.
type NewRun struct {
	Goal    string
	Request json.RawMessage
	Until   time.Time
	Size    int
	Planned int
	MadeUp  *bool // nil: not known
}

// RunQuery selects runs; zero fields select all.
type RunQuery struct {
	State  []RunState `query:"state" doc:"states, in either case"`
	Sort   Sort       `query:"sort" doc:"the order; by default newest"`
	Limit  int        `query:"limit" doc:"entries of a page, 1 to 1000; by default 50"`
	Cursor string     `query:"cursor" doc:"next_cursor of the page before, with the same sort"`
}

// RunPage is a page and the cursor of the next; an empty cursor ends.
type RunPage struct {
	Runs []Run  `json:"runs"`
	Next string `json:"next_cursor,omitempty"`
}

// OpenRun is a run that has not ended.
type OpenRun struct {
	Run
	OldestOpen  int       // lowest generation with an open operation; -1 if nothing is open
	NewestAdded time.Time // when its newest research was created
}

// GenerationTally is how the researches of a generation ended.
type GenerationTally struct {
	Generation int
	Researches int
	Failed     int // failed or cancelled
}

// ShortRun is as much of a run's id as commands need to find it.
func ShortRun(run string) string {
	const enough = len("run_") + 8
	return run[:min(len(run), enough)]
}
