package sqlstore

import (
	"context"
	"slices"

	"github.com/ktrdr/ktrdr/thread"
)

const (
	selectSpaces query = `SELECT DISTINCT ns FROM checkpoints WHERE tenant = $1 AND thread_id = $2`
	olderPoints  query = `SELECT id FROM checkpoints WHERE tenant = $1 AND thread_id = $2 AND ns = $3 AND id > $4 AND id < $5
		ORDER BY id LIMIT $6`
	olderWrites query = `SELECT DISTINCT checkpoint_id FROM checkpoint_writes
		WHERE tenant = $1 AND thread_id = $2 AND ns = $3 AND checkpoint_id > $4 AND checkpoint_id < $5 ORDER BY checkpoint_id LIMIT $6`
)

// pruneThread deletes some of what is older than the latest checkpoint of each
// namespace and not needed by it.
func pruneThread(ctx context.Context, t *tx, tenant, threadID string) (done bool, err error) {
	if known, err := firstColumn(ctx, t, touchThread, tenant, threadID); err != nil || len(known) == 0 {
		return true, err
	}
	spaces, err := firstColumn(ctx, t, selectSpaces, tenant, threadID)
	if err != nil {
		return false, err
	}
	for _, ns := range spaces {
		if done, err := pruneSpace(ctx, t, thread.Ref{Tenant: tenant, Thread: threadID, NS: ns}); err != nil || !done {
			return false, err
		}
	}
	return true, nil
}

func pruneSpace(ctx context.Context, t *tx, ref thread.Ref) (done bool, err error) {
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
		if deletePoints(ctx, t, ref, gone); len(gone) == removeAtOnce {
			return false, nil
		}
	}
	return trimValues(ctx, t, ref)
}

// someOlder finds ids below the latest that need not be kept.
func someOlder(ctx context.Context, q queryer, older query, ref thread.Ref, latest string,
	keep map[string]bool,
) (gone []string, err error) {
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
func deletePoints(ctx context.Context, t *tx, ref thread.Ref, ids []string) {
	for some := range slices.Chunk(ids, keysAtOnce) {
		list, args := padded(4, some, func(id string) any { return id })
		args = slices.Concat([]any{ref.Tenant, ref.Thread, ref.NS}, args)
		for _, text := range []string{
			`DELETE FROM checkpoints WHERE tenant = $1 AND thread_id = $2 AND ns = $3 AND id IN (` + list + `)`,
			`DELETE FROM checkpoint_writes WHERE tenant = $1 AND thread_id = $2 AND ns = $3 AND checkpoint_id IN (` + list + `)`,
		} {
			t.later(ctx, query(text), args...)
		}
	}
}

// trimAtMost is how many checkpoints of a namespace are searched for values that no
// slot holds any more. Where more are left, their values stay until the thread is
// pruned or deleted.
const trimAtMost = 2000

const (
	selectSpaceSlots  query = `SELECT slots FROM checkpoints WHERE tenant = $1 AND thread_id = $2 AND ns = $3 LIMIT $4`
	selectSpaceValues query = `SELECT channel, version, hash FROM thread_values WHERE tenant = $1 AND thread_id = $2 AND ns = $3
		ORDER BY channel, version, hash LIMIT $4`
	deleteOneValue query = `DELETE FROM thread_values WHERE tenant = $1 AND thread_id = $2 AND ns = $3 AND channel = $4 AND version = $5
		AND hash = $6`
)

// trimValues forgets some of the values that no checkpoint of the namespace
// holds. The thread is locked.
func trimValues(ctx context.Context, t *tx, ref thread.Ref) (done bool, err error) {
	texts, err := firstColumn(ctx, t, selectSpaceSlots, ref.Tenant, ref.Thread, ref.NS, trimAtMost+1)
	if err != nil || len(texts) > trimAtMost {
		return true, err
	}
	held := make(map[seenValue]bool)
	for _, text := range texts {
		found, err := decodeSlots(text)
		if err != nil {
			return false, err
		}
		for channel, slot := range found {
			if slot.Held {
				held[seenValue{channel, slot.Version, slot.Value}] = true
			}
		}
	}
	most := len(held) + removeAtOnce // among these are enough, or all, that no slot holds
	values, err := collect(ctx, t, func(row scanner) (v seenValue, err error) {
		var hash []byte
		err = row.Scan(&v.channel, &v.version, &hash)
		copy(v.hash[:], hash)
		return v, err
	}, selectSpaceValues, ref.Tenant, ref.Thread, ref.NS, most)
	if err != nil {
		return false, err
	}
	for _, v := range values {
		if !held[v] {
			t.later(ctx, deleteOneValue, ref.Tenant, ref.Thread, ref.NS, v.channel, v.version, v.hash[:])
		}
	}
	return len(values) < most, nil
}

// DeleteRuns implements thread.Saver.
func (s threads) DeleteRuns(ctx context.Context, tenant string, runs []string) error {
	if err := thread.CheckRuns(tenant, runs); err != nil {
		return err
	}
	for _, run := range distinct(runs) {
		if err := s.deleteRun(ctx, tenant, run); err != nil {
			return err
		}
	}
	return nil
}

// deleteRun deletes a run's checkpoints, some of one namespace at a time: two
// deletions never hold one thread each and wait for the other's.
func (s threads) deleteRun(ctx context.Context, tenant, run string) error {
	for {
		var ref thread.Ref
		var found bool
		err := s.store.write(ctx, normal, func(t *tx) (err error) {
			ref, found, err = deleteSomeOfRun(ctx, t, tenant, run)
			return err
		})
		if err != nil || !found {
			return err
		}
		err = s.untilDone(ctx, func(t *tx) (bool, error) {
			t.later(ctx, touchThread, tenant, ref.Thread)
			return trimValues(ctx, t, ref)
		})
		if err != nil {
			return err
		}
	}
}

const (
	selectRunSpace query = `SELECT thread_id, ns FROM checkpoints WHERE run_id IS NOT NULL AND tenant = $1 AND run_id = $2
		ORDER BY thread_id, ns LIMIT 1`
	selectRunIDs query = `SELECT id FROM checkpoints WHERE run_id IS NOT NULL AND tenant = $1 AND run_id = $2 AND thread_id = $3 AND ns = $4
		ORDER BY id LIMIT $5`
)

// deleteSomeOfRun says of which namespace it deleted, if the run had any.
func deleteSomeOfRun(ctx context.Context, t *tx, tenant, run string) (ref thread.Ref, found bool, err error) {
	ref.Tenant = tenant
	if err := t.row(ctx, selectRunSpace, tenant, run).Scan(&ref.Thread, &ref.NS); err != nil {
		return ref, false, ifNoRow(err, nil)
	}
	t.later(ctx, touchThread, tenant, ref.Thread)
	gone, err := firstColumn(ctx, t, selectRunIDs, tenant, run, ref.Thread, ref.NS, removeAtOnce)
	if err != nil {
		return ref, false, err
	}
	deletePoints(ctx, t, ref, gone)
	return ref, true, nil
}
