package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	sqlitedriver "modernc.org/sqlite"
	sqlitelib "modernc.org/sqlite/lib"

	"github.com/ktrdr/ktrdr"
)

// isDue is true of what does not wait, or no longer.
const isDue = `(not_before IS NULL OR not_before <= {now})`

// claimable is what the queue holds for a worker: $1 says whether it lives in
// a backend. The order is the index's.
const claimable = `status = 'PENDING' AND has_plan = 0 AND (is_backend_local = 0 OR $1 = 1) AND ` + isDue + `
	AND NOT EXISTS (SELECT 1 FROM meta WHERE key = 'paused')
	AND NOT EXISTS (SELECT 1 FROM runs WHERE runs.id = operations.run AND runs.cancelled_at IS NOT NULL) AND operation_type = `

const queueOrder = ` ORDER BY priority DESC, root_created_at, id LIMIT 1`

// claimNext takes the head of one type's queue. SKIP LOCKED passes over what
// another claimer is taking.
const claimNext query = `UPDATE operations SET status = 'RUNNING', epoch = epoch + 1, attempts = attempts + 1,
		worker_id = $3, held_by = $4, claim_key = $5, claimed_at = {now}, heartbeat_at = {now},
		started_at = COALESCE(started_at, {now}), reason = '', not_before = NULL
	WHERE id = (SELECT id FROM operations WHERE ` + claimable + `$2` + queueOrder + ` {skip}) AND status = 'PENDING'
	RETURNING {operation}`

// claimTries is how often a claimer looks again while the same key is being
// claimed elsewhere, or the run of what it took was cancelled.
const claimTries = 3

// Claim implements ktrdr.Operations. Looking comes before writing: a poll that
// finds nothing costs no transaction.
func (s *Store) Claim(ctx context.Context, c ktrdr.ClaimRequest, heldBy ktrdr.Incarnation) (*ktrdr.Task, error) {
	if c.Worker == "" || !storable(string(c.Worker), 255) || !storable(c.Key, 255) || !storable(string(heldBy), 255) {
		return nil, ktrdr.Errorf(ktrdr.CodeInvalid, "a claim needs a worker id, and neither it nor the key may be over 255 bytes of text")
	}
	c.Types = distinct(c.Types)
	if len(c.Types) == 0 {
		return nil, nil
	}
	if len(c.Types) > len(s.types) {
		return nil, ktrdr.Errorf(ktrdr.CodeInvalid, "a claim names %d types; there are only %d", len(c.Types), len(s.types))
	}
	for try := 1; ; try++ {
		held, queues, err := s.look(ctx, c, heldBy)
		switch {
		case err != nil || held == "" && len(queues) == 0:
			return nil, err
		case held != "":
			return s.claimedBefore(ctx, held)
		}
		task, err := s.claim(ctx, c, heldBy, queues)
		switch {
		case errors.Is(err, errRunCancelled) && try == claimTries:
			return nil, nil
		case !errors.Is(err, errRunCancelled) && (!isDuplicate(err) || try == claimTries):
			return task, err
		}
	}
}

// claim takes the head of the first of the queues that has one; nil when
// others have emptied them all since they were looked at.
func (s *Store) claim(ctx context.Context, c ktrdr.ClaimRequest, heldBy ktrdr.Incarnation,
	queues []ktrdr.Type,
) (*ktrdr.Task, error) {
	return inWrite(ctx, s, func(t *tx) (*ktrdr.Task, error) {
		for _, queue := range queues {
			op, err := scanOperation(t.row(ctx, claimNext, bit(heldBy != ""), queue, c.Worker, heldBy, c.Key))
			if errors.Is(err, sql.ErrNoRows) {
				continue // others are taking, or have taken, all there is
			}
			if err == nil {
				err = refuseOthers(ctx, t, c.Worker, heldBy)
			}
			if err == nil && s.isPostgres() { // on SQLite no other transaction comes in between
				err = stillRuns(ctx, t, op.Run)
			}
			if err != nil {
				return nil, err
			}
			t.wake()
			return s.taskOf(ctx, t, op)
		}
		return nil, nil
	})
}

// look finds the claim that the key already holds, or else the types that have
// something to claim, the one whose turn it is first.
func (s *Store) look(ctx context.Context, c ktrdr.ClaimRequest, heldBy ktrdr.Incarnation) (held ktrdr.OperationID,
	queues []ktrdr.Type, err error,
) {
	var text strings.Builder
	text.WriteString(`SELECT 0, id, 0, 0, id FROM operations
		WHERE worker_id = $2 AND claim_key = $3 AND claim_key <> '' AND ` + isLive)
	args := []any{bit(heldBy != ""), c.Worker, c.Key}
	for i, queue := range c.Types {
		args = append(args, queue)
		fmt.Fprintf(&text,
			" UNION ALL SELECT 1, operation_type, -priority, root_created_at, id FROM (SELECT operation_type, priority, root_created_at, id"+
				" FROM operations WHERE %s$%d%s) AS queue%d", claimable, len(args), queueOrder, i)
	}
	text.WriteString(` ORDER BY 1, 3, 4, 5`)

	err = s.peek(ctx, func(r queryer) error {
		held, queues = "", nil
		return eachRow(ctx, r, func(row scanner) error {
			var turn, priority, since int64
			var what, id string
			err := row.Scan(&turn, &what, &priority, &since, &id)
			if turn == 0 {
				held = ktrdr.OperationID(id)
			} else {
				queues = append(queues, ktrdr.Type(what))
			}
			return err
		}, query(text.String()), args...)
	})
	return held, queues, err
}

// claimedBefore answers a claim again; nil when it has ended meanwhile.
func (s *Store) claimedBefore(ctx context.Context, id ktrdr.OperationID) (*ktrdr.Task, error) {
	return inRead(ctx, s.read, func(r queryer) (*ktrdr.Task, error) {
		op, err := load(ctx, r, id)
		if err != nil || !op.Status.Live() {
			return nil, err
		}
		return s.taskOf(ctx, r, op)
	})
}

func (s *Store) taskOf(ctx context.Context, q queryer, op operationRow) (*ktrdr.Task, error) {
	task := &ktrdr.Task{
		Operation: op.ID, Type: op.Type, Epoch: op.Epoch, Attempts: op.Attempts,
		Spec: op.Spec, Trace: op.Trace, Cancel: op.CancelRequested, InChild: op.BackendDied && s.restartsInChild(op.Type),
	}
	if op.Checkpoint == nil {
		return task, nil
	}
	var err error
	if task.Checkpoint, err = newestCheckpoint(ctx, q, op.ID); err != nil {
		return nil, fmt.Errorf("checkpoint of %s: %w", op.ID, err)
	}
	return task, nil
}

const claimParent query = `UPDATE operations SET status = 'RUNNING', epoch = epoch + 1, attempts = attempts + 1,
		worker_id = '', held_by = '', claim_key = '', claimed_at = {now}, heartbeat_at = {now},
		started_at = COALESCE(started_at, {now}), reason = ''
	WHERE id = $1 AND status = 'PENDING' AND has_plan = 1`

// claimPlan claims a parent for its plan: it runs from now on, without a worker.
func claimPlan(ctx context.Context, t *tx, id ktrdr.OperationID) error {
	n, err := t.exec(ctx, claimParent, id)
	if err == nil && n == 0 {
		err = refusal(ctx, t, id, ktrdr.Act{Input: ktrdr.Claim})
	}
	return err
}

// isDuplicate says whether a unique index refused err's statement.
func isDuplicate(err error) bool {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code == "23505" // unique_violation
	}
	if e, ok := errors.AsType[*sqlitedriver.Error](err); ok {
		return e.Code() == sqlitelib.SQLITE_CONSTRAINT_UNIQUE || e.Code() == sqlitelib.SQLITE_CONSTRAINT_PRIMARYKEY
	}
	return false
}
