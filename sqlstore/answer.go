package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"github.com/ktrdr/ktrdr"
)

// claimToAnswer claims an operation for the statement that ends it: no worker holds it
// in between.
const claimToAnswer query = `UPDATE operations SET status = 'RUNNING', epoch = epoch + 1, attempts = attempts + 1,
		worker_id = '', held_by = '', claim_key = '', claimed_at = {now}, heartbeat_at = {now},
		started_at = COALESCE(started_at, {now}), reason = '', not_before = NULL
	WHERE id = $1 AND status = 'PENDING' AND has_plan = 0
		AND NOT EXISTS (SELECT 1 FROM runs WHERE runs.id = operations.run AND runs.cancelled_at IS NOT NULL)
	RETURNING {operation}`

// Answer implements ktrdr.Operations.
func (s *Store) Answer(ctx context.Context, id ktrdr.OperationID, result json.RawMessage) (ktrdr.Operation, error) {
	if !id.Valid() {
		return ktrdr.Operation{}, notFound(id)
	}
	f, err := tidy(ktrdr.Finished{Operation: id, Outcome: ktrdr.Completed, Result: result})
	if err != nil {
		return ktrdr.Operation{}, err
	}
	var op operationRow
	err = s.fenced(ctx, func(t *tx) error {
		s.lockTree(ctx, t, id)
		claimed, err := scanOperation(t.row(ctx, claimToAnswer, id))
		if errors.Is(err, sql.ErrNoRows) {
			return notWaiting(ctx, t, id)
		}
		if err == nil && s.isPostgres() { // on SQLite no other transaction comes in between
			err = stillRuns(ctx, t, claimed.Run)
		}
		if err != nil {
			return err
		}
		f.Epoch = claimed.Epoch
		op, err = s.finish(ctx, t, f)
		return err
	})
	if errors.Is(err, errRunCancelled) {
		err = ktrdr.Errorf(ktrdr.CodeConflict, "operation %s belongs to a run that was cancelled", id)
	}
	return op.Operation, err
}

// notWaiting says why an operation takes no answer.
func notWaiting(ctx context.Context, t *tx, id ktrdr.OperationID) error {
	op, err := load(ctx, t, id)
	if err != nil {
		return err
	}
	if op.Status == ktrdr.Pending {
		return errRunCancelled
	}
	return ktrdr.Errorf(ktrdr.CodeConflict, "operation %s is %s and waits for no answer", id, op.Status)
}
