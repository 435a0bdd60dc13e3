package ktrdr

import (
	"encoding/json"
	"time"
)

// Protocol is the version of what follows. A worker that speaks another is
// refused at registration with a sentence that says which side is older.
const Protocol = 1

// CheckProtocol refuses a worker that speaks another version with CodeProtocol.
func CheckProtocol(theirs int) error {
	older, newer := "worker", "backend"
	switch {
	case theirs == Protocol:
		return nil
	case theirs > Protocol:
		older, newer = newer, older
	}
	return Errorf(CodeProtocol, "the worker speaks protocol %d and this backend %d; upgrade the %s to the %s's version", theirs, Protocol,
		older, newer)
}

// WorkerID names one life of a worker process. A restarted worker is another
// worker: a stable name would let a zombie speak for its successor.
type WorkerID string

// Incarnation names one life of a backend process.
type Incarnation string

// Worker is a process, or a pool inside a backend, that claims operations.
type Worker struct {
	ID      WorkerID    `json:"worker_id"`
	Name    string      `json:"name,omitempty"` // for people; need not be unique
	Types   []Type      `json:"types"`
	Slots   int         `json:"slots"`             // operations it runs at once
	HeldBy  Incarnation `json:"held_by,omitempty"` // the backend it lives in; empty for a process of its own
	Host    string      `json:"host,omitempty"`
	PID     int         `json:"pid,omitempty"`
	Version string      `json:"version,omitempty"`

	RegisteredAt time.Time `json:"registered_at"`
	SeenAt       time.Time `json:"seen_at"`
	Running      int       `json:"running"` // filled by the store
	Live         bool      `json:"live"`    // seen within the timeout; filled by the store
}

// Claimed is one claim a worker holds: the operation and the epoch it was
// given, and how far it is.
type Claimed struct {
	Operation OperationID `json:"operation_id"`
	Epoch     Epoch       `json:"epoch"`
	Step      int64       `json:"step"`
}

// Registration is how a worker introduces itself, at its start and whenever
// the backend has been out of reach. Running and Finished say what it did
// meanwhile: both count as heard from, so that nothing of it is orphaned while
// its spool is being delivered.
type Registration struct {
	Protocol int       `json:"protocol"`
	Worker   Worker    `json:"worker"`
	Running  []Claimed `json:"running,omitempty"`
	Finished []Claimed `json:"finished,omitempty"`
}

// Registered is the answer. Durations cross the wire in seconds; instants do
// not cross it, because only the database's clock decides.
type Registered struct {
	HeartbeatSeconds float64 `json:"heartbeat_seconds"`
	TimeoutSeconds   float64 `json:"timeout_seconds"`
	// between periodic checkpoints, unless the worker has its own; negative: none by time
	CheckpointSeconds float64     `json:"checkpoint_seconds,omitempty"`
	Backend           Incarnation `json:"backend"`
	Orders
}

// Heartbeat is one call for everything a worker runs.
type Heartbeat struct {
	Worker  WorkerID    `json:"worker_id"`
	Running []Claimed   `json:"running"`
	HeldBy  Incarnation `json:"-"` // the backend that the worker lives in; never taken from the wire
}

// Orders is what the backend wants of the worker's claims. A lost claim must
// be dropped without another write.
type Orders struct {
	Cancel []Claimed `json:"cancel,omitempty"`
	Lost   []Claimed `json:"lost,omitempty"`
}

// Empty says whether there is nothing to obey.
func (o Orders) Empty() bool { return len(o.Cancel) == 0 && len(o.Lost) == 0 }

// ClaimRequest asks for one operation, or for news of those running. Key makes
// it idempotent: a claim whose answer was lost is handed out again under the
// same key, with the same epoch.
type ClaimRequest struct {
	Worker  WorkerID  `json:"worker_id"`
	Key     string    `json:"key"`
	Types   []Type    `json:"types"`
	Free    int       `json:"free"` // slots free; 0 only listens for orders
	Running []Claimed `json:"running,omitempty"`
	Wait    float64   `json:"wait_seconds"` // how long to hold the call open
}

// ClaimReply carries an operation, orders, or nothing when the wait is over.
type ClaimReply struct {
	Task *Task `json:"task,omitempty"`
	Orders
}

// Task is a claimed operation with all that is needed to run it: the spec
// inline, the checkpoint to start from (nil means from nothing), everything
// large by hash.
type Task struct {
	Operation  OperationID       `json:"operation_id"`
	Type       Type              `json:"operation_type"`
	Epoch      Epoch             `json:"epoch"`
	Attempts   int               `json:"attempts"`
	Spec       json.RawMessage   `json:"spec"`
	Checkpoint *StoredCheckpoint `json:"checkpoint,omitempty"`
	Cancel     bool              `json:"cancel_requested,omitempty"`

	// Inject is what is to go wrong with it on purpose, in the words of its runner;
	// almost always nothing.
	Inject string `json:"inject,omitempty"`

	// Look is the look that a confirmation makes; nil for all others.
	Look *Look `json:"look,omitempty"`

	// Trace is the operation's: see Operation.Trace.
	Trace string `json:"trace,omitempty"`

	// InChild asks a worker inside a backend to run it in a child process. A
	// worker elsewhere is a process of its own and ignores it.
	InChild bool `json:"-"`
}

// ProgressReport overwrites an operation's progress.
type ProgressReport struct {
	Operation OperationID `json:"operation_id"`
	Epoch     Epoch       `json:"epoch"`
	Progress  Progress    `json:"progress"`
}

// Finished ends an operation. Checkpoint and Progress, if any, are stored in
// the same transaction.
type Finished struct {
	Operation    OperationID     `json:"operation_id"`
	Epoch        Epoch           `json:"epoch"`
	Outcome      Status          `json:"outcome"`
	Result       json.RawMessage `json:"result,omitempty"`
	ErrorMessage string          `json:"error_message,omitempty"`
	Error        *Failure        `json:"error,omitempty"`
	Checkpoint   *NewCheckpoint  `json:"checkpoint,omitempty"`
	Progress     *Progress       `json:"progress,omitempty"`

	// Rung is what a research came to, in a word; RungFinalist is the one the
	// store knows. Score compares the finalists of a generation.
	Rung  string   `json:"rung,omitempty"`
	Score *float64 `json:"score,omitempty"`

	// StateBlob is the checkpoint's state when it was too large for a row; the
	// engine fills it in.
	StateBlob *Artifact `json:"-"`
}

// Released gives an operation back, to be claimed again from its checkpoint.
type Released struct {
	Operation OperationID `json:"operation_id"`
	Epoch     Epoch       `json:"epoch"`
	Reason    string      `json:"reason"`

	// AfterSeconds is how long it cannot be claimed: a wait that outlives every
	// process. 0 means no wait.
	AfterSeconds float64 `json:"after_seconds,omitempty"`

	// ChildDied says that the child process that ran it died. That is a loss:
	// PoisonLosses of them without a new step fail the operation.
	ChildDied bool `json:"child_died,omitempty"`
}

// Skip says that a worker could not use the checkpoint it was given: a blob is
// missing or does not match its hash. The answer is the one before it, or
// none.
type Skip struct {
	Operation  OperationID `json:"operation_id"`
	Epoch      Epoch       `json:"epoch"`
	Checkpoint string      `json:"checkpoint_id"`
	Reason     string      `json:"reason"`
}
