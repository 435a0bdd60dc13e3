package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ktrdr/ktrdr"
)

// Config says which database to open and what runs in it.
type Config struct {
	URL    string       // a path, sqlite:PATH, postgres://… or postgresql://…
	Memory bool         // SQLite in memory instead of a URL: private, and gone when the store is closed
	Types  ktrdr.Types  // operations of any other type are refused
	Log    *slog.Logger // nil discards
	Conns  int          // PostgreSQL connections; 0 means 16

	// HeartbeatTry is how long one try to store a heartbeat in PostgreSQL may
	// take before it is made again on a fresh connection; 0 means 5 s.
	HeartbeatTry time.Duration

	// Restoring opens a database also where a restore has not finished.
	Restoring bool

	// MayMigrate is asked before the schema of a database that has one is changed.
	// Its error keeps that from being done. Nil: it may be.
	MayMigrate func(from, to int64) error

	// Statements, if it is set, counts the statements of reads.
	Statements *atomic.Int64
}

const defaultConns = 16

// Store is a ktrdr.Store in an SQL database.
type Store struct {
	types      ktrdr.Types
	statements *atomic.Int64 // of reads; nil: not counted
	log        *slog.Logger
	news       *news
	db         database
	recent     recent       // values of foreign threads
	token      atomic.Int64 // of the newest lease of a thread
	schema     int64        // the migration it is at
	closeOnce  func() error
}

var _ ktrdr.Store = (*Store)(nil)

// database is what SQLite and PostgreSQL do each in its own way.
type database interface {
	write(ctx context.Context, l lane, body func(t *tx) error) error
	read(ctx context.Context, body func(r queryer) error) error
	readOne(ctx context.Context, body func(r queryer) error) error
	peek(ctx context.Context, body func(r queryer) error) error
	// writeOnce and readOnce are for bodies that may take long and cannot be
	// run a second time.
	writeOnce(ctx context.Context, body func(t *tx) error) error
	readOnce(ctx context.Context, body func(r queryer) error) error
	info(ctx context.Context) (ktrdr.StoreInfo, error)
	close() error
}

// Open connects to the database and brings its schema up to date. It refuses
// an engine that is too old, a file that is damaged (CodeCorrupt) and a schema
// that a newer ktrdr made. The caller closes the store. CodeConflict when a
// restore into it has not finished.
func Open(ctx context.Context, c Config) (*Store, error) {
	s, err := open(ctx, c, migrations)
	if err != nil || c.Restoring {
		return s, err
	}
	if err := s.refuseUnfinished(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("database %s: %w", shownURL(c.URL), err), s.Close())
	}
	return s, nil
}

// open is Open with the migrations of a test.
func open(ctx context.Context, c Config, steps fs.FS) (*Store, error) {
	c.Conns = cmp.Or(c.Conns, defaultConns)
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	s := &Store{types: c.Types, statements: c.Statements, log: c.Log, news: newNews()}

	scheme, rest, _ := strings.Cut(c.URL, ":")
	switch {
	case c.URL == "" && !c.Memory:
		return nil, errors.New("no database was named: give a file or postgres://user:password@host/database")
	case scheme == "postgres" || scheme == "postgresql":
		db, err := openPostgres(ctx, c, s.news, steps)
		if err != nil {
			return nil, err
		}
		s.db, s.schema = db, db.schema
	case strings.Contains(c.URL, "://"):
		return nil, fmt.Errorf("database %s: only files and postgres:// are supported", WithoutSecrets(c.URL))
	default:
		if scheme != "sqlite" {
			rest = c.URL
		}
		if !c.Memory && (rest == "" || strings.HasPrefix(rest, ":")) {
			return nil, errors.New("the SQLite database must be a file: give its path")
		}
		db, err := openSQLite(ctx, rest, c, s.news, steps)
		if err != nil {
			return nil, err
		}
		s.db, s.schema = db, db.schema
	}
	s.closeOnce = sync.OnceValue(s.db.close)
	return s, nil
}

// WithoutSecrets returns a URL that may be shown: no password, and no
// parameters, which may hold one.
func WithoutSecrets(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "[an address that cannot be read]" // it may be all password
	}
	if u.User != nil {
		u.User = url.User(u.User.Username())
	}
	u.RawQuery, u.Fragment = "", ""
	return u.String()
}
