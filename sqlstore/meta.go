package sqlstore

import (
	"context"
	"crypto/rand"
	"errors"

	"github.com/ktrdr/ktrdr"
)

const (
	setMeta    query = `INSERT INTO meta (key, value) VALUES ($1, $2) ON CONFLICT (key) DO NOTHING`
	deleteMeta query = `DELETE FROM meta WHERE key = $1`
	selectMeta query = `SELECT value FROM meta WHERE key = $1`
	lockOfMeta query = `SELECT key FROM meta WHERE key = $1 {lock}`
	countMeta  query = `SELECT COUNT(*) FROM meta WHERE key = $1`
)

// The keys of meta; restoring and unfinished belong to the restore. The last four
// say nothing: they are there to be locked.
const (
	metaPaused   = "paused"
	metaBlobRoot = "blob_root"
	metaSessions = "sessions" // the last number that was given out
	metaQueue    = "queue "   // and the queue's name
	metaNotes    = "notes"
	metaCalls    = "calls"
	metaMarkets  = "markets" // by what assigns a series: of two at once the second is compared with the first
	metaLibrary  = "library" // by what changes bars or documents
)

// lockMeta locks key until the transaction ends.
func (s *Store) lockMeta(ctx context.Context, t *tx, key string) {
	if s.isPostgres() { // on SQLite the transaction has the whole file
		t.later(ctx, setMeta, key, "")
		t.later(ctx, lockOfMeta, key)
	}
}

// SetPaused implements ktrdr.Store.
func (s *Store) SetPaused(ctx context.Context, paused bool) error {
	return s.write(ctx, normal, func(t *tx) (err error) {
		var changed int64
		kind := ktrdr.EventPaused
		if paused {
			changed, err = t.exec(ctx, setMeta, metaPaused, "1")
		} else {
			kind = ktrdr.EventUnpaused
			changed, err = t.exec(ctx, deleteMeta, metaPaused)
		}
		if err != nil || changed == 0 {
			return err
		}
		t.wakeWorkers()
		insertEvent(ctx, t, "", kind, 0, struct{}{})
		return nil
	})
}

// Paused implements ktrdr.Store.
func (s *Store) Paused(ctx context.Context) (bool, error) {
	n, err := readRow(ctx, s, scanValue[int64], countMeta, metaPaused)
	return n == 1, err
}

const anythingThere query = `SELECT CASE WHEN EXISTS (SELECT 1 FROM meta WHERE key = $1)
	OR EXISTS (SELECT 1 FROM operations) OR EXISTS (SELECT 1 FROM checkpoints) OR EXISTS (SELECT 1 FROM thread_values)
	OR EXISTS (SELECT 1 FROM checkpoint_writes) OR EXISTS (SELECT 1 FROM market_series) OR EXISTS (SELECT 1 FROM looks) THEN 1 ELSE 0 END`

// Fresh says whether the database has never had blobs: no root was bound, and
// nothing is there that could name any.
func (s *Store) Fresh(ctx context.Context) (bool, error) {
	used, err := readRow(ctx, s, scanValue[int64], anythingThere, metaBlobRoot)
	return used == 0, err
}

// metaProbe begins the keys that Same leaves for a moment. They are in no
// backup.
const metaProbe = "probe "

// Same says whether both stores are the same database, whatever they were
// opened as: what one writes the other reads.
func (s *Store) Same(ctx context.Context, other *Store) (same bool, err error) {
	key := metaProbe + rand.Text()
	if _, err := s.exec(ctx, setMeta, key, "1"); err != nil {
		return false, err
	}
	n, err := readRow(ctx, other, scanValue[int64], countMeta, key)
	_, unset := s.exec(ctx, deleteMeta, key)
	return n == 1, errors.Join(err, unset)
}

// BindBlobRoot implements ktrdr.Store.
func (s *Store) BindBlobRoot(ctx context.Context, identity string) error {
	if identity == "" || !storable(identity, 1024) {
		return ktrdr.Errorf(ktrdr.CodeInvalid, "the identity of a blob root is 1 to 1024 bytes of text")
	}
	return s.write(ctx, normal, func(t *tx) error {
		t.later(ctx, setMeta, metaBlobRoot, identity)
		bound, err := scanValue[string](t.row(ctx, selectMeta, metaBlobRoot))
		if err == nil && bound != identity {
			err = ktrdr.Errorf(ktrdr.CodeMismatch,
				"this database belongs to the blob root %s, not to %s; use the same shared folder or bucket for every backend", bound, identity)
		}
		return err
	})
}
