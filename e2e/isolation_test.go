package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/labtest"
	"github.com/ktrdr/ktrdr/research"
)

// Six researches side by side: one fails, one panics, one is refused by a gate
// and one is cancelled. The two others do not notice.
func TestIsolation_OneFailureStaysOne(t *testing.T) {
	onBoth(t, labtest.Calm, func(t *testing.T, l *lab) {
		backend := l.Serve("KTRDR_MAX_RESEARCHES=6", "BACKTEST_GATE_MIN_TRADES=1000000",
			"KTRDR_INJECT=fail:training:INJECT_FAILURE,panic:backtesting:INJECT_PANIC,hang:training:INJECT_HANG")
		workers := []*labtest.Process{l.Researcher(), l.Researcher()}
		a := l.trigger("A")
		failed := l.trigger("B INJECT_FAILURE")
		panicked := l.trigger("INJECT_PANIC")
		refused := l.ask(research.Request{Brief: "its gates are real"})
		hung := l.trigger("INJECT_HANG")
		c := l.trigger("C")
		held := l.held(hung, ktrdr.Training)
		l.cancel(hung)

		for _, id := range []ktrdr.OperationID{a, c} {
			if r := l.completes(id, phases...); r.Outcome != research.OutcomeCompleted {
				t.Errorf("%s completed as %s, want %s", id, r.Outcome, research.OutcomeCompleted)
			}
		}
		l.endsBadly(failed, research.Training, ktrdr.CodeFailed, "it fails because KTRDR_INJECT says so")
		l.endsBadly(panicked, research.Backtesting, ktrdr.CodePanic, "it panics because KTRDR_INJECT says so")
		r := l.completes(refused, phases...)
		if r.Outcome != research.OutcomeRejected || !strings.HasPrefix(r.GateReason, "too_few_trades") || r.Rung != ktrdr.RungRejected {
			t.Errorf("what a gate refused ended with %+v", r)
		}
		l.endsCancelled(hung, held.ID)
		for _, w := range workers {
			if !w.Alive() {
				t.Errorf("a worker died of what it ran:\n%s", w.Log())
			}
		}
		l.told(map[ktrdr.OperationID]ktrdr.Status{
			a: ktrdr.Completed, c: ktrdr.Completed, refused: ktrdr.Completed,
			failed: ktrdr.Failed, panicked: ktrdr.Failed, hung: ktrdr.Cancelled,
		})
		l.counted(map[research.Outcome]float64{
			research.OutcomeCompleted: 2, research.OutcomeRejected: 1, research.OutcomeFailed: 2, research.OutcomeCancelled: 1,
		})

		backend.Kill() // a backend without the injections cures
		l.Serve()
		for _, id := range []ktrdr.OperationID{failed, panicked, hung} {
			designed := l.childrenOf(id, ktrdr.AgentDesign)[0]
			l.Resume(id)
			l.completes(id, phases...)
			if now := l.childrenOf(id, ktrdr.AgentDesign)[0]; now.ID != designed.ID || now.Attempts != 1 {
				t.Errorf("%s was designed again after its resume: %s, claimed %d times", id, now.ID, now.Attempts)
			}
		}
	})
}

// endsBadly checks a research that failed in a phase: it says where, which child
// and why, and leaves a checkpoint.
func (l *lab) endsBadly(id ktrdr.OperationID, phase research.Phase, code ktrdr.Code, why string) {
	l.t.Helper()
	op := l.Ends(id, ktrdr.Failed)
	children := l.Children(id)
	last := children[len(children)-1]
	if want := fmt.Sprintf("%s: %s: ", phase, last.ID); !strings.HasPrefix(op.ErrorMessage, want) || !strings.Contains(op.ErrorMessage, why) {
		l.t.Errorf("error message %q, want %s… %s", op.ErrorMessage, want, why)
	}
	if op.Error == nil || op.Error.Code != code || last.Status != ktrdr.Failed || op.Phase != string(phase) {
		l.t.Errorf("%s failed in %s with %+v, its %s is %s; want the code %s", id, op.Phase, op.Error, last.Type, last.Status, code)
	}
	c, state := l.checkpoint(id)
	if c.Type != ktrdr.CheckpointFailure || state.Phase != phase || state.Strategy == "" || state.Session != op.Session {
		l.t.Errorf("checkpoint %s of %s remembers %+v, want a failure's in %s", c.Type, id, state, phase)
	}
}

// endsCancelled checks a research that was cancelled while a child was held.
func (l *lab) endsCancelled(id, child ktrdr.OperationID) {
	l.t.Helper()
	op := l.Ends(id, ktrdr.Cancelled)
	if held := l.Ends(child, ktrdr.Cancelled); op.CancelReason != "enough" || held.CancelReason != "enough" {
		l.t.Errorf("cancelled because of %q, and its child because of %q; want %q", op.CancelReason, held.CancelReason, "enough")
	}
	if c, _ := l.checkpoint(id); c.Type != ktrdr.CheckpointCancellation {
		l.t.Errorf("the checkpoint of %s is a %s, want that of a cancellation", id, c.Type)
	}
}

// told checks that `ktrdr ops list` shows the researches as they ended.
func (l *lab) told(want map[ktrdr.OperationID]ktrdr.Status) {
	l.t.Helper()
	list := l.must("ops", "list", "--type", "agent_research")
	for _, id := range slices.Sorted(maps.Keys(want)) {
		shown := slices.ContainsFunc(strings.Split(list, "\n"), func(line string) bool {
			return strings.Contains(line, string(id)) && strings.Contains(line, string(want[id]))
		})
		if !shown {
			l.t.Errorf("ktrdr ops list does not show %s as %s:\n%s", id, want[id], list)
		}
	}
}

// counted checks that every research was counted once. The counters follow the
// events.
func (l *lab) counted(want map[research.Outcome]float64) {
	l.t.Helper()
	l.eventually(fmt.Sprintf("the counters %v", want), func() bool {
		got := map[research.Outcome]float64{}
		for o := range want {
			got[o] = l.Metric(outcome(o))
		}
		return maps.Equal(got, want)
	})
}
