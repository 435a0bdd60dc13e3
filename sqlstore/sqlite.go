package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	sqlitedriver "modernc.org/sqlite"
	sqlitelib "modernc.org/sqlite/lib"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/backoff"
)

// oldestSQLite is the first version without the WAL-reset bug, which could
// corrupt a database whose checkpoint met a writer at the wrong instant.
const oldestSQLite = "3.51.3"

const readers = 4

// How long the file is waited for when another process is writing to it, and
// how long the writer waits at a time.
const (
	busyTimeout = 10 * time.Second
	busyStep    = 100 * time.Millisecond
)

// sqlite is a database that only this process uses. One connection writes; a few
// others read and cannot write. A database in memory is one connection, which
// reads and writes.
type sqlite struct {
	path    string // "" in memory
	version string
	file    os.FileInfo // of the file that was opened
	schema  int64

	writes, reads *sql.DB
	writer        *writer
	idle          chan *session // the readers
}

func openSQLite(ctx context.Context, path string, c Config, news *news, steps fs.FS) (_ *sqlite, err error) {
	db := &sqlite{}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("database %s: %w", cmp.Or(path, "in memory"), sqliteError(err)), db.closePools())
		}
	}()
	if path != "" {
		if db.path, err = filepath.Abs(path); err != nil {
			return nil, err
		}
		if err := db.createFile(); err != nil {
			return nil, err
		}
	}
	if err := db.openPools(); err != nil {
		return nil, err
	}
	if err := db.connect(ctx); err != nil {
		return nil, err
	}
	if err := db.check(ctx); err != nil {
		return nil, err
	}
	if err = db.migrate(ctx, c, steps); err != nil {
		return nil, err
	}
	if db.writer, err = newWriter(ctx, db, c.Log, news); err != nil {
		return nil, err
	}
	return db, nil
}

// createFile makes sure that the file exists and that no other user may read it;
// SQLite gives the log beside it the same mode.
func (db *sqlite) createFile() error {
	f, err := os.OpenFile(db.path, os.O_RDWR|os.O_CREATE, 0o600)
	switch dir := filepath.Dir(db.path); {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no directory %s: make it first, or choose another file", dir)
	case errors.Is(err, fs.ErrPermission):
		return errors.New("this user may not read and write it: change its owner, or choose another file")
	case err != nil:
		return errors.Unwrap(err)
	}
	defer f.Close()
	db.file, err = f.Stat()
	return err
}

// intact returns an error when the file is no longer the one that was opened:
// SQLite would keep writing to a file without a name, and all of it would be
// gone with the process.
func (db *sqlite) intact() error {
	if db.inMemory() {
		return nil
	}
	now, err := os.Stat(db.path)
	if err == nil && os.SameFile(now, db.file) {
		return nil
	}
	return ktrdr.Errorf(ktrdr.CodeUnavailable,
		"database %s was moved, deleted or replaced while it was open; put it back, or stop and start again", db.path)
}

// inMemory says whether the database is the writer's connection and nothing else.
func (db *sqlite) inMemory() bool { return db.path == "" }

func (db *sqlite) openPools() (err error) {
	if db.writes, err = sql.Open("sqlite", dsn(db.path, "query_only(0)")); err != nil {
		return err
	}
	db.writes.SetMaxOpenConns(1)
	if db.inMemory() {
		return nil
	}
	if db.reads, err = sql.Open("sqlite", dsn(db.path, "query_only(1)")); err != nil {
		return err
	}
	db.reads.SetMaxOpenConns(readers)
	db.reads.SetMaxIdleConns(readers)
	db.idle = make(chan *session, readers)
	for range readers {
		db.idle <- &session{pool: db.reads}
	}
	return nil
}

// connect makes the first connection, which switches a new file to WAL. Of several
// processes that do so at once SQLite refuses some without waiting.
func (db *sqlite) connect(ctx context.Context) error {
	until := time.Now().Add(busyTimeout)
	wait := backoff.Policy{First: 5 * time.Millisecond, Most: 100 * time.Millisecond}
	for try := 0; ; try++ {
		err := db.writes.PingContext(ctx)
		e, ok := errors.AsType[*sqlitedriver.Error](err)
		if !ok || e.Code()&0xff != sqlitelib.SQLITE_BUSY || time.Now().After(until) || !wait.Wait(ctx, try) {
			return err
		}
	}
}

// waits is the pragma after which a connection waits for others.
var waits = "busy_timeout(" + strconv.FormatInt(busyTimeout.Milliseconds(), 10) + ")"

// dsn returns the driver's name for the file.
func dsn(path string, more string) string {
	return fileURL(path,
		waits, // first: switching to WAL may already have to wait
		"journal_mode(WAL)",
		"synchronous(FULL)",
		"foreign_keys(1)",
		"mmap_size(0)",             // a mapped file turns one bad page into a crash
		"wal_autocheckpoint(8000)", // a busy page is copied back once for many commits, not for every few
		"journal_size_limit(67108864)",
		"temp_store(MEMORY)", // what a savepoint may have to undo is kept in memory, not in a file
		more,
	)
}

// fileURL is the driver's name for a file that is opened with these pragmas.
// The file: form is used because in it the path can be escaped.
func fileURL(path string, pragmas ...string) string {
	v := url.Values{"_dqs": {"0"}, "_defensive": {"1"}, "_pragma": pragmas}
	u := url.URL{Scheme: "file", Path: path, RawQuery: v.Encode()}
	if path == "" {
		u.Opaque = ":memory:"
	}
	return u.String()
}

// check refuses an SQLite that is too old and a file that is damaged.
func (db *sqlite) check(ctx context.Context) error {
	if err := db.writes.QueryRowContext(ctx, "SELECT sqlite_version()").Scan(&db.version); err != nil {
		return err
	}
	if older(db.version, oldestSQLite) {
		return fmt.Errorf("SQLite %s is too old: %s or newer is needed, older ones can corrupt the file", db.version, oldestSQLite)
	}
	var verdict string
	if err := db.writes.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&verdict); err != nil {
		return err
	}
	if verdict != "ok" {
		return ktrdr.Errorf(ktrdr.CodeCorrupt, "the file is damaged (%s): restore a backup", verdict)
	}
	return nil
}

// older compares dotted versions number by number; what is missing or is no number
// counts as 0, the oldest.
func older(version, than string) bool {
	have, want := numbers(version), numbers(than)
	return slices.Compare(have[:], want[:]) < 0
}

func numbers(version string) (all [4]int) {
	for i, part := range strings.SplitN(version, ".", len(all)) {
		all[i], _ = strconv.Atoi(part)
	}
	return all
}

func (db *sqlite) write(ctx context.Context, l lane, body func(t *tx) error) error {
	return db.writer.write(ctx, l, body)
}

func (db *sqlite) writeOnce(ctx context.Context, body func(t *tx) error) error {
	return db.writer.do(ctx, normal, &job{body: body, once: true})
}

// read runs body in a deferred transaction, whose snapshot is taken by the
// first statement and blocks no writer. In memory it takes its turn among the
// writes.
func (db *sqlite) read(ctx context.Context, body func(r queryer) error) error {
	if db.inMemory() {
		return db.write(ctx, normal, func(t *tx) error { return body(t) })
	}
	return db.withReader(ctx, func(r *session) error {
		if err := r.control(ctx, "BEGIN"); err != nil {
			return err
		}
		err := body(r)
		r.closeRows()
		// Nothing was written, so ending the snapshot can only fail when the
		// connection is of no use any more.
		if endErr := r.control(ctx, "ROLLBACK"); endErr != nil {
			r.discard()
		}
		return err
	})
}

func (db *sqlite) readOnce(ctx context.Context, body func(r queryer) error) error {
	if db.inMemory() {
		return db.writeOnce(ctx, func(t *tx) error { return body(t) })
	}
	return db.read(ctx, body)
}

// readOne does not let ctx interrupt the statement: it is short, and to watch
// over it costs about as much.
func (db *sqlite) readOne(ctx context.Context, body func(r queryer) error) error {
	if db.inMemory() {
		return db.read(ctx, body)
	}
	return db.withReader(ctx, func(r *session) error { return body(autonomous{r}) })
}

// peek is answered by a reader while a caller is writing.
func (db *sqlite) peek(ctx context.Context, body func(r queryer) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if done, err := db.writer.peek(body); done {
		return sqliteError(err)
	}
	return db.readOne(ctx, body)
}

func (db *sqlite) withReader(ctx context.Context, use func(r *session) error) error {
	select {
	case r := <-db.idle:
		defer func() { db.idle <- r }()
		defer r.closeRows()
		if err := r.connect(ctx); err != nil {
			return sqliteError(err)
		}
		return sqliteError(use(r))
	case <-ctx.Done():
		return ctx.Err()
	case <-db.writer.ended:
		return errClosed
	}
}

func (db *sqlite) info(ctx context.Context) (ktrdr.StoreInfo, error) {
	detail := struct {
		Size    int64 `json:"size_bytes"`
		Log     int64 `json:"wal_bytes"`
		Commits int64 `json:"commits"` // since it was opened
		Writes  int64 `json:"writes"`  // what they held
	}{Commits: db.writer.commits.Load(), Writes: db.writer.answered.Load()}
	if f, err := os.Stat(db.path); err == nil {
		detail.Size = f.Size()
	}
	if f, err := os.Stat(db.path + "-wal"); err == nil {
		detail.Log = f.Size()
	}
	text, err := json.Marshal(detail)
	if err != nil {
		return ktrdr.StoreInfo{}, err
	}
	i := ktrdr.StoreInfo{Kind: "sqlite", Version: db.version, Schema: db.schema, Location: cmp.Or(db.path, "memory"), Detail: text}
	if err := db.intact(); err != nil {
		return i, err
	}
	return i, db.readOne(ctx, func(r queryer) error {
		var one int
		return r.row(ctx, `SELECT 1 FROM goose_db_version LIMIT 1`).Scan(&one)
	})
}

// close waits for the batch that is being written, then for the readers.
func (db *sqlite) close() error {
	db.writer.stop()
	for range cap(db.idle) {
		r := <-db.idle
		r.discard()
	}
	return db.closePools()
}

func (db *sqlite) closePools() error {
	var errs []error
	for _, pool := range []*sql.DB{db.reads, db.writes} {
		if pool != nil {
			errs = append(errs, pool.Close())
		}
	}
	return errors.Join(errs...)
}

// sqliteError gives the driver's errors that are not about one statement the
// code their caller acts on. Everything else stays as it is.
func sqliteError(err error) error {
	e, ok := errors.AsType[*sqlitedriver.Error](err)
	if !ok || coded(err) {
		return err
	}
	switch e.Code() & 0xff {
	case sqlitelib.SQLITE_FULL:
		return ktrdr.Errorf(ktrdr.CodeNoSpace, "the disk of the database is full: %w", err)
	case sqlitelib.SQLITE_BUSY, sqlitelib.SQLITE_LOCKED:
		return ktrdr.Errorf(ktrdr.CodeUnavailable, "another process holds the database: %w", err)
	case sqlitelib.SQLITE_IOERR, sqlitelib.SQLITE_CANTOPEN, sqlitelib.SQLITE_READONLY, sqlitelib.SQLITE_NOMEM:
		return ktrdr.Errorf(ktrdr.CodeUnavailable, "the database cannot be used: %w", err)
	case sqlitelib.SQLITE_CORRUPT, sqlitelib.SQLITE_NOTADB:
		return ktrdr.Errorf(ktrdr.CodeCorrupt, "the database is damaged, restore a backup: %w", err)
	}
	return err
}

// coded says whether err has a code already.
func coded(err error) bool {
	_, is := errors.AsType[*ktrdr.Error](err)
	_, refused := errors.AsType[*ktrdr.TransitionError](err)
	return is || refused
}
