package engine_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/engine"
)

// eventually polls for what a second's memory may hide.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s did not come true", what)
		}
	}
}

// counted counts what health asks of the store.
type counted struct {
	ktrdr.Store
	counts, lists atomic.Int64
}

func (c *counted) Counts(ctx context.Context) ([]ktrdr.Count, error) {
	c.counts.Add(1)
	return c.Store.Counts(ctx)
}

func (c *counted) List(ctx context.Context, q ktrdr.OperationQuery) (ktrdr.OperationPage, error) {
	c.lists.Add(1)
	return c.Store.List(ctx, q)
}

func TestHealth_ManyAtOnceCostOneAsking(t *testing.T) {
	t.Parallel()
	var store *counted
	l := newLab(t, func(c *engine.Config) {
		store = &counted{Store: c.Store}
		c.Store = store
	})
	for range 3 {
		l.submit()
	}
	began := time.Now()
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			if h := l.Health(t.Context()); !h.Store.OK || h.Unschedulable != 3 {
				t.Errorf("health: %+v", h)
			}
		})
	}
	all.Wait()
	if n, most := store.counts.Load(), 1+int64(time.Since(began)/time.Second); n > most || store.lists.Load() > 0 {
		t.Errorf("100 calls counted %d times and listed %d times, want at most %d and none", n, store.lists.Load(), most)
	}
}

func TestHealth_CountsEveryOperationThatCannotStart(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	l.submit()
	if _, err := l.Submit(t.Context(), ktrdr.NewOperation{Type: ktrdr.Training, Spec: []byte(`{}`)}, ktrdr.IdempotencyKey{}); err != nil {
		t.Fatal(err)
	}
	if h := l.Health(t.Context()); h.Unschedulable != 2 || !strings.Contains(strings.Join(h.Problems, "\n"), "2 operations wait") {
		t.Errorf("without a worker: %d, %v", h.Unschedulable, h.Problems)
	}
	l.register("w")
	eventually(t, "only the training cannot start", func() bool { return l.Health(t.Context()).Unschedulable == 1 })
	if err := l.SetPaused(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	if h := l.Health(t.Context()); !h.Paused || h.Unschedulable != 0 {
		t.Errorf("paused: %v, %d that cannot start", h.Paused, h.Unschedulable)
	}
}

// What a second's memory hides must not stand beside what was just looked at.
func TestHealth_IsNoOlderThanAQueueThatWasLookedAt(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	l.register("w")
	if h := l.Health(t.Context()); len(h.Operations) != 0 {
		t.Fatalf("operations %v before there are any", h.Operations)
	}
	l.submit()
	l.claimOne()
	if _, err := l.InQueue(t.Context(), "line", 1); err != nil {
		t.Fatal(err)
	}
	h := l.Health(t.Context())
	if len(h.Operations) != 1 || h.Operations[0].Status != ktrdr.Running || h.Workers.ByType[ktrdr.Dummy].Busy != 1 {
		t.Errorf("operations %v and slots %v, want the one that runs and its slot", h.Operations, h.Workers.ByType)
	}
}

func TestStalled_WorkThatBeatsButDoesNotMoveIsShown(t *testing.T) {
	t.Parallel()
	l := newLab(t, func(c *engine.Config) { c.Settings.StalledAfter = 50 * time.Millisecond })
	op := l.submit()
	task := l.claimOne()
	step := int64(0)
	look := func(beat func()) (shown bool, count int) {
		beat()
		now, err := l.Operation(t.Context(), op.ID)
		if err != nil {
			t.Fatal(err)
		}
		return now.StalledSeconds > 0, l.Health(t.Context()).Stalled
	}
	beat := func() {
		_, err := l.Heartbeat(t.Context(), ktrdr.Heartbeat{
			Worker:  "w",
			Running: []ktrdr.Claimed{{Operation: op.ID, Epoch: task.Epoch, Step: step}},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "it stands still", func() bool {
		shown, count := look(beat)
		return shown && count == 1
	})
	eventually(t, "it moves", func() bool {
		shown, count := look(func() { step++; beat() })
		return !shown && count == 0
	})
}

// unwritable takes no writes any more.
type unwritable struct {
	ktrdr.Store
	full atomic.Bool
}

func (u *unwritable) Beat(ctx context.Context, b ktrdr.Backend) error {
	if u.full.Load() {
		return ktrdr.Errorf(ktrdr.CodeNoSpace, "database or disk is full")
	}
	return u.Store.Beat(ctx, b)
}

func TestHealth_StoreThatTakesNoWritesIsNotOK(t *testing.T) {
	t.Parallel()
	var store *unwritable
	l := newLab(t, func(c *engine.Config) {
		c.Settings.OrphanTimeout = 120 * time.Millisecond
		store = &unwritable{Store: c.Store}
		c.Store = store
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- l.Run(ctx) }()
	eventually(t, "it is well", func() bool { return l.Health(t.Context()).Store.OK })
	store.full.Store(true)
	eventually(t, "health tells that the disk is full", func() bool {
		h := l.Health(t.Context())
		return !h.Store.OK && strings.Contains(h.Store.Error, "full")
	})
	store.full.Store(false)
	eventually(t, "it is well again", func() bool { return l.Health(t.Context()).Store.OK })
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
