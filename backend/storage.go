package backend

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
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

func (s Storage) Close() error {
	return errors.Join(s.Blobs.Close(), s.Store.Close())
}

// OpenStorage opens what a backend with this configuration uses. It does not
// make a database where there is none.
func OpenStorage(ctx context.Context, cfg Config) (Storage, error) {
	if err := RefuseRestoring(cfg.Data); err != nil {
		return Storage{}, err
	}
	if file, ok := SQLiteFile(cfg.Database()); ok {
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
			return Storage{}, fmt.Errorf("there is no database at %s: name the folder with --data, or start a backend with `ktrdr serve`", file)
		}
	}
	return MakeStorage(ctx, cfg)
}

// MakeStorage opens the database and the blobs, and makes them where they are
// missing.
func MakeStorage(ctx context.Context, cfg Config) (Storage, error) {
	return openStorageWith(ctx, cfg, sqlstore.Config{URL: cfg.Database(), Plans: Plans()})
}

func openStorageWith(ctx context.Context, cfg Config, db sqlstore.Config) (Storage, error) {
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
		where := WithoutQuery(cfg.BlobRoot())
		return ktrdr.Errorf(ktrdr.CodeMismatch, "%s holds blobs of another database, and the one at %s is new: name the right one with --db or KTRDR_DB, or restore a backup into this one with `ktrdr restore`; "+
			"to begin anew, name an empty place for blobs with CHECKPOINT_DIR, or remove the old blobs", where, WithoutSecrets(cfg.Database()))
	}
	return nil
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
