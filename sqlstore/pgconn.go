package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/ktrdr/ktrdr"
)

// pgConn is one PostgreSQL connection, for the time of one transaction. pgx
// keeps the statements prepared.
//
// A round trip costs more than most statements do, so nothing is sent before
// an answer is needed: what is owed goes with the next statement that needs
// one, and the last of it with COMMIT.
//
// Statements end with the try that the connection was taken for: a body only
// knows the context of the whole call, which outlives a try that hangs.
type pgConn struct {
	try  context.Context //nolint:containedctx // a pgConn lives no longer than its try
	conn *sql.Conn
	open *sql.Rows // the newest; there cannot be two
	owed pgx.Batch
}

func connect(ctx context.Context, pool *sql.DB) (*pgConn, error) {
	conn, err := pool.Conn(ctx)
	switch {
	case err == nil:
		return &pgConn{try: ctx, conn: conn}, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	return nil, again{ktrdr.Errorf(ktrdr.CodeUnavailable, "no connection to the database: %w", err)}
}

func (c *pgConn) exec(_ context.Context, q query, args ...any) (affected int64, err error) {
	c.owed.Queue(postgresWords.text(q), args...).Exec(func(tag pgconn.CommandTag) error {
		affected = tag.RowsAffected()
		return nil
	})
	return affected, c.pay(c.try) //nolint:contextcheck // see pgConn
}

func (c *pgConn) later(_ context.Context, q query, args ...any) error {
	c.owed.Queue(postgresWords.text(q), args...)
	return nil
}

// pay sends what is owed and reads all the answers.
func (c *pgConn) pay(ctx context.Context) error {
	owed := c.owed
	c.owed = pgx.Batch{}
	if owed.Len() == 0 {
		return nil
	}
	return c.conn.Raw(func(dc any) error { return dc.(*stdlib.Conn).Conn().SendBatch(ctx, &owed).Close() })
}

func (c *pgConn) row(_ context.Context, q query, args ...any) scanner {
	return pgRow{c, q, args}
}

// pgRow is a row that is asked for when it is scanned: only then is it known
// where its answer goes.
type pgRow struct {
	c    *pgConn
	q    query
	args []any
}

// Scan asks for the row.
func (r pgRow) Scan(dest ...any) error {
	r.c.owed.Queue(postgresWords.text(r.q), r.args...).QueryRow(func(row pgx.Row) error { return row.Scan(dest...) })
	return r.c.pay(r.c.try)
}

func (c *pgConn) rows(_ context.Context, q query, args ...any) (*sql.Rows, error) {
	if err := c.pay(c.try); err != nil { //nolint:contextcheck // see pgConn
		return nil, err
	}
	rows, err := c.conn.QueryContext(c.try, postgresWords.text(q), args...) //nolint:contextcheck // see pgConn
	if err == nil {
		c.open = rows
	}
	return rows, err
}

// closeRows closes what a body left open.
func (c *pgConn) closeRows() {
	if c.open != nil {
		_ = c.open.Close()
		c.open = nil
	}
}

// raw is for what database/sql has no word for.
func (c *pgConn) raw(use func(pg *pgconn.PgConn) error) error {
	return c.conn.Raw(func(dc any) error { return use(dc.(*stdlib.Conn).Conn().PgConn()) })
}

// control runs a statement that begins or ends a transaction, in one round
// trip and without preparing it.
func (c *pgConn) control(ctx context.Context, text string) error {
	return c.raw(func(pg *pgconn.PgConn) error {
		_, err := pg.Exec(ctx, text).ReadAll()
		return err
	})
}

// commit is not stopped by the end of ctx, because a COMMIT that was sent
// cannot be taken back.
func (c *pgConn) commit(ctx context.Context, wait time.Duration) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), wait)
	defer cancel()
	c.owed.Queue("COMMIT").Exec(func(tag pgconn.CommandTag) error {
		if tag.String() != "COMMIT" {
			return errors.New("the transaction had failed before its COMMIT: an error of a statement was ignored")
		}
		return nil
	})
	return c.pay(ctx)
}

// undo rolls back and returns cause, marked when the same may be tried again.
// A nil cause is that of a reader who is done.
func (c *pgConn) undo(ctx context.Context, cause error) error {
	lost := c.lost()
	c.owed = pgx.Batch{}
	if !lost {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTime)
		defer cancel()
		if err := c.control(ctx, "ROLLBACK"); err != nil {
			c.drop()
		}
	}
	if cause != nil && (lost || collided(cause)) && !coded(cause) {
		return again{cause}
	}
	return cause
}

// lost says whether the connection is gone, and with it a transaction that was
// not committed.
func (c *pgConn) lost() bool {
	gone := true
	_ = c.raw(func(pg *pgconn.PgConn) error {
		gone = pg.IsClosed()
		return nil
	})
	return gone
}

// drop takes the connection out of the pool.
func (c *pgConn) drop() {
	_ = c.conn.Raw(func(any) error { return driver.ErrBadConn })
}

// release gives the connection back to the pool, which throws a lost one away.
func (c *pgConn) release() { _ = c.conn.Close() }

// collided says whether the server refused because of another transaction; or
// because of an id that we made up and that was taken; or because another
// transaction has just stored a look with the same key, which is then returned.
func collided(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (e.Code == "40001" || e.Code == "40P01" ||
		e.Code == "23505" && (e.ConstraintName == "operations_pkey" || e.ConstraintName == "looks_pkey"))
}

// postgresError gives errors that are not about one statement the code their
// caller acts on. Everything else stays as it is.
func postgresError(err error) error {
	if err == nil || coded(err) || errors.Is(err, context.Canceled) || errors.Is(err, sql.ErrNoRows) {
		return err
	}
	e, ok := errors.AsType[*pgconn.PgError](err)
	switch {
	case ok && e.Code == "53100":
		return ktrdr.Errorf(ktrdr.CodeNoSpace, "the disk of the database is full: %w", err)
	case ok && unavailableState(e.Code), !ok && unreachable(err):
		return ktrdr.Errorf(ktrdr.CodeUnavailable, "the database cannot be reached or is busy: %w", err)
	}
	return err
}

// unavailableState says which of the server's refusals are about the server:
// connections (08), resources (53), collisions (40), shutting down or starting
// (57P), a standby (25006), a lock or a statement that took too long.
func unavailableState(code string) bool {
	for _, class := range []string{"08", "53", "40", "57P", "25006", "55P03", "57014"} {
		if strings.HasPrefix(code, class) {
			return true
		}
	}
	return false
}

func unreachable(err error) bool {
	_, connect := errors.AsType[*pgconn.ConnectError](err)
	_, network := errors.AsType[net.Error](err)
	return connect || network || pgconn.Timeout(err) || pgconn.SafeToRetry(err) ||
		errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) // it died in the middle of an answer
}
