package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/atomicfile"
)

// How long a process waits while another migrates the file, and how often it
// looks.
const (
	migrateWait = 5 * time.Minute
	migrateLook = 50 * time.Millisecond
)

// migrate brings the schema up to date. Several processes may open the file at
// once, and only one of them migrates it: the others wait and find it done.
func (db *sqlite) migrate(ctx context.Context, c Config, steps fs.FS) (failed error) {
	known, err := knownMigrations(steps, gooseSQLite)
	if err != nil {
		return err
	}
	applied, err := appliedMigrations(ctx, db.writes)
	if !db.inMemory() && (err != nil || !applied[known[len(known)-1]]) { // an error: there is no table yet, or migrating reports it
		unlock, err := lockMigration(ctx, db.path+".migrating", migrateWait)
		if err != nil {
			return err
		}
		defer func() { failed = errors.Join(failed, unlock()) }()
	}
	db.schema, err = migrate(ctx, db.writes, gooseSQLite, steps, c)
	return err
}

// lockMigration locks a file that unlock removes. The lock is gone with the
// process, however it ends; a file that is left over locks nothing.
func lockMigration(ctx context.Context, name string, patience time.Duration) (unlock func() error, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, ktrdr.Errorf(ktrdr.CodeUnavailable,
		"another process has been migrating it for %v: wait until that has ended, then try again", patience))
	defer cancel()
	for {
		f, err := atomicfile.Lock(name, os.O_CREATE)
		switch {
		case f != nil:
			return func() error { return errors.Join(os.Remove(name), f.Close()) }, nil
		case err != nil && !errors.Is(err, fs.ErrNotExist): // gone: the process that had it has removed it
			return nil, fmt.Errorf("lock the migration with %s: %w", name, err)
		}
		select {
		case <-time.After(migrateLook):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}
