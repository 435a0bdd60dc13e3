package report

import (
	"time"

	"github.com/ktrdr/ktrdr"
)

// Query says how far back to look.
type Query struct {
	Since time.Time // zero: from the beginning of the run, else the usual span
	Last  bool      // since the newest spell of research began, instead
	Run   string    // only this run's researches; empty means all

	Panels bool // also judge the daily returns of all trials
}

// Report is what happened in a span of time or in a run. Lists are bounded; the
// counts beside them are of all there is.
type Report struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	Run  string    `json:"run,omitempty"`

	Summary    string          `json:"summary"` // the plain sentence: what survived, or that nothing did
	Researches Researches      `json:"researches"`
	Claims     []Leader        `json:"claims"`
	Leaders    []Leader        `json:"leaderboard"`
	Panels     []Panel         `json:"panels,omitempty"` // of the run, or of the newest 3 runs of the span; only if asked for
	Failures   []FailureReason `json:"failures"`
	Others     []ktrdr.Count   `json:"other_operations,omitempty"` // that ended, and were no researches
	Machine    Machine         `json:"machine"`
	Models     *ModelCalls     `json:"models,omitempty"`   // nil where none was asked
	Problems   []string        `json:"problems,omitempty"` // that there are now; each says what to do
	Incomplete []string        `json:"incomplete,omitempty"`

	// Heads are the heads of the ledgers: of the run when it last added a link, else of at most
	// 50 markets now, those of the claims first. A report that is kept proves later that nothing was dropped.
	Heads []ktrdr.ChainHead `json:"ledger_heads,omitempty"`
}

// Researches counts researches. Those that ended did so in the span, or are
// all that ended of the run. Of a run, Active counts all that are open.
type Researches struct {
	Ended     int            `json:"ended"`
	Outcomes  map[string]int `json:"outcomes"` // completed, gate_rejected, failed, cancelled
	Active    int            `json:"active"`
	Waiting   int            `json:"waiting"`
	Finalists int            `json:"finalists"` // passed every check on the test part
	Claims    int            `json:"claims"`
	Unaided   int            `json:"without_model"` // the program did itself what a model was asked for
	Markets   int            `json:"markets"`       // that were tried
	Trials    int            `json:"trials"`        // on these markets so far, of all runs
	Looks     int            `json:"looks"`         // at their holdouts so far, of all runs
}

// FailureReason is a reason for which operations failed.
type FailureReason struct {
	Reason     string              `json:"reason"`
	Code       ktrdr.Code          `json:"code,omitempty"`
	Count      int                 `json:"count"`
	Resumable  int                 `json:"resumable"`
	Operations []ktrdr.OperationID `json:"operation_ids"` // the newest few; those that can be resumed come first
	Next       string              `json:"next_command"`
}

// Machine is what happened to the processes, as far as events tell.
type Machine struct {
	BackendStarts      int     `json:"backend_starts"`
	BackendDeaths      int     `json:"backend_deaths"` // without having stopped in order
	WorkersJoined      int     `json:"workers_joined"` // processes of their own, as the next two
	WorkersLeft        int     `json:"workers_left"`   // stopped in order
	WorkersLost        int     `json:"workers_lost"`   // silent for the orphan timeout, busy or not
	Orphaned           int     `json:"orphaned"`       // operations whose worker died
	Poisoned           int     `json:"poisoned"`       // that kept losing it and were given up
	Interrupted        int     `json:"interrupted"`    // failed with the backend that ran them
	Requeued           int     `json:"requeued"`       // taken over from a backend that was gone
	Reported           int     `json:"reported"`       // whose workers outlived the backend
	Released           int     `json:"released"`       // given back by a graceful stop
	Resumed            int     `json:"resumed"`        // resumed, by the lab or by a user
	CheckpointsSkipped int     `json:"checkpoints_skipped"`
	WritesRefused      int     `json:"writes_refused"`
	BreakerChanges     int     `json:"breaker_changes"`
	Pauses             []Pause `json:"pauses,omitempty"`

	Processes []ProcessLife  `json:"processes"` // the newest lives of backends and workers
	Log       []ProcessEvent `json:"log"`       // what happened to them, newest first
}

// Pause is when no work was started.
type Pause struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to,omitzero"` // zero: it still is
}

// ModelCalls is what models were asked, and what that cost.
type ModelCalls struct {
	Calls    int        `json:"calls"`
	Failed   int        `json:"failed"`
	InFlight int        `json:"unsettled"` // charged in full until they are settled
	USD      float64    `json:"usd"`
	ByModel  []ModelSum `json:"by_model"`
}

// ModelSum is one model's part of it.
type ModelSum struct {
	Model  string  `json:"model"`
	Calls  int     `json:"calls"`
	Failed int     `json:"failed"`
	USD    float64 `json:"usd"`
}
