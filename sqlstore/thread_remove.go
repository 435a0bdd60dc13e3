package sqlstore

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"slices"
	"strings"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/saver"
)

// removeAtOnce is how many rows one transaction deletes at most: nobody waits
// long for a deletion, however large. What is smaller goes at once.
const removeAtOnce = 500

// untilDone repeats a bounded transaction until it says that it is done.
func (s threads) untilDone(ctx context.Context, body func(t *tx) (done bool, err error)) error {
	for {
		var done bool
		err := s.write(ctx, normal, func(t *tx) (err error) {
			done, err = body(t)
			return err
		})
		if err != nil || done {
			return err
		}
	}
}

// DeleteThread implements ktrdr.Saver.
func (s threads) DeleteThread(ctx context.Context, tenant, thread string) error {
	return s.Prune(ctx, tenant, []string{thread}, false)
}

// Prune implements ktrdr.Saver.
func (s threads) Prune(ctx context.Context, tenant string, all []string, keepLatest bool) error {
	for _, thread := range all {
		if err := saver.CheckWritable(tenant, thread); err != nil {
			return err
		}
	}
	for _, thread := range all {
		err := s.untilDone(ctx, func(t *tx) (bool, error) {
			if keepLatest {
				return pruneThread(ctx, t, tenant, thread)
			}
			removed, err := removeThread(ctx, t, tenant, thread, removeAtOnce)
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

// removeThread deletes at most so many rows of a thread, in each namespace the
// oldest checkpoints first, and says how many; fewer than allowed means all.
func removeThread(ctx context.Context, t *tx, tenant, thread string, most int64) (removed int64, err error) {
	if _, err := firstColumn(ctx, t, touchThread, tenant, thread); err != nil {
		return 0, err
	}
	for _, table := range threadTables {
		n, err := removeFrom(ctx, t, table.name, table.key, tenant, thread, most-removed)
		if removed += n; err != nil || removed == most {
			return removed, err
		}
	}
	_, err = t.exec(ctx, deleteThreadRow, tenant, thread)
	return removed, err
}

// removeFrom deletes the first rows of a thread from one table: up to the last
// key that is allowed, which is found first, so that both databases walk along
// the index and nothing else.
func removeFrom(ctx context.Context, t *tx, table string, key []string, tenant, thread string, most int64) (int64, error) {
	columns := strings.Join(key, ", ")
	where := ` WHERE tenant = $1 AND thread_id = $2`
	args := []any{tenant, thread}

	bound := make([]any, len(key))
	into := make([]any, len(key))
	for i := range bound {
		into[i] = &bound[i]
	}
	err := t.row(ctx, query(`SELECT `+columns+` FROM `+table+where+` ORDER BY `+columns+` LIMIT 1 OFFSET $3`), tenant, thread, most-1).Scan(into...)
	switch {
	case err == nil:
		where += ` AND (` + columns + `) <= (` + placeholders(3, len(key)) + `)`
		args = append(args, bound...)
	case !errors.Is(err, sql.ErrNoRows):
		return 0, err
	}
	if table == "thread_values" {
		stray := query(`INSERT INTO strays (hash, at) SELECT DISTINCT hash, {now} FROM thread_values` + where + ` ON CONFLICT (hash) DO NOTHING`)
		if _, err := t.exec(ctx, stray, args...); err != nil {
			return 0, err
		}
	}
	return t.exec(ctx, query(`DELETE FROM `+table+where), args...)
}

// firstColumn reads a column of text.
func firstColumn(ctx context.Context, r queryer, q query, args ...any) ([]string, error) {
	rows, err := r.rows(ctx, q, args...)
	return gather(rows, err, scanText)
}

func scanText(row scanner) (text string, err error) {
	err = row.Scan(&text)
	return text, err
}

const (
	selectSpaces query = `SELECT DISTINCT ns FROM checkpoints WHERE tenant = $1 AND thread_id = $2`
	olderPoints  query = `SELECT id FROM checkpoints WHERE tenant = $1 AND thread_id = $2 AND ns = $3 AND id > $4 AND id < $5 ORDER BY id LIMIT $6`
	olderWrites  query = `SELECT DISTINCT checkpoint_id FROM checkpoint_writes
		WHERE tenant = $1 AND thread_id = $2 AND ns = $3 AND checkpoint_id > $4 AND checkpoint_id < $5 ORDER BY checkpoint_id LIMIT $6`
)

// pruneThread deletes some of what is older than the latest checkpoint of each
// namespace and not needed by it.
func pruneThread(ctx context.Context, t *tx, tenant, thread string) (done bool, err error) {
	if known, err := firstColumn(ctx, t, touchThread, tenant, thread); err != nil || len(known) == 0 {
		return true, err
	}
	spaces, err := firstColumn(ctx, t, selectSpaces, tenant, thread)
	if err != nil {
		return false, err
	}
	for _, ns := range spaces {
		if done, err := pruneSpace(ctx, t, ktrdr.ThreadRef{Tenant: tenant, Thread: thread, NS: ns}); err != nil || !done {
			return false, err
		}
	}
	return true, nil
}

func pruneSpace(ctx context.Context, t *tx, ref ktrdr.ThreadRef) (done bool, err error) {
	latest, err := findPoint(ctx, t, ref)
	if err != nil {
		return false, err
	}
	keep, err := needed(ctx, t, ref.Tenant, latest)
	if err != nil {
		return false, err
	}
	for _, older := range []query{olderPoints, olderWrites} { // writes may be without a checkpoint
		gone, err := someOlder(ctx, t, older, ref, latest.id, keep)
		if err != nil {
			return false, err
		}
		if err := deletePoints(ctx, t, ref, gone); err != nil || len(gone) == removeAtOnce {
			return false, err
		}
	}
	return true, trimValues(ctx, t, ref)
}

// someOlder finds ids below the latest that need not be kept.
func someOlder(ctx context.Context, q queryer, older query, ref ktrdr.ThreadRef, latest string, keep map[string]bool) (gone []string, err error) {
	for last := ""; ; {
		page, err := firstColumn(ctx, q, older, ref.Tenant, ref.Thread, ref.NS, last, latest, removeAtOnce)
		if err != nil {
			return nil, err
		}
		for _, id := range page {
			if last = id; !keep[id] {
				gone = append(gone, id)
			}
		}
		if len(gone) >= removeAtOnce {
			return gone[:removeAtOnce], nil
		}
		if len(page) < removeAtOnce {
			return gone, nil
		}
	}
}

// deletePoints deletes checkpoints of a namespace with their writes.
func deletePoints(ctx context.Context, t *tx, ref ktrdr.ThreadRef, ids []string) error {
	for some := range slices.Chunk(ids, keysAtOnce) {
		list, args := padded(4, some, func(id string) any { return id })
		args = slices.Concat([]any{ref.Tenant, ref.Thread, ref.NS}, args)
		for _, text := range []string{
			`DELETE FROM checkpoints WHERE tenant = $1 AND thread_id = $2 AND ns = $3 AND id IN (` + list + `)`,
			`DELETE FROM checkpoint_writes WHERE tenant = $1 AND thread_id = $2 AND ns = $3 AND checkpoint_id IN (` + list + `)`,
		} {
			if _, err := t.exec(ctx, query(text), args...); err != nil {
				return err
			}
		}
	}
	return nil
}

// trimAtMost is how many checkpoints of a namespace are searched for values
// that nobody holds any more. Where more are left, their values stay until the
// thread is pruned or deleted.
const trimAtMost = 2000

const (
	selectSpaceSlots  query = `SELECT slots FROM checkpoints WHERE tenant = $1 AND thread_id = $2 AND ns = $3 LIMIT $4`
	selectSpaceValues query = `SELECT channel, version, hash FROM thread_values WHERE tenant = $1 AND thread_id = $2 AND ns = $3`
	strayOne          query = `INSERT INTO strays (hash, at) VALUES ($1, {now}) ON CONFLICT (hash) DO NOTHING`
	deleteOneValue    query = `DELETE FROM thread_values WHERE tenant = $1 AND thread_id = $2 AND ns = $3 AND channel = $4 AND version = $5 AND hash = $6`
)

// seenValue is one value that a namespace has seen.
type seenValue struct{ channel, version, hash string }

// trimValues forgets the values that no checkpoint of the namespace holds. The
// thread is locked.
func trimValues(ctx context.Context, t *tx, ref ktrdr.ThreadRef) error {
	rows, err := t.rows(ctx, selectSpaceSlots, ref.Tenant, ref.Thread, ref.NS, trimAtMost+1)
	texts, err := gather(rows, err, scanText)
	if err != nil || len(texts) > trimAtMost {
		return err
	}
	held := make(map[seenValue]bool)
	for _, text := range texts {
		found, err := decodeSlots(text)
		if err != nil {
			return err
		}
		for channel, slot := range found {
			if slot.Held {
				held[seenValue{channel, slot.Version, slot.Value.String()}] = true
			}
		}
	}
	rows, err = t.rows(ctx, selectSpaceValues, ref.Tenant, ref.Thread, ref.NS)
	values, err := gather(rows, err, func(row scanner) (v seenValue, err error) {
		var hash []byte
		err = row.Scan(&v.channel, &v.version, &hash)
		v.hash = hex.EncodeToString(hash)
		return v, err
	})
	if err != nil {
		return err
	}
	for _, v := range values {
		if held[v] {
			continue
		}
		h, err := ktrdr.ParseHash(v.hash)
		if err != nil {
			return err
		}
		if _, err := t.exec(ctx, strayOne, h[:]); err != nil {
			return err
		}
		if _, err := t.exec(ctx, deleteOneValue, ref.Tenant, ref.Thread, ref.NS, v.channel, v.version, h[:]); err != nil {
			return err
		}
	}
	return nil
}

// DeleteRuns implements ktrdr.Saver.
func (s threads) DeleteRuns(ctx context.Context, tenant string, runs []string) error {
	if err := saver.CheckRuns(tenant, runs); err != nil {
		return err
	}
	for _, run := range distinct(runs) {
		err := s.untilDone(ctx, func(t *tx) (bool, error) { return deleteRun(ctx, t, tenant, run) })
		if err != nil {
			return err
		}
	}
	return nil
}

const (
	selectRunSpace query = `SELECT thread_id, ns FROM checkpoints WHERE run_id IS NOT NULL AND tenant = $1 AND run_id = $2 ORDER BY thread_id, ns LIMIT 1`
	selectRunIDs   query = `SELECT id FROM checkpoints WHERE run_id IS NOT NULL AND tenant = $1 AND run_id = $2 AND thread_id = $3 AND ns = $4 ORDER BY id LIMIT $5`
)

// deleteRun deletes some of a run's checkpoints, of one namespace at a time:
// two deletions never hold one thread each and wait for the other's.
func deleteRun(ctx context.Context, t *tx, tenant, run string) (done bool, err error) {
	ref := ktrdr.ThreadRef{Tenant: tenant}
	err = t.row(ctx, selectRunSpace, tenant, run).Scan(&ref.Thread, &ref.NS)
	if errors.Is(err, sql.ErrNoRows) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	if _, err := firstColumn(ctx, t, touchThread, tenant, ref.Thread); err != nil {
		return false, err
	}
	gone, err := firstColumn(ctx, t, selectRunIDs, tenant, run, ref.Thread, ref.NS, removeAtOnce)
	if err != nil {
		return false, err
	}
	if err := deletePoints(ctx, t, ref, gone); err != nil {
		return false, err
	}
	return false, trimValues(ctx, t, ref)
}
