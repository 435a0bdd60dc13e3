package httpapi

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/text"
)

// OperationRow is an operation in a list: what tells it apart and how it stands.
// Its names are those of the whole operation, which has the rest.
type OperationRow struct {
	ID       ktrdr.OperationID `json:"operation_id"`
	Type     ktrdr.Type        `json:"operation_type"`
	Status   ktrdr.Status      `json:"status"`
	Phase    string            `json:"phase,omitempty"`
	Epoch    ktrdr.Epoch       `json:"epoch"`
	Attempts int               `json:"attempts"`
	Parent   ktrdr.OperationID `json:"parent_operation_id,omitempty"`
	Root     ktrdr.OperationID `json:"root_operation_id"`
	Ordinal  int               `json:"ordinal,omitempty"`
	HasPlan  bool              `json:"has_plan,omitempty"`
	Run      string            `json:"run,omitempty"`
	Session  int64             `json:"session_id,omitempty"`
	Worker   ktrdr.WorkerID    `json:"worker_id,omitempty"`

	CancelRequested bool        `json:"cancel_requested,omitempty"`
	Progress        RowProgress `json:"progress"`
	Rung            string      `json:"rung,omitempty"`
	ErrorCode       ktrdr.Code  `json:"error_code,omitempty"`
	ErrorMessage    string      `json:"error_message,omitempty"` // at most 300 bytes of it
	Resumable       bool        `json:"resumable,omitempty"`     // it has ended and left a checkpoint

	CreatedAt   time.Time `json:"created_at"`
	StartedAt   time.Time `json:"started_at,omitzero"`
	HeartbeatAt time.Time `json:"heartbeat_at,omitzero"` // of one that has not ended
	CompletedAt time.Time `json:"completed_at,omitzero"`
	NotBefore   time.Time `json:"not_before,omitzero"`

	Unschedulable  string  `json:"unschedulable_reason,omitempty"`
	StalledSeconds float64 `json:"stalled_seconds,omitempty"`
}

// RowProgress is how far an operation is. Only one that has not ended has figures.
type RowProgress struct {
	Percentage  float64         `json:"percentage"`
	CurrentStep string          `json:"current_step,omitempty"`
	Context     json.RawMessage `json:"context,omitempty"`
}

// The longest texts of a row. The whole is in the answer about one.
const (
	mostRowError = 300
	mostRowGoal  = 200
)

func operationRows(ops []ktrdr.Operation) []OperationRow {
	rows := make([]OperationRow, len(ops))
	for i := range ops {
		rows[i] = rowOf(&ops[i])
	}
	return rows
}

func rowOf(op *ktrdr.Operation) OperationRow {
	r := OperationRow{
		ID: op.ID, Type: op.Type, Status: op.Status, Phase: op.Phase, Epoch: op.Epoch, Attempts: op.Attempts,
		Parent: op.Parent, Root: cmp.Or(op.Root, op.ID), Ordinal: op.Ordinal, HasPlan: op.HasPlan, Run: op.Run, Session: op.Session,
		Worker:          op.Worker,
		CancelRequested: op.CancelRequested, Progress: RowProgress{Percentage: op.Progress.Percentage, CurrentStep: op.Progress.CurrentStep},
		Rung: op.Rung, ErrorMessage: text.Cut(op.ErrorMessage, mostRowError),
		CreatedAt: op.CreatedAt, StartedAt: op.StartedAt, CompletedAt: op.CompletedAt, NotBefore: op.NotBefore,
		Unschedulable: op.Unschedulable, StalledSeconds: op.StalledSeconds,
	}
	if op.Error != nil {
		r.ErrorCode = op.Error.Code
	}
	if op.Status.Terminal() {
		r.Resumable = op.Status != ktrdr.Completed && op.Checkpoint != nil
	} else {
		r.HeartbeatAt, r.Progress.Context = op.HeartbeatAt, op.Progress.Context
	}
	return r
}

// runRow is a run in a list or a stream: without the request, which may hold a
// whole strategy.
func runRow(r ktrdr.Run) ktrdr.Run {
	r.Request, r.Goal = nil, text.Cut(r.Goal, mostRowGoal)
	return r
}
