package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/pressly/goose/v3"

	"github.com/ktrdr/ktrdr"
)

// Status is what a look at a database says.
type Status struct {
	Schema   int64  // the migration it is at; 0 when it has no tables
	Newest   int64  // the migration that Open brings it to
	BlobRoot string // the identity of the blobs it belongs to; empty when none were bound

	unfinished bool // a restore into it has not ended
}

// Check looks at a database and refuses what Open would refuse. It makes no
// database, no table and no row. An SQLite file must exist.
func Check(ctx context.Context, url string) (Status, error) { return finished(ctx, url, true) }

// Look is Check that does not read the pages of an SQLite file, of which there may
// be many.
func Look(ctx context.Context, url string) (Status, error) { return finished(ctx, url, false) }

// finished refuses a database into which a restore has begun and not ended.
func finished(ctx context.Context, url string, pages bool) (Status, error) {
	s, err := check(ctx, url, pages)
	if err == nil && s.unfinished {
		err = fmt.Errorf("database %s: %w", shownURL(url), errUnfinished)
	}
	return s, err
}

// Unfinished says whether a restore into the database has begun and not ended.
func Unfinished(ctx context.Context, url string) bool {
	s, err := check(ctx, url, true)
	return err == nil && s.unfinished
}

// shownURL is a database's address as it may be shown.
func shownURL(url string) string {
	if strings.Contains(url, "://") {
		return WithoutSecrets(url)
	}
	return url
}

func check(ctx context.Context, url string, pages bool) (_ Status, err error) {
	scheme, rest, _ := strings.Cut(url, ":")
	if scheme == "postgres" || scheme == "postgresql" {
		config, err := postgresConfig(url)
		if err != nil {
			return Status{}, err
		}
		p := &postgres{config: limited(config, lockTimeout, stmtTimeout, idleInTx)}
		p.normal = openPool(p.config)
		defer func() { _ = p.normal.Close() }()
		if err = p.check(ctx); err == nil {
			return statusOf(ctx, p.normal, goosePostgres,
				`SELECT COUNT(*) FROM pg_tables WHERE schemaname = current_schema() AND tablename = 'goose_db_version'`)
		}
		return Status{}, fmt.Errorf("database %s: %w", WithoutSecrets(url), postgresError(err))
	}
	if scheme != "sqlite" {
		rest = url
	}
	s, err := checkSQLite(ctx, rest, pages)
	if err != nil {
		return s, fmt.Errorf("database %s: %w", rest, sqliteError(err))
	}
	return s, nil
}

func checkSQLite(ctx context.Context, file string, pages bool) (_ Status, err error) {
	db := &sqlite{}
	if db.path, err = filepath.Abs(file); err != nil {
		return Status{}, err
	}
	f, err := os.OpenFile(db.path, os.O_RDWR, 0) // it must be ours to write
	if err != nil {
		return Status{}, errors.Unwrap(err)
	}
	if err := f.Close(); err != nil {
		return Status{}, err
	}
	// Nothing is written, also not the mode of a file that has none yet.
	if db.writes, err = sql.Open("sqlite", fileURL(db.path, waits, "mmap_size(0)", "query_only(1)")); err != nil {
		return Status{}, err
	}
	db.writes.SetMaxOpenConns(1)
	defer func() { err = errors.Join(err, db.closePools()) }()
	if pages {
		if err := db.check(ctx); err != nil {
			return Status{}, err
		}
	}
	return statusOf(ctx, db.writes, gooseSQLite, `SELECT COUNT(*) FROM sqlite_schema WHERE type = 'table' AND name = 'goose_db_version'`)
}

// statusOf reads which migrations were applied. there counts goose's table.
func statusOf(ctx context.Context, db *sql.DB, d goose.Dialect, there string) (Status, error) {
	known, err := knownMigrations(migrations, d)
	if err != nil {
		return Status{}, err
	}
	s := Status{Newest: known[len(known)-1]}
	var tables int
	if err := db.QueryRowContext(ctx, there).Scan(&tables); err != nil || tables == 0 {
		return s, err
	}
	applied, err := appliedMigrations(ctx, db)
	if err != nil {
		return s, err
	}
	for v := range applied {
		s.Schema = max(s.Schema, v)
	}
	if s.Schema > s.Newest {
		return s, newerSchema(s.Schema, s.Newest)
	}
	for _, v := range known {
		if v < s.Schema && !applied[v] {
			return s, fmt.Errorf("the schema is version %d, but migration %d was never applied: restore a backup into an empty database", s.Schema,
				v)
		}
	}
	if s.Schema == 0 {
		return s, nil
	}
	err = db.QueryRowContext(ctx, `SELECT COUNT(*) > 0 FROM meta WHERE key = $1`, metaUnfinished).Scan(&s.unfinished)
	if err != nil {
		return s, err
	}
	err = db.QueryRowContext(ctx, `SELECT value FROM meta WHERE key = $1`, metaBlobRoot).Scan(&s.BlobRoot)
	return s, ifNoRow(err, nil)
}

func appliedMigrations(ctx context.Context, db *sql.DB) (map[int64]bool, error) {
	rows, err := db.QueryContext(ctx, `SELECT version_id FROM goose_db_version WHERE version_id > 0`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	applied := map[int64]bool{}
	for rows.Next() {
		var v int64
		if err := rows.Scan(&v); err != nil {
			return nil, err
		}
		applied[v] = true
	}
	return applied, rows.Err()
}

// knownMigrations lists the versions of migrations in order.
func knownMigrations(steps fs.FS, d goose.Dialect) ([]int64, error) {
	names, err := fs.Glob(steps, path.Join("migrations", folders[d], "*.sql"))
	if err != nil {
		return nil, err
	}
	var known []int64
	for _, name := range names { // sorted, and their numbers have the same length
		number, _, _ := strings.Cut(path.Base(name), "_")
		v, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("migration %s: %w", name, err)
		}
		known = append(known, v)
	}
	return known, nil
}

// newerSchema refuses a database that a newer ktrdr made.
func newerSchema(have, want int64) error {
	return ktrdr.Errorf(ktrdr.CodeMismatch,
		"the schema is version %d and this ktrdr knows only %d: run the newer ktrdr that made it, or restore an older backup", have, want)
}
