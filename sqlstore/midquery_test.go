package sqlstore

import (
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/sqlstore/pgtest"
)

// mortal relays to a PostgreSQL that dies again and again: each time every
// connection ends.
type mortal struct {
	l     net.Listener
	mu    sync.Mutex
	conns []net.Conn
	work  sync.WaitGroup
}

func newMortal(t *testing.T, to string) (m *mortal, at string) {
	t.Helper()
	u, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	m = &mortal{}
	if m.l, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	server := u.Host
	m.work.Go(func() {
		for {
			client, err := m.l.Accept()
			if err != nil {
				return
			}
			behind, err := net.Dial("tcp", server)
			if err != nil {
				_ = client.Close()
				return
			}
			m.mu.Lock()
			m.conns = append(m.conns, client, behind)
			m.mu.Unlock()
			m.work.Go(func() { _, _ = io.Copy(behind, client) })
			m.work.Go(func() { _, _ = io.Copy(client, behind) })
		}
	})
	t.Cleanup(func() {
		_ = m.l.Close()
		m.die()
		m.work.Wait()
	})
	u.Host = m.l.Addr().String()
	return m, u.String()
}

func (m *mortal) die() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range m.conns {
		_ = c.Close()
	}
	m.conns = nil
}

func TestPostgres_ADeathInTheMiddleOfAQueryIsUnavailable(t *testing.T) {
	for situation, body := range map[string]func(r queryer, dies func()) error{
		"before the answer": func(r queryer, dies func()) error {
			timer := time.AfterFunc(100*time.Millisecond, dies)
			defer timer.Stop()
			return r.row(t.Context(), `SELECT pg_sleep(60)`).Scan(new(any))
		},
		"among the rows": func(r queryer, dies func()) error {
			rows, err := r.rows(t.Context(), `SELECT n, repeat('x', 100000) FROM generate_series(1, 5000) AS s (n)`)
			if err != nil {
				return err
			}
			defer rows.Close()
			for rows.Next() {
				dies()
			}
			return rows.Err()
		},
	} {
		t.Run(situation, func(t *testing.T) {
			m, at := newMortal(t, pgtest.URL(t))
			s, err := open(t.Context(), Config{URL: at}, testSteps())
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close() //nolint:errcheck // its database is dead
			err = s.readOne(t.Context(), func(r queryer) error { return body(r, m.die) })
			if ktrdr.CodeOf(err) != ktrdr.CodeUnavailable {
				t.Errorf("code %s of %v, want %s", ktrdr.CodeOf(err), err, ktrdr.CodeUnavailable)
			}
		})
	}
}
