package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"sync/atomic"
)

// lane is how soon a write is done. Urgent is for heartbeats: they are first
// in the writer's queue on SQLite and have connections of their own on
// PostgreSQL, so that no crowd of other writes makes a live worker look dead.
// There the body may be committed twice.
type lane int

const (
	normal lane = iota
	urgent
)

// scanner is one row to be, as *sql.Row is: errors wait for Scan, and no row
// is sql.ErrNoRows.
type scanner interface {
	Scan(dest ...any) error
}

// queryer reads. Rows must be closed before the next statement: a PostgreSQL
// connection does one thing at a time.
type queryer interface {
	row(ctx context.Context, q query, args ...any) scanner
	rows(ctx context.Context, q query, args ...any) (*sql.Rows, error)
}

// execer is a queryer that also writes. Later is exec for a statement whose answer
// is not needed: PostgreSQL is sent it with the next statement that needs an answer,
// or with COMMIT, and so may return its error only there.
type execer interface {
	queryer
	exec(ctx context.Context, q query, args ...any) (affected int64, err error)
	later(ctx context.Context, q query, args ...any) error
}

// tx is one write transaction, or one caller's part of a group's. What has failed
// stays failed: no statement is run after it, and nothing is committed.
type tx struct {
	execer
	woken  audience
	failed error
}

func (t *tx) fail(err error) { t.failed = cmp.Or(t.failed, err) }

// later runs a statement that must not be refused. Its error is that of the
// transaction.
func (t *tx) later(ctx context.Context, q query, args ...any) {
	if t.failed == nil {
		t.fail(t.execer.later(ctx, q, args...))
	}
}

func (t *tx) exec(ctx context.Context, q query, args ...any) (affected int64, err error) {
	if t.failed != nil {
		return 0, t.failed
	}
	return t.execer.exec(ctx, q, args...)
}

func (t *tx) row(ctx context.Context, q query, args ...any) scanner {
	if t.failed != nil {
		return failed{t.failed}
	}
	return t.execer.row(ctx, q, args...)
}

func (t *tx) rows(ctx context.Context, q query, args ...any) (*sql.Rows, error) {
	if t.failed != nil {
		return nil, t.failed
	}
	return t.execer.rows(ctx, q, args...)
}

// wake makes the commit of this transaction close the Changed channel, here
// and in every other backend; wakeWorkers the Ready channel too.
func (t *tx) wake()        { t.woken = max(t.woken, forReaders) }
func (t *tx) wakeWorkers() { t.woken = forWorkers }

// write runs body in one transaction that is durable when write returns nil.
// An error of body undoes what body did, and nothing else, and is returned as
// it is. Body may be run more than once and shares its transaction with
// strangers: it does no I/O and has no effect but through t.
//
// What write itself adds is CodeUnavailable (not written, try again),
// CodeNoSpace and CodeUnknownResult (see commit.go).
func (s *Store) write(ctx context.Context, l lane, body func(t *tx) error) error {
	return s.db.write(ctx, l, body)
}

// inWrite is write for a body that returns something, which is zero beside an
// error.
func inWrite[T any](ctx context.Context, s *Store, body func(t *tx) (T, error)) (made T, err error) {
	err = s.write(ctx, normal, func(t *tx) (err error) {
		made, err = body(t)
		return err
	})
	if err != nil {
		return *new(T), err
	}
	return made, nil
}

// inRead is read, readOne or peek for a body that returns something.
func inRead[T any](
	ctx context.Context, read func(context.Context, func(queryer) error) error, body func(r queryer) (T, error),
) (found T, err error) {
	err = read(ctx, func(r queryer) (err error) {
		found, err = body(r)
		return err
	})
	return found, err
}

// read runs body on one consistent snapshot.
func (s *Store) read(ctx context.Context, body func(r queryer) error) error {
	return s.db.read(ctx, s.counted(body))
}

// readOne is read for a body of a single statement, which is a snapshot
// already.
func (s *Store) readOne(ctx context.Context, body func(r queryer) error) error {
	return s.db.readOne(ctx, s.counted(body))
}

// peek is readOne of a few rows that have most likely just been written. On
// SQLite it waits for its turn among the writers.
func (s *Store) peek(ctx context.Context, body func(r queryer) error) error {
	return s.db.peek(ctx, s.counted(body))
}

// counted counts the statements of a read, if the store was asked to.
func (s *Store) counted(body func(r queryer) error) func(r queryer) error {
	if s.statements == nil {
		return body
	}
	return func(r queryer) error { return body(countingQueryer{r, s.statements}) }
}

type countingQueryer struct {
	queryer
	n *atomic.Int64
}

func (c countingQueryer) row(ctx context.Context, q query, args ...any) scanner {
	c.n.Add(1)
	return c.queryer.row(ctx, q, args...)
}

func (c countingQueryer) rows(ctx context.Context, q query, args ...any) (*sql.Rows, error) {
	c.n.Add(1)
	return c.queryer.rows(ctx, q, args...)
}

// isPostgres says which database it is, for the few places where one text
// cannot serve both.
func (s *Store) isPostgres() bool {
	_, ok := s.db.(*postgres)
	return ok
}
