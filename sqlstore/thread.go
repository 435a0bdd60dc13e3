package sqlstore

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/saver"
)

// threads is ktrdr.Saver over the store's tables.
//
// A checkpoint's row holds its slots: for each channel the version and the
// hash of the value. The values themselves are in contents, once for the whole
// store, and live as long as thread_values names them. Whoever adds to a
// thread or takes from it holds the thread's row in threads, so that a value
// about to be carried over cannot be collected meanwhile.
type threads struct{ store *Store }

// Saver implements ktrdr.Store.
func (s *Store) Saver() ktrdr.Saver { return threads{s} }

// slots is what a row keeps of its channels.
type slots = saver.Slots[ktrdr.Hash]

// storedSlot is a slot as it is written in the row.
type storedSlot struct {
	Version string `json:"v"`
	Hash    string `json:"h,omitempty"`
}

func encodeSlots(s slots) (string, error) {
	out := make(map[string]storedSlot, len(s))
	for channel, slot := range s {
		one := storedSlot{Version: slot.Version}
		if slot.Held {
			one.Hash = slot.Value.String()
		}
		out[channel] = one
	}
	text, err := json.Marshal(out)
	return string(text), err
}

func decodeSlots(text string) (slots, error) {
	var in map[string]storedSlot
	if err := json.Unmarshal([]byte(text), &in); err != nil {
		return nil, ktrdr.Errorf(ktrdr.CodeCorrupt, "slots of a checkpoint: %w", err)
	}
	out := make(slots, len(in))
	for channel, one := range in {
		slot := saver.Slot[ktrdr.Hash]{Version: one.Version, Held: one.Hash != ""}
		if slot.Held {
			h, err := ktrdr.ParseHash(one.Hash)
			if err != nil {
				return nil, ktrdr.Errorf(ktrdr.CodeCorrupt, "slot of channel %q: %w", channel, err)
			}
			slot.Value = h
		}
		out[channel] = slot
	}
	return out, nil
}

// contentHash names a value. The length keeps type and bytes apart.
func contentHash(v ktrdr.Value) ktrdr.Hash {
	h := sha256.New()
	fmt.Fprintf(h, "%d:%s", len(v.Type), v.Type)
	h.Write(v.Bytes)
	return ktrdr.Hash(h.Sum(nil))
}

const (
	// A put that only goes on from its parent finds both and locks the thread
	// in one statement.
	selectParentLocked query = `SELECT c.slots FROM threads t JOIN checkpoints c ON c.tenant = t.tenant AND c.thread_id = t.thread_id
		WHERE t.tenant = $1 AND t.thread_id = $2 AND t.expires_at IS NULL AND c.ns = $3 AND c.id = $4 {lock}`

	lockThread query = `INSERT INTO threads (tenant, thread_id, expires_at)
		VALUES ($1, $2, CASE WHEN CAST($3 AS BIGINT) > 0 THEN {now} + CAST($3 AS BIGINT) END)
		ON CONFLICT (tenant, thread_id) DO UPDATE SET expires_at = EXCLUDED.expires_at`

	selectSlots query = `SELECT slots FROM checkpoints WHERE tenant = $1 AND thread_id = $2 AND ns = $3 AND id = $4`

	selectFirstSeen query = `SELECT hash FROM thread_values
		WHERE tenant = $1 AND thread_id = $2 AND ns = $3 AND channel = $4 AND version = $5 ORDER BY place LIMIT 1`

	upsertThreadCheckpoint query = `INSERT INTO checkpoints
			(tenant, thread_id, ns, id, parent_id, put_at, format, run_id, slots, metadata, checkpoint)
		VALUES ($1, $2, $3, $4, $5, {now}, $6, $7, $8, $9, $10)
		ON CONFLICT (tenant, thread_id, ns, id) DO UPDATE SET parent_id = EXCLUDED.parent_id, put_at = EXCLUDED.put_at,
			format = EXCLUDED.format, run_id = EXCLUDED.run_id, slots = EXCLUDED.slots,
			metadata = EXCLUDED.metadata, checkpoint = EXCLUDED.checkpoint`

	// The first write of an index wins, so that a replay changes nothing; of a
	// special one, whose index is negative, the last.
	insertWrite query = `INSERT INTO checkpoint_writes
			(tenant, thread_id, ns, checkpoint_id, task, idx, path, channel, type, bytes)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
		ON CONFLICT (tenant, thread_id, ns, checkpoint_id, task, idx) DO UPDATE
			SET path = EXCLUDED.path, channel = EXCLUDED.channel, type = EXCLUDED.type, bytes = EXCLUDED.bytes
			WHERE EXCLUDED.idx < 0`
)

// Put implements ktrdr.Saver.
func (s threads) Put(ctx context.Context, p ktrdr.ThreadPut) (ktrdr.ThreadRef, error) {
	d, err := saver.ReadPut(p)
	if err != nil {
		return ktrdr.ThreadRef{}, err
	}
	own := ownHashes(d) // hashing is not for the writer's time
	err = s.store.write(ctx, normal, func(t *tx) error { return putThread(ctx, t, d, own, p) })
	return d.Ref, err
}

func ownHashes(d saver.Draft) map[string]ktrdr.Hash {
	own := make(map[string]ktrdr.Hash)
	for channel, c := range d.Channels {
		if c.Value != nil {
			own[channel] = contentHash(*c.Value)
		}
	}
	return own
}

func putThread(ctx context.Context, t *tx, d saver.Draft, own map[string]ktrdr.Hash, p ktrdr.ThreadPut) error {
	parent, err := enterThread(ctx, t, d)
	if err != nil {
		return err
	}
	if err := insertValues(ctx, t, d, own); err != nil {
		return err
	}
	all, left := saver.Inherit(d, own, parent)
	if err := adopt(ctx, t, d, all, left); err != nil {
		return err
	}
	text, err := encodeSlots(all)
	if err != nil {
		return err
	}
	_, err = t.exec(ctx, upsertThreadCheckpoint, d.Ref.Tenant, d.Ref.Thread, d.Ref.NS, d.Ref.Checkpoint, d.Parent,
		d.Format, sql.NullString{String: d.Run, Valid: d.HasRun}, text, optional(p.Metadata), string(p.Checkpoint))
	return err
}

// enterThread locks the thread, making it when it is new, and returns the
// slots of the put's parent.
func enterThread(ctx context.Context, t *tx, d saver.Draft) (slots, error) {
	r := d.Ref
	if d.NeedsParent() && d.TTL == 0 {
		found, err := scanSlots(t.row(ctx, selectParentLocked, r.Tenant, r.Thread, r.NS, d.Parent))
		if err != nil || found != nil {
			return found, err
		}
	}
	if _, err := t.exec(ctx, lockThread, r.Tenant, r.Thread, d.TTL.Microseconds()); err != nil {
		return nil, err
	}
	if !d.NeedsParent() {
		return nil, nil
	}
	return scanSlots(t.row(ctx, selectSlots, r.Tenant, r.Thread, r.NS, d.Parent))
}

// scanSlots reads the slots of one row; nil when there is no row.
func scanSlots(row scanner) (slots, error) {
	var text string
	err := row.Scan(&text)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return decodeSlots(text)
}

// adopt fills the channels that neither the put nor its parent knows.
func adopt(ctx context.Context, t *tx, d saver.Draft, all slots, left []string) error {
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
			var found []byte
			switch e := t.row(ctx, selectFirstSeen, r.Tenant, r.Thread, r.NS, channel, version).Scan(&found); {
			case errors.Is(e, sql.ErrNoRows):
				return h, false
			case e != nil:
				err = errors.Join(err, e)
				return h, false
			}
			copy(h[:], found)
			return h, true
		})
	}
	return err
}

// valuesAtOnce is how many values one statement inserts: there is a text for
// each number of them.
const valuesAtOnce = 16

// insertValues stores what the put brought. Contents go in the order of their
// hashes, so that two puts of the same values do not wait for each other in a
// circle.
func insertValues(ctx context.Context, t *tx, d saver.Draft, own map[string]ktrdr.Hash) error {
	channels := slices.SortedFunc(maps.Keys(own), func(a, b string) int {
		ha, hb := own[a], own[b]
		return cmp.Or(bytes.Compare(ha[:], hb[:]), strings.Compare(a, b))
	})
	for some := range slices.Chunk(channels, valuesAtOnce) {
		var contents, seen []any
		seen = append(seen, d.Ref.Tenant, d.Ref.Thread, d.Ref.NS)
		for i, channel := range some {
			h, v := own[channel], d.Channels[channel].Value
			if i == 0 || own[some[i-1]] != h { // one statement must not meet a hash twice
				contents = append(contents, h[:], v.Type, notNil(v.Bytes))
			}
			seen = append(seen, channel, d.Channels[channel].Version, h[:])
		}
		if _, err := t.exec(ctx, insertContents(len(contents)/3), contents...); err != nil {
			return err
		}
		if _, err := t.exec(ctx, insertSeen(len(some)), seen...); err != nil {
			return err
		}
	}
	return nil
}

// freshContents is how old used_at may grow before a put of the same value
// renews it. It is well below strayGrace: a value that was just put is never
// collected, even by somebody who cannot see yet by whom.
const freshContents = "600000000"

func insertContents(n int) query {
	return `INSERT INTO contents (hash, type, bytes, used_at) VALUES ` + repeat(n, func(i int) string {
		return fmt.Sprintf("($%d, $%d, $%d, {now})", 3*i+1, 3*i+2, 3*i+3)
	}) + ` ON CONFLICT (hash) DO UPDATE SET used_at = EXCLUDED.used_at WHERE contents.used_at < EXCLUDED.used_at - ` + freshContents
}

func insertSeen(n int) query {
	return `INSERT INTO thread_values (tenant, thread_id, ns, channel, version, hash, place) VALUES ` + repeat(n, func(i int) string {
		channel, version, hash := "$"+strconv.Itoa(3*i+4), "$"+strconv.Itoa(3*i+5), "$"+strconv.Itoa(3*i+6)
		return `($1, $2, $3, ` + channel + `, ` + version + `, ` + hash + `, (SELECT COALESCE(MAX(place) + 1, 0) FROM thread_values
			WHERE tenant = $1 AND thread_id = $2 AND ns = $3 AND channel = ` + channel + ` AND version = ` + version + `))`
	}) + ` ON CONFLICT (tenant, thread_id, ns, channel, version, hash) DO NOTHING`
}

func repeat(n int, row func(i int) string) query {
	rows := make([]string, n)
	for i := range rows {
		rows[i] = row(i)
	}
	return query(strings.Join(rows, ", "))
}

// notNil keeps an empty value from becoming NULL.
func notNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// PutWrites implements ktrdr.Saver.
func (s threads) PutWrites(ctx context.Context, w ktrdr.ThreadWrites) error {
	if err := saver.CheckWrites(w); err != nil {
		return err
	}
	if len(w.Writes) == 0 {
		return nil
	}
	return s.store.write(ctx, normal, func(t *tx) error {
		for _, one := range w.Writes {
			_, err := t.exec(ctx, insertWrite, w.Tenant, w.Thread, w.NS, w.Checkpoint, w.Task, one.Idx, w.TaskPath,
				one.Channel, one.Value.Type, notNil(one.Value.Bytes))
			if err != nil {
				return err
			}
		}
		return nil
	})
}
