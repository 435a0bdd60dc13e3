package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/ktrdr/ktrdr"
)

const resumeOne query = `UPDATE operations SET status = 'PENDING', cancel_requested = 0, cancel_reason = '',
		result = NULL, error_message = '', error = NULL, completed_at = NULL,
		ended_by = '', ending = NULL, reason = '', held_by = '', rung = '', score = NULL
	WHERE id = $1 AND ` + isStopped + `
	RETURNING {operation}`

// Resume implements ktrdr.Operations.
func (s *Store) Resume(ctx context.Context, id ktrdr.OperationID) (ktrdr.Operation, error) {
	return s.ResumeFrom(ctx, id, "")
}

// ResumeFrom implements ktrdr.Operations. Without a checkpoint it is Resume.
func (s *Store) ResumeFrom(ctx context.Context, id ktrdr.OperationID, checkpoint string) (ktrdr.Operation, error) {
	if !id.Valid() {
		return ktrdr.Operation{}, notFound(id)
	}
	op, err := inWrite(ctx, s, func(t *tx) (op operationRow, err error) {
		s.lockTree(ctx, t, id)
		if err := s.resumable(ctx, t, id); err != nil {
			return op, err
		}
		if checkpoint != "" {
			if err := skipNewer(ctx, t, id, checkpoint); err != nil {
				return op, err
			}
		}
		asks, err := resume(ctx, t, id)
		if err == nil {
			err = s.settle(ctx, t, asks...)
		}
		if err != nil {
			return op, err
		}
		return load(ctx, t, id)
	})
	return op.Operation, err
}

const (
	isUsable  query = `SELECT c.id FROM checkpoints c WHERE ` + ofOperation + ` AND c.id = $2 AND c.skipped = 0`
	hideNewer query = `UPDATE checkpoints SET skipped = 1 WHERE tenant = '' AND thread_id = $1 AND ns = '' AND id > $2 AND skipped = 0`
)

// skipNewer hides the checkpoints that are newer than one from every resume.
func skipNewer(ctx context.Context, t *tx, id ktrdr.OperationID, checkpoint string) error {
	if !storable(checkpoint, 255) {
		return ktrdr.Errorf(ktrdr.CodeNotFound, "operation %s has no such checkpoint", id)
	}
	found, err := firstColumn(ctx, t, isUsable, id, checkpoint)
	if err == nil && len(found) == 0 {
		err = ktrdr.Errorf(ktrdr.CodeNotFound, "operation %s has no checkpoint %s that can be resumed from", id, clip(checkpoint))
	}
	if err != nil {
		return err
	}
	n, err := t.exec(ctx, hideNewer, id, checkpoint)
	if err != nil || n == 0 {
		return err
	}
	if err := refreshNewest(ctx, t, id, "skipped"); err != nil {
		return err
	}
	op, err := load(ctx, t, id)
	if err != nil {
		return err
	}
	insertEvent(ctx, t, id, ktrdr.EventCheckpointSkipped, op.Epoch, struct {
		Checkpoint string `json:"checkpoint_id"`
		Reason     string `json:"reason"`
		ByHand     bool   `json:"by_hand"`
	}{checkpoint, fmt.Sprintf("resumed by hand from this one; %d newer left out", n), true})
	return nil
}

// resume makes Step's Resume transition. A parent is claimed for its plan at
// once, and its plan is to be asked.
func resume(ctx context.Context, t *tx, id ktrdr.OperationID) ([]ask, error) {
	op, err := scanOperation(t.row(ctx, resumeOne, id))
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, refusal(ctx, t, id, ktrdr.Act{Input: ktrdr.Resume})
	case err != nil:
		return nil, err
	}
	t.wakeWorkers()
	if !op.HasPlan {
		return nil, nil
	}
	return []ask{{id, ktrdr.WhyResumed}}, claimPlan(ctx, t, id)
}

// resumable says why an operation cannot be resumed by hand.
func (s *Store) resumable(ctx context.Context, t *tx, id ktrdr.OperationID) error {
	op, err := load(ctx, t, id)
	if err != nil {
		return err
	}
	if op.Status != ktrdr.Failed && op.Status != ktrdr.Cancelled {
		return refusal(ctx, t, id, ktrdr.Act{Input: ktrdr.Resume})
	}
	cancelled, err := runCancelled(ctx, t, updateRun, op.Run) // a research that is resumed is counted as open
	switch {
	case err != nil:
		return err
	case cancelled:
		return ktrdr.Errorf(ktrdr.CodeConflict, "operation %s cannot be resumed: its run %s was cancelled; start a new run with `ktrdr research`",
			id, op.Run)
	}
	if op.Parent != "" {
		parent, err := load(ctx, t, op.Parent)
		if err != nil {
			return fmt.Errorf("parent of %s: %w", id, err)
		}
		if parent.closed() {
			return fmt.Errorf("%w and whose parent is cancelled or ending; resume its parent %s instead",
				refusal(ctx, t, id, ktrdr.Act{Input: ktrdr.Resume}), op.Parent)
		}
	}
	if op.Checkpoint == nil && !s.types[op.Type].Look { // a look restarts under its number
		return ktrdr.Errorf(ktrdr.CodeNoCheckpoint, "operation %s cannot be resumed: %s; retry it to begin from nothing", id, op.whyNone())
	}
	return nil
}

// whyNone says why an operation has no checkpoint.
func (op *operationRow) whyNone() string {
	switch op.saved.Type {
	case "expired":
		return "its checkpoints have expired"
	case "deleted":
		return "its checkpoints were deleted"
	case "compacted":
		return "its research was compacted, and its checkpoints went with that"
	case "skipped":
		return "none of its checkpoints could be read"
	}
	if op.Attempts == 0 {
		return "it was cancelled before it began, so there is no checkpoint"
	}
	return "it ended before its first checkpoint"
}
