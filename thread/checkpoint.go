package thread

import (
	"encoding/json"

	"github.com/ktrdr/ktrdr"
)

// Ref addresses a checkpoint.
type Ref struct {
	Tenant     string `json:"tenant,omitempty"`
	Thread     string `json:"thread_id"`
	NS         string `json:"checkpoint_ns"`
	Checkpoint string `json:"checkpoint_id,omitempty"`
}

// Put is a checkpoint to store. Checkpoint is the client's own JSON without its
// channel_values; id and channel_versions are read from it. Parent may be empty.
type Put struct {
	Tenant      string                     `json:"tenant,omitempty"`
	Thread      string                     `json:"thread_id"`
	NS          string                     `json:"checkpoint_ns"`
	Parent      string                     `json:"parent_checkpoint_id,omitempty"`
	Checkpoint  json.RawMessage            `json:"checkpoint"`
	Values      map[string]Value           `json:"channel_values,omitempty"`
	NewVersions map[string]json.RawMessage `json:"new_versions"`
	Metadata    json.RawMessage            `json:"metadata,omitempty"`
	// retention deletes the thread this long after its last put; 0: never
	TTLSeconds float64     `json:"ttl_seconds,omitempty"`
	Lease      *LeaseToken `json:"lease,omitempty"` // of the writer, if it has one

	// Latest is the id that the newest checkpoint of the namespace must have, ""
	// for no checkpoint. A repeated put may also find itself.
	Latest *string `json:"expected_latest,omitempty"`
}

// Writes is a task's pending writes on one checkpoint.
type Writes struct {
	Tenant     string      `json:"tenant,omitempty"`
	Thread     string      `json:"thread_id"`
	NS         string      `json:"checkpoint_ns"`
	Checkpoint string      `json:"checkpoint_id"`
	Task       string      `json:"task_id"`
	TaskPath   string      `json:"task_path,omitempty"`
	Writes     []Write     `json:"writes"`
	Lease      *LeaseToken `json:"lease,omitempty"`
}

// Write is one pending write.
type Write struct {
	Idx     int    `json:"idx"`
	Channel string `json:"channel"`
	Value   Value  `json:"value"`
}

// PendingWrite is a write as it is read back, ordered by (task, idx).
type PendingWrite struct {
	Task    string `json:"task_id"`
	Channel string `json:"channel"`
	Value   Value  `json:"value"`
}

// Tuple is a checkpoint as it is read back. PendingSends is filled for checkpoints of format v < 4
// with a parent: the parent's writes on the __pregel_tasks channel.
type Tuple struct {
	Thread        string           `json:"thread_id"`
	NS            string           `json:"checkpoint_ns"`
	ID            string           `json:"checkpoint_id"`
	Parent        string           `json:"parent_checkpoint_id,omitempty"`
	Checkpoint    json.RawMessage  `json:"checkpoint"`
	Values        map[string]Value `json:"channel_values"`
	Metadata      json.RawMessage  `json:"metadata,omitempty"`
	PendingWrites []PendingWrite   `json:"pending_writes"`
	PendingSends  []Value          `json:"pending_sends,omitempty"`

	// Damaged says why the values cannot be read. A damaged tuple has no values
	// and no writes, so that no program continues from a part of its state.
	Damaged string `json:"damaged,omitempty"`
}

// WithDamage is the tuple as it is listed when a part of it is lost.
func (t Tuple) WithDamage(why error) Tuple {
	t.Values, t.PendingWrites, t.PendingSends = map[string]Value{}, []PendingWrite{}, nil
	t.Damaged = ktrdr.CleanText(why.Error())
	return t
}

// Position is the position of a checkpoint in lists. Lists are in descending order of id, then
// thread, then namespace. Copied threads have the same ids, so an id alone is not a position.
type Position struct {
	Thread string `json:"thread_id"`
	NS     string `json:"checkpoint_ns"`
	ID     string `json:"checkpoint_id"`
}
