package ktrdr

import (
	"context"
	"time"
)

// Reports sums up what happened. Each method costs a fixed number of statements,
// however much happened.
type Reports interface {
	// EndedSince counts the operations without a parent that ended at an
	// instant or later.
	EndedSince(ctx context.Context, at time.Time) ([]EndedCount, error)

	// Failures returns operations without a parent that failed, newest first.
	Failures(ctx context.Context, q FailureQuery) ([]FailedOperation, error)

	// MachineSince counts what happened to processes at an instant or later, as
	// far as the events of that time are kept.
	MachineSince(ctx context.Context, at time.Time) (MachineCounts, error)
}

// EndedCount is how many operations of a type ended with a status and a rung.
type EndedCount struct {
	Type   Type
	Status Status
	Rung   string
	N      int
}

// FailureQuery selects failures: of a run, or since an instant; zero fields
// select all.
type FailureQuery struct {
	Run   string
	Since time.Time
	Limit int // 1..1000; 0 means 50
}

// FailedOperation is what a report needs of an operation that failed.
type FailedOperation struct {
	ID        OperationID
	Type      Type
	Code      Code
	Message   string
	Resumable bool // it has a checkpoint
}

// MachineCounts counts the events of processes.
type MachineCounts struct {
	Events []EventCount
	Pauses []Event // the newest 20 of paused and unpaused, oldest first
	Newest []Event // the newest 200 of backends, workers, pauses and breakers, oldest first
}

// EventCount is how many events of a kind there are that say the same.
type EventCount struct {
	Kind   EventKind
	Code   Code        // of a failure
	By     string      // of a release: see the Released constants
	HeldBy Incarnation // of a worker's event: the backend that it lives in; empty for a process of its own
	N      int
}

// Why an operation went back to PENDING, as an event says it in "by".
const (
	ReleasedByWorker   = "release"  // its worker stopped and gave it back
	ReleasedToWait     = "wait"     // its worker asked for a later try
	ReleasedByRecovery = "recovery" // the backend that ran it is gone
	ReleasedByChild    = "child"    // the child process that ran it died
)
