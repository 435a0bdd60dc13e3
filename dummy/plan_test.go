package dummy

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ktrdr/ktrdr"
)

// tree drives a plan as a store does, children ending in any order.
type tree struct {
	parent   ktrdr.Operation
	children []ktrdr.Operation
	pick     func(n int) int // which of n open leaves ends next
}

func newTree(t *testing.T, spec Spec, pick func(int) int) *tree {
	t.Helper()
	o, err := Operation(spec)
	if err != nil || !o.HasPlan {
		t.Fatalf("Operation = %+v, %v, want a parent", o, err)
	}
	return &tree{parent: ktrdr.Operation{ID: "op_parent", Type: o.Type, Status: ktrdr.Running, Spec: o.Spec, Priority: o.Priority}, pick: pick}
}

func (tr *tree) ask(t *testing.T, why ktrdr.Why) ktrdr.Decision {
	t.Helper()
	d, err := plan{}.Next(tr.parent, tr.children, why)
	if err != nil {
		t.Fatal(err)
	}
	if d.Progress != nil {
		tr.parent.Progress = *d.Progress
	}
	for _, n := range d.Create {
		tr.children = append(tr.children, ktrdr.Operation{
			ID: ktrdr.OperationID(fmt.Sprintf("op_child_%d", n.Ordinal)), Type: n.Type, Status: ktrdr.Pending, HasPlan: n.HasPlan,
			Parent: n.Parent, Ordinal: n.Ordinal, Priority: n.Priority, Spec: n.Spec,
		})
	}
	for _, id := range d.Resume {
		for i := range tr.children {
			if tr.children[i].ID == id {
				tr.children[i].Status = ktrdr.Pending
			}
		}
	}
	if d.Finish != nil {
		tr.parent.Status, tr.parent.Result, tr.parent.ErrorMessage = d.Finish.Outcome, d.Finish.Result, d.Finish.ErrorMessage
	}
	return d
}

func (tr *tree) open() (open []int) {
	for i, c := range tr.children {
		if !c.Status.Terminal() {
			open = append(open, i)
		}
	}
	return open
}

// complete ends child i as its runner, or its own plan, would.
func (tr *tree) complete(t *testing.T, i int) {
	t.Helper()
	spec, err := ktrdr.ParseSpec[Spec](tr.children[i].Spec)
	if err != nil {
		t.Fatal(err)
	}
	result, err := json.Marshal(Result{Hash: expected(spec), Steps: 1})
	if err != nil {
		t.Fatal(err)
	}
	if len(spec.Children) > 0 {
		sub := newTree(t, spec, tr.pick)
		sub.run(t)
		result = sub.parent.Result
	}
	tr.children[i].Status, tr.children[i].Result = ktrdr.Completed, result
}

func (tr *tree) run(t *testing.T) {
	t.Helper()
	for why := ktrdr.WhyCreated; !tr.parent.Status.Terminal(); why = ktrdr.WhyChild {
		tr.ask(t, why)
		if d := tr.ask(t, ktrdr.WhyChild); d.Changes() && d.Finish == nil {
			t.Fatalf("asked again, the plan wants %+v", d)
		}
		if open := tr.open(); len(open) > 0 {
			tr.complete(t, open[tr.pick(len(open))])
		}
	}
}

func TestPlan_AnyTreeInAnyOrderGivesTheExpectedHash(t *testing.T) {
	var draw func(rt *rapid.T, depth int) Spec
	draw = func(rt *rapid.T, depth int) Spec {
		if depth == 0 || rapid.Bool().Draw(rt, "leaf") {
			return Spec{Steps: rapid.IntRange(1, 5).Draw(rt, "steps")}
		}
		s := Spec{Parallel: rapid.Bool().Draw(rt, "parallel")}
		for range rapid.IntRange(1, 4).Draw(rt, "children") {
			s.Children = append(s.Children, draw(rt, depth-1))
		}
		return s
	}
	rapid.Check(t, func(rt *rapid.T) {
		spec := Spec{Children: []Spec{draw(rt, 2), draw(rt, 2)}, Parallel: rapid.Bool().Draw(rt, "parallel")}
		tr := newTree(t, spec, func(n int) int { return rapid.IntRange(0, n-1).Draw(rt, "next") })
		tr.run(t)
		var r Result
		if err := json.Unmarshal(tr.parent.Result, &r); err != nil || r.Hash.String() != Expected(spec) {
			rt.Fatalf("result %s, %v, want hash %s", tr.parent.Result, err, Expected(spec))
		}
		if p := tr.parent.Progress; p.Percentage != 100 || p.StepsCompleted != 2 {
			rt.Fatalf("progress %+v, want 2 of 2", p)
		}
	})
}

func three(parallel bool) Spec {
	return Spec{Children: []Spec{{Steps: 1}, {Steps: 2, Priority: 9}, {Steps: 3}}, Parallel: parallel, Priority: 4}
}

func TestPlan_OneAfterAnother(t *testing.T) {
	tr := newTree(t, three(false), nil)
	d := tr.ask(t, ktrdr.WhyCreated)
	if len(d.Create) != 1 || d.Create[0].Ordinal != 0 || d.Create[0].Parent != "op_parent" || d.Create[0].Priority != 4 {
		t.Fatalf("first decision %+v, want the first child", d)
	}
	tr.complete(t, 0)
	if d := tr.ask(t, ktrdr.WhyChild); len(d.Create) != 1 || d.Create[0].Ordinal != 1 || d.Create[0].Priority != 9 ||
		d.Progress.StepsCompleted != 1 {
		t.Errorf("second decision %+v, want the second child and progress 1 of 3", d)
	}
}

func TestPlan_AllAtOnce(t *testing.T) {
	tr := newTree(t, three(true), nil)
	if d := tr.ask(t, ktrdr.WhyCreated); len(d.Create) != 3 {
		t.Errorf("first decision %+v, want three children", d)
	}
}

func TestPlan_DeadChildFailsTheParentAfterItsSiblings(t *testing.T) {
	tr := newTree(t, three(true), nil)
	tr.ask(t, ktrdr.WhyCreated)
	tr.children[1].Status, tr.children[1].ErrorMessage = ktrdr.Failed, "bad luck"
	if d := tr.ask(t, ktrdr.WhyChild); d.Changes() {
		t.Errorf("with open siblings the plan wants %+v, want to wait", d)
	}
	tr.complete(t, 0)
	tr.complete(t, 2)
	tr.ask(t, ktrdr.WhyChild)
	if tr.parent.Status != ktrdr.Failed || !strings.Contains(tr.parent.ErrorMessage, "child 1 (op_child_1) ended FAILED: bad luck") {
		t.Errorf("parent is %s with %q, want FAILED naming child 1", tr.parent.Status, tr.parent.ErrorMessage)
	}
}

func TestPlan_CancelledChildStopsTheRow(t *testing.T) {
	tr := newTree(t, three(false), nil)
	tr.ask(t, ktrdr.WhyCreated)
	tr.children[0].Status = ktrdr.Cancelled
	d := tr.ask(t, ktrdr.WhyChild)
	if len(d.Create) != 0 || tr.parent.Status != ktrdr.Failed || !strings.Contains(tr.parent.ErrorMessage, "CANCELLED") {
		t.Errorf("decision %+v, parent %s, want FAILED and no further child", d, tr.parent.Status)
	}
}

func TestPlan_ResumeContinuesDeadChildren(t *testing.T) {
	spec := three(true)
	tr := newTree(t, spec, func(int) int { return 0 })
	tr.ask(t, ktrdr.WhyCreated)
	tr.complete(t, 0)
	tr.children[1].Status, tr.children[2].Status = ktrdr.Failed, ktrdr.Cancelled
	tr.ask(t, ktrdr.WhyChild)
	if tr.parent.Status != ktrdr.Failed {
		t.Fatalf("parent is %s, want FAILED", tr.parent.Status)
	}
	tr.parent.Status = ktrdr.Running
	if d := tr.ask(t, ktrdr.WhyResumed); len(d.Resume) != 2 || d.Finish != nil {
		t.Fatalf("decision %+v, want two children resumed", d)
	}
	tr.run(t)
	var r Result
	if err := json.Unmarshal(tr.parent.Result, &r); err != nil || r.Hash.String() != Expected(spec) {
		t.Errorf("result %s, want hash %s", tr.parent.Result, Expected(spec))
	}
}
