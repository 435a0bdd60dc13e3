package sqlstore

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/storetest"
)

// planFunc is a plan that is a function.
type planFunc func(p ktrdr.Operation, children []ktrdr.Operation, why ktrdr.Why) (ktrdr.Decision, error)

func (f planFunc) Next(p ktrdr.Operation, children []ktrdr.Operation, why ktrdr.Why) (ktrdr.Decision, error) {
	return f(p, children, why)
}

// fanOut is a plan of n parallel dummies that is COMPLETED when all are, and
// FAILED with the first that is not. Resumed, it resumes what is dead.
func fanOut(n int) planFunc {
	return func(_ ktrdr.Operation, children []ktrdr.Operation, why ktrdr.Why) (d ktrdr.Decision, _ error) {
		if len(children) == 0 {
			for i := range n {
				d.Create = append(d.Create, ktrdr.NewOperation{Type: ktrdr.Dummy, Ordinal: i})
			}
			d.Phase, d.State = "WORKING", json.RawMessage(`{"made":true}`)
			return d, nil
		}
		done := 0
		for _, c := range children {
			switch {
			case c.Status == ktrdr.Completed:
				done++
			case c.Status.Terminal() && why == ktrdr.WhyResumed:
				d.Resume = append(d.Resume, c.ID)
			case c.Status.Terminal():
				d.Finish = &ktrdr.Finished{Outcome: ktrdr.Failed, ErrorMessage: "child " + string(c.ID) + " did not complete"}
			}
		}
		if done == len(children) {
			d.Finish = &ktrdr.Finished{Outcome: ktrdr.Completed, Result: json.RawMessage(`{"done":true}`)}
		}
		return d, nil
	}
}

func create(t *testing.T, s *Store, n ktrdr.NewOperation) ktrdr.Operation {
	t.Helper()
	op, err := s.Create(t.Context(), n, ktrdr.IdempotencyKey{})
	if err != nil {
		t.Fatal(err)
	}
	return op
}

func createParent(t *testing.T, s *Store) ktrdr.Operation {
	t.Helper()
	return create(t, s, ktrdr.NewOperation{Type: ktrdr.AgentResearch, HasPlan: true, BackendLocal: true})
}

func claimDummy(t *testing.T, s *Store, heldBy ktrdr.Incarnation) *ktrdr.Task {
	t.Helper()
	task, err := s.Claim(t.Context(), ktrdr.ClaimRequest{Worker: "w1", Types: []ktrdr.Type{ktrdr.Dummy}}, heldBy)
	if err != nil {
		t.Fatal(err)
	}
	if task == nil {
		t.Fatal("nothing to claim")
	}
	return task
}

func finish(t *testing.T, s *Store, task *ktrdr.Task, outcome ktrdr.Status) {
	t.Helper()
	if _, err := s.Finish(t.Context(), ktrdr.Finished{Operation: task.Operation, Epoch: task.Epoch, Outcome: outcome}); err != nil {
		t.Fatal(err)
	}
}

func wantStatus(t *testing.T, s *Store, id ktrdr.OperationID, want ktrdr.Status) ktrdr.Operation {
	t.Helper()
	op, err := s.Operation(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if op.Status != want {
		t.Fatalf("%s is %s (%s), want %s", id, op.Status, op.ErrorMessage, want)
	}
	return op
}

func childrenOf(t *testing.T, s *Store, id ktrdr.OperationID) []ktrdr.Operation {
	t.Helper()
	page, err := s.List(t.Context(), ktrdr.OperationQuery{Parent: id, Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(page.Operations, func(a, b ktrdr.Operation) int { return a.Ordinal - b.Ordinal })
	return page.Operations
}

func TestPlan_ParentEndsWithItsLastChild(t *testing.T) {
	eachStore(t, storetest.Types(fanOut(3)), func(t *testing.T, s *Store) {
		p := createParent(t, s)
		if p.Status != ktrdr.Running || p.Epoch != 1 || p.Phase != "WORKING" || p.Checkpoint == nil {
			t.Fatalf("parent is %s at epoch %d in phase %q with checkpoint %v", p.Status, p.Epoch, p.Phase, p.Checkpoint)
		}
		for i := range 3 {
			wantStatus(t, s, p.ID, ktrdr.Running)
			task := claimDummy(t, s, "")
			finish(t, s, task, ktrdr.Completed)
			if i == 0 {
				finish(t, s, task, ktrdr.Completed) // its answer was lost
			}
		}
		if op := wantStatus(t, s, p.ID, ktrdr.Completed); string(op.Result) != `{"done":true}` {
			t.Errorf("result is %s", op.Result)
		}
	})
}

func TestPlan_StoppedParentEndsAfterItsChildren(t *testing.T) {
	eachStore(t, storetest.Types(fanOut(3)), func(t *testing.T, s *Store) {
		p := createParent(t, s)
		bad, running := claimDummy(t, s, ""), claimDummy(t, s, "")
		finish(t, s, bad, ktrdr.Failed)

		wantStatus(t, s, p.ID, ktrdr.Running) // a child still runs
		if op := wantStatus(t, s, running.Operation, ktrdr.Running); !op.CancelRequested {
			t.Error("the running child is not being cancelled")
		}
		for _, c := range childrenOf(t, s, p.ID) {
			if c.ID != bad.Operation && c.ID != running.Operation {
				wantStatus(t, s, c.ID, ktrdr.Cancelled)
				if _, err := s.Resume(t.Context(), c.ID); ktrdr.CodeOf(err) != ktrdr.CodeConflict {
					t.Errorf("resume below an ending parent: err = %v, want a conflict", err)
				}
			}
		}
		_, err := s.Create(t.Context(), ktrdr.NewOperation{Type: ktrdr.Dummy, Parent: p.ID}, ktrdr.IdempotencyKey{})
		if ktrdr.CodeOf(err) != ktrdr.CodeConflict {
			t.Errorf("new child of an ending parent: err = %v, want a conflict", err)
		}

		finish(t, s, running, ktrdr.Completed)
		wantStatus(t, s, running.Operation, ktrdr.Cancelled)
		if op := wantStatus(t, s, p.ID, ktrdr.Failed); !strings.Contains(op.ErrorMessage, string(bad.Operation)) {
			t.Errorf("parent failed with %q, want the plan's own sentence", op.ErrorMessage)
		}

		if _, err := s.Resume(t.Context(), p.ID); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			finish(t, s, claimDummy(t, s, ""), ktrdr.Completed)
		}
		wantStatus(t, s, p.ID, ktrdr.Completed)
	})
}

// nested is a plan of plans: depth levels of one child each, then a dummy.
func nested(depth int) planFunc {
	return func(p ktrdr.Operation, children []ktrdr.Operation, _ ktrdr.Why) (ktrdr.Decision, error) {
		var level int
		if err := json.Unmarshal(p.Spec, &level); err != nil {
			return ktrdr.Decision{}, err
		}
		switch {
		case len(children) > 0 && !children[0].Status.Terminal():
			return ktrdr.Decision{}, nil
		case len(children) > 0:
			return ktrdr.Decision{
				Finish: &ktrdr.Finished{Outcome: children[0].Status, ErrorMessage: children[0].ErrorMessage, Error: children[0].Error},
			}, nil
		case level == depth:
			return ktrdr.Decision{Create: []ktrdr.NewOperation{{Type: ktrdr.Dummy}}}, nil
		}
		spec := fmt.Appendf(nil, "%d", level+1)
		return ktrdr.Decision{Create: []ktrdr.NewOperation{{Type: p.Type, HasPlan: true, BackendLocal: true, Spec: spec}}}, nil
	}
}

func TestPlan_MovesATreeOfParentsInOneTransaction(t *testing.T) {
	eachStore(t, storetest.Types(nested(5)), func(t *testing.T, s *Store) {
		top := func() ktrdr.Operation {
			return create(t, s, ktrdr.NewOperation{Type: ktrdr.AgentResearch, HasPlan: true, Spec: json.RawMessage(`1`)})
		}
		p := top()
		task := claimDummy(t, s, "")
		if leaf := wantStatus(t, s, task.Operation, ktrdr.Running); leaf.Root != p.ID {
			t.Errorf("leaf's root is %s, want %s", leaf.Root, p.ID)
		}
		finish(t, s, task, ktrdr.Completed)
		wantStatus(t, s, p.ID, ktrdr.Completed)

		p = top()
		_, reached, err := s.Cancel(t.Context(), p.ID, "enough")
		if err != nil {
			t.Fatal(err)
		}
		if len(reached) != 6 || reached[0] != p.ID {
			t.Errorf("cancel reached %v, want the six of the tree from the top", reached)
		}
		for _, id := range reached {
			if op := wantStatus(t, s, id, ktrdr.Cancelled); op.ErrorMessage != "enough" || op.Error.Code != ktrdr.CodeCancelled {
				t.Errorf("%s ended with %q, %v", id, op.ErrorMessage, op.Error)
			}
		}
	})
}

func TestPlan_GoneWrongFailsItsParentAlone(t *testing.T) {
	many := make([]ktrdr.NewOperation, maxChildren+1)
	for i := range many {
		many[i] = ktrdr.NewOperation{Type: ktrdr.Dummy}
	}
	wrong := map[string]struct {
		plan planFunc
		code ktrdr.Code
		want string
	}{
		"panics": {func(ktrdr.Operation, []ktrdr.Operation, ktrdr.Why) (ktrdr.Decision, error) { panic("boom") }, ktrdr.CodePanic, "boom"},
		"errs": {func(ktrdr.Operation, []ktrdr.Operation, ktrdr.Why) (ktrdr.Decision, error) {
			return ktrdr.Decision{}, errors.New("no idea\x00")
		}, ktrdr.CodeInternal, "no idea"},
		"wants too much": {func(ktrdr.Operation, []ktrdr.Operation, ktrdr.Why) (ktrdr.Decision, error) {
			return ktrdr.Decision{Create: many}, nil
		}, ktrdr.CodeInternal, "at most 1000"},
		"goes too deep": {nested(100), ktrdr.CodeInternal, "at most 16"},
		"takes an id": {func(p ktrdr.Operation, _ []ktrdr.Operation, _ ktrdr.Why) (ktrdr.Decision, error) {
			return ktrdr.Decision{Create: []ktrdr.NewOperation{{Type: ktrdr.Dummy}, {ID: p.ID, Type: ktrdr.Dummy}}}, nil
		}, ktrdr.CodeInternal, "taken"},
		"ends with no JSON": {func(ktrdr.Operation, []ktrdr.Operation, ktrdr.Why) (ktrdr.Decision, error) {
			return ktrdr.Decision{Finish: &ktrdr.Finished{Outcome: ktrdr.Completed, Result: json.RawMessage(`{`)}}, nil
		}, ktrdr.CodeInvalid, "not valid JSON"},
		"makes an unknown type": {func(ktrdr.Operation, []ktrdr.Operation, ktrdr.Why) (ktrdr.Decision, error) {
			return ktrdr.Decision{Create: []ktrdr.NewOperation{{Type: "nonsense"}}}, nil
		}, ktrdr.CodeInvalid, "nonsense"},
	}
	byName := func(p ktrdr.Operation, children []ktrdr.Operation, why ktrdr.Why) (ktrdr.Decision, error) {
		var name string
		if json.Unmarshal(p.Metadata, &name) != nil {
			name = "goes too deep" // a child of it
		}
		return wrong[name].plan(p, children, why)
	}
	eachStore(t, storetest.Types(planFunc(byName)), func(t *testing.T, s *Store) {
		for name, c := range wrong {
			p := create(t, s, ktrdr.NewOperation{
				Type: ktrdr.AgentResearch, HasPlan: true, Spec: json.RawMessage(`1`), Metadata: fmt.Appendf(nil, "%q", name),
			})
			if p.Status != ktrdr.Failed || p.Error == nil || p.Error.Code != c.code || !strings.Contains(p.ErrorMessage, c.want) {
				t.Errorf("one that %s is %s with %q, %+v; want FAILED, %s, %q", name, p.Status, p.ErrorMessage, p.Error, c.code, c.want)
			}
			page, err := s.List(t.Context(), ktrdr.OperationQuery{ActiveOnly: true})
			if err != nil || len(page.Operations) != 0 {
				t.Errorf("one that %s leaves %d operations open (%v)", name, len(page.Operations), err)
			}
		}
	})
}

func TestStore_RefusedEpochIsLoggedOnce(t *testing.T) {
	eachStore(t, nil, func(t *testing.T, s *Store) {
		op := create(t, s, ktrdr.NewOperation{Type: ktrdr.Dummy})
		stale := claimDummy(t, s, "")
		if err := s.Release(t.Context(), ktrdr.Released{Operation: op.ID, Epoch: stale.Epoch, Reason: "stopping"}); err != nil {
			t.Fatal(err)
		}
		live := claimDummy(t, s, "")
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				for name, err := range map[string]error{
					"progress": s.SaveProgress(t.Context(), ktrdr.ProgressReport{Operation: op.ID, Epoch: stale.Epoch}),
					"release":  s.Release(t.Context(), ktrdr.Released{Operation: op.ID, Epoch: stale.Epoch}),
				} {
					te, ok := errors.AsType[*ktrdr.TransitionError](err)
					if !ok || te.Code != ktrdr.CodeStaleEpoch || te.ID != op.ID || te.Epoch != live.Epoch {
						t.Errorf("%s: err = %v, want a stale epoch", name, err)
					}
				}
			})
		}
		wg.Wait()
		events := wantEvents(t, s, op.ID, ktrdr.EventCreated, ktrdr.EventClaimed, ktrdr.EventReleased, ktrdr.EventClaimed,
			ktrdr.EventWriteRefused, ktrdr.EventWriteRefused)
		if !strings.Contains(string(events[2].Data), `stopping`) {
			t.Errorf("released with %s, want the reason", events[2].Data)
		}
		var refused struct {
			Input  ktrdr.Input
			Given  ktrdr.Epoch `json:"given_epoch"`
			Epoch  ktrdr.Epoch
			Status ktrdr.Status
		}
		if err := json.Unmarshal(events[4].Data, &refused); err != nil {
			t.Fatal(err)
		}
		if refused.Given != stale.Epoch || refused.Epoch != live.Epoch || refused.Status != ktrdr.Running {
			t.Errorf("refused with %s", events[4].Data)
		}
	})
}

func TestClaim_SameKeyAtOnceIsOneClaim(t *testing.T) {
	eachStore(t, nil, func(t *testing.T, s *Store) {
		const n = 16
		for range n {
			create(t, s, ktrdr.NewOperation{Type: ktrdr.Dummy})
		}
		tasks := make([]*ktrdr.Task, n)
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() {
				var err error
				tasks[i], err = s.Claim(t.Context(), ktrdr.ClaimRequest{Worker: "w1", Key: "k1", Types: []ktrdr.Type{ktrdr.Dummy, ktrdr.Training}}, "")
				if err != nil || tasks[i] == nil {
					t.Errorf("claim: %v, %v", tasks[i], err)
				}
			})
		}
		wg.Wait()
		if t.Failed() {
			return
		}
		for _, task := range tasks {
			if task.Operation != tasks[0].Operation || task.Epoch != 1 {
				t.Errorf("claimed %s at epoch %d, want %s at 1", task.Operation, task.Epoch, tasks[0].Operation)
			}
		}
	})
}

func TestCreate_SameKeyAtOnceIsOneOperation(t *testing.T) {
	eachStore(t, nil, func(t *testing.T, s *Store) {
		key := ktrdr.IdempotencyKey{Key: "once", Body: ktrdr.Hash{1}}
		ids := make([]ktrdr.OperationID, 16)
		var wg sync.WaitGroup
		for i := range ids {
			wg.Go(func() {
				op, err := s.Create(t.Context(), ktrdr.NewOperation{Type: ktrdr.Dummy}, key)
				if err != nil {
					t.Error(err)
				}
				ids[i] = op.ID
			})
		}
		wg.Wait()
		if same := slices.Compact(slices.Clone(ids)); len(same) != 1 {
			t.Errorf("one key made %v", same)
		}
		key.Body = ktrdr.Hash{2}
		if _, err := s.Create(t.Context(), ktrdr.NewOperation{Type: ktrdr.Dummy}, key); ktrdr.CodeOf(err) != ktrdr.CodeKeyReused {
			t.Errorf("another body: err = %v, want %s", err, ktrdr.CodeKeyReused)
		}
	})
}
