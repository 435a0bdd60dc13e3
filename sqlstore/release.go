package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
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
		s.lockTree(ctx, t, r.Operation)
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

// loseChild makes Step's LoseChild transition. $1 is the failure of a cancelled
// operation, $2 and $3 are the failure and the message of poison, $4 is how the
// process died, $5 how many losses make poison.
const loseChild query = `UPDATE operations SET
		status = ` + ifCancelled + `'CANCELLED' WHEN losses + 1 >= $5 THEN 'FAILED' ELSE 'PENDING' END,
		error = ` + ifCancelled + `$1 WHEN losses + 1 >= $5 THEN $2 ELSE NULL END,
		error_message = ` + ifCancelled + cancelledMessage + ` WHEN losses + 1 >= $5 THEN $3 ELSE '' END,
		completed_at = CASE WHEN cancel_requested = 1 OR losses + 1 >= $5 THEN {now} ELSE NULL END,
		ended_by = CASE WHEN cancel_requested = 1 OR losses + 1 >= $5 THEN 'losechild' ELSE '' END,
		reason = $4, released_by = 'child', held_by = '', not_before = NULL, losses = losses + 1
	WHERE id = $6 AND epoch = $7 AND has_plan = 0 AND ` + isLive + `
	RETURNING {operation}`

// loseChild gives back what a child process ran that died, or fails it as
// poison.
func (s *Store) loseChild(ctx context.Context, r ktrdr.Released) error {
	how := cmp.Or(shortened(r.Reason), "it did not say how")
	failure := failureText(ktrdr.NewFailure(ktrdr.CodePoison, fmt.Errorf("its child processes keep dying: %s", how)))
	message := fmt.Sprintf("Operation lost %d child processes in a row without getting further, the last by %s; find out what ends them, "+
		"then resume or retry it", ktrdr.PoisonLosses, how)
	return s.giveBack(ctx, ktrdr.LoseChild, r, loseChild, cancelledFailure, failure, message, how, ktrdr.PoisonLosses)
}
