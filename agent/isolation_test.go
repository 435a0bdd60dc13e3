package agent_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/research"
)

// small is a market that is researched in a moment.
var small = market.SynthConfig{Symbol: "EURUSD", Bars: 1500, Seed: 2, Edge: 0.3}

// injected makes work go wrong as the injections say.
func injected(l *lab, text string) {
	list, err := research.ParseInjections(text)
	if err != nil {
		l.t.Fatal(err)
	}
	l.inject = list.For
}

func TestResearch_OneFailureStaysOne(t *testing.T) {
	for _, how := range []string{
		"fail:training:INJECT_FAILURE", "panic:backtesting:INJECT_FAILURE", "fail:designing:INJECT_FAILURE", "panic:assessing:INJECT_FAILURE",
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, small, func(l *lab) { l.t = t; injected(l, how) })
			var ids []ktrdr.OperationID
			for i, brief := range []string{"A", "B INJECT_FAILURE", "C"} {
				ids = append(ids, l.trigger(research.Request{Brief: brief, Seed: new(uint64(i)), BypassGates: true, Force: true})...)
			}
			l.result(ids[0])
			l.result(ids[2])
			b := l.await(ids[1], ended)
			_, phase, _ := strings.Cut(how, ":")
			phase, _, _ = strings.Cut(phase, ":")
			if b.Status != ktrdr.Failed || !strings.HasPrefix(b.ErrorMessage, strings.ToUpper(phase)+": op_") ||
				!strings.Contains(b.ErrorMessage, "KTRDR_INJECT") {
				t.Errorf("B is %s: %s", b.Status, b.ErrorMessage)
			}
			c, err := l.store.Checkpoint(t.Context(), b.ID, "")
			if err != nil || c.Type != ktrdr.CheckpointFailure {
				t.Errorf("checkpoint of B: %+v, %v, want a failure's", c, err)
			}
			if research.OutcomeOf(b) != research.OutcomeFailed {
				t.Errorf("B counts as %s", research.OutcomeOf(b))
			}

			l.stop()
			l.inject = nil // a backend that is started without it cures
			l.open()
			if _, err := l.Resume(t.Context(), b.ID); err != nil {
				t.Fatal(err)
			}
			l.result(b.ID)
			if n := len(l.children(b.ID)); n != 4 {
				t.Errorf("B has %d children after its resume, want 4", n)
			}
			if n := l.trials(); n != 3 {
				t.Errorf("%d trials, want 3", n)
			}
		})
	}
}

func TestResearch_CancelOneOfThree(t *testing.T) {
	l := newLab(t, small, func(l *lab) { l.t = t; injected(l, "hang:training:stuck") })
	var ids []ktrdr.OperationID
	for i, brief := range []string{"A", "stuck", "C"} {
		ids = append(ids, l.trigger(research.Request{Brief: brief, Seed: new(uint64(i)), BypassGates: true, Force: true})...)
	}
	l.result(ids[0])
	l.result(ids[2])
	l.await(ids[1], func(op ktrdr.Operation) bool { return op.Phase == string(research.Training) })
	if _, _, err := l.Cancel(t.Context(), ids[1], "enough"); err != nil {
		t.Fatal(err)
	}
	op := l.await(ids[1], ended)
	if op.Status != ktrdr.Cancelled || research.OutcomeOf(op) != research.OutcomeCancelled || op.Checkpoint == nil {
		t.Errorf("it is %s with checkpoint %+v", op.Status, op.Checkpoint)
	}
	for _, c := range l.children(ids[1]) {
		if c.Type == ktrdr.Training && c.Status != ktrdr.Cancelled {
			t.Errorf("its training is %s", c.Status)
		}
	}
	if n := l.trials(); n != 3 {
		t.Errorf("%d trials, want all 3 that were created", n)
	}
}

// A backend dies while one research is being designed and one assessed: both are
// restarted, and nothing is done twice.
func TestResearch_LostBackendRestartsDesignAndAssessment(t *testing.T) {
	for _, phase := range []research.Phase{research.Designing, research.Assessing} {
		t.Run(string(phase), func(t *testing.T) {
			l := newLab(t, small, func(l *lab) { l.t = t; injected(l, "delay=1h:"+string(phase)+":stuck") })
			id := l.trigger(research.Request{Brief: "stuck", Seed: new(uint64(1)), BypassGates: true})[0]
			l.await(id, func(op ktrdr.Operation) bool { return op.Phase == string(phase) })
			last := func() ktrdr.Operation { c := l.children(id); return c[len(c)-1] }
			held := l.await(last().ID, func(op ktrdr.Operation) bool { return op.Status == ktrdr.Running })
			// This life is not really over: it must not claim what comes after it.
			if err := l.SetPaused(t.Context(), true); err != nil {
				t.Fatal(err)
			}
			policy := ktrdr.RecoveryPolicy{Timeout: time.Minute, Late: time.Minute, AutoResume: true}
			rec, err := l.store.Start(t.Context(), ktrdr.Backend{ID: "b", Incarnation: "b.next"}, policy)
			if err != nil || len(rec.Failed) != 1 || rec.Failed[0] != held.ID {
				t.Fatalf("recovered %+v, %v, want %s failed", rec, err, held.ID)
			}
			op, err := l.Operation(t.Context(), id)
			if err != nil || op.Status != ktrdr.Running || op.Phase != string(phase) {
				t.Errorf("the research is %s in %s, %v", op.Status, op.Phase, err)
			}
			old, err := l.Operation(t.Context(), held.ID)
			if err != nil || old.Status != ktrdr.Failed || old.ErrorMessage == "" {
				t.Errorf("the old child is %s: %q, %v", old.Status, old.ErrorMessage, err)
			}
			if next := last(); next.ID == held.ID || next.Type != held.Type || next.Ordinal != held.Ordinal+1 {
				t.Errorf("after the loss the newest child is %+v", next)
			}
		})
	}
}

// The policy to fail what a dead backend held leaves a research that says so, and
// that a person can resume.
func TestResearch_FailedByRestartCanBeResumed(t *testing.T) {
	l := newLab(t, small, func(l *lab) { l.t = t; injected(l, "delay=1h:training:stuck") })
	id := l.trigger(research.Request{Brief: "stuck", Seed: new(uint64(1)), BypassGates: true})[0]
	held := l.await(id, func(op ktrdr.Operation) bool { return op.Phase == string(research.Training) })
	designed := l.children(id)[0]
	l.await(l.children(id)[1].ID, func(op ktrdr.Operation) bool { return op.Status == ktrdr.Running })
	policy := ktrdr.RecoveryPolicy{Timeout: time.Minute, Late: time.Minute, AutoResume: true, FailLocal: true}
	if _, err := l.store.Start(t.Context(), ktrdr.Backend{ID: "b", Incarnation: "b.next"}, policy); err != nil {
		t.Fatal(err)
	}
	op, err := l.Operation(t.Context(), id)
	if err != nil || op.Status != ktrdr.Failed || op.ErrorMessage != ktrdr.MessageRestartResumable || op.Session != held.Session {
		t.Fatalf("the research is %s: %q, %v", op.Status, op.ErrorMessage, err)
	}
	l.stop()
	l.inject, l.lives = nil, 5
	l.open()
	if _, err := l.Resume(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	l.result(id)
	children := l.children(id)
	if len(children) != 4 || children[0].ID != designed.ID || children[0].Attempts != 1 || children[1].Attempts != 2 {
		t.Errorf("children %+v, want the design kept and the training resumed", children)
	}
}
