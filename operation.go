package ktrdr

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// OperationID names an operation: op_{type}_{YYYYMMDD_HHMMSS}_{8 hex}.
type OperationID string

// NewOperationID makes an id for an operation of type t created at the given
// instant. The instant is for people; uniqueness comes from the random tail
// and is held by the store's primary key.
func NewOperationID(t Type, at time.Time) OperationID {
	var tail [4]byte
	_, _ = rand.Read(tail[:]) // never fails since Go 1.24
	return OperationID(fmt.Sprintf("op_%s_%s_%s", t, at.UTC().Format("20060102_150405"), hex.EncodeToString(tail[:])))
}

// Valid says whether the id could have been made by us. It keeps control
// characters, paths and kilobytes out of every layer below the API.
func (id OperationID) Valid() bool {
	if len(id) < 4 || len(id) > 96 || !strings.HasPrefix(string(id), "op_") {
		return false
	}
	for _, r := range id {
		if !(r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z') {
			return false
		}
	}
	return true
}

// Tail is the random part of the id, by which people name the operation.
func (id OperationID) Tail() string { return string(id)[strings.LastIndexByte(string(id), '_')+1:] }

// Type says what kind of work an operation is.
type Type string

// Names of operation types that several packages use. They are not a list of all
// types: each type has a Definition with its owner. Dummy is the engine's own test
// subject.
const (
	Calibration     Type = "calibration"
	CalibrationPart Type = "calibration_part"
	FactoryTest     Type = "factory_test"
	FactoryPart     Type = "factory_part"
	AgentResearch   Type = "agent_research"
	AgentDesign     Type = "agent_design"
	AgentAssessment Type = "agent_assessment"
	AgentConfirm    Type = "agent_confirmation"
	ClaimStep       Type = "claim_step"
	Examining       Type = "examination"
	Training        Type = "training"
	Backtesting     Type = "backtesting"
	DataLoad        Type = "data_load"
	DataFetch       Type = "data_fetch"
	Dummy           Type = "dummy"
)

// Epoch numbers the claims of one operation. Every claim mints the next one;
// every write a worker makes carries the epoch it was given, and a write with
// any other epoch changes nothing.
type Epoch int64

// Operation is one unit of durable work, as it is stored and as it is sent.
type Operation struct {
	ID       OperationID `json:"operation_id"`
	Type     Type        `json:"operation_type"`
	Status   Status      `json:"status"`
	Phase    string      `json:"phase,omitempty"` // what a parent is in the middle of; empty for others
	Epoch    Epoch       `json:"epoch"`
	Attempts int         `json:"attempts"` // how often it was claimed
	Priority int         `json:"priority"` // higher is claimed first

	Parent  OperationID `json:"parent_operation_id,omitempty"` // empty for a root
	Root    OperationID `json:"root_operation_id"`             // the top of its tree; its own id for a root
	Ordinal int         `json:"ordinal"`                       // its place among its siblings, given by the plan

	// BackendLocal work runs only inside a backend process. A HasPlan
	// operation is a parent: a row that its children move, which occupies no
	// worker and sends no heartbeat.
	BackendLocal bool `json:"is_backend_local"`
	HasPlan      bool `json:"has_plan"`

	Run     string      `json:"run,omitempty"`        // the run it belongs to; children have their parent's
	Queue   *QueuePlace `json:"queue,omitempty"`      // nil unless it is a parent that stood in a line
	Session int64       `json:"session_id,omitempty"` // its number among all who ever stood in one, from 1; 0 for others

	Worker WorkerID    `json:"worker_id,omitempty"` // who holds or last held it
	HeldBy Incarnation `json:"held_by,omitempty"`   // the backend process whose own worker holds it; empty for an outside worker

	CancelRequested bool   `json:"cancel_requested"`
	CancelReason    string `json:"cancel_reason,omitempty"`
	Losses          int    `json:"losses"`       // consecutive losses of a worker or a child process without a new step
	MaxStep         int64  `json:"max_step"`     // the furthest step ever reported
	BackendDied     bool   `json:"backend_died"` // a backend died while it ran this in process: compute work runs in a child process since

	Spec     json.RawMessage `json:"spec"`            // what to do; never changed after creation
	State    json.RawMessage `json:"state,omitempty"` // a parent's own memory, written by its plan
	Metadata json.RawMessage `json:"metadata"`        // free-form, for people and for lists
	Progress Progress        `json:"progress"`

	Rung         string          `json:"rung,omitempty"`   // what a research came to: see Finished.Rung
	Score        *float64        `json:"score,omitempty"`  // by which finalists of a generation are compared
	Trials       int             `json:"trials,omitempty"` // counted against it, fixed when it was created
	Result       json.RawMessage `json:"result_summary,omitempty"`
	ErrorMessage string          `json:"error_message,omitempty"` // for people
	Error        *Failure        `json:"error,omitempty"`         // for programs

	// Compacted says that the operation keeps its figures and none of its files:
	// they are computed again when they are asked for. Pinned keeps a
	// research from that.
	Compacted bool `json:"compacted,omitempty"`
	Pinned    bool `json:"pinned,omitempty"`

	RetryOf OperationID `json:"retry_of,omitempty"`

	// Trace is the W3C traceparent of the request that created it; children have
	// their parent's. Empty where no request was traced.
	Trace string `json:"-"`

	CreatedAt   time.Time `json:"created_at"`
	StartedAt   time.Time `json:"started_at,omitzero"`   // of the first claim
	ClaimedAt   time.Time `json:"claimed_at,omitzero"`   // of the newest claim
	HeartbeatAt time.Time `json:"heartbeat_at,omitzero"` // last accepted heartbeat or claim
	CompletedAt time.Time `json:"completed_at,omitzero"` // zero unless terminal
	NotBefore   time.Time `json:"not_before,omitzero"`   // of a PENDING one that waits: when it may be claimed

	// Deadline is until when the worker of a PENDING_RECONCILIATION operation may
	// report before it is given up. It is derived when the operation is read.
	Deadline time.Time `json:"deadline,omitzero"`

	// Checkpoint is the newest checkpoint, without its state; nil if none.
	Checkpoint *CheckpointInfo `json:"checkpoint,omitempty"`

	// Unschedulable says why a PENDING operation cannot start; it is derived
	// when the operation is read, so that it is never out of date.
	Unschedulable string `json:"unschedulable_reason,omitempty"`

	// StalledSeconds is for how long a live operation has not moved although
	// its worker beats; zero while that is no longer than usual. It is derived
	// when the operation is read.
	StalledSeconds float64 `json:"stalled_seconds,omitempty"`
}

// Progress is the latest word on how far an operation is. It overwrites
// itself; it is not history.
type Progress struct {
	Percentage     float64         `json:"percentage"`
	CurrentStep    string          `json:"current_step,omitempty"`
	StepsCompleted int64           `json:"steps_completed"`
	StepsTotal     int64           `json:"steps_total"`
	Context        json.RawMessage `json:"context,omitempty"`
}

// NewOperation is a request to create one.
type NewOperation struct {
	ID           OperationID // empty lets the store make one
	Type         Type
	Priority     int
	Parent       OperationID
	Ordinal      int
	BackendLocal bool
	HasPlan      bool
	Queue        *Queue // only for a parent without a parent of its own; nil starts at once
	Spec         json.RawMessage
	State        json.RawMessage
	Metadata     json.RawMessage
	RetryOf      OperationID
	Trace        string // see Operation; of a child its parent's

	// Run and Generation place an operation that is neither queued nor a child.
	Run        string
	Generation int

	NewRun *NewRun   // of a queued one: the run's row, made with the first of them
	Trial  *NewTrial // nil: it is no trial; of a retry, the trial of what is retried
	Look   *NewLook  // nil: it sees no holdout; of a retry, the look of what is retried

	// Delay is how long a child is not claimed after its creation: Answer may end it
	// before.
	Delay time.Duration
}
