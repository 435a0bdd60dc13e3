package sqlstore

import (
	"context"
	"database/sql"
	"slices"
)

// maxPrepared bounds the statements kept on a connection. We have far fewer
// texts; those that are put together may vary without end.
const maxPrepared = 500

// session is one SQLite connection with the statements prepared on it. It
// serves one goroutine at a time.
type session struct {
	pool  *sql.DB
	conn  *sql.Conn
	stmts map[query]prepared
	open  []cursor // what the body is reading, or has forgotten to close
}

// prepared lives as long as its session.
type prepared struct{ *sql.Stmt }

type cursor struct {
	of   query
	rows *sql.Rows
}

// sqliteWords: 'subsec' gives milliseconds, and is the same in all of one
// statement.
//
// The plus does nothing but hide the argument from SQLite's planner. It would
// look at the value to guess how many rows it selects, and then prepare the
// statement again whenever another value is bound: a quarter of all the time.
var sqliteWords = dialect{
	now:      "CAST(unixepoch('subsec') * 1000000 AS INTEGER)",
	moved:    ", rowid = (SELECT MAX(rowid) + 1 FROM operations)",
	compared: "+$",
}

// connect makes the connection, if it does not exist.
func (s *session) connect(ctx context.Context) (err error) {
	if s.conn != nil {
		return nil
	}
	s.stmts = map[query]prepared{}
	s.conn, err = s.pool.Conn(ctx)
	return err
}

// discard closes the connection; the next connect makes another.
func (s *session) discard() {
	if s.conn == nil {
		return
	}
	s.closeRows()
	s.closeStatements()
	_ = s.conn.Close()
	s.conn = nil
}

// control runs a statement that begins or ends something. It is not stopped by
// ctx: a half-ended transaction is worse than a late one.
func (s *session) control(ctx context.Context, text query) error {
	_, err := s.exec(context.WithoutCancel(ctx), text)
	return err
}

func (s *session) exec(ctx context.Context, q query, args ...any) (int64, error) {
	stmt, err := s.prepare(ctx, q)
	if err != nil {
		return 0, err
	}
	result, err := stmt.ExecContext(ctx, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

func (s *session) rows(ctx context.Context, q query, args ...any) (*sql.Rows, error) {
	rows, err := s.query(ctx, q, args...)
	if err == nil {
		s.open = append(s.open, cursor{q, rows})
	}
	return rows, err
}

func (s *session) query(ctx context.Context, q query, args ...any) (*sql.Rows, error) {
	if s.busy(q) {
		return s.conn.QueryContext(ctx, sqliteWords.text(q), args...)
	}
	stmt, err := s.prepare(ctx, q)
	if err != nil {
		return nil, err
	}
	return stmt.QueryContext(ctx, args...)
}

func (s *session) row(ctx context.Context, q query, args ...any) scanner {
	if s.busy(q) {
		return s.conn.QueryRowContext(ctx, sqliteWords.text(q), args...)
	}
	stmt, err := s.prepare(ctx, q)
	if err != nil {
		return failed{err}
	}
	return stmt.QueryRowContext(ctx, args...)
}

// failed is a row that could not even be asked for.
type failed struct{ err error }

func (f failed) Scan(...any) error { return f.err }

func (s *session) prepare(ctx context.Context, q query) (prepared, error) {
	if p, ok := s.stmts[q]; ok {
		return p, nil
	}
	stmt, err := s.conn.PrepareContext(ctx, sqliteWords.text(q))
	p := prepared{stmt}
	if err == nil {
		s.stmts[q] = p
	}
	return p, err
}

// busy says whether rows of q are still being read. A prepared statement has
// one place in its rows: a second loop over the same text needs its own.
func (s *session) busy(q query) bool {
	s.open = slices.DeleteFunc(s.open, func(c cursor) bool {
		_, err := c.rows.Columns() // the one way to ask whether they are closed
		return err != nil
	})
	return slices.ContainsFunc(s.open, func(c cursor) bool { return c.of == q })
}

// closeRows ends what a body left open, so that the next body does not find the
// connection in use. It is also when statements may be dropped: none is being read.
func (s *session) closeRows() {
	for _, c := range s.open {
		_ = c.rows.Close()
	}
	s.open = nil
	if len(s.stmts) > maxPrepared {
		s.closeStatements()
	}
}

func (s *session) closeStatements() {
	for _, p := range s.stmts {
		_ = p.Close()
	}
	clear(s.stmts)
}

// autonomous is a session whose statements are not interrupted when the context of
// the caller ends. SQLite undoes the complete transaction when a
// write in it is interrupted, and that transaction also holds the work of
// others.
type autonomous struct{ *session }

func (s autonomous) exec(ctx context.Context, q query, args ...any) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	return s.session.exec(context.WithoutCancel(ctx), q, args...)
}

func (s autonomous) later(ctx context.Context, q query, args ...any) error {
	_, err := s.exec(ctx, q, args...)
	return err
}

func (s autonomous) rows(ctx context.Context, q query, args ...any) (*sql.Rows, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return s.session.rows(context.WithoutCancel(ctx), q, args...)
}

func (s autonomous) row(ctx context.Context, q query, args ...any) scanner {
	if err := ctx.Err(); err != nil {
		return failed{err}
	}
	return s.session.row(context.WithoutCancel(ctx), q, args...)
}
