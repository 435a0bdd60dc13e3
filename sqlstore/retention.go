package sqlstore

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/ktrdr/ktrdr"
)

const (
	lockOperation query = `SELECT status FROM operations WHERE id = $1 {lock}`
	deleteSome    query = `DELETE FROM checkpoints WHERE tenant = '' AND thread_id = $1 AND ns = '' AND id IN (
		SELECT c.id FROM checkpoints c WHERE ` + ofOperation + ` ORDER BY c.id LIMIT $2)`
)

// DeleteCheckpoints implements ktrdr.Checkpoints.
func (s *Store) DeleteCheckpoints(ctx context.Context, op ktrdr.OperationID) (int, error) {
	if !op.Valid() {
		return 0, notFound(op)
	}
	total := 0
	for {
		n, err := inWrite(ctx, s, func(t *tx) (int64, error) { return deleteCheckpoints(ctx, t, op) })
		if total += int(n); err != nil || n < removeAtOnce {
			if err == nil && total == 0 {
				err = ktrdr.Errorf(ktrdr.CodeNotFound, "operation %s has no checkpoint", op)
			}
			return total, err
		}
	}
}

// deleteCheckpoints deletes some checkpoints of an operation that does not run.
func deleteCheckpoints(ctx context.Context, t *tx, op ktrdr.OperationID) (int64, error) {
	found, err := firstColumn(ctx, t, lockOperation, op)
	switch {
	case err != nil:
		return 0, err
	case len(found) == 0:
		return 0, notFound(op)
	case ktrdr.Status(found[0]).Live():
		return 0, ktrdr.Errorf(ktrdr.CodeConflict,
			"operation %s is %s; cancel it, or wait until it has ended, before its checkpoints are deleted", op, found[0])
	}
	n, err := t.exec(ctx, deleteSome, op, removeAtOnce)
	if err != nil || n == 0 {
		return n, err
	}
	return n, refreshNewest(ctx, t, op, "deleted")
}

// expirable is the condition under which a checkpoint of an operation may go
// when it is old enough: it is not final, and its operation has ended or has
// two newer ones that can be used.
const expirable = `c.checkpoint_type IS NOT NULL AND c.checkpoint_type <> 'final' AND (
	NOT EXISTS (SELECT 1 FROM operations o WHERE o.id = c.thread_id AND o.` + isOpen + `)
	OR EXISTS (SELECT 1 FROM checkpoints n WHERE n.tenant = '' AND n.thread_id = c.thread_id AND n.ns = '' AND n.id > c.id
		AND n.skipped = 0 ORDER BY n.id LIMIT 1 OFFSET 1))`

const selectExpired query = `SELECT c.thread_id, c.id FROM checkpoints c
	WHERE c.put_at <= {now} - CAST($1 AS BIGINT) AND ` + expirable + ` ORDER BY c.put_at LIMIT $2`

// ExpireCheckpoints implements ktrdr.Checkpoints. Idempotency keys whose life is
// over go with it.
func (s *Store) ExpireCheckpoints(ctx context.Context, age time.Duration) (int, error) {
	if age < 0 {
		return 0, ktrdr.Errorf(ktrdr.CodeInvalid, "checkpoints cannot expire at an age of %v", age)
	}
	n, err := s.expireOperations(ctx, age)
	if err == nil && n < removeAtOnce {
		var more int
		more, err = s.expireThreads(ctx, removeAtOnce-n)
		n += more
	}
	if err == nil {
		err = s.forgetKeys(ctx)
	}
	return n, err
}

func (s *Store) expireOperations(ctx context.Context, age time.Duration) (n int, err error) {
	type saved struct{ op, id string }
	scan := fields(func(c *saved) []any { return []any{&c.op, &c.id} })
	found, err := readAll(ctx, s, scan, selectExpired, age.Microseconds(), removeAtOnce) // looking does not need the writer
	if err != nil || len(found) == 0 {
		return 0, err
	}
	old := make(map[string][]string) // ids by operation
	for _, c := range found {
		old[c.op] = append(old[c.op], c.id)
	}
	return inWrite(ctx, s, func(t *tx) (int, error) { return expire(ctx, t, old) })
}

// expire deletes what is still expirable of operations that no other transaction is
// changing; the next call finds the others again.
func expire(ctx context.Context, t *tx, old map[string][]string) (int, error) {
	total := 0
	names := slices.Sorted(maps.Keys(old))
	for some := range slices.Chunk(names, keysAtOnce) {
		list, args := padded(1, some, func(id string) any { return id })
		free, err := firstColumn(ctx, t, query(`SELECT id FROM operations WHERE id IN (`+list+`) ORDER BY id {skip}`), args...)
		if err != nil {
			return 0, err
		}
		for _, op := range free {
			list, args := padded(2, old[op], func(id string) any { return id })
			n, err := t.exec(ctx, query(`DELETE FROM checkpoints AS c WHERE `+ofOperation+` AND c.id IN (`+list+`) AND `+expirable),
				append([]any{op}, args...)...)
			if err != nil {
				return 0, err
			}
			total += int(n)
		}
	}
	return total, refreshExpired(ctx, t, names)
}

// refreshExpired corrects the operations whose newest checkpoint is gone.
func refreshExpired(ctx context.Context, t *tx, names []string) error {
	for some := range slices.Chunk(names, keysAtOnce) {
		list, args := padded(1, some, func(id string) any { return id })
		stale, err := firstColumn(ctx, t, query(`SELECT o.id FROM operations o WHERE o.id IN (`+list+`) AND o.ckpt_id IS NOT NULL AND NOT EXISTS (
			SELECT 1 FROM checkpoints c WHERE c.tenant = '' AND c.thread_id = o.id AND c.ns = '' AND c.id = o.ckpt_id)`), args...)
		if err != nil {
			return err
		}
		for _, id := range stale {
			if err := refreshNewest(ctx, t, ktrdr.OperationID(id), "expired"); err != nil {
				return err
			}
		}
	}
	return nil
}

const selectExpiredThreads query = `SELECT tenant, thread_id FROM threads WHERE expires_at <= {now} ORDER BY expires_at LIMIT 1 {skip}`

// expireThreads deletes at most that number of rows of threads whose owner set a TTL
// that has passed since the last put.
func (s *Store) expireThreads(ctx context.Context, most int) (total int, err error) {
	for total < most {
		var n int64
		var found bool
		err := s.write(ctx, normal, func(t *tx) error {
			var tenant, threadID string
			err := t.row(ctx, selectExpiredThreads).Scan(&tenant, &threadID)
			if found = err == nil; !found {
				return ifNoRow(err, nil)
			}
			n, err = removeThread(ctx, t, tenant, threadID, int64(most-total))
			return err
		})
		if err != nil || !found {
			return total, err
		}
		total += int(n)
	}
	return total, nil
}
