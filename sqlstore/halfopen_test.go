package sqlstore

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/backoff"
	"github.com/ktrdr/ktrdr/sqlstore/pgtest"
	"github.com/ktrdr/ktrdr/storetest"
)

// hasty is a store behind a proxy, with little patience for heartbeats.
func hasty(t *testing.T) (*Store, *proxy) {
	t.Helper()
	p := newProxy(t, pgtest.URL(t))
	s, err := Open(t.Context(), Config{URL: p.url, HeartbeatTry: time.Second, Types: storetest.Types(nil)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s, p
}

func TestPostgres_HalfOpenConnectionsDoNotSilenceHeartbeats(t *testing.T) {
	s, p := hasty(t)
	a := life("a", "1")
	start(t, s, a, policy)
	calls := []func(context.Context) error{func(ctx context.Context) error { return s.Beat(ctx, a) }}
	var tasks []ktrdr.Task
	for range 3 {
		create(t, s, ktrdr.NewOperation{Type: ktrdr.Dummy})
		task := claimDummy(t, s, "")
		tasks = append(tasks, *task)
		calls = append(calls, func(ctx context.Context) error {
			orders, err := s.Report(ctx, ktrdr.Heartbeat{Worker: "w1", Running: []ktrdr.Claimed{{Operation: task.Operation, Epoch: task.Epoch}}})
			if err == nil && !orders.Empty() {
				t.Errorf("orders: %+v", orders)
			}
			return err
		})
	}
	all := func() {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // as long as a worker waits
		defer cancel()
		var under sync.WaitGroup
		for _, call := range calls {
			under.Go(func() {
				if err := call(ctx); err != nil {
					t.Error(err)
				}
			})
		}
		under.Wait()
	}
	all() // so that there are connections
	before := heartbeats(t, s)
	p.loseTouch()
	all()
	after := heartbeats(t, s)
	for _, task := range tasks {
		if after[task.Operation] <= before[task.Operation] {
			t.Errorf("the heartbeat of %s was stored at %d, not after %d", task.Operation, after[task.Operation], before[task.Operation])
		}
	}
}

// heartbeats reads when each operation was heard, on a connection that works.
func heartbeats(t *testing.T, s *Store) map[ktrdr.OperationID]int64 {
	t.Helper()
	rows, err := s.db.(*postgres).urgent.QueryContext(t.Context(), `SELECT id, heartbeat_at FROM operations`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	all := map[ktrdr.OperationID]int64{}
	for rows.Next() {
		var id ktrdr.OperationID
		var at int64
		if err := rows.Scan(&id, &at); err != nil {
			t.Fatal(err)
		}
		all[id] = at
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestPostgres_AHalfOpenConnectionThatWasIdleIsReplaced(t *testing.T) {
	s, p := hasty(t)
	if _, err := s.Paused(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.loseTouch()
	backoff.Sleep(t.Context(), trusted+trusted/10)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second) // half of what a call may take
	defer cancel()
	if _, err := s.Paused(ctx); err != nil {
		t.Error(err)
	}
}

func TestPostgres_AnUrgentWriteWhoseCommitIsLostIsMadeAgain(t *testing.T) {
	s, p := hasty(t)
	a := life("a", "1")
	start(t, s, a, policy)
	for name, c := range map[string]cut{"the COMMIT": cutRequest, "the answer": cutAnswer, "the end": swallowRequest} {
		p.atCommit(c)
		before := p.cuts()
		if err := s.Beat(t.Context(), a); err != nil {
			t.Errorf("%s is lost: %v", name, err)
		}
		if p.cuts() != before+1 {
			t.Errorf("%s: nothing was cut", name)
		}
	}
}
