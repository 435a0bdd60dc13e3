package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/blob"
	"github.com/ktrdr/ktrdr/sqlstore"
)

// storageFlags adds what a command needs that works on the database and the
// blobs themselves, with or without a backend.
func storageFlags(cmd *cobra.Command) (config *string) {
	cmd.Flags().Var(&textFlag{kind: "URL"}, "db", "database: a SQLite file or postgres://… (KTRDR_DB; default DATA/ktrdr.db)")
	return cmd.Flags().String("config", "", "the backend's configuration `FILE`")
}

// storage is a database and its blobs.
type storage struct {
	store *sqlstore.Store
	blobs blob.Store
}

func (s storage) close() error {
	return errors.Join(s.blobs.Close(), s.store.Close())
}

// openStorage opens what a backend with this configuration uses. It does not
// make a database where there is none.
func openStorage(ctx context.Context, cfg Config) (storage, error) {
	if err := refuseRestoring(cfg.Data); err != nil {
		return storage{}, err
	}
	if file, ok := sqliteFile(cfg.database()); ok {
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
			return storage{}, fmt.Errorf("there is no database at %s: name the folder with --data, or start a backend with `ktrdr serve`", file)
		}
	}
	return makeStorage(ctx, cfg)
}

// makeStorage opens the database and the blobs, and makes them where they are
// missing.
func makeStorage(ctx context.Context, cfg Config) (storage, error) {
	return openStorageWith(ctx, cfg, sqlstore.Config{URL: cfg.database(), Plans: plans()})
}

func openStorageWith(ctx context.Context, cfg Config, db sqlstore.Config) (storage, error) {
	store, err := sqlstore.Open(ctx, db)
	if err != nil {
		return storage{}, fmt.Errorf("database: %w", err)
	}
	blobs, err := blob.Open(ctx, cfg.blobRoot())
	if err != nil {
		return storage{}, errors.Join(fmt.Errorf("blobs: %w", err), store.Close())
	}
	return storage{store, blobs}, nil
}

// bind makes the database and the blobs one lab, which they stay.
func (s storage) bind(ctx context.Context) error {
	identity, err := s.blobs.Identity(ctx)
	if err != nil {
		return fmt.Errorf("blobs: %w", err)
	}
	return s.store.BindBlobRoot(ctx, identity)
}

// join is what comes before anything is moved or written: the database and the
// blobs belong together, or nothing is changed.
func (s storage) join(ctx context.Context, cfg Config) error {
	if err := s.refuseForeignBlobs(ctx, cfg); err != nil {
		return err
	}
	return s.bind(ctx)
}

// refuseForeignBlobs keeps a database that is new from taking over blobs that
// are there already: they belong to another database, and because nothing here
// names them, they would be deleted.
func (s storage) refuseForeignBlobs(ctx context.Context, cfg Config) error {
	fresh, err := s.store.Fresh(ctx)
	if err != nil || !fresh {
		return err
	}
	for _, err := range s.blobs.List(ctx) {
		if err != nil {
			return fmt.Errorf("blobs: %w", err)
		}
		where := withoutQuery(cfg.blobRoot())
		return ktrdr.Errorf(ktrdr.CodeMismatch, "%s holds blobs of another database, and the one at %s is new: name the right one with --db or KTRDR_DB, or restore a backup into this one with `ktrdr restore`; "+
			"to begin anew, name an empty place for blobs with CHECKPOINT_DIR, or remove the old blobs", where, withoutSecrets(cfg.database()))
	}
	return nil
}

// withoutSecrets is a database's address as it may be shown.
func withoutSecrets(db string) string {
	if _, ok := sqliteFile(db); ok {
		return db
	}
	return sqlstore.WithoutSecrets(db)
}

// sqliteFile is the file of an SQLite database.
func sqliteFile(db string) (string, bool) {
	if strings.Contains(db, "://") {
		return "", false
	}
	return strings.TrimPrefix(db, "sqlite:"), true
}

// sameVersion refuses to open a database under a running backend of another
// version: opening may migrate it, and that backend would not know.
func (a *app) sameVersion(ctx context.Context) error {
	h, err := a.askHealth(ctx)
	if err != nil || h.Version == ourVersion() {
		return nil //nolint:nilerr // no backend answers, so none is disturbed
	}
	return fmt.Errorf("a backend of version %s is running and this is %s: use the binary of the same version, or stop it first", h.Version, ourVersion())
}

// askHealth asks the server how it is, briefly.
func (a *app) askHealth(ctx context.Context) (ktrdr.Health, error) {
	ctx, cancel := context.WithTimeout(ctx, shortly)
	defer cancel()
	c, err := a.connect()
	if err != nil {
		return ktrdr.Health{}, err
	}
	return c.Health(ctx)
}
