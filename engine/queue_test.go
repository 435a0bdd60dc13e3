package engine_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/dummy"
	"github.com/ktrdr/ktrdr/engine"
)

// slotsOfLive is a limit as a product would have it: one for each live slot.
func slotsOfLive(workers []ktrdr.Worker) int {
	n := 0
	for _, w := range workers {
		if w.Live {
			n += w.Slots
		}
	}
	return n
}

// parentIn is a dummy parent of one child that stands in the line.
func parentIn(t *testing.T, q ktrdr.Queue) ktrdr.NewOperation {
	t.Helper()
	n, err := dummy.Operation(dummy.Spec{Children: []dummy.Spec{{Steps: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	q.Name = "line"
	n.Queue = &q
	return n
}

// newLine is a lab whose engine runs and has one line.
func newLine(t *testing.T) *lab {
	t.Helper()
	l := newLab(t, func(c *engine.Config) { c.Queues = []engine.Queue{{Name: "line", Limit: slotsOfLive}} })
	run(t, l)
	return l
}

// run keeps an engine running until the test ends.
func run(t *testing.T, l *lab) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestQueue_StartsWhoWaitsAsSoonAsThereIsRoom(t *testing.T) {
	t.Parallel()
	l := newLine(t)
	first, err := l.Submit(t.Context(), parentIn(t, ktrdr.Queue{}), ktrdr.IdempotencyKey{})
	if err != nil || first.Status != ktrdr.Running || first.Session != 1 {
		t.Fatalf("the first is %s with session %d, %v", first.Status, first.Session, err)
	}
	if _, err := l.Submit(t.Context(), parentIn(t, ktrdr.Queue{Limit: 100}),
		ktrdr.IdempotencyKey{}); ktrdr.CodeOf(err) != ktrdr.CodeAtCapacity {
		t.Errorf("the second: %v, want %s whatever limit it names", err, ktrdr.CodeAtCapacity)
	}
	second, err := l.Submit(t.Context(), parentIn(t, ktrdr.Queue{Force: true}), ktrdr.IdempotencyKey{})
	if err != nil || second.Status != ktrdr.Pending {
		t.Fatalf("the forced one is %s, %v", second.Status, err)
	}
	third, err := l.Submit(t.Context(), parentIn(t, ktrdr.Queue{Force: true}), ktrdr.IdempotencyKey{})
	if err != nil {
		t.Fatal(err)
	}
	if op, err := l.Operation(t.Context(), second.ID); err != nil || op.Unschedulable != "" {
		t.Errorf("who waits for its turn is said to wait for a worker: %q, %v", op.Unschedulable, err)
	}
	eventually(t, "health shows the line", func() bool {
		return l.Health(t.Context()).Queues["line"] == ktrdr.QueueHealth{Limit: 1, Active: 1, Waiting: 2}
	})

	task := l.claimOne()
	if err := l.Finish(t.Context(), ktrdr.Finished{Operation: task.Operation, Epoch: task.Epoch, Outcome: ktrdr.Failed}); err != nil {
		t.Fatal(err)
	}
	l.wait(second.ID, ktrdr.Running)
	if op, err := l.Operation(t.Context(), third.ID); err != nil || op.Status != ktrdr.Pending {
		t.Errorf("the third is %s, %v, want it to wait", op.Status, err)
	}
	l.register("w1") // a second slot beside the one that there always is
	l.register("w2")
	l.wait(third.ID, ktrdr.Running)
}

func (l *lab) wait(id ktrdr.OperationID, want ktrdr.Status) {
	l.t.Helper()
	eventually(l.t, string(id)+" is "+string(want), func() bool {
		op, err := l.Operation(l.t.Context(), id)
		if err != nil {
			l.t.Fatal(err)
		}
		return op.Status == want
	})
}

func TestQueue_UnknownOneIsRefused(t *testing.T) {
	t.Parallel()
	l := newLab(t, func(c *engine.Config) { c.Queues = []engine.Queue{{Name: "other", Limit: slotsOfLive}} })
	_, err := l.Submit(t.Context(), parentIn(t, ktrdr.Queue{}), ktrdr.IdempotencyKey{})
	if ktrdr.CodeOf(err) != ktrdr.CodeInvalid || !strings.Contains(err.Error(), "other") {
		t.Errorf("err = %v, want one that names the queues there are", err)
	}
}

func TestRetry_StandsInTheSamePlace(t *testing.T) {
	t.Parallel()
	l := newLab(t, func(c *engine.Config) { c.Queues = []engine.Queue{{Name: "line", Limit: slotsOfLive}} })
	place := ktrdr.Queue{Run: "r", Generation: 2, Index: 3}
	op, err := l.Submit(t.Context(), parentIn(t, place), ktrdr.IdempotencyKey{})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := l.Cancel(t.Context(), op.ID, ""); err != nil {
		t.Fatal(err)
	}
	again, err := l.Retry(t.Context(), op.ID, ktrdr.IdempotencyKey{})
	if err != nil || again.Queue == nil || *again.Queue != *op.Queue || again.Session <= op.Session {
		t.Errorf("retried: %+v with session %d, %v, want %+v", again.Queue, again.Session, err, op.Queue)
	}
	text, err := json.Marshal(again)
	if err != nil || !strings.Contains(string(text), `"session_id":2`) {
		t.Errorf("as JSON: %s, %v", text, err)
	}
}

// asked counts how often the engine has all plans asked.
type asked struct {
	ktrdr.Store
	n atomic.Int64
}

func (a *asked) AskPlans(ctx context.Context) (int, error) {
	a.n.Add(1)
	return a.Store.AskPlans(ctx)
}

func TestRun_AsksThePlansAgainAndAgain(t *testing.T) {
	t.Parallel()
	var store *asked
	l := newLab(t, func(c *engine.Config) {
		store = &asked{Store: c.Store}
		c.Store = store
	})
	run(t, l)
	eventually(t, "they were asked twice", func() bool { return store.n.Load() >= 2 })
}
