package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"github.com/ktrdr/ktrdr/thread"
)

// removeAtOnce is how many rows one transaction deletes at most, so that no other
// waits long for it.
const removeAtOnce = 500

// untilDone repeats a bounded transaction until it says that it is done.
func (s threads) untilDone(ctx context.Context, body func(t *tx) (done bool, err error)) error {
	for {
		if done, err := inWrite(ctx, s.store, body); err != nil || done {
			return err
		}
	}
}

// DeleteThread implements thread.Saver.
func (s threads) DeleteThread(ctx context.Context, tenant, threadID string) error {
	return s.Prune(ctx, tenant, []string{threadID}, false)
}

// Prune implements thread.Saver.
func (s threads) Prune(ctx context.Context, tenant string, all []string, keepLatest bool) error {
	for _, threadID := range all {
		if err := thread.CheckWritable(tenant, threadID); err != nil {
			return err
		}
	}
	for _, threadID := range all {
		err := s.untilDone(ctx, func(t *tx) (bool, error) {
			if keepLatest {
				return pruneThread(ctx, t, tenant, threadID)
			}
			removed, err := removeThread(ctx, t, tenant, threadID, removeAtOnce)
			return removed < removeAtOnce, err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

const (
	touchThread     query = `SELECT thread_id FROM threads WHERE tenant = $1 AND thread_id = $2 {lock}`
	deleteThreadRow query = `DELETE FROM threads WHERE tenant = $1 AND thread_id = $2`
)

// threadTables are the tables of which a thread has many rows, each with the
// rest of its key, in the order in which a thread is deleted from them.
var threadTables = []struct {
	name string
	key  []string
}{
	{"checkpoints", []string{"ns", "id"}},
	{"checkpoint_writes", []string{"ns", "checkpoint_id", "task", "idx"}},
	{"thread_values", []string{"ns", "channel", "version", "hash"}},
}

// removeThread deletes at most that number of rows of a thread, in each namespace
// the oldest checkpoints first, and returns how many; fewer than most means all.
func removeThread(ctx context.Context, t *tx, tenant, threadID string, most int64) (removed int64, err error) {
	t.later(ctx, touchThread, tenant, threadID)
	for _, table := range threadTables {
		n, err := removeFrom(ctx, t, table.name, table.key, tenant, threadID, most-removed)
		if removed += n; err != nil || removed == most {
			return removed, err
		}
	}
	t.later(ctx, deleteThreadRow, tenant, threadID)
	return removed, nil
}

// removeFrom deletes the first rows of a thread from one table: up to the last
// key that is allowed, which is found first, so that both databases walk along
// the index and nothing else.
func removeFrom(ctx context.Context, t *tx, table string, key []string, tenant, threadID string, most int64) (int64, error) {
	columns := strings.Join(key, ", ")
	where := ` WHERE tenant = $1 AND thread_id = $2`
	args := []any{tenant, threadID}

	bound := make([]any, len(key))
	into := make([]any, len(key))
	for i := range bound {
		into[i] = &bound[i]
	}
	err := t.row(ctx, query(`SELECT `+columns+` FROM `+table+where+` ORDER BY `+columns+` LIMIT 1 OFFSET $3`), tenant, threadID,
		most-1).Scan(into...)
	switch {
	case err == nil:
		where += ` AND (` + columns + `) <= (` + placeholders(3, len(key)) + `)`
		args = append(args, bound...)
	case !errors.Is(err, sql.ErrNoRows):
		return 0, err
	}
	return t.exec(ctx, query(`DELETE FROM `+table+where), args...)
}
