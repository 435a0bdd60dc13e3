package sqlstore

import (
	"context"

	"github.com/ktrdr/ktrdr"
)

const (
	setMeta    query = `INSERT INTO meta (key, value) VALUES ($1, $2) ON CONFLICT (key) DO NOTHING`
	deleteMeta query = `DELETE FROM meta WHERE key = $1`
	selectMeta query = `SELECT value FROM meta WHERE key = $1`
	lockOfMeta query = `SELECT key FROM meta WHERE key = $1 {lock}`
	countMeta  query = `SELECT COUNT(*) FROM meta WHERE key = $1`
)

// The keys of meta; another, restoring, belongs to the backup. The last two say
// nothing: they are there to be locked.
const (
	metaPaused   = "paused"
	metaBlobRoot = "blob_root"
	metaSessions = "sessions" // the last number that was given out
	metaQueue    = "queue "   // and the queue's name
	metaNotes    = "notes"
)

// lockMeta keeps everybody else from locking the same until the transaction
// ends.
func (s *Store) lockMeta(ctx context.Context, t *tx, key string) error {
	if !s.isPostgres() {
		return nil // the transaction has the whole file
	}
	if err := t.later(ctx, setMeta, key, ""); err != nil {
		return err
	}
	return t.later(ctx, lockOfMeta, key)
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
		return insertEvent(ctx, t, "", kind, 0, struct{}{})
	})
}

// Paused implements ktrdr.Store.
func (s *Store) Paused(ctx context.Context) (bool, error) {
	var n int
	err := s.readOne(ctx, func(r queryer) error {
		return r.row(ctx, countMeta, metaPaused).Scan(&n)
	})
	return n == 1, err
}

// BindBlobRoot implements ktrdr.Store.
func (s *Store) BindBlobRoot(ctx context.Context, identity string) error {
	if identity == "" || !storable(identity, 1024) {
		return ktrdr.Errorf(ktrdr.CodeInvalid, "the identity of a blob root is 1 to 1024 bytes of text")
	}
	return s.write(ctx, normal, func(t *tx) error {
		if _, err := t.exec(ctx, setMeta, metaBlobRoot, identity); err != nil {
			return err
		}
		var bound string
		if err := t.row(ctx, selectMeta, metaBlobRoot).Scan(&bound); err != nil {
			return err
		}
		if bound != identity {
			return ktrdr.Errorf(ktrdr.CodeMismatch, "this database belongs to the blob root %s, not to %s; use the same shared folder or bucket for every backend", bound, identity)
		}
		return nil
	})
}
