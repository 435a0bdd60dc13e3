package sqlstore

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/ktrdr/ktrdr"
)

// A backup that runs keeps a mark in meta, so that no backend deletes blobs that
// the rows of its snapshot name:
//
//	mark ──▶ snapshot ──▶ rows ──▶ blobs ──▶ unmark
//	  └── renewed every twenty seconds; two minutes after the last time it means nothing
//
// A blob is deleted after its last row: a process that deletes that row after the
// snapshot sees the mark.
const (
	metaBackup  = "backup " // and a name of its own; in no backup
	backupRenew = 20 * time.Second
	backupLasts = 2 * time.Minute
)

// The value is when the mark expires, in microseconds. One that expires later than
// any backup sets, here twice backupLasts, was set while the clock was wrong: it means
// nothing. Most other values of meta are not numbers.
const (
	setBackup query = `INSERT INTO meta (key, value) VALUES ($1, CAST({now} + CAST($2 AS BIGINT) AS TEXT))
		ON CONFLICT (key) DO UPDATE SET value = EXCLUDED.value`
	backupExpires       = `CASE WHEN key LIKE '` + metaBackup + `%' THEN CAST(value AS BIGINT) END`
	forgetBackups query = `DELETE FROM meta WHERE ` + backupExpires + ` <= {now} OR ` + backupExpires + ` > {now} + CAST($1 AS BIGINT)`
	countBackups  query = `SELECT COUNT(*) FROM meta WHERE ` + backupExpires + ` > {now}
		AND ` + backupExpires + ` <= {now} + CAST($1 AS BIGINT)`
)

// BackupRunning implements ktrdr.Compaction.
func (s *Store) BackupRunning(ctx context.Context) (bool, error) {
	n, err := readRow(ctx, s, scanValue[int64], countBackups, (2 * backupLasts).Microseconds())
	return n > 0, err
}

// markBackup marks that a backup runs, until unmark is called. Where the disk is
// full nothing can be marked, and a backup is wanted all the more: it is then
// written without, and blobs that it misses are told as damaged.
func (s *Store) markBackup(ctx context.Context, renew, lasts time.Duration) (unmark func(), err error) {
	key := metaBackup + rand.Text()
	mark := func(ctx context.Context) error {
		return s.write(ctx, normal, func(t *tx) error {
			t.later(ctx, forgetBackups, (2 * backupLasts).Microseconds()) // of backups that were killed
			t.later(ctx, setBackup, key, lasts.Microseconds())
			return nil
		})
	}
	if err := mark(ctx); err != nil && ktrdr.CodeOf(err) != ktrdr.CodeNoSpace {
		return nil, err
	}
	renewing, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(renew)
		defer tick.Stop()
		for {
			select {
			case <-renewing.Done():
				return
			case <-tick.C:
				_ = mark(renewing) // the next try comes long before the mark expires
			}
		}
	}()
	return func() {
		stop()
		<-done
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_, _ = s.exec(ctx, deleteMeta, key) // else it expires
	}, nil
}
