package ktrdr

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"
)

// CheckpointType says why a checkpoint was written.
type CheckpointType string

// The checkpoint types.
const (
	CheckpointPeriodic     CheckpointType = "periodic"
	CheckpointPhase        CheckpointType = "phase"
	CheckpointCancellation CheckpointType = "cancellation"
	CheckpointFailure      CheckpointType = "failure"
	CheckpointShutdown     CheckpointType = "shutdown"
	CheckpointFinal        CheckpointType = "final"
)

// Known says whether t is a checkpoint type.
func (t CheckpointType) Known() bool {
	switch t {
	case CheckpointPeriodic, CheckpointPhase, CheckpointCancellation, CheckpointFailure, CheckpointShutdown, CheckpointFinal:
		return true
	}
	return false
}

// Hash is the sha256 of a blob's bytes and its only name.
type Hash [32]byte

func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// MarshalText writes the hash as 64 hex digits.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads 64 lower-case hex digits.
func (h *Hash) UnmarshalText(text []byte) error {
	parsed, err := ParseHash(string(text))
	*h = parsed
	return err
}

// ParseHash reads 64 lower-case hex digits. Anything else is CodeInvalid.
func ParseHash(s string) (Hash, error) {
	var h Hash
	if len(s) != 64 {
		return h, Errorf(CodeInvalid, "a blob is named by the 64 hex digits of its sha256, not by %d characters", len(s))
	}
	if _, err := hex.Decode(h[:], []byte(s)); err != nil || h.String() != s {
		return Hash{}, Errorf(CodeInvalid, "a blob is named by the 64 lower-case hex digits of its sha256")
	}
	return h, nil
}

// Artifact names a blob that a checkpoint or a result refers to.
type Artifact struct {
	Name   string `json:"name"`
	SHA256 Hash   `json:"sha256"`
	Size   int64  `json:"size"`
}

// CheckpointInfo is a checkpoint without its state.
type CheckpointInfo struct {
	ID        string         `json:"checkpoint_id"`
	Type      CheckpointType `json:"checkpoint_type"`
	Epoch     Epoch          `json:"epoch"`
	Seq       int64          `json:"seq"`
	Step      int64          `json:"step"`
	Size      int64          `json:"size_bytes"` // state and artifacts
	CreatedAt time.Time      `json:"created_at"`
}

// Checkpoint is what an operation can be resumed from: its state as JSON and
// its artifacts as blobs. An operation's checkpoints form a history, each with
// its parent; resuming starts from the newest whose blobs are whole.
type Checkpoint struct {
	CheckpointInfo
	Operation OperationID `json:"operation_id"`
	Parent    string      `json:"parent_checkpoint_id,omitempty"`
	// what it was made from, by name; a resume under another refuses and names which
	Fingerprint map[string]string `json:"fingerprint,omitempty"`
	State       json.RawMessage   `json:"state"`
	Artifacts   []Artifact        `json:"artifacts,omitempty"`
}

// CheckpointID is the id of an operation's checkpoint: ids sort as text in the
// order (epoch, seq), so that "newest" means the same everywhere.
func CheckpointID(e Epoch, seq int64) string { return fmt.Sprintf("%010d.%010d", e, seq) }

// InlineState is the largest state kept in the row. A larger one becomes a
// blob that the row names.
const InlineState = 64 << 10

// MaxState bounds a checkpoint's state; what is larger belongs in artifacts.
const MaxState = 16 << 20

// NewCheckpoint is a worker's request to store one. (Operation, Epoch, Seq)
// makes it idempotent: the same request twice stores one.
type NewCheckpoint struct {
	Operation   OperationID       `json:"operation_id"`
	Epoch       Epoch             `json:"epoch"`
	Seq         int64             `json:"seq"`
	Type        CheckpointType    `json:"checkpoint_type"`
	Step        int64             `json:"step"`
	Fingerprint map[string]string `json:"fingerprint,omitempty"`
	State       json.RawMessage   `json:"state"`
	Artifacts   []Artifact        `json:"artifacts,omitempty"`
}
