package sqlstore

import (
	"context"
	"crypto/rand"
	"database/sql"
	"log/slog"
	mathrand "math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

// news is a broadcast that keeps nothing: a channel that is closed, once, for
// everybody who holds it.
type news struct {
	mu sync.Mutex
	ch chan struct{}
}

func newNews() *news { return &news{ch: make(chan struct{})} }

// next returns the channel that the next tell closes.
func (n *news) next() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.ch
}

func (n *news) tell() {
	n.mu.Lock()
	defer n.mu.Unlock()
	close(n.ch)
	n.ch = make(chan struct{})
}

// channel is the one on which backends tell each other that something changed.
const channel = "ktrdr"

// One NOTIFY in this time is enough. It is never part of a transaction that
// writes: PostgreSQL commits those with a NOTIFY one after the other.
const notifyPause = 5 * time.Millisecond

// The listener's connection is tried again after these pauses, doubling.
const (
	minReconnect = 50 * time.Millisecond
	maxReconnect = 5 * time.Second
)

const maxSilence = 30 * time.Second

// bus carries news between backends over PostgreSQL. Its listening connection
// is also the witness of commit.go.
type bus struct {
	config  *pgx.ConnConfig
	pool    *sql.DB
	log     *slog.Logger
	news    *news
	self    string // in our own notifications, so that we need not hear them
	pending chan struct{}
	witness atomic.Pointer[witness] // nil while nobody listens

	cancel context.CancelFunc
	work   sync.WaitGroup
}

// startBus listens before it returns, so that no news is missed afterwards.
func startBus(ctx context.Context, config *pgx.ConnConfig, pool *sql.DB, log *slog.Logger, news *news) (*bus, error) {
	b := &bus{config: config, pool: pool, log: log, news: news, self: rand.Text(), pending: make(chan struct{}, 1)}
	conn, err := b.listen(ctx)
	if err != nil {
		return nil, err
	}
	ctx, b.cancel = context.WithCancel(context.WithoutCancel(ctx))
	b.work.Go(func() { b.hear(ctx, conn) })
	b.work.Go(func() { b.speak(ctx) })
	return b, nil
}

func (b *bus) stop() {
	b.cancel()
	b.work.Wait()
}

// tell tells this process now and the others soon.
func (b *bus) tell() {
	b.news.tell()
	select {
	case b.pending <- struct{}{}:
	default: // one is on its way already
	}
}

// speak sends what is pending. A notification that cannot be sent is dropped:
// it is a hint, and the others also poll.
func (b *bus) speak(ctx context.Context) {
	for {
		select {
		case <-b.pending:
		case <-ctx.Done():
			return
		}
		if _, err := b.pool.ExecContext(ctx, `SELECT pg_notify($1, $2)`, channel, b.self); err != nil && ctx.Err() == nil {
			b.log.WarnContext(ctx, "other backends were not notified", "err", err)
		}
		if !pause(ctx, notifyPause) {
			return
		}
	}
}

// listen makes a connection that hears notifications, and makes it the
// witness.
func (b *bus) listen(ctx context.Context) (*pgx.Conn, error) {
	conn, err := pgx.ConnectConfig(ctx, b.config)
	if err != nil {
		return nil, err
	}
	if _, err := conn.Exec(ctx, "LISTEN "+channel); err != nil {
		_ = conn.Close(ctx)
		return nil, err
	}
	w := &witness{pid: conn.PgConn().PID()}
	err = conn.QueryRow(ctx, `SELECT (EXTRACT(EPOCH FROM backend_start) * 1000000)::bigint FROM pg_stat_activity WHERE pid = pg_backend_pid()`).Scan(&w.start)
	if err != nil {
		_ = conn.Close(ctx)
		return nil, err
	}
	b.witness.Store(w)
	return conn, nil
}

// hear passes on what conn hears, and on the connections that follow it.
func (b *bus) hear(ctx context.Context, conn *pgx.Conn) {
	wait := minReconnect
	for ctx.Err() == nil {
		if conn == nil {
			if !pause(ctx, jitter(wait)) {
				return
			}
			wait = min(2*wait, maxReconnect)
			var err error
			if conn, err = b.listen(ctx); err != nil {
				continue
			}
			b.log.InfoContext(ctx, "listening for other backends again")
			wait = minReconnect
			b.news.tell() // whatever was said meanwhile was not heard
		}
		heard, err := b.await(ctx, conn)
		if err != nil {
			b.witness.Store(nil)
			_ = conn.Close(ctx)
			conn = nil
			if ctx.Err() == nil {
				b.log.WarnContext(ctx, "not hearing other backends", "err", err)
			}
			continue
		}
		if heard {
			b.news.tell()
		}
	}
}

// await waits for news from another backend. In a long silence it asks whether
// the connection is still there: one that was cut without a word stays silent
// for ever.
func (b *bus) await(ctx context.Context, conn *pgx.Conn) (heard bool, err error) {
	silence, cancel := context.WithTimeout(ctx, maxSilence)
	defer cancel()
	n, err := conn.WaitForNotification(silence)
	switch {
	case err == nil:
		return n.Payload != b.self, nil
	case silence.Err() == nil || ctx.Err() != nil:
		return false, err
	}
	ping, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	return false, conn.Ping(ping)
}

// jitter is about d, so that those who failed together do not come back
// together.
func jitter(d time.Duration) time.Duration {
	return d/2 + mathrand.N(d) //nolint:gosec // nobody gains by guessing it
}

// pause waits and is false when ctx ended meanwhile.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
