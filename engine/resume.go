package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ktrdr/ktrdr"
)

// Resume continues a failed or cancelled operation from its newest checkpoint
// whose blobs are there, unless that was made from something else than would
// be run now. The answer names that checkpoint. It is where the work begins
// unless its worker finds other bytes in the blobs than their names say: then
// it falls back to the one before, and an event says so.
func (e *Engine) Resume(ctx context.Context, id ktrdr.OperationID) (ktrdr.Operation, error) {
	return e.ResumeFrom(ctx, id, "")
}

// ResumeFrom is Resume from one of the operation's checkpoints; without one it is
// Resume. The plan of a parent decides where the parent continues, and a look is
// made once: neither goes back to an older checkpoint.
func (e *Engine) ResumeFrom(ctx context.Context, id ktrdr.OperationID, checkpoint string) (ktrdr.Operation, error) {
	op, err := e.store.Operation(ctx, id)
	if err != nil {
		return ktrdr.Operation{}, err
	}
	if checkpoint != "" && (op.HasPlan || e.config.Types[op.Type].Look) {
		return ktrdr.Operation{}, ktrdr.Errorf(ktrdr.CodeInvalid,
			"%s is a parent or a look at a holdout, and cannot be resumed from a chosen checkpoint; resume it without one", id)
	}
	var from *ktrdr.CheckpointInfo
	if op.Status == ktrdr.Failed || op.Status == ktrdr.Cancelled { // else the store says why not
		if from, err = e.startingPoint(ctx, op, checkpoint); err != nil {
			return ktrdr.Operation{}, err
		}
	}
	resumed, err := e.store.ResumeFrom(ctx, id, checkpoint)
	if te, ok := errors.AsType[*ktrdr.TransitionError](err); ok && te.From == ktrdr.Completed && e.config.Types[op.Type].Look {
		return ktrdr.Operation{}, ktrdr.Errorf(ktrdr.CodeConflict, "%s is a look at a holdout and has completed: a look is made once", id)
	}
	if te, ok := errors.AsType[*ktrdr.TransitionError](err); ok && te.From == ktrdr.Completed {
		return ktrdr.Operation{}, ktrdr.Errorf(ktrdr.CodeNoCheckpoint,
			"%s cannot be resumed: it has completed; repeat it with `ktrdr retry %s`", id, id)
	}
	if err == nil { // a plan that was asked has saved another meanwhile
		resumed.Checkpoint = cmp.Or(from, op.Checkpoint)
	}
	return resumed, err
}

// startingPoint finds what a claim after a resume would begin from, as far as
// that can be told without reading the blobs; nil when the operation has no
// checkpoint, or is a parent, whose plan decides. It looks from a checkpoint on
// backwards; an empty one is the newest.
func (e *Engine) startingPoint(ctx context.Context, op ktrdr.Operation, checkpoint string) (*ktrdr.CheckpointInfo, error) {
	if op.Checkpoint == nil || op.HasPlan {
		return nil, nil //nolint:nilnil // none is an answer: the store's Resume says why it cannot be resumed
	}
	var missing error
	for id := checkpoint; ; {
		c, err := e.store.Checkpoint(ctx, op.ID, id)
		switch {
		case ktrdr.CodeOf(err) == ktrdr.CodeNotFound && missing == nil && checkpoint == "":
			return nil, nil //nolint:nilnil // deleted meanwhile
		case ktrdr.CodeOf(err) == ktrdr.CodeNotFound && missing != nil:
			return nil, beyondRepair(op.ID, missing)
		case err != nil:
			return nil, err
		}
		if missing = e.missingBlob(ctx, &c); missing == nil {
			return &c.CheckpointInfo, e.sameMaking(op, c)
		}
		if id = c.Parent; id == "" {
			return nil, beyondRepair(op.ID, missing)
		}
	}
}

func beyondRepair(id ktrdr.OperationID, why error) error {
	return ktrdr.Errorf(ktrdr.CodeNoCheckpoint,
		"%s cannot be resumed: none of its checkpoints is whole (%w); begin from nothing with `ktrdr retry %s`", id, why, id)
}

// sameMaking compares what a checkpoint was made from with what the operation
// would be run with now, and names what differs.
func (e *Engine) sameMaking(op ktrdr.Operation, c ktrdr.StoredCheckpoint) error {
	now := e.config.Types[op.Type].Fingerprint
	if now == nil {
		return nil
	}
	want, err := now(op.Spec)
	if err != nil {
		return fmt.Errorf("fingerprint of %s: %w", op.ID, err)
	}
	var differs []string
	for _, part := range slices.Sorted(maps.Keys(c.Fingerprint)) {
		if now, known := want[part]; !known || now != c.Fingerprint[part] {
			differs = append(differs, fmt.Sprintf("%s (checkpoint %.16s, now %.16s)", part, c.Fingerprint[part], now))
		}
	}
	if len(differs) > 0 {
		return ktrdr.Errorf(ktrdr.CodeMismatch, "%s cannot be resumed: its checkpoint was made with another %s; start over with `ktrdr retry %s`",
			op.ID, strings.Join(differs, ", "), op.ID)
	}
	return nil
}
