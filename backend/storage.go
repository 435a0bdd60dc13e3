package backend

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/blob"
	"github.com/ktrdr/ktrdr/sqlstore"
)

// Storage is a database and its blobs.
type Storage struct {
	Store *sqlstore.Store
	Blobs blob.Store
}

// Close closes both.
func (s Storage) Close() error {
	return errors.Join(s.Blobs.Close(), s.Store.Close())
}

// OpenStorage opens what a backend with this configuration uses. It does not
// make a database that is missing.
func OpenStorage(ctx context.Context, cfg Config) (Storage, error) {
	if err := RefuseRestoring(cfg.Data); err != nil {
		return Storage{}, err
	}
	if file, ok := SQLiteFile(cfg.Database()); ok && NoFile(file) {
		return Storage{}, fmt.Errorf("there is no database at %s: name the folder with --data, or start a backend with `ktrdr serve`", file)
	}
	return MakeStorage(ctx, cfg)
}

// MakeStorage opens the database and the blobs, and makes them where they are
// missing.
func MakeStorage(ctx context.Context, cfg Config) (Storage, error) {
	return openStorageWith(ctx, cfg, sqlstore.Config{URL: cfg.Database(), Types: Types(), MayMigrate: cfg.mayMigrate})
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
	return fmt.Errorf("a backend of another version is running on %s as pid %s: this ktrdr would migrate its schema from version %d to %d; "+
		"stop that backend first, or use the binary of its version", c.Data, pid, from, to)
}

func openStorageWith(ctx context.Context, cfg Config, db sqlstore.Config) (Storage, error) {
	if !db.Restoring {
		if err := refuseWrongBlobs(ctx, cfg); err != nil {
			return Storage{}, err
		}
	}
	store, err := sqlstore.Open(ctx, db)
	if err != nil {
		return Storage{}, fmt.Errorf("database: %w", err)
	}
	blobs, err := blob.Open(ctx, cfg.BlobRoot())
	if err != nil {
		return Storage{}, errors.Join(fmt.Errorf("blobs: %w", err), store.Close())
	}
	return Storage{store, blobs}, nil
}

// Bind makes the database and the blobs one lab, which they stay.
func (s Storage) Bind(ctx context.Context) error {
	identity, err := s.Blobs.Identity(ctx)
	if err != nil {
		return fmt.Errorf("blobs: %w", err)
	}
	return s.Store.BindBlobRoot(ctx, identity)
}

// Join is what comes before anything is moved or written: the database and the
// blobs belong together, or nothing is changed.
func (s Storage) Join(ctx context.Context, cfg Config) error {
	if err := s.RefuseForeignBlobs(ctx, cfg); err != nil {
		return err
	}
	return s.Bind(ctx)
}

// RefuseForeignBlobs keeps a database that is new from taking over blobs that
// are there already: they belong to another database, and because nothing here
// names them, they would be deleted.
func (s Storage) RefuseForeignBlobs(ctx context.Context, cfg Config) error {
	fresh, err := s.Store.Fresh(ctx)
	if err != nil || !fresh {
		return err
	}
	for _, err := range s.Blobs.List(ctx) {
		if err != nil {
			return fmt.Errorf("blobs: %w", err)
		}
		return foreignBlobs(cfg)
	}
	return nil
}

func foreignBlobs(cfg Config) error {
	return ktrdr.Errorf(ktrdr.CodeMismatch,
		"%s holds blobs of another database, and the one at %s is new: name the right one with --db or KTRDR_DB, "+
			"or restore a backup into this one with `ktrdr restore`; "+
			"to start over, name an empty place for blobs with CHECKPOINT_DIR, or remove the old blobs", WithoutQuery(cfg.BlobRoot()),
		WithoutSecrets(cfg.Database()))
}

// refuseWrongBlobs refuses a database and blobs that do not belong together. It
// only reads, and comes before they are opened: that would make the database,
// the folder of blobs and its identity where they are missing. An error that
// opening them meets too is left to it, unless it has taken time.
func refuseWrongBlobs(ctx context.Context, cfg Config) error {
	var status sqlstore.Status // of a database that is missing
	if file, ok := SQLiteFile(cfg.Database()); !ok || !NoFile(file) {
		var err error
		if status, err = sqlstore.Look(ctx, cfg.Database()); err != nil {
			return onlyUnavailable("database", err)
		}
	}
	found, err := blob.Look(ctx, cfg.BlobRoot())
	if err != nil {
		return onlyUnavailable("blobs", err)
	}
	if status.Schema == 0 && found.Blobs {
		return foreignBlobs(cfg)
	}
	if wrong := WrongBlobs(cfg, status, found); wrong != "" {
		return ktrdr.Errorf(ktrdr.CodeMismatch, "%s: %s", wrong, NameTheBlobs)
	}
	return nil
}

// NoFile says that a file does not exist.
func NoFile(file string) bool {
	_, err := os.Stat(file)
	return errors.Is(err, fs.ErrNotExist)
}

func onlyUnavailable(what string, err error) error {
	if ktrdr.CodeOf(err) != ktrdr.CodeUnavailable {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// NameTheBlobs says what to do when blobs and database do not belong together.
const NameTheBlobs = "name the blobs of this database with CHECKPOINT_DIR, or its database with --db; if they are lost, " +
	"restore a backup into an empty folder with `ktrdr restore FILE --data DIR`"

// WrongBlobs says why blobs are not those of a database; empty if they may be.
func WrongBlobs(cfg Config, status sqlstore.Status, found blob.Found) string {
	at := WithoutQuery(cfg.BlobRoot())
	switch {
	case status.BlobRoot == "" || found.Identity == status.BlobRoot:
		return ""
	case !found.There:
		return fmt.Sprintf("this database belongs to the blob root %s, and %s does not exist", status.BlobRoot, at)
	case found.Identity == "":
		return fmt.Sprintf("this database belongs to the blob root %s, and %s is not a blob root: it has no file named identity",
			status.BlobRoot, at)
	}
	return fmt.Sprintf("this database belongs to the blob root %s, and %s is another", status.BlobRoot, at)
}

// WithoutSecrets is a database's address as it may be shown.
func WithoutSecrets(db string) string {
	if _, ok := SQLiteFile(db); ok {
		return db
	}
	return sqlstore.WithoutSecrets(db)
}

// SQLiteFile is the file of an SQLite database.
func SQLiteFile(db string) (string, bool) {
	if strings.Contains(db, "://") {
		return "", false
	}
	return strings.TrimPrefix(db, "sqlite:"), true
}
