package research

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
)

// ward is the operations of an engine that starts at once whatever it is given.
type ward struct {
	*attic
	ops    []ktrdr.Operation // oldest first
	keys   map[string]bool
	paused bool
	broken int // submissions that come through before the rest are refused; 0 means all
}

func (w *ward) List(_ context.Context, q ktrdr.OperationQuery) (page ktrdr.OperationPage, _ error) {
	from := len(w.ops)
	if q.Cursor != "" {
		_, _ = fmt.Sscan(q.Cursor, &from)
	}
	for ; from > 0 && len(page.Operations) < q.Limit; from-- {
		page.Operations = append(page.Operations, w.ops[from-1])
	}
	if from > 0 {
		page.Next = fmt.Sprint(from)
	}
	return page, nil
}

func (w *ward) Submit(_ context.Context, op ktrdr.NewOperation, key ktrdr.IdempotencyKey) (ktrdr.Operation, error) {
	if key.Key != "" && w.keys[key.Key] {
		return ktrdr.Operation{}, nil
	}
	if w.broken > 0 {
		if w.broken--; w.broken == 0 {
			return ktrdr.Operation{}, ktrdr.Errorf(ktrdr.CodeUnavailable, "the database is away")
		}
	}
	w.keys[key.Key] = true
	w.ops = append(w.ops, ktrdr.Operation{Type: op.Type, Status: ktrdr.Running, Spec: op.Spec, Metadata: op.Metadata})
	return w.ops[len(w.ops)-1], nil
}

func (w *ward) Paused(context.Context) (bool, error) { return w.paused, nil }

// places are where its researches stand.
func (w *ward) places(t *testing.T) (all []Place) {
	t.Helper()
	for _, op := range w.ops {
		spec, err := Parse[Spec](op.Spec)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, spec.Place)
	}
	return all
}

// newNight is a night whose run has its first generation of two.
func newNight(t *testing.T, until time.Time) (*Night, *ward) {
	t.Helper()
	d, a := newDesk(t, map[string]int{"EURUSD": 1200})
	w := &ward{attic: a, keys: map[string]bool{}}
	order, err := d.Trigger(t.Context(), Trigger{Count: 2, Until: until, Run: "long"})
	if err != nil {
		t.Fatal(err)
	}
	for _, op := range order.Operations {
		if _, err := w.Submit(t.Context(), op, ktrdr.IdempotencyKey{Key: string(op.Spec)}); err != nil {
			t.Fatal(err)
		}
	}
	return NewNight(d, w), w
}

func TestNight_BeginsTheNextGenerationWhenNobodyWaits(t *testing.T) {
	until := time.Now().Add(time.Hour)
	n, w := newNight(t, until)
	keep := func(now time.Time) bool {
		lasting, err := n.Keep(t.Context(), now)
		if err != nil {
			t.Fatal(err)
		}
		return lasting
	}
	w.waiting = 1
	if keep(time.Now()); len(w.ops) != 2 {
		t.Fatalf("%d researches although one waits, want 2", len(w.ops))
	}
	w.waiting, w.paused = 0, true
	if keep(time.Now()); len(w.ops) != 2 {
		t.Fatalf("%d researches in a pause, want 2", len(w.ops))
	}
	w.paused, w.broken = false, 2
	if _, err := n.Keep(t.Context(), time.Now()); err == nil || len(w.ops) != 3 {
		t.Fatalf("interrupted: %v, %d researches, want one more and the error", err, len(w.ops))
	}
	keep(time.Now()) // completes what was interrupted
	if got, want := fmt.Sprint(w.places(t)), "[{long 0 0} {long 0 1} {long 1 0} {long 1 1}]"; got != want {
		t.Fatalf("researches at %s, want %s", got, want)
	}
	seeds, trials := map[uint64]bool{}, 0
	for _, op := range w.ops {
		spec, _ := Parse[Spec](op.Spec)
		seeds[spec.Seed], trials = true, spec.Trials.Count
		if spec.Horizon != "42" || spec.RunSeed != 6 || !spec.Until.Equal(until) {
			t.Errorf("pinned as %+v, want as the first of the run", spec)
		}
	}
	if len(seeds) != 4 || trials != 4+5 {
		t.Errorf("%d seeds, and %d trials count against the last, want 4 and 9", len(seeds), trials)
	}
	if lasting := keep(until); lasting || len(w.ops) != 4 {
		t.Errorf("at its end: lasting %v, %d researches", lasting, len(w.ops))
	}
}

func TestNight_EndsWithAGenerationOfFailuresOrACancelledRun(t *testing.T) {
	for name, end := range map[string]func(first, second *ktrdr.Operation){
		"all failed":            func(a, b *ktrdr.Operation) { a.Status, b.Status = ktrdr.Failed, ktrdr.Cancelled },
		"the run was cancelled": func(a, b *ktrdr.Operation) { a.Status, b.CancelReason = ktrdr.Completed, RunCancelled },
	} {
		t.Run(name, func(t *testing.T) {
			n, w := newNight(t, time.Now().Add(time.Hour))
			end(&w.ops[0], &w.ops[1])
			if _, err := n.Keep(t.Context(), time.Now()); err != nil || len(w.ops) != 2 {
				t.Errorf("%v, %d researches, want no more than 2", err, len(w.ops))
			}
		})
	}
}

func TestNight_OrdinaryRunsDoNotLast(t *testing.T) {
	d, a := newDesk(t, map[string]int{"EURUSD": 1200})
	w := &ward{attic: a, keys: map[string]bool{}}
	order, err := d.Trigger(t.Context(), Trigger{Count: 3})
	if err != nil {
		t.Fatal(err)
	}
	for i, op := range order.Operations {
		_, _ = w.Submit(t.Context(), op, ktrdr.IdempotencyKey{Key: fmt.Sprint(i)})
	}
	w.ops = append(w.ops, ktrdr.Operation{Type: ktrdr.AgentResearch, Metadata: json.RawMessage(`"odd"`)})
	if lasting, err := NewNight(d, w).Keep(t.Context(), time.Now()); err != nil || lasting || len(w.ops) != 4 {
		t.Errorf("lasting %v, %v, %d researches, want nothing to happen", lasting, err, len(w.ops))
	}
}
