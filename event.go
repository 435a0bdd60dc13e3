package ktrdr

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Event is something that happened, written in the same transaction by the
// store's triggers (transitions) or by the statement that did it. It is
// append-only and feeds SSE, the audit trail and the page.
type Event struct {
	Cursor    Cursor          `json:"-"`
	Operation OperationID     `json:"operation_id,omitempty"`
	Kind      EventKind       `json:"kind"`
	At        time.Time       `json:"at"`
	Epoch     Epoch           `json:"epoch,omitempty"`
	Data      json.RawMessage `json:"data,omitempty"`
}

// EventKind says what happened.
type EventKind string

// The kinds. The first group is written by triggers on the operation row.
const (
	EventCreated         EventKind = "created"
	EventClaimed         EventKind = "claimed"
	EventReconciling     EventKind = "reconciling"
	EventReported        EventKind = "reported"
	EventReleased        EventKind = "released"
	EventCompleted       EventKind = "completed"
	EventFailed          EventKind = "failed"
	EventCancelled       EventKind = "cancelled"
	EventResumed         EventKind = "resumed"
	EventCancelRequested EventKind = "cancel_requested"
	EventPhase           EventKind = "phase"

	EventCheckpoint        EventKind = "checkpoint"         // one was stored
	EventCheckpointSkipped EventKind = "checkpoint_skipped" // one was unreadable and an older one is used
	EventWriteRefused      EventKind = "write_refused"      // a write from an old epoch changed nothing
	EventPaused            EventKind = "paused"
	EventUnpaused          EventKind = "unpaused"
	EventBackendStarted    EventKind = "backend_started"
	EventBackendStopped    EventKind = "backend_stopped" // it left in order
	EventBackendDied       EventKind = "backend_died"    // it is gone without having left
	EventWorkerRegistered  EventKind = "worker_registered"
	EventWorkerLeft        EventKind = "worker_left"     // it stopped in order
	EventWorkerLost        EventKind = "worker_lost"     // a process was silent for the orphan timeout
	EventWorkerReturned    EventKind = "worker_returned" // a lost one is heard from again
	EventBreaker           EventKind = "breaker"         // a circuit breaker changed
	EventRunCancelled      EventKind = "run_cancelled"
	EventRunGivenUp        EventKind = "run_given_up"
	EventRunEnded          EventKind = "run_ended"
	EventGenerationClosed  EventKind = "generation_closed"
)

// EventKinds lists every kind.
var EventKinds = []EventKind{
	EventBackendDied, EventBackendStarted, EventBackendStopped, EventBreaker, EventCancelRequested, EventCancelled, EventCheckpoint,
	EventCheckpointSkipped, EventClaimed, EventCompleted, EventCreated, EventFailed, EventGenerationClosed, EventPaused, EventPhase,
	EventReconciling, EventReleased, EventReported, EventResumed, EventRunCancelled, EventRunEnded, EventRunGivenUp, EventUnpaused,
	EventWorkerLeft, EventWorkerLost, EventWorkerRegistered, EventWorkerReturned, EventWriteRefused,
}

// Known says whether k is a kind of event.
func (k EventKind) Known() bool { return slices.Contains(EventKinds, k) }

// Terminal says whether it tells that an operation has ended.
func (k EventKind) Terminal() bool {
	return k == EventCompleted || k == EventFailed || k == EventCancelled
}

// Cursor is a place in the event log. Cursors are ordered by the writing
// transaction's id, then the event's: on PostgreSQL the event's alone is not
// enough, because a later one may be committed earlier. On SQLite Tx is 0.
type Cursor struct {
	Tx, ID int64
}

func (c Cursor) String() string { return fmt.Sprintf("%d-%d", c.Tx, c.ID) }

// ParseCursor reads what String wrote; "" is the beginning.
func ParseCursor(s string) (Cursor, error) {
	if s == "" {
		return Cursor{}, nil
	}
	tx, id, ok := strings.Cut(s, "-")
	t, err1 := strconv.ParseInt(tx, 10, 64)
	i, err2 := strconv.ParseInt(id, 10, 64)
	if !ok || err1 != nil || err2 != nil || t < 0 || i < 0 {
		return Cursor{}, Errorf(CodeInvalid, "%q is not an event id; use one the server sent, or none to begin at the beginning", s)
	}
	return Cursor{t, i}, nil
}
