package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/sqlstore/pgtest"
)

func TestPostgres_WritesAgainAfterACrash(t *testing.T) {
	c := pgtest.Start(t)
	s := openTest(t, c.Database(t), testSteps())
	var work sync.WaitGroup
	for i := range 8 { // fill the pool with connections that are about to die
		work.Go(func() {
			if err := put(t.Context(), s, normal, fmt.Sprint("before ", i)); err != nil {
				t.Error(err)
			}
		})
	}
	work.Wait()
	c.Stop(true)
	if err := put(t.Context(), s, normal, "away"); ktrdr.CodeOf(err) != ktrdr.CodeUnavailable {
		t.Errorf("while it is away: %v, want CodeUnavailable", err)
	}
	if _, err := s.Info(t.Context()); err == nil {
		t.Error("while it is away: Info says that all is well")
	}
	c.Restart()
	for i := range 8 { // each finds a dead connection and none may notice
		mustPut(t, s, fmt.Sprint("after ", i))
	}
	if err := put(t.Context(), s, urgent, "urgent after"); err != nil {
		t.Errorf("urgent: %v", err)
	}
	if got := count(t, s); got != 17 {
		t.Errorf("%d rows, want 17", got)
	}
}

func TestPostgres_CutConnectionsAreReplacedUnnoticed(t *testing.T) {
	s := openTest(t, pgtest.URL(t), testSteps())
	const crowd = 4
	for range 2 { // the driver looks at a connection when it is first used again; later ones are trusted for a second
		occupy(t, s, crowd)
	}
	cut := `SELECT COUNT(pg_terminate_backend(pid)) FROM pg_stat_activity
		WHERE datname = current_database() AND pid <> pg_backend_pid() AND pid <> $1`
	var n int
	p := s.db.(*postgres)
	if err := p.normal.QueryRowContext(t.Context(), cut, int64(p.bus.witness.Load().pid)).Scan(&n); err != nil || n < crowd-1 {
		t.Fatalf("cut %d connections, %v, want at least %d", n, err, crowd-1)
	}
	occupy(t, s, crowd)
}

// occupy writes in n transactions that are open at the same time, so that each
// has a connection of its own.
func occupy(t *testing.T, s *Store, n int) {
	t.Helper()
	var in, work sync.WaitGroup
	in.Add(n)
	for range n {
		work.Go(func() {
			arrived := sync.OnceFunc(in.Done)
			defer arrived() // a body that fails keeps no other waiting
			if err := s.write(t.Context(), normal, func(*tx) error {
				arrived()
				in.Wait()
				return nil
			}); err != nil {
				t.Error(err)
			}
		})
	}
	work.Wait()
}

// What is acknowledged stays, what is refused is not there, and only what is
// called unknown may be either, whenever the server crashes.
func TestPostgres_CrashUnderWritersLosesNothingAcknowledged(t *testing.T) {
	c := pgtest.Start(t)
	s := openTest(t, c.Database(t), testSteps())
	results := sync.Map{}
	var acknowledged atomic.Int64
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var work sync.WaitGroup
	for w := range 8 {
		work.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				id := fmt.Sprintf("%d-%d", w, i)
				err := put(t.Context(), s, normal, id)
				results.Store(id, ktrdr.CodeOf(err))
				if err == nil {
					acknowledged.Add(1)
				}
			}
		})
	}
	for range 2 {
		seen := acknowledged.Load()
		eventually(t, "writes flow", func() bool { return acknowledged.Load() > seen+50 })
		c.Stop(true)
		c.Restart()
	}
	seen := acknowledged.Load()
	eventually(t, "writes flow again", func() bool { return acknowledged.Load() > seen+50 })
	cancel()
	work.Wait()

	there := map[string]bool{}
	err := s.read(t.Context(), func(r queryer) error {
		rows, err := r.rows(t.Context(), `SELECT id FROM counters`)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var id string
			if err := rows.Scan(&id); err != nil {
				return err
			}
			there[id] = true
		}
		return rows.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	tally := map[ktrdr.Code]int{}
	results.Range(func(id, code any) bool {
		tally[code.(ktrdr.Code)]++
		switch has := there[id.(string)]; code.(ktrdr.Code) {
		case "":
			if !has {
				t.Errorf("%s was acknowledged and is lost", id)
			}
		case ktrdr.CodeUnavailable:
			if has {
				t.Errorf("%s was said not to be written and is there", id)
			}
		case ktrdr.CodeUnknownResult:
		default:
			t.Errorf("%s ended with code %s", id, code)
		}
		return true
	})
	t.Logf("answers: %v", tally)
}

func TestPostgres_DeadlockIsTriedAgain(t *testing.T) {
	s := openTest(t, pgtest.URL(t), testSteps())
	mustPut(t, s, "a")
	mustPut(t, s, "b")
	var work sync.WaitGroup
	var runs atomic.Int64
	meet := make(chan struct{})
	var met atomic.Int64
	cross := func(first, second string) {
		work.Go(func() {
			err := s.write(t.Context(), normal, func(tx *tx) error {
				runs.Add(1)
				const bump query = `UPDATE counters SET n = n + 1 WHERE id = $1`
				if _, err := tx.exec(t.Context(), bump, first); err != nil {
					return err
				}
				if met.Add(1) == 2 {
					close(meet)
				}
				<-meet
				_, err := tx.exec(t.Context(), bump, second)
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	cross("a", "b")
	cross("b", "a")
	work.Wait()
	if got := runs.Load(); got < 3 { // the second try of one may meet the other again
		t.Errorf("%d runs of two bodies that deadlocked, want 3 or more", got)
	}
	var sum int
	if err := s.readOne(t.Context(), func(r queryer) error {
		return r.row(t.Context(), `SELECT sum(n) FROM counters`).Scan(&sum)
	}); err != nil || sum != 6 {
		t.Errorf("the counters add up to %d (err %v), want 6: each body once", sum, err)
	}
}

func TestPostgres_OtherBackendsHear(t *testing.T) {
	url := pgtest.URL(t)
	one, two := openTest(t, url, testSteps()), openTest(t, url, testSteps())
	wake := func() {
		if err := one.write(t.Context(), normal, func(tx *tx) error {
			tx.wake()
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	heard := two.Changed()
	wake()
	eventually(t, "the other hears", func() bool { return isClosed(heard) })

	// The listening connection is cut: it comes back, and says so, because
	// something may have been missed.
	before := two.db.(*postgres).bus.witness.Load()
	heard = two.Changed()
	if err := one.write(t.Context(), normal, func(tx *tx) error {
		_, err := tx.exec(t.Context(), `SELECT pg_terminate_backend($1)`, int64(before.pid))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it listens again", func() bool {
		w := two.db.(*postgres).bus.witness.Load()
		return w != nil && w.pid != before.pid
	})
	eventually(t, "it says that it missed something", func() bool { return isClosed(heard) })
	eventually(t, "it hears again", func() bool {
		heard = two.Changed()
		wake()
		return isClosed(heard)
	})
}

func isClosed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

func TestPostgres_OwnNotificationsAreNotNews(t *testing.T) {
	s := openTest(t, pgtest.URL(t), testSteps())
	p := s.db.(*postgres)
	b := &bus{config: p.config, self: "me"}
	conn, err := b.listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	for payload, want := range map[string]audience{"me 2": forNone, "you 1": forReaders, "you 2": forWorkers, "you": forWorkers} {
		if _, err := p.normal.ExecContext(t.Context(), `SELECT pg_notify($1, $2)`, channel, payload); err != nil {
			t.Fatal(err)
		}
		if who, err := b.await(t.Context(), conn); err != nil || who != want {
			t.Errorf("news %q is for %v, %v, want %v", payload, who, err, want)
		}
	}
}

func TestPostgres_UrgentDoesNotWaitForTheCrowd(t *testing.T) {
	url := pgtest.URL(t)
	s, err := open(t.Context(), Config{URL: url, Conns: 2}, testSteps())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	out := make(chan struct{})
	var in, work sync.WaitGroup
	for range 2 { // all connections of the crowd
		in.Add(1)
		work.Go(func() {
			_ = s.write(t.Context(), normal, func(*tx) error {
				in.Done()
				<-out
				return nil
			})
		})
	}
	in.Wait()
	if err := put(t.Context(), s, urgent, "beat"); err != nil {
		t.Errorf("urgent: %v", err)
	}
	close(out)
	work.Wait()
}

func TestPostgres_CloseRightAfterOpenLeavesNoConnection(t *testing.T) {
	url := pgtest.URL(t)
	for range 20 {
		s, err := Open(t.Context(), Config{URL: url})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	eventually(t, "no connection is left", func() bool {
		var n int
		err := db.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'`).Scan(&n)
		return err == nil && n == 0
	})
}
