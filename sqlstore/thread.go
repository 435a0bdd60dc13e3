package sqlstore

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"strconv"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/thread"
)

// threads is a thread.Saver over the store's tables.
//
// A checkpoint's row holds its slots: for each channel the version and the
// hash of the value. The values themselves are in thread_values, once for each
// namespace, channel, version and hash, and live until the thread goes or a
// pruning finds that no slot names them. A transaction that adds to a thread or
// deletes from it locks the thread's row in threads, so that a value about to be
// inherited is not deleted meanwhile.
type threads struct{ store *Store }

// Saver keeps the checkpoints of other programs.
func (s *Store) Saver() thread.Saver { return threads{s} }

// slots is what a row keeps of its channels.
type slots = thread.Slots[ktrdr.Hash]

// contentHash names a value. The length keeps type and bytes apart.
func contentHash(v thread.Value) ktrdr.Hash {
	var (
		h    = sha256.New()
		head = make([]byte, 0, 64)
		sum  ktrdr.Hash
	)
	head = append(strconv.AppendInt(head, int64(len(v.Type)), 10), ':')
	h.Write(append(head, v.Type...))
	h.Write(v.Bytes)
	h.Sum(sum[:0])
	return sum
}

const (
	// A put that names its parent finds both and locks the thread in one
	// statement.
	selectParentLocked query = `SELECT c.slots, ` + liveLease + ` FROM threads t JOIN checkpoints c ON c.tenant = t.tenant
		AND c.thread_id = t.thread_id
		WHERE t.tenant = $1 AND t.thread_id = $2 AND t.expires_at IS NULL AND c.ns = $3 AND c.id = $4 {lock}`

	lockThread query = `INSERT INTO threads (tenant, thread_id, expires_at)
		VALUES ($1, $2, CASE WHEN CAST($3 AS BIGINT) > 0 THEN {now} + CAST($3 AS BIGINT) END)
		ON CONFLICT (tenant, thread_id) DO UPDATE SET expires_at = EXCLUDED.expires_at RETURNING ` + liveLease

	selectLatest query = `SELECT id FROM checkpoints WHERE tenant = $1 AND thread_id = $2 AND ns = $3 ORDER BY id DESC LIMIT 1`

	selectSlots query = `SELECT slots FROM checkpoints WHERE tenant = $1 AND thread_id = $2 AND ns = $3 AND id = $4`

	selectFirstSeen query = `SELECT hash FROM thread_values
		WHERE tenant = $1 AND thread_id = $2 AND ns = $3 AND channel = $4 AND version = $5 ORDER BY place LIMIT 1`

	upsertThreadCheckpoint query = `INSERT INTO checkpoints
			(tenant, thread_id, ns, id, parent_id, put_at, format, run_id, slots, metadata, checkpoint)
		VALUES ($1, $2, $3, $4, $5, {now}, $6, $7, $8, $9, $10)
		` + orReplacePoint

	orReplacePoint = `ON CONFLICT (tenant, thread_id, ns, id) DO UPDATE SET parent_id = EXCLUDED.parent_id, put_at = EXCLUDED.put_at,
		format = EXCLUDED.format, run_id = EXCLUDED.run_id, slots = EXCLUDED.slots,
		metadata = EXCLUDED.metadata, checkpoint = EXCLUDED.checkpoint`

	insertWrite query = `INSERT INTO checkpoint_writes
			(tenant, thread_id, ns, checkpoint_id, task, idx, path, channel, type, bytes)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
		` + orReplaceWrite

	// The first write of an index wins, so that a replay changes nothing; of a
	// special one, whose index is negative, the last.
	orReplaceWrite = `ON CONFLICT (tenant, thread_id, ns, checkpoint_id, task, idx) DO UPDATE
		SET path = EXCLUDED.path, channel = EXCLUDED.channel, type = EXCLUDED.type, bytes = EXCLUDED.bytes
		WHERE EXCLUDED.idx < 0`
)

// Put implements thread.Saver.
func (s threads) Put(ctx context.Context, p thread.Put) (thread.Ref, error) {
	d, err := thread.ParsePut(p)
	if err != nil {
		return thread.Ref{}, err
	}
	own := ownHashes(d) // hashing is not for the writer's time
	if err := s.store.write(ctx, normal, func(t *tx) error { return putThread(ctx, t, d, own, p) }); err != nil {
		return d.Ref, err
	}
	for channel, h := range own {
		s.store.recent.keep(h, *d.Channels[channel].Value)
	}
	return d.Ref, nil
}

func ownHashes(d thread.ParsedPut) map[string]ktrdr.Hash {
	own := make(map[string]ktrdr.Hash)
	for channel, c := range d.Channels {
		if c.Value != nil {
			own[channel] = contentHash(*c.Value)
		}
	}
	return own
}

func putThread(ctx context.Context, t *tx, d thread.ParsedPut, own map[string]ktrdr.Hash, p thread.Put) error {
	parent, err := enterThread(ctx, t, d, p.Lease)
	if err != nil {
		return err
	}
	if err := expectLatest(ctx, t, d); err != nil {
		return err
	}
	insertValues(ctx, t, d, own)
	all, left := thread.InheritSlots(d, own, parent)
	if err := adopt(ctx, t, d, all, left); err != nil {
		return err
	}
	t.later(ctx, upsertThreadCheckpoint, d.Ref.Tenant, d.Ref.Thread, d.Ref.NS, d.Ref.Checkpoint, d.Parent,
		d.Format, sql.NullString{String: d.Run, Valid: d.HasRun}, encodeSlots(all), optional(p.Metadata), string(p.Checkpoint))
	return nil
}

// enterThread locks the thread, making it when it is new, and returns the
// slots of the put's parent, unless a lease forbids the put.
func enterThread(ctx context.Context, t *tx, d thread.ParsedPut, given *thread.LeaseToken) (slots, error) {
	r := d.Ref
	if d.NeedsParent() && d.TTL == 0 {
		var text string
		held, err := scanLease(t.row(ctx, selectParentLocked, r.Tenant, r.Thread, r.NS, d.Parent), &text)
		switch {
		case err == nil:
			if err := thread.CheckLease(r.Thread, given, held); err != nil {
				return nil, err
			}
			return decodeSlots(text)
		case !errors.Is(err, sql.ErrNoRows):
			return nil, err
		}
	}
	held, err := scanLease(t.row(ctx, lockThread, r.Tenant, r.Thread, d.TTL.Microseconds()))
	if err == nil {
		err = thread.CheckLease(r.Thread, given, held)
	}
	if err != nil || !d.NeedsParent() {
		return nil, err
	}
	return scanSlots(t.row(ctx, selectSlots, r.Tenant, r.Thread, r.NS, d.Parent))
}

// expectLatest refuses a put that was made for another newest checkpoint.
func expectLatest(ctx context.Context, t *tx, d thread.ParsedPut) error {
	if d.Latest == nil {
		return nil
	}
	latest, _, err := optionalRow(scanValue[string](t.row(ctx, selectLatest, d.Ref.Tenant, d.Ref.Thread, d.Ref.NS)))
	if err != nil {
		return err
	}
	return d.CheckLatest(latest)
}

// scanSlots reads the slots of one row; nil when there is no row.
func scanSlots(row scanner) (slots, error) {
	text, found, err := optionalRow(scanValue[string](row))
	if !found {
		return nil, err
	}
	return decodeSlots(text)
}

// adopt fills the channels that neither the put nor its parent knows.
func adopt(ctx context.Context, t *tx, d thread.ParsedPut, all slots, left []string) error {
	if len(left) == 0 {
		return nil
	}
	r := d.Ref
	before, err := scanSlots(t.row(ctx, selectSlots, r.Tenant, r.Thread, r.NS, r.Checkpoint))
	if err != nil {
		return err
	}
	for _, channel := range left {
		all.Adopt(channel, before, func(channel, version string) (h ktrdr.Hash, ok bool) {
			hash, ok, e := optionalRow(scanValue[[]byte](t.row(ctx, selectFirstSeen, r.Tenant, r.Thread, r.NS, channel, version)))
			err = errors.Join(err, e)
			copy(h[:], hash)
			return h, ok
		})
	}
	return err
}

// PutWrites implements thread.Saver.
func (s threads) PutWrites(ctx context.Context, w thread.Writes) error {
	if err := thread.CheckWrites(w); err != nil {
		return err
	}
	if len(w.Writes) == 0 {
		return nil
	}
	return s.store.write(ctx, normal, func(t *tx) error {
		if err := lockForWrite(ctx, t, w.Tenant, w.Thread, w.Lease); err != nil {
			return err
		}
		for _, one := range w.Writes {
			t.later(ctx, insertWrite, w.Tenant, w.Thread, w.NS, w.Checkpoint, w.Task, one.Idx, w.TaskPath,
				one.Channel, one.Value.Type, notNil(one.Value.Bytes))
		}
		return nil
	})
}
