package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/fault"
	"github.com/ktrdr/ktrdr/internal/backoff"
)

// oldestPostgres is the first with the 64-bit transaction ids of commit.go.
const oldestPostgres = 13

// Nothing waits for ever: not for a lock, not in a statement, not in a
// transaction whose client froze, and not for an answer.
const (
	lockTimeout    = 10 * time.Second
	stmtTimeout    = 30 * time.Second
	idleInTx       = 15 * time.Second
	connectTimeout = 5 * time.Second
	callTimeout    = 60 * time.Second // a whole call, with all its tries
	commitTimeout  = 15 * time.Second
	rollbackTime   = 5 * time.Second
	urgentTime     = 5 * time.Second // one try of an urgent call, unless Config says otherwise
)

// urgentConns are for heartbeats alone. A backend has one beat of its own under
// way at a time, so that there is always another one for its workers'.
const urgentConns = 2

// maxTries bounds how often a transaction that surely changed nothing is run
// again: after a deadlock, a serialization failure or a lost connection.
const maxTries = 5

var retries = backoff.Policy{First: 10 * time.Millisecond, Jitter: 0.5}

// postgres is a database on a server.
type postgres struct {
	config  *pgx.ConnConfig
	log     *slog.Logger
	version string
	schema  int64

	normal, urgent *sql.DB
	urgentTime     time.Duration
	bus            *bus
}

// postgresWords: the statement's time, not the transaction's, which may have
// waited; and not the clock's, which would be read for every row.
var postgresWords = dialect{
	now:  "(EXTRACT(EPOCH FROM statement_timestamp()) * 1000000)::bigint",
	lock: "FOR UPDATE",
	skip: "FOR UPDATE SKIP LOCKED",

	update: "FOR NO KEY UPDATE",
	share:  "FOR KEY SHARE",

	compared: "$",
}

func openPostgres(ctx context.Context, c Config, news *news, steps fs.FS) (_ *postgres, err error) {
	config, err := postgresConfig(c.URL)
	if err != nil {
		return nil, err
	}
	p := &postgres{config: limited(config, lockTimeout, stmtTimeout, idleInTx), log: c.Log, urgentTime: cmp.Or(c.HeartbeatTry, urgentTime)}
	// The server, too, lets go of an urgent try's locks when its time is up: its
	// client is cut off then, and the next try waits for them.
	p.normal, p.urgent = openPool(p.config), openPool(limited(config, p.urgentTime, p.urgentTime, p.urgentTime))
	p.normal.SetMaxOpenConns(c.Conns)
	p.normal.SetMaxIdleConns(c.Conns)
	p.urgent.SetMaxOpenConns(urgentConns)
	p.urgent.SetMaxIdleConns(urgentConns)
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("database %s: %w", WithoutSecrets(c.URL), postgresError(err)), p.closePools())
		}
	}()
	if err := p.check(ctx); err != nil {
		return nil, err
	}
	if err := p.migrate(ctx, c, steps); err != nil {
		return nil, err
	}
	if p.bus, err = startBus(ctx, p.config, p.normal, c.Log, news); err != nil {
		return nil, err
	}
	return p, nil
}

// migrate has connections of its own, on which a statement may take long.
func (p *postgres) migrate(ctx context.Context, c Config, steps fs.FS) (err error) {
	config := p.config.Copy()
	config.RuntimeParams["statement_timeout"] = "0"
	pool := stdlib.OpenDB(*config)
	defer func() { err = errors.Join(err, pool.Close()) }()
	p.schema, err = migrate(ctx, pool, goosePostgres, steps, c)
	return err
}

// check refuses a server that is too old and a database that cannot hold every
// text.
func (p *postgres) check(ctx context.Context) error {
	var number int
	var encoding string
	err := p.normal.QueryRowContext(ctx,
		`SELECT current_setting('server_version'), current_setting('server_version_num')::int, current_setting('server_encoding')`).
		Scan(&p.version, &number, &encoding)
	switch {
	case err != nil:
		return err
	case number/10_000 < oldestPostgres:
		return fmt.Errorf("PostgreSQL %s is too old: %d or newer is needed", p.version, oldestPostgres)
	case encoding != "UTF8":
		return fmt.Errorf("the database's encoding is %s: create one with ENCODING 'UTF8'", encoding)
	}
	return nil
}

func (p *postgres) write(ctx context.Context, l lane, body func(t *tx) error) error {
	if l == urgent {
		return p.retry(ctx, func(ctx context.Context) error { return p.transactSoon(ctx, body) })
	}
	return p.retry(ctx, func(ctx context.Context) error { return p.transact(ctx, p.normal, body) })
}

// transactSoon gives a try little time: behind a connection whose other end is
// gone without a word, all live workers would look dead. The other idle
// connections are then not trusted either.
func (p *postgres) transactSoon(ctx context.Context, body func(t *tx) error) error {
	ctx, cancel := context.WithTimeout(ctx, p.urgentTime)
	defer cancel()
	err := p.transact(ctx, p.urgent, body)
	if err == nil || ctx.Err() == nil {
		return err
	}
	p.urgent.SetMaxIdleConns(0) // closes them
	p.urgent.SetMaxIdleConns(urgentConns)
	if coded(err) {
		return err
	}
	return again{err}
}

func (p *postgres) writeOnce(ctx context.Context, body func(t *tx) error) error {
	err := p.transact(ctx, p.normal, func(t *tx) error {
		if _, err := t.exec(ctx, sqlNoTimeouts); err != nil {
			return err
		}
		return body(t)
	})
	return postgresError(final(err))
}

// sqlNoTimeouts is for one transaction that may take long.
const sqlNoTimeouts query = `SELECT set_config('statement_timeout', '0', true),
	set_config('idle_in_transaction_session_timeout', '0', true)`

// again marks an error after which nothing was changed and the same may be
// tried at once.
type again struct{ error }

func (a again) Unwrap() error { return a.error }

// final is err without the mark, for a caller that does not try again.
func final(err error) error {
	if a, ok := errors.AsType[again](err); ok {
		return a.error
	}
	return err
}

// retry runs attempt until it ends otherwise than with again.
func (p *postgres) retry(ctx context.Context, attempt func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	for try := 1; ; try++ {
		err := attempt(ctx)
		if err != nil && ctx.Err() != nil && !coded(err) {
			return ctx.Err() // pgx cuts the connection then, and only that is in err
		}
		_, repeatable := errors.AsType[again](err)
		if !repeatable || try == maxTries || !retries.Wait(ctx, try-1) {
			return postgresError(final(err))
		}
	}
}

// transact runs body in one transaction, once.
func (p *postgres) transact(ctx context.Context, pool *sql.DB, body func(t *tx) error) error {
	tr := transaction{witness: p.bus.witness.Load()}
	c, err := begin(ctx, pool, &tr)
	if err != nil {
		return err
	}
	defer c.release()

	t := &tx{execer: c}
	err = call(p.log, body, t)
	c.closeRows()
	if err == nil && tr.id == "" { // nothing needed an answer yet, but a lost COMMIT will need the id
		err = c.pay(ctx)
	}
	if err != nil {
		return c.undo(ctx, err)
	}
	fault.Hit(fault.TxCommitting)
	wait := commitTimeout
	if pool == p.urgent {
		wait = p.urgentTime
	}
	if err := c.commit(ctx, wait); err != nil {
		if !c.lost() { // the server answered: it refused
			return c.undo(ctx, err)
		}
		if pool == p.urgent {
			return again{unknownResult(err)} // what is urgent may be said twice
		}
		c.release() // when all connections are lost at once, they are what resolve waits for
		if err := p.resolve(context.WithoutCancel(ctx), tr, err); err != nil {
			return err
		}
	}
	fault.Hit(fault.TxCommitted)
	if t.woken > forNone {
		p.bus.tell(t.woken)
	}
	return nil
}

// begin owes the beginning of a transaction and the question for its id: they
// go with the first statement. An id that turns out not to be needed costs
// nothing: a transaction that wrote nothing is not waited for at COMMIT.
func begin(ctx context.Context, pool *sql.DB, tr *transaction) (*pgConn, error) {
	c, err := connect(ctx, pool)
	if err != nil {
		return nil, err
	}
	_ = c.raw(func(pg *pgconn.PgConn) error {
		tr.pid = pg.PID()
		return nil
	})
	c.owed.Queue("BEGIN").Exec(func(pgconn.CommandTag) error {
		fault.Hit(fault.TxBegun)
		return nil
	})
	c.owed.Queue("SELECT pg_current_xact_id()::text").QueryRow(func(row pgx.Row) error { return row.Scan(&tr.id) })
	return c, nil
}

func (p *postgres) read(ctx context.Context, body func(r queryer) error) error {
	return p.retry(ctx, func(ctx context.Context) error { return p.snapshot(ctx, body) })
}

func (p *postgres) readOnce(ctx context.Context, body func(r queryer) error) error {
	err := p.snapshot(ctx, func(r queryer) error {
		var statement, idle string
		if err := r.row(ctx, sqlNoTimeouts).Scan(&statement, &idle); err != nil {
			return err
		}
		return body(r)
	})
	return postgresError(final(err))
}

// snapshot runs body on one snapshot, once.
func (p *postgres) snapshot(ctx context.Context, body func(r queryer) error) error {
	return p.withConn(ctx, func(c *pgConn) error {
		if err := c.control(ctx, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"); err != nil {
			return err
		}
		err := body(c)
		c.closeRows()
		return c.undo(ctx, err) // there is nothing to commit
	})
}

func (p *postgres) readOne(ctx context.Context, body func(r queryer) error) error {
	return p.retry(ctx, func(ctx context.Context) error {
		return p.withConn(ctx, func(c *pgConn) error {
			err := body(c)
			c.closeRows()
			return err
		})
	})
}

func (p *postgres) peek(ctx context.Context, body func(r queryer) error) error {
	return p.readOne(ctx, body)
}

// withConn runs a reader, which may always be run again when its connection is
// lost.
func (p *postgres) withConn(ctx context.Context, use func(c *pgConn) error) error {
	c, err := connect(ctx, p.normal)
	if err != nil {
		return err
	}
	defer c.release()
	if err := use(c); err != nil {
		if c.lost() {
			return again{err}
		}
		return err
	}
	return nil
}

func (p *postgres) info(ctx context.Context) (ktrdr.StoreInfo, error) {
	stats := p.normal.Stats()
	detail := struct {
		Open  int    `json:"open_connections"`
		InUse int    `json:"connections_in_use"`
		Sync  string `json:"synchronous_commit"`
		Hears bool   `json:"listening"`
	}{Open: stats.OpenConnections, InUse: stats.InUse, Hears: p.bus.witness.Load() != nil}
	location := url.URL{
		Scheme: "postgres", User: url.User(p.config.User),
		Host: p.config.Host + ":" + strconv.Itoa(int(p.config.Port)), Path: p.config.Database,
	}
	i := ktrdr.StoreInfo{Kind: "postgres", Version: p.version, Schema: p.schema, Location: location.String()}
	err := p.readOne(ctx, func(r queryer) error {
		return r.row(ctx, `SELECT current_setting('synchronous_commit')`).Scan(&detail.Sync)
	})
	if err != nil {
		return i, err
	}
	i.Detail, err = json.Marshal(detail)
	return i, err
}

func (p *postgres) close() error {
	p.bus.stop()
	return p.closePools()
}

func (p *postgres) closePools() error { return errors.Join(p.normal.Close(), p.urgent.Close()) }
