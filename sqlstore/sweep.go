package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ktrdr/ktrdr"
)

// A sweep looks first, without locks, and then changes what it saw in batches:
// it locks the trees and repeats in the WHERE of each update everything it
// decided on, so that the operation of a worker that reported meanwhile stays.

// found is an operation that a sweep is to treat.
type found struct {
	ktrdr.Claimed
	kind ktrdr.Type
	root ktrdr.OperationID
}

var scanFound = fields(func(f *found) []any { return []any{&f.Operation, &f.Epoch, &f.kind, &f.root} })

// treatQuery finds the next batch of those that satisfy where, which has n
// arguments; the last argument is the id after which it starts.
func treatQuery(where string, n int) query {
	return query(fmt.Sprintf(`SELECT id, epoch, operation_type, root_id FROM operations
		WHERE %s AND id > $%d ORDER BY id LIMIT %d`, where, n+1, batch))
}

// treat calls do, in a transaction that holds their trees, for every batch of
// operations that satisfy where, and adds what it did to r.
func (s *Store) treat(ctx context.Context, where func(from int) (string, []any), r *ktrdr.Recovered,
	do func(t *tx, all []found) (ktrdr.Recovered, error),
) error {
	condition, args := where(1)
	text := treatQuery(condition, len(args))
	for after := ktrdr.OperationID(""); ; {
		all, err := readAll(ctx, s, scanFound, text, append(slices.Clone(args), after)...)
		if err != nil || len(all) == 0 {
			return err
		}
		var part ktrdr.Recovered
		err = s.write(ctx, normal, func(t *tx) (err error) {
			s.lockTrees(ctx, t, fieldOf(all, func(f found) ktrdr.OperationID { return f.root }))
			t.wakeWorkers()
			part, err = do(t, all)
			return err
		})
		if err != nil {
			return err
		}
		r.Orphaned = append(r.Orphaned, part.Orphaned...)
		r.Requeued = append(r.Requeued, part.Requeued...)
		r.Failed = append(r.Failed, part.Failed...)
		r.Reconciling = append(r.Reconciling, part.Reconciling...)
		after = all[len(all)-1].Operation
	}
}

// update runs one of the updates below on those of all that still satisfy
// where. set has the arguments args, where the arguments that follow. The rows
// come in the order of their runs: the rows of several runs are then locked in
// that order by all.
func update(ctx context.Context, t *tx, set string, args []any, where func(from int) (string, []any), all []found) ([]operationRow, error) {
	if len(all) == 0 {
		return nil, nil
	}
	condition, more := where(len(args) + 1)
	args = slices.Concat(args, more)
	values, pairs := epochs(len(args)+1, fieldOf(all, func(f found) ktrdr.Claimed { return f.Claimed }))
	text := set + condition + ` AND (id, epoch) IN (` + values + `) RETURNING {operation}`
	rows, err := collect(ctx, t, scanOperation, query(text), slices.Concat(args, pairs)...)
	slices.SortFunc(rows, func(a, b operationRow) int { return cmp.Or(cmp.Compare(a.Run, b.Run), cmp.Compare(a.ID, b.ID)) })
	return rows, err
}

// loseHolder fails what a dead backend ran; $1 is the failure of a cancelled
// one, $2 that of the others.
const loseHolder = `UPDATE operations SET
		status = ` + ifCancelled + `'CANCELLED' ELSE 'FAILED' END,
		error_message = ` + ifCancelled + cancelledMessage + ` WHEN ckpt_id IS NULL THEN $4 ELSE $3 END,
		error = ` + ifCancelled + `$1 ELSE $2 END,
		completed_at = {now}, ended_by = 'loseholder', ending = NULL, backend_died = 1
	WHERE `

var loseHolderArgs = []any{
	cancelledFailure,
	failureText(ktrdr.NewFailure(ktrdr.CodeBackendRestart, errors.New("the backend that ran it is gone"))),
	ktrdr.MessageRestartResumable, ktrdr.MessageRestartLost,
}

const messageRequeued = "Backend restarted - requeued"

func (s *Store) restartsInChild(t ktrdr.Type) bool { return s.types[t].Restart == ktrdr.RestartInChild }

// recoverHeld treats what dead backends ran in process, by policy. A backend is dead
// if it has no row or was silent for that time.
func (s *Store) recoverHeld(ctx context.Context, b ktrdr.Backend, p ktrdr.RecoveryPolicy, silence time.Duration, r *ktrdr.Recovered) error {
	abandoned := func(from int) (string, []any) {
		return fmt.Sprintf(`has_plan = 0 AND held_by <> '' AND held_by <> $%d AND %s AND NOT EXISTS (
			SELECT 1 FROM backends WHERE incarnation = operations.held_by AND seen_at > {now} - $%d)`, from, isLive, from+1),
			[]any{b.Incarnation, silence.Microseconds()}
	}
	return s.treat(ctx, abandoned, r, func(t *tx, all []found) (ktrdr.Recovered, error) {
		var resume, fail []found
		for _, f := range all {
			if !p.FailLocal && s.restartsInChild(f.kind) {
				resume = append(resume, f)
			} else {
				fail = append(fail, f)
			}
		}
		var part ktrdr.Recovered
		released, err := update(ctx, t, requeue, []any{cancelledFailure, messageRequeued, noWait, ktrdr.ReleasedByRecovery}, abandoned, resume)
		if err != nil {
			return part, err
		}
		lost, err := update(ctx, t, loseHolder, loseHolderArgs, abandoned, fail)
		if err != nil {
			return part, err
		}
		var asks []ask
		for _, op := range slices.Concat(released, lost) {
			switch op.Status {
			case ktrdr.Pending:
				part.Requeued = append(part.Requeued, op.ID)
				continue
			case ktrdr.Failed:
				part.Failed = append(part.Failed, op.ID)
			}
			asks = append(asks, parentOf(op)...)
		}
		return part, s.settle(ctx, t, asks...)
	})
}

// failParents fails the parents that were in the hands of a backend. No plan
// is asked about it: they are all to be resumed by hand.
func (s *Store) failParents(ctx context.Context, r *ktrdr.Recovered) error {
	parents := func(int) (string, []any) { return `has_plan = 1 AND is_backend_local = 1 AND ` + isLive, nil }
	return s.treat(ctx, parents, r, func(t *tx, all []found) (ktrdr.Recovered, error) {
		var part ktrdr.Recovered
		lost, err := update(ctx, t, loseHolder, loseHolderArgs, parents, all)
		for _, op := range lost {
			if op.Status == ktrdr.Failed {
				part.Failed = append(part.Failed, op.ID)
			}
		}
		return part, err
	})
}

// reconcile asks, so to speak, the outside workers to report: what they ran
// stays theirs if they do. Another live backend has heard the punctual ones.
func (s *Store) reconcile(ctx context.Context, p ktrdr.RecoveryPolicy, alone bool, r *ktrdr.Recovered) error {
	unheard := func(from int) (string, []any) {
		return fmt.Sprintf(`status = 'RUNNING' AND has_plan = 0 AND held_by = '' AND %s
			AND ($%d = 1 OR COALESCE(heartbeat_at, claimed_at) <= {now} - $%d)`, isLive, from, from+1),
			[]any{bit(alone), p.Late.Microseconds()}
	}
	return s.treat(ctx, unheard, r, func(t *tx, all []found) (ktrdr.Recovered, error) {
		var part ktrdr.Recovered
		moved, err := update(ctx, t, `UPDATE operations SET status = 'PENDING_RECONCILIATION' WHERE `, nil, unheard, all)
		for _, op := range moved {
			part.Reconciling = append(part.Reconciling, op.ID)
		}
		return part, err
	})
}
