package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/labtest"
	"github.com/ktrdr/ktrdr/research"
)

func TestResearches_TwoAtOnceBothComplete(t *testing.T) {
	onBoth(t, labtest.Calm, func(t *testing.T, l *lab) {
		l.Serve("KTRDR_INJECT=delay=1s:designing:")
		l.Researcher()
		l.Researcher()
		a, b := l.trigger("A"), l.trigger("B")
		l.completes(a, phases...)
		l.completes(b, phases...)
		if n := together([]ktrdr.Operation{l.Op(a), l.Op(b)}); n != 2 {
			t.Errorf("%d of two were active at a time, want both", n)
		}
	})
}

func TestResearches_MoreThanWorkersWaitForThem(t *testing.T) {
	onBoth(t, labtest.Calm, func(t *testing.T, l *lab) {
		l.Serve("KTRDR_MAX_RESEARCHES=5", "KTRDR_INJECT=delay=300ms:training:")
		l.Researcher()
		l.Researcher()
		made, err := l.client.Trigger(t.Context(), research.Request{Count: 5, BypassGates: true}, "")
		if err != nil {
			t.Fatal(err)
		}
		var trainings, all []ktrdr.Operation
		for _, r := range made.Operations {
			l.completes(r.Operation, phases...)
			l.once(r.Operation)
			trainings = append(trainings, l.childrenOf(r.Operation, ktrdr.Training)...)
			all = append(all, l.Op(r.Operation))
		}
		if n := together(trainings); n > 2 {
			t.Errorf("%d trainings at a time on two workers", n)
		}
		if n := together(all); n < 3 {
			t.Errorf("%d researches at a time, want more than there are workers", n)
		}
	})
}

// together is how many operations ran at the same time at most, by the instants
// that the store keeps.
func together(ops []ktrdr.Operation) (most int) {
	for _, at := range ops {
		n := 0
		for _, op := range ops {
			if !op.StartedAt.After(at.StartedAt) && op.CompletedAt.After(at.StartedAt) {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

func TestResearches_OneOfThreeIsCancelledAndStatusShowsAll(t *testing.T) {
	onBoth(t, labtest.Calm, func(t *testing.T, l *lab) {
		l.Serve("KTRDR_MAX_RESEARCHES=4", "KTRDR_INJECT=hang:training:in training,hang:designing:in design,hang:assessing:in assessment")
		l.Researcher()
		l.Researcher()
		training, assessment, design := l.trigger("in training"), l.trigger("in assessment"), l.trigger("in design")
		held := map[ktrdr.OperationID]ktrdr.OperationID{
			training:   l.held(training, ktrdr.Training).ID,
			assessment: l.held(assessment, ktrdr.AgentAssessment).ID,
			design:     l.held(design, ktrdr.AgentDesign).ID,
		}

		st := l.status()
		phases := map[ktrdr.OperationID]research.Phase{training: "TRAINING", assessment: "ASSESSING", design: "DESIGNING"}
		if len(st.Active) != 3 || st.Status != "active" || st.Phase != "DESIGNING" { // that of the newest
			t.Fatalf("status %+v, want all three", st)
		}
		for _, a := range st.Active {
			if a.Phase != phases[a.Operation] || a.Child != held[a.Operation] || a.Status != ktrdr.Running || a.Brief == "" {
				t.Errorf("status shows %+v, want phase %s and child %s", a, phases[a.Operation], held[a.Operation])
			}
		}
		want := map[string]ktrdr.WorkerSlots{"training": {Busy: 1, Total: 2}, "backtesting": {Busy: 1, Total: 2}, "agents": {Busy: 2, Total: 2}}
		for name, slots := range want {
			if st.Workers[name] != slots {
				t.Errorf("status shows %+v of %s, want %+v", st.Workers[name], name, slots)
			}
		}
		if st.Capacity != (ktrdr.QueueHealth{Limit: 4, Active: 3}) {
			t.Errorf("capacity %+v, want 3 of 4", st.Capacity)
		}
		said := l.must("status")
		for id, phase := range phases {
			if !strings.Contains(said, string(id)[len(id)-8:]) || !strings.Contains(said, string(phase)) {
				t.Errorf("ktrdr status does not show %s in %s:\n%s", id, phase, said)
			}
		}

		l.cancel(training)
		l.endsCancelled(training, held[training])
		for _, id := range []ktrdr.OperationID{assessment, design} {
			if op, child := l.Op(id), l.Op(held[id]); op.Status != ktrdr.Running || child.Status != ktrdr.Running || child.Epoch != 1 ||
				op.CancelRequested {
				t.Errorf("beside the cancelled one %s is %s and its child %s", id, op.Status, child.Status)
			}
		}
		if last := l.status().Last; last == nil || last.Operation != training || last.Outcome != research.OutcomeCancelled {
			t.Errorf("the last cycle is %+v, want the cancelled one", last)
		}
		_, err := l.client.CancelResearch(t.Context(), training, "")
		if ktrdr.CodeOf(err) != ktrdr.CodeConflict {
			t.Errorf("a second cancel: %v, want a conflict", err)
		}
		_, err = l.client.CancelResearch(t.Context(), held[design], "")
		if ktrdr.CodeOf(err) != ktrdr.CodeInvalid || l.Op(held[design]).CancelRequested {
			t.Errorf("a child named by mistake: %v, want it refused", err)
		}
		l.cancel(assessment)
		l.cancel(design)
		l.endsCancelled(assessment, held[assessment])
		l.endsCancelled(design, held[design])
	})
}

func TestResearches_PastTheCapacityAreRefusedUnlessForced(t *testing.T) {
	onBoth(t, labtest.Calm, func(t *testing.T, l *lab) {
		l.Serve("KTRDR_MAX_RESEARCHES=2", "KTRDR_AGENTS=4", "KTRDR_INJECT=hang:designing:")
		made := l.rush(8)
		if len(made) != 2 {
			t.Fatalf("%d of eight at once were accepted, want 2", len(made))
		}
		before := l.operations()
		status, no := l.post("/api/v1/agent/trigger", `{"brief": "one too many"}`)
		figures := ktrdr.Capacity{Queue: research.QueueName, Active: 2, Limit: 2}
		if status != http.StatusConflict || no.Success || no.Error.Code != ktrdr.CodeAtCapacity || no.Error.Capacity == nil ||
			*no.Error.Capacity != figures {
			t.Errorf("past the capacity: %d %+v, want %d and %+v", status, no.Error, http.StatusConflict, figures)
		}
		if said, code := l.Command("research", "one too many"); code == 0 || !strings.Contains(said, "2 of at most 2 are active") {
			t.Errorf("ktrdr research: exit %d\n%s", code, said)
		}
		if n := l.operations(); n != before {
			t.Errorf("%d operations after two refusals, %d before", n, before)
		}

		line := []ktrdr.OperationID{l.trigger("first in line"), l.trigger("second in line"), l.trigger("third in line")}
		for i, id := range line {
			if op := l.Op(id); op.Status != ktrdr.Pending || i > 0 && op.Session <= l.Op(line[i-1]).Session {
				t.Errorf("in line %s is %s, session %d", id, op.Status, op.Session)
			}
		}
		for i, id := range line { // each that ends makes room for the one that waits longest
			l.cancel(append(slices.Clone(made), line...)[i])
			l.held(id, ktrdr.AgentDesign)
			for _, later := range line[i+1:] {
				if op := l.Op(later); op.Status != ktrdr.Pending {
					t.Errorf("%s came later than %s and is %s", later, id, op.Status)
				}
			}
		}
	})
}

// rush triggers many at the same time and returns those that were accepted.
func (l *lab) rush(n int) (made []ktrdr.OperationID) {
	l.t.Helper()
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			out, err := l.client.Trigger(l.t.Context(), research.Request{Brief: fmt.Sprintf("rush %d", i)}, "")
			switch {
			case err == nil:
				mu.Lock()
				defer mu.Unlock()
				made = append(made, out.Operation)
			case ktrdr.CodeOf(err) != ktrdr.CodeAtCapacity:
				l.t.Errorf("in the rush: %v", err)
			}
		})
	}
	wg.Wait()
	return made
}
