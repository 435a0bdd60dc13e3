package sqlstore

import (
	"context"
	"encoding/json"

	"github.com/ktrdr/ktrdr/thread"
)

const (
	// A copy does not expire: only a put can ask for that.
	openCopy query = `INSERT INTO threads (tenant, thread_id) SELECT tenant, CAST($3 AS TEXT) FROM threads
		WHERE tenant = $1 AND thread_id = $2 ON CONFLICT (tenant, thread_id) DO NOTHING`

	// Both threads, always in the same order.
	lockBoth query = `SELECT thread_id FROM threads WHERE tenant = $1 AND thread_id IN ($2, $3) ORDER BY thread_id {lock}`

	// What the copy saw of a version comes after what the thread saw itself.
	copyValues query = `INSERT INTO thread_values (tenant, thread_id, ns, channel, version, hash, type, bytes, place)
		SELECT tenant, CAST($3 AS TEXT), ns, channel, version, hash, type, bytes, place + COALESCE((SELECT MAX(d.place) + 1 FROM thread_values d
			WHERE d.tenant = $1 AND d.thread_id = $3 AND d.ns = src.ns AND d.channel = src.channel AND d.version = src.version), 0)
		FROM thread_values src WHERE tenant = $1 AND thread_id = $2
		ON CONFLICT (tenant, thread_id, ns, channel, version, hash) DO NOTHING`
	copyPoints query = `INSERT INTO checkpoints
			(tenant, thread_id, ns, id, parent_id, put_at, format, run_id, slots, metadata, checkpoint)
		SELECT tenant, CAST($3 AS TEXT), ns, id, parent_id, {now}, format, run_id, slots, metadata, checkpoint
		FROM checkpoints WHERE tenant = $1 AND thread_id = $2
		` + orReplacePoint
	copyWrites query = `INSERT INTO checkpoint_writes
			(tenant, thread_id, ns, checkpoint_id, task, idx, path, channel, type, bytes)
		SELECT tenant, CAST($3 AS TEXT), ns, checkpoint_id, task, idx, path, channel, type, bytes
		FROM checkpoint_writes WHERE tenant = $1 AND thread_id = $2
		` + orReplaceWrite
)

// CopyThread implements thread.Saver. It is one transaction, so that the copy
// is the thread as it was at one moment.
func (s threads) CopyThread(ctx context.Context, tenant, src, dst string) error {
	if err := thread.CheckThread(tenant, src); err != nil {
		return err
	}
	if err := thread.CheckWritable(tenant, dst); err != nil {
		return err
	}
	if src == dst {
		return nil
	}
	if thread.IsOperation(tenant, src) {
		return s.copyOperation(ctx, src, dst)
	}
	return s.store.write(ctx, normal, func(t *tx) error {
		t.later(ctx, openCopy, tenant, src, dst)
		t.later(ctx, lockBoth, tenant, src, dst)
		held, _, err := lockLease(ctx, t, tenant, dst)
		if err == nil {
			err = thread.CheckLease(dst, nil, held)
		}
		if err != nil {
			return err
		}
		for _, q := range []query{copyValues, copyPoints, copyWrites} {
			t.later(ctx, q, tenant, src, dst)
		}
		return nil
	})
}

// copyOperation puts what can be read of an operation's thread into another.
func (s threads) copyOperation(ctx context.Context, src, dst string) error {
	tuples, err := s.List(ctx, thread.Query{Thread: &src})
	if err != nil {
		return err
	}
	return s.store.write(ctx, normal, func(t *tx) error {
		for _, one := range tuples {
			p := thread.Put{
				Thread: dst, Parent: one.Parent, Checkpoint: one.Checkpoint, Metadata: one.Metadata,
				Values: one.Values, NewVersions: make(map[string]json.RawMessage),
			}
			for channel := range one.Values {
				p.NewVersions[channel] = json.RawMessage("0") // the checkpoint's own version counts
			}
			d, err := thread.ParsePut(p)
			if err != nil {
				return err
			}
			if err := putThread(ctx, t, d, ownHashes(d), p); err != nil {
				return err
			}
		}
		return nil
	})
}
