package sqlstore

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/storetest"
)

// What waits, what was paid and what a breaker decided is there when the store
// is opened again.
func TestStore_WaitsCallsAndBreakersOutliveIt(t *testing.T) {
	for name, url := range map[string]func(testing.TB) string{"SQLite": InstalledSQLite, "PostgreSQL": InstalledPostgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			where := url(t)
			key := ktrdr.Hash{1}
			const wait = time.Second
			first, err := Open(t.Context(), Config{URL: where, Types: storetest.Types(nil)})
			if err != nil {
				t.Fatal(err)
			}
			task := claimNew(t, first)
			ask := ktrdr.NewCall{Operation: task.Operation, Epoch: task.Epoch, Key: key, Model: "m", Most: 5, Daily: 8, Research: 8}
			call, err := first.ReserveCall(t.Context(), ask)
			if err != nil {
				t.Fatal(err)
			}
			if err := first.SettleCall(t.Context(), ktrdr.CallEnd{
				ID: call.ID, Status: ktrdr.CallAnswered, Cost: 4, Answer: json.RawMessage(`"yes"`),
			}); err != nil {
				t.Fatal(err)
			}
			breaker, err := first.SaveBreaker(t.Context(), ktrdr.Breaker{
				Name: "agent:a", Scope: ktrdr.ScopeAgent, State: ktrdr.BreakerOpen, Trips: 3,
			},
				ktrdr.BreakerChange{From: ktrdr.BreakerClosed, To: ktrdr.BreakerOpen, Reason: "slow"})
			if err != nil {
				t.Fatal(err)
			}
			if err := first.Release(t.Context(), ktrdr.Released{
				Operation: task.Operation, Epoch: task.Epoch, AfterSeconds: wait.Seconds(),
			}); err != nil {
				t.Fatal(err)
			}
			due := releasedAt(t, first, task.Operation).Add(wait)
			if err := first.Close(); err != nil {
				t.Fatal(err)
			}

			again := openStore(t, where, nil)
			ask.Epoch, ask.Daily = claimDue(t, again, task.Operation, due), 0
			if got, err := again.ReserveCall(t.Context(), ask); err != nil || got.ID != call.ID || string(got.Answer) != `"yes"` {
				t.Errorf("the same question again: %+v, %v", got, err)
			}
			if spent, err := again.Spending(t.Context(), task.Operation); err != nil || spent.Research != 4 {
				t.Errorf("spent %+v, %v, want 4", spent, err)
			}
			if all, err := again.Breakers(t.Context()); err != nil || len(all) != 1 || all[0] != breaker {
				t.Errorf("breakers %+v, %v, want %+v", all, err, breaker)
			}
		})
	}
}

func claimNew(t *testing.T, s *Store) *ktrdr.Task {
	t.Helper()
	if _, err := s.Create(t.Context(), ktrdr.NewOperation{Type: ktrdr.Dummy}, ktrdr.IdempotencyKey{}); err != nil {
		t.Fatal(err)
	}
	task, err := s.Claim(t.Context(), ktrdr.ClaimRequest{Worker: "w", Types: []ktrdr.Type{ktrdr.Dummy}, Free: 1}, "")
	if err != nil || task == nil {
		t.Fatalf("claimed %v, %v", task, err)
	}
	return task
}

func releasedAt(t *testing.T, s *Store, id ktrdr.OperationID) time.Time {
	t.Helper()
	events := wantEvents(t, s, id, ktrdr.EventCreated, ktrdr.EventClaimed, ktrdr.EventReleased)
	return events[2].At
}

// claimDue polls for the operation and requires that it comes when it is due.
func claimDue(t *testing.T, s *Store, id ktrdr.OperationID, due time.Time) ktrdr.Epoch {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		task, err := s.Claim(t.Context(), ktrdr.ClaimRequest{Worker: "w", Types: []ktrdr.Type{ktrdr.Dummy}, Free: 1}, "")
		if err != nil {
			t.Fatal(err)
		}
		if task == nil {
			continue
		}
		if op, err := s.Operation(t.Context(), id); err != nil || task.Operation != id || op.ClaimedAt.Before(due) {
			t.Errorf("claimed %s at %v (%v), want %s from %v", task.Operation, op.ClaimedAt, err, id, due)
		}
		return task.Epoch
	}
	t.Fatal("it could not be claimed")
	return 0
}
