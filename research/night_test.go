package research

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
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
		spec, err := ktrdr.ParseSpec[Spec](op.Spec)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, spec.Place)
	}
	return all
}

// newNight is a night whose run has its first generation.
func newNight(t *testing.T, size int, until time.Time) (*Night, *ward) {
	t.Helper()
	d, a := newDesk(t, map[string]int{"EURUSD": 1200})
	w := &ward{attic: a, keys: map[string]bool{}}
	order, err := d.Trigger(t.Context(), Trigger{Count: size, Until: until, Run: "long"})
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
	n, w := newNight(t, 2, until)
	keep := func(now time.Time) bool {
		kept, err := n.Keep(t.Context(), now)
		if err != nil {
			t.Fatal(err)
		}
		return kept.Lasting
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
		spec, _ := ktrdr.ParseSpec[Spec](op.Spec)
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

func TestNight_EndsWithFailuresOrACancelledRun(t *testing.T) {
	failed := func(op *ktrdr.Operation) { op.Status = ktrdr.Failed }
	for name, c := range map[string]struct {
		size  int
		end   []func(*ktrdr.Operation) // one for each generation, done to all of it
		ended bool
		goes  bool
	}{
		"one generation failed":          {2, []func(*ktrdr.Operation){failed}, false, true},
		"a single research failed":       {1, []func(*ktrdr.Operation){failed}, false, true},
		"two generations in a row":       {1, []func(*ktrdr.Operation){failed, failed}, true, false},
		"two, and one between them":      {1, []func(*ktrdr.Operation){failed, func(op *ktrdr.Operation) { op.Status = ktrdr.Completed }, failed}, false, true},
		"one generation of eight failed": {8, []func(*ktrdr.Operation){failed}, true, false},
		"the run was cancelled":          {2, []func(*ktrdr.Operation){func(op *ktrdr.Operation) { op.CancelReason = RunCancelled }}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			n, w := newNight(t, c.size, time.Now().Add(time.Hour))
			for g, end := range c.end {
				for i := range c.size {
					end(&w.ops[g*c.size+i])
				}
				kept, err := n.Keep(t.Context(), time.Now())
				if err != nil {
					t.Fatal(err)
				}
				if g < len(c.end)-1 {
					continue
				}
				if (len(kept.Ended) > 0) != c.ended || kept.Lasting != c.goes || (len(w.ops) > len(c.end)*c.size) != c.goes {
					t.Errorf("%+v, %d researches", kept, len(w.ops))
				}
			}
		})
	}
}

// The researches of another run lie between those of a generation, and more of
// them than a page holds.
func TestNight_SeesAGenerationThatAPageCuts(t *testing.T) {
	n, w := newNight(t, 2, time.Now().Add(time.Hour))
	if _, err := n.Keep(t.Context(), time.Now()); err != nil || len(w.ops) != 4 {
		t.Fatalf("%v, %d researches, want the second generation", err, len(w.ops))
	}
	other := ktrdr.Operation{Type: ktrdr.AgentResearch, Metadata: json.RawMessage("{}")}
	w.ops = slices.Concat(w.ops[:3], slices.Repeat([]ktrdr.Operation{other}, scanPages), w.ops[3:])
	before := len(w.ops)
	kept, err := n.Keep(t.Context(), time.Now())
	if err != nil || len(kept.Begun) != 1 || kept.Begun[0].Generation != 2 || len(w.ops) != before+2 {
		t.Errorf("%+v, %v, %d researches more, want the next generation", kept, err, len(w.ops)-before)
	}
}

// However long the night: what the generations take of the level is one.
func TestNight_CountsEveryGenerationForAllToCome(t *testing.T) {
	n, w := newNight(t, 2, time.Now().Add(time.Hour))
	for range 20 {
		if _, err := n.Keep(t.Context(), time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	taken := 0.0
	for _, op := range w.ops {
		spec, err := ktrdr.ParseSpec[Spec](op.Spec)
		if err != nil {
			t.Fatal(err)
		}
		if want := 5 + 2*(spec.Generation+1)*(spec.Generation+2); spec.Trials.Planned != want || spec.Openings.Own != 2 || spec.Openings.Last {
			t.Fatalf("generation %d: %+v, %+v, want %d trials planned, and two openings", spec.Generation, spec.Trials, spec.Openings, want)
		}
		taken += 1 / float64(spec.Trials.Planned)
	}
	if len(w.ops) != 42 || taken > 1 {
		t.Errorf("%d researches take %v of the level", len(w.ops), taken)
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
	if kept, err := NewNight(d, w).Keep(t.Context(), time.Now()); err != nil || kept.Lasting || len(w.ops) != 4 {
		t.Errorf("%+v, %v, %d researches, want nothing to happen", kept, err, len(w.ops))
	}
}

func TestNight_LeavesTheFirstGenerationToWhoeverAsksForIt(t *testing.T) {
	n, w := newNight(t, 2, time.Now().Add(time.Hour))
	asked := time.Now()
	w.ops = w.ops[:1] // the second of the first two is on its way
	w.ops[0].CreatedAt = asked
	if kept, err := n.Keep(t.Context(), asked.Add(askingTakes/2)); err != nil || !kept.Lasting || len(w.ops) != 1 {
		t.Fatalf("%+v, %v, %d researches, want it to wait", kept, err, len(w.ops))
	}
	if _, err := n.Keep(t.Context(), asked.Add(2*askingTakes)); err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(w.places(t)), "[{long 0 0} {long 1 0} {long 1 1}]"; got != want {
		t.Errorf("researches at %s, want %s: what was broken off stays as it is", got, want)
	}
}
