package cli

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr/labtest"
	"github.com/ktrdr/ktrdr/sqlstore/pgtest"
)

// relay passes connections on to PostgreSQL until it dies.
type relay struct {
	l     net.Listener
	mu    sync.Mutex
	conns []net.Conn
	work  sync.WaitGroup
}

func newRelay(t *testing.T, to string) (r *relay, at string) {
	t.Helper()
	u, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	r = &relay{}
	if r.l, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	server := u.Host
	r.work.Go(func() {
		for {
			client, err := r.l.Accept()
			if err != nil {
				return
			}
			behind, err := net.Dial("tcp", server)
			if err != nil {
				_ = client.Close()
				continue
			}
			r.mu.Lock()
			r.conns = append(r.conns, client, behind)
			r.mu.Unlock()
			r.work.Go(func() { _, _ = io.Copy(behind, client) })
			r.work.Go(func() { _, _ = io.Copy(client, behind) })
		}
	})
	t.Cleanup(func() { r.die(); r.work.Wait() })
	u.Host = r.l.Addr().String()
	return r, u.String()
}

// die ends every connection and accepts no more.
func (r *relay) die() {
	_ = r.l.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.conns {
		_ = c.Close()
	}
	r.conns = nil
}

// A PostgreSQL that dies while it answers is 503 over HTTP, whether its
// connections end or it says goodbye.
func TestHTTP_APostgreSQLThatDiesInTheMiddleOfAQueryIs503(t *testing.T) {
	t.Parallel()
	for how, dies := range map[string]func(t *testing.T, r *relay, db *sql.DB){
		"its connections end": func(_ *testing.T, r *relay, _ *sql.DB) { r.die() },
		"it says goodbye": func(t *testing.T, r *relay, db *sql.DB) {
			_ = r.l.Close() // no connection is accepted again
			_, err := db.ExecContext(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()
				AND pid <> pg_backend_pid()
				AND wait_event_type = 'Lock'`)
			if err != nil {
				t.Error(err)
			}
			r.die()
		},
	} {
		t.Run(how, func(t *testing.T) {
			direct := pgtest.URL(t)
			r, at := newRelay(t, direct)
			l := newLab(t, "KTRDR_DB="+at, "KTRDR_AUTH=none")
			l.serve("--workers", "0", "--agents", "0")
			db, err := sql.Open("pgx", direct)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			tx, err := db.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer tx.Rollback() //nolint:errcheck // its connection may be dead
			if _, err := tx.ExecContext(t.Context(), `LOCK TABLE operations IN ACCESS EXCLUSIVE MODE`); err != nil {
				t.Fatal(err)
			}
			paths := []string{"/api/v1/operations", "/api/v1/operations/op_dummy_20260101_000000_abcdef01", "/api/v1/leaderboard"}
			statuses := make(chan int, len(paths))
			for _, path := range paths {
				go func() {
					ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
					defer cancel()
					statuses <- statusOf(ctx, l.url+path)
				}()
			}
			waitForLocks(t, db, len(paths))
			dies(t, r, db)
			for range paths {
				if got := <-statuses; got != http.StatusServiceUnavailable {
					t.Errorf("status %d, want 503", got)
				}
			}
		})
	}
}

// statusOf is the status of an answer, 0 when there was none.
func statusOf(ctx context.Context, at string) int {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return 0
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0
	}
	defer res.Body.Close()
	return res.StatusCode
}

// waitForLocks waits until n queries wait in the middle.
func waitForLocks(t *testing.T, db *sql.DB, want int) {
	t.Helper()
	labtest.Eventually(t, 8*time.Second, fmt.Sprintf("%d queries that wait for the table", want), func() bool {
		var n int
		err := db.QueryRowContext(t.Context(),
			`SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`).Scan(&n)
		if err != nil {
			t.Fatal(err)
		}
		return n >= want
	})
}
