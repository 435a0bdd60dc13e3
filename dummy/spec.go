// Package dummy is the engine's own test subject: operations that count and
// wait. Their result is a hash chain over the steps, so that a step that was
// lost or done twice shows, and Expected tells the result without running.
package dummy

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/ktrdr/ktrdr"
)

// Spec says what a dummy operation does. One with children is a parent: it
// occupies no worker, has no steps of its own, and its result is a chain over
// its children's.
type Spec struct {
	Steps           int     `json:"steps,omitempty"`            // how many; at least 1 unless there are children
	StepMS          float64 `json:"step_ms,omitempty"`          // how long each takes, in milliseconds
	CheckpointEvery int     `json:"checkpoint_every,omitempty"` // steps between checkpoints; 0 leaves it to the worker's clock
	ArtifactBytes   int     `json:"artifact_bytes,omitempty"`   // each checkpoint carries a file of this size, made from the chain
	Seed            int64   `json:"seed,omitempty"`             // another seed is another chain
	Priority        int     `json:"priority,omitempty"`         // higher is claimed first; a child without one has its parent's

	// The work goes wrong before it does the named step, every time it gets
	// there. A crash is SIGKILL for the process it runs in, which is the whole
	// backend when the operation runs inside one for the first time.
	FailAt  int  `json:"fail_at,omitempty"`
	PanicAt int  `json:"panic_at,omitempty"`
	CrashAt int  `json:"crash_at,omitempty"`
	Hang    bool `json:"hang,omitempty"` // after the last step it waits until it is stopped

	BackendLocal bool `json:"backend_local,omitempty"` // run inside a backend only

	Children []Spec `json:"children,omitempty"`
	Parallel bool   `json:"parallel,omitempty"` // children all at once instead of one after another
}

// The bounds of a spec.
const (
	MaxSteps    = 10_000_000
	MaxStepMS   = 3_600_000
	MaxChildren = 1000 // in the whole tree
	MaxDepth    = 8
	MaxArtifact = 64 << 20
	MaxPriority = 1000
)

// Validate says what is wrong with the spec, as one CodeInvalid error.
func (s Spec) Validate() error {
	children := 0
	if err := s.validate("", 1, &children); err != nil {
		return ktrdr.Errorf(ktrdr.CodeInvalid, "%w", err)
	}
	return nil
}

func (s Spec) validate(at string, depth int, children *int) error {
	if len(s.Children) > 0 {
		return s.validateParent(at, depth, children)
	}
	var wrong []string
	check := func(ok bool, field, format string, args ...any) {
		if !ok {
			wrong = append(wrong, at+field+" "+fmt.Sprintf(format, args...))
		}
	}
	check(s.Steps >= 1 && s.Steps <= MaxSteps, "steps", "is %d; it must be 1 to %d", s.Steps, MaxSteps)
	check(s.StepMS >= 0 && s.StepMS <= MaxStepMS, "step_ms", "is %v; it must be 0 to %d", s.StepMS, MaxStepMS)
	check(s.CheckpointEvery >= 0, "checkpoint_every", "is %d; it must not be negative", s.CheckpointEvery)
	check(s.ArtifactBytes >= 0 && s.ArtifactBytes <= MaxArtifact, "artifact_bytes", "is %d; it must be 0 to %d", s.ArtifactBytes, MaxArtifact)
	check(s.Priority >= -MaxPriority && s.Priority <= MaxPriority, "priority", "is %d; it must be %d to %d", s.Priority, -MaxPriority,
		MaxPriority)
	for _, f := range []struct {
		name string
		step int
	}{{"fail_at", s.FailAt}, {"panic_at", s.PanicAt}, {"crash_at", s.CrashAt}} {
		check(f.step >= 0 && f.step <= max(s.Steps, 0), f.name, "is %d; it must be one of the %d steps, or 0 for never", f.step, s.Steps)
	}
	check(!s.Parallel, "parallel", "is set, but there are no children")
	if len(wrong) == 0 {
		return nil
	}
	return errors.New(strings.Join(wrong, "; "))
}

func (s Spec) validateParent(at string, depth int, children *int) error {
	if depth >= MaxDepth {
		return fmt.Errorf("%schildren are nested deeper than %d", at, MaxDepth)
	}
	own := s
	own.Children, own.Parallel, own.Priority, own.BackendLocal = nil, false, 0, false
	if !reflect.DeepEqual(own, Spec{}) {
		return fmt.Errorf("%schildren come with steps of their own; beside them only parallel, priority and backend_local may be set", at)
	}
	if s.Priority < -MaxPriority || s.Priority > MaxPriority {
		return fmt.Errorf("%spriority is %d; it must be %d to %d", at, s.Priority, -MaxPriority, MaxPriority)
	}
	if *children += len(s.Children); *children > MaxChildren {
		return fmt.Errorf("%schildren are too many; a tree has at most %d", at, MaxChildren)
	}
	for i, c := range s.Children {
		if err := c.validate(fmt.Sprintf("%schildren[%d].", at, i), depth+1, children); err != nil {
			return err
		}
	}
	return nil
}

// Operation makes the request that creates the operation. CodeInvalid.
func Operation(s Spec) (ktrdr.NewOperation, error) {
	if err := s.Validate(); err != nil {
		return ktrdr.NewOperation{}, err
	}
	spec, err := json.Marshal(s)
	if err != nil {
		return ktrdr.NewOperation{}, fmt.Errorf("dummy spec: %w", err)
	}
	return ktrdr.NewOperation{
		Type: ktrdr.Dummy, Priority: s.Priority, BackendLocal: s.BackendLocal, HasPlan: len(s.Children) > 0, Spec: spec,
	}, nil
}

// Result is what a dummy operation ends with.
type Result struct {
	Hash  ktrdr.Hash `json:"hash"`
	Steps int64      `json:"steps"`
}

// fingerprint is what a checkpoint must agree with to be resumed from.
func fingerprint(spec []byte) (map[string]string, error) {
	if !json.Valid(spec) {
		return nil, ktrdr.Errorf(ktrdr.CodeInvalid, "a dummy spec is JSON")
	}
	return map[string]string{"spec": ktrdr.Hash(sha256.Sum256(spec)).String(), "numerics": "dummy/1"}, nil
}
