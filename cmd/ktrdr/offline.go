package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
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
		if noFile(file) {
			return storage{}, fmt.Errorf("there is no database at %s: name the folder with --data, or start a backend with `ktrdr serve`", file)
		}
	}
	return makeStorage(ctx, cfg)
}

// makeStorage opens the database and the blobs, and makes them where they are
// missing.
func makeStorage(ctx context.Context, cfg Config) (storage, error) {
	return openStorageWith(ctx, cfg, sqlstore.Config{URL: cfg.database(), Plans: plans(), MayMigrate: cfg.mayMigrate})
}

// mayMigrate refuses to change the schema under a backend that runs on the data
// folder: it is of another version, and would not know.
func (c Config) mayMigrate(from, to int64) error {
	pid, err := sqlstore.FolderHolder(c.Data)
	if err != nil {
		return err
	}
	if pid == "" || pid == strconv.Itoa(os.Getpid()) {
		return nil
	}
	return fmt.Errorf("a backend of another version is running on %s as pid %s: this ktrdr would migrate its schema from version %d to %d; stop that backend first, or use the binary of its version", c.Data, pid, from, to)
}

func openStorageWith(ctx context.Context, cfg Config, db sqlstore.Config) (storage, error) {
	if !db.Restoring {
		if err := refuseWrongBlobs(ctx, cfg); err != nil {
			return storage{}, err
		}
	}
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
		return foreignBlobs(cfg)
	}
	return nil
}

func foreignBlobs(cfg Config) error {
	return ktrdr.Errorf(ktrdr.CodeMismatch, "%s holds blobs of another database, and the one at %s is new: name the right one with --db or KTRDR_DB, or restore a backup into this one with `ktrdr restore`; "+
		"to begin anew, name an empty place for blobs with CHECKPOINT_DIR, or remove the old blobs", withoutQuery(cfg.blobRoot()), withoutSecrets(cfg.database()))
}

// refuseWrongBlobs refuses a database and blobs that do not belong together. It
// only reads, and comes before they are opened: that would make the database,
// the folder of blobs and its identity where they are missing. An error that
// opening them meets too is left to it, unless it has taken time.
func refuseWrongBlobs(ctx context.Context, cfg Config) error {
	var status sqlstore.Status // of a database that is missing
	if file, ok := sqliteFile(cfg.database()); !ok || !noFile(file) {
		var err error
		if status, err = sqlstore.Look(ctx, cfg.database()); err != nil {
			return onlyUnavailable("database", err)
		}
	}
	found, err := blob.Look(ctx, cfg.blobRoot())
	if err != nil {
		return onlyUnavailable("blobs", err)
	}
	if status.Schema == 0 && found.Blobs {
		return foreignBlobs(cfg)
	}
	if wrong := wrongBlobs(cfg, status, found); wrong != "" {
		return ktrdr.Errorf(ktrdr.CodeMismatch, "%s: %s", wrong, nameTheBlobs)
	}
	return nil
}

func noFile(file string) bool {
	_, err := os.Stat(file)
	return errors.Is(err, fs.ErrNotExist)
}

func onlyUnavailable(what string, err error) error {
	if ktrdr.CodeOf(err) != ktrdr.CodeUnavailable {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

const nameTheBlobs = "name the blobs of this database with CHECKPOINT_DIR, or its database with --db; if they are lost, restore a backup into an empty folder with `ktrdr restore FILE --data DIR`"

// wrongBlobs says why blobs are not those of a database; empty if they may be.
func wrongBlobs(cfg Config, status sqlstore.Status, found blob.Found) string {
	at := withoutQuery(cfg.blobRoot())
	switch {
	case status.BlobRoot == "" || found.Identity == status.BlobRoot:
		return ""
	case !found.There:
		return fmt.Sprintf("this database belongs to the blob root %s, and %s does not exist", status.BlobRoot, at)
	case found.Identity == "":
		return fmt.Sprintf("this database belongs to the blob root %s, and %s is not a blob root: it has no file named identity", status.BlobRoot, at)
	}
	return fmt.Sprintf("this database belongs to the blob root %s, and %s is another", status.BlobRoot, at)
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
