package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/ktrdr/ktrdr"
)

// release gives operations back; $1 is the failure of a cancelled one, $2 the
// reason, $3 for how long it is not to be claimed, in microseconds, and $4 who
// gave it back. To Step that is the release it knows: the wait only keeps claims
// from being made.
const (
	release = giveBack + `
	WHERE `
	requeue = giveBack + `, backend_died = 1
	WHERE `
)

const giveBack = `UPDATE operations SET
		status = ` + ifCancelled + `'CANCELLED' ELSE 'PENDING' END,
		error_message = ` + ifCancelled + cancelledMessage + ` ELSE '' END,
		error = ` + ifCancelled + `$1 ELSE NULL END,
		completed_at = ` + ifCancelled + `{now} ELSE NULL END,
		ended_by = ` + ifCancelled + `'release' ELSE '' END,
		reason = $2, released_by = $4, held_by = '',
		not_before = ` + ifCancelled + `NULL ELSE {now} + NULLIF(CAST($3 AS BIGINT), 0) END`

const releaseOne query = release + `id = $5 AND epoch = $6 AND has_plan = 0 AND ` + isLive + `
	RETURNING {operation}`

const (
	noWait      = int64(0)
	longestWait = 30 * 24 * time.Hour
)

// Release implements ktrdr.Operations. A wait of more than thirty days is taken
// for thirty: an operation that is claimed too early can wait again.
func (s *Store) Release(ctx context.Context, r ktrdr.Released) error {
	if !r.Operation.Valid() {
		return notFound(r.Operation)
	}
	if r.ChildDied {
		return s.loseChild(ctx, r)
	}
	wait, err := waitOf(r)
	if err != nil {
		return err
	}
	by := ktrdr.ReleasedByWorker
	if wait != noWait {
		by = ktrdr.ReleasedToWait
	}
	return s.giveBack(ctx, ktrdr.Release, r, releaseOne, cancelledFailure, ktrdr.CleanText(r.Reason), wait, by)
}

// giveBack runs the statement of a transition after which no worker holds the
// operation. The operation and its epoch are the last arguments.
func (s *Store) giveBack(ctx context.Context, input ktrdr.Input, r ktrdr.Released, text query, args ...any) error {
	return s.fenced(ctx, func(t *tx) error {
		if err := s.lockTree(ctx, t, r.Operation); err != nil {
			return err
		}
		op, err := scanOperation(t.row(ctx, text, slices.Concat(args, []any{r.Operation, r.Epoch})...))
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return refusal(ctx, t, r.Operation, ktrdr.Act{Input: input, Epoch: r.Epoch})
		case err != nil:
			return err
		}
		t.wakeWorkers()
		if op.Status == ktrdr.Pending {
			return nil
		}
		return s.settle(ctx, t, parentOf(op)...)
	})
}

// waitOf is a release's wait in microseconds, at least one when there is any.
func waitOf(r ktrdr.Released) (int64, error) {
	if !(r.AfterSeconds >= 0) { // so that NaN is refused too
		return 0, ktrdr.Errorf(ktrdr.CodeInvalid, "%s cannot be released for %v seconds; a wait is 0 or more", r.Operation, r.AfterSeconds)
	}
	wait := min(r.AfterSeconds, longestWait.Seconds()) * 1e6
	if wait > 0 {
		return int64(max(wait, 1)), nil
	}
	return noWait, nil
}
