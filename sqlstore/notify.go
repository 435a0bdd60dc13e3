package sqlstore

import (
	"context"
	"crypto/rand"
	"database/sql"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ktrdr/ktrdr/internal/backoff"
)

// audience is the kind of waiters that news is for.
type audience int

const (
	forNone    audience = iota
	forReaders          // of events
	forWorkers          // there is something to claim, to cancel or to drop; readers are told too
)

// news is a broadcast that keeps nothing: a channel for each audience that is
// closed, once, for all its receivers.
type news struct {
	mu sync.Mutex
	ch [forWorkers + 1]chan struct{}
}

func newNews() *news {
	n := &news{}
	for who := range n.ch {
		n.ch[who] = make(chan struct{})
	}
	return n
}

// next returns the channel that the next tell for the audience closes.
func (n *news) next(who audience) <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.ch[who]
}

// tell tells the audience and all before it.
func (n *news) tell(who audience) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for ; who > forNone; who-- {
		close(n.ch[who])
		n.ch[who] = make(chan struct{})
	}
}

// channel is the one on which backends tell each other that something changed.
const channel = "ktrdr"

// One NOTIFY in this time is enough. It is never part of a transaction that
// writes: PostgreSQL commits those with a NOTIFY one after the other.
const notifyPause = 5 * time.Millisecond

// reconnects paces the tries to open the listener's connection again.
var reconnects = backoff.Policy{First: 50 * time.Millisecond, Most: 5 * time.Second, Jitter: 0.5}

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
	widest  atomic.Int64            // the widest audience of what is pending
	witness atomic.Pointer[witness] // nil while it does not listen

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
func (b *bus) tell(who audience) {
	b.news.tell(who)
	for {
		old := b.widest.Load()
		if old >= int64(who) || b.widest.CompareAndSwap(old, int64(who)) {
			break
		}
	}
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
		payload := b.self + " " + strconv.FormatInt(b.widest.Swap(0), 10)
		if _, err := b.pool.ExecContext(ctx, `SELECT pg_notify($1, $2)`, channel, payload); err != nil && ctx.Err() == nil {
			b.log.WarnContext(ctx, "other backends were not notified", "err", err)
		}
		if !backoff.Sleep(ctx, notifyPause) {
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
	err = conn.QueryRow(ctx,
		`SELECT (EXTRACT(EPOCH FROM backend_start) * 1000000)::bigint FROM pg_stat_activity WHERE pid = pg_backend_pid()`).Scan(&w.start)
	if err != nil {
		_ = conn.Close(ctx)
		return nil, err
	}
	b.witness.Store(w)
	return conn, nil
}

// hear passes on what conn hears, and on the connections that follow it.
func (b *bus) hear(ctx context.Context, conn *pgx.Conn) {
	defer func() { // stopped before it was listened to
		if conn != nil {
			_ = conn.Close(ctx)
		}
	}()
	failed := 0
	for ctx.Err() == nil {
		if conn == nil {
			if !reconnects.Wait(ctx, failed) {
				return
			}
			failed++
			var err error
			if conn, err = b.listen(ctx); err != nil {
				continue
			}
			b.log.InfoContext(ctx, "listening for other backends again")
			failed = 0
			b.news.tell(forWorkers) // whatever was said meanwhile was not heard
		}
		who, err := b.await(ctx, conn)
		if err != nil {
			b.witness.Store(nil)
			_ = conn.Close(ctx)
			conn = nil
			if ctx.Err() == nil {
				b.log.WarnContext(ctx, "not hearing other backends", "err", err)
			}
			continue
		}
		b.news.tell(who)
	}
}

// await waits for news from another backend. In a long silence it asks whether
// the connection is still there: one that was cut without a word stays silent
// for ever.
func (b *bus) await(ctx context.Context, conn *pgx.Conn) (who audience, err error) {
	silence, cancel := context.WithTimeout(ctx, maxSilence)
	defer cancel()
	n, err := conn.WaitForNotification(silence)
	switch {
	case err == nil:
		return b.audienceOf(n.Payload), nil
	case silence.Err() == nil || ctx.Err() != nil:
		return forNone, err
	}
	ping, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	return forNone, conn.Ping(ping)
}

// audienceOf reads a notification. One that cannot be read is for every audience:
// it may come from another version of us.
func (b *bus) audienceOf(payload string) audience {
	from, number, _ := strings.Cut(payload, " ")
	if from == b.self {
		return forNone
	}
	if n, err := strconv.Atoi(number); err == nil && n >= int(forNone) && n <= int(forWorkers) {
		return audience(n)
	}
	return forWorkers
}
