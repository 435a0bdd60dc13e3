package research

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/jobs"
)

var order = []ktrdr.Type{ktrdr.AgentDesign, ktrdr.Training, ktrdr.Backtesting, ktrdr.AgentAssessment}

func TestPlan_GoesThroughItsPhases(t *testing.T) {
	tr := plant(t, someSpec(t))
	for i, typ := range order {
		d := tr.ask(ktrdr.WhyChild)
		if len(d.Create) != 1 || d.Create[0].Type != typ || d.Phase != string(phaseOf(typ)) {
			t.Fatalf("step %d: %+v, want a %s child and its phase", i, d, typ)
		}
		if s := tr.state(); s.Phase != phaseOf(typ) || *s.child() != d.Create[0].ID {
			t.Errorf("step %d: state %+v, want phase and child", i, s)
		}
		if again := tr.ask(ktrdr.WhyReconcile); again.Changes() {
			t.Errorf("step %d: asked again it wants %+v", i, again)
		}
		tr.complete(nil)
	}
	tr.ask(ktrdr.WhyChild)
	r := tr.result()
	if tr.parent.Status != ktrdr.Completed || !r.Success || r.Outcome != OutcomeCompleted || r.ResultHash == (ktrdr.Hash{}) ||
		tr.parent.Phase != string(Done) {
		t.Errorf("ended %s in %s with %+v", tr.parent.Status, tr.parent.Phase, r)
	}
	if OutcomeOf(tr.parent) != OutcomeCompleted {
		t.Errorf("counted as %s", OutcomeOf(tr.parent))
	}
	s := tr.state()
	if s.Session != 3 || s.Strategy == "" || s.Notes == "" || s.TrainingOperation == "" || s.TrainingEpoch != 12 ||
		s.BacktestOperation == "" ||
		s.TriggerReason == "" || s.Brief == "" || s.Seed != 5 || s.Horizon != "17" || s.Run != "run_a" || s.Generation != 1 || s.Index != 2 ||
		len(s.Gates) != 2 {
		t.Errorf("state %+v lacks something", s)
	}
	if c := tr.last.Finish.Checkpoint; c == nil || c.Type != ktrdr.CheckpointFinal || !json.Valid(c.State) {
		t.Errorf("last checkpoint %+v, want a final one with the state", c)
	}
}

func TestPlan_GivenStrategyIsNotDesigned(t *testing.T) {
	spec := someSpec(t)
	spec.Strategy, _ = simple(t)
	tr := plant(t, spec)
	if d := tr.ask(ktrdr.WhyCreated); len(d.Create) != 1 || d.Create[0].Type != ktrdr.Training || d.Phase != string(Training) {
		t.Errorf("begins with %+v, want the training", d)
	}
	for range 3 {
		tr.complete(nil)
		tr.ask(ktrdr.WhyChild)
	}
	if tr.parent.Status != ktrdr.Completed || tr.result().StrategyName == "" {
		t.Errorf("ended %s: %s", tr.parent.Status, tr.parent.ErrorMessage)
	}
}

// What a child's end does to the research, in every phase.
func TestPlan_EndsOfChildren(t *testing.T) {
	type want struct {
		status  ktrdr.Status // RUNNING: it continues
		outcome Outcome
		last    ktrdr.CheckpointType
	}
	for name, x := range map[string]struct {
		status ktrdr.Status
		code   ktrdr.Code
		of     func(ktrdr.Type) want
	}{
		"failed":   {ktrdr.Failed, ktrdr.CodeFailed, func(ktrdr.Type) want { return want{ktrdr.Failed, OutcomeFailed, ktrdr.CheckpointFailure} }},
		"panicked": {ktrdr.Failed, ktrdr.CodePanic, func(ktrdr.Type) want { return want{ktrdr.Failed, OutcomeFailed, ktrdr.CheckpointFailure} }},
		"poison":   {ktrdr.Failed, ktrdr.CodePoison, func(ktrdr.Type) want { return want{ktrdr.Failed, OutcomeFailed, ktrdr.CheckpointFailure} }},
		"cancelled": {ktrdr.Cancelled, ktrdr.CodeCancelled, func(ktrdr.Type) want {
			return want{ktrdr.Cancelled, OutcomeCancelled, ktrdr.CheckpointCancellation}
		}},
		"its backend died": {ktrdr.Failed, ktrdr.CodeBackendRestart, func(typ ktrdr.Type) want {
			if byAgent(typ) {
				return want{status: ktrdr.Running}
			}
			return want{ktrdr.Failed, OutcomeFailed, ktrdr.CheckpointFailure}
		}},
		"orphaned": {ktrdr.Failed, ktrdr.CodeOrphaned, func(typ ktrdr.Type) want {
			if byAgent(typ) {
				return want{status: ktrdr.Running}
			}
			return want{ktrdr.Failed, OutcomeFailed, ktrdr.CheckpointFailure}
		}},
	} {
		for _, typ := range order {
			t.Run(name+" "+string(typ), func(t *testing.T) {
				tr := reach(t, someSpec(t), typ)
				before, first := tr.children[:len(tr.children)-1], *tr.newest()
				tr.die(x.status, x.code, "bad luck")
				d := tr.ask(ktrdr.WhyChild)
				w := x.of(typ)
				if tr.parent.Status != w.status {
					t.Fatalf("research is %s (%s), want %s", tr.parent.Status, tr.parent.ErrorMessage, w.status)
				}
				if w.status == ktrdr.Running {
					next, state := tr.newest(), tr.state()
					if next.ID == first.ID || next.Type != typ || string(next.Spec) != string(first.Spec) || *state.child() != next.ID {
						t.Errorf("continues with %+v, want a new child of the same spec", next)
					}
					for attempt := 2; attempt < mostAttempts; attempt++ {
						tr.die(x.status, x.code, "bad luck again")
						if tr.ask(ktrdr.WhyChild); tr.parent.Status != ktrdr.Running || len(tr.children) != len(before)+attempt+1 {
							t.Fatalf("after loss %d it is %s with %d children", attempt, tr.parent.Status, len(tr.children))
						}
					}
					tr.die(x.status, x.code, "bad luck for the last time")
					if tr.ask(ktrdr.WhyChild); tr.parent.Status != ktrdr.Failed {
						t.Errorf("after the last death of its backend it is %s, want FAILED", tr.parent.Status)
					}
					return
				}
				if d.Finish.Checkpoint.Type != w.last || tr.result().Outcome != w.outcome || OutcomeOf(tr.parent) != w.outcome ||
					tr.parent.Error.Code != x.code {
					t.Errorf("ended with %+v and %s", d.Finish, d.Finish.Result)
				}
				message := tr.parent.ErrorMessage
				if !strings.HasPrefix(message, string(phaseOf(typ))+": ") || !strings.Contains(message, string(first.ID)) ||
					x.status == ktrdr.Failed && !strings.Contains(message, "bad luck") {
					t.Errorf("message %q, want phase, child and its words", message)
				}
				if tr.parent.Phase != string(phaseOf(typ)) {
					t.Errorf("it stays in %s, want %s", tr.parent.Phase, phaseOf(typ))
				}
			})
		}
	}
}

func TestPlan_ResumeAdoptsTheChild(t *testing.T) {
	for _, typ := range order {
		t.Run("dead "+string(typ), func(t *testing.T) {
			tr := reach(t, someSpec(t), typ)
			tr.die(ktrdr.Failed, ktrdr.CodeFailed, "bad luck")
			tr.ask(ktrdr.WhyChild)
			tr.parent.Status = ktrdr.Running
			n := len(tr.children)
			d := tr.ask(ktrdr.WhyResumed)
			if len(d.Resume) != 1 || d.Resume[0] != tr.newest().ID || len(tr.children) != n || d.Finish != nil {
				t.Fatalf("%+v, want its child resumed", d)
			}
			if again := tr.ask(ktrdr.WhyReconcile); again.Changes() {
				t.Errorf("asked again it wants %+v", again)
			}
			for tr.parent.Status == ktrdr.Running {
				tr.complete(nil)
				tr.ask(ktrdr.WhyChild)
			}
			if tr.parent.Status != ktrdr.Completed {
				t.Errorf("ended %s: %s", tr.parent.Status, tr.parent.ErrorMessage)
			}
		})
		t.Run("running "+string(typ), func(t *testing.T) {
			tr := reach(t, someSpec(t), typ)
			tr.newest().Status = ktrdr.Running
			if d := tr.ask(ktrdr.WhyResumed); d.Changes() {
				t.Errorf("%+v, want it to wait", d)
			}
		})
		t.Run("finished "+string(typ), func(t *testing.T) {
			tr := reach(t, someSpec(t), typ)
			tr.complete(nil)
			if d := tr.ask(ktrdr.WhyResumed); len(d.Create) != 1 && d.Finish == nil {
				t.Errorf("%+v, want it to continue", d)
			}
		})
	}
}

func TestPlan_GateRefusalIsAnOutcome(t *testing.T) {
	for name, x := range map[string]struct {
		refuse func(v any)
		reason string
		after  ktrdr.Type
	}{
		"training": {func(v any) { v.(*jobs.TrainingResult).Test.Accuracy = 0.01 }, "accuracy_below_threshold", ktrdr.Training},
		"backtest": {func(v any) { v.(*jobs.BacktestResult).Metrics.TotalTrades = 2 }, "too_few_trades", ktrdr.Backtesting},
	} {
		t.Run(name, func(t *testing.T) {
			tr := reach(t, someSpec(t), x.after)
			tr.complete(x.refuse)
			d := tr.ask(ktrdr.WhyChild)
			if len(d.Create) != 1 || d.Create[0].Type != ktrdr.AgentAssessment {
				t.Fatalf("%+v, want the assessment", d)
			}
			if text := string(d.Create[0].Spec); !strings.Contains(text, x.reason) || strings.Contains(text, `"holdout"`) {
				t.Errorf("assessment spec %s, want the reason and no holdout", text)
			}
			tr.complete(nil)
			tr.ask(ktrdr.WhyChild)
			if r := tr.result(); tr.parent.Status != ktrdr.Completed || r.Outcome != OutcomeRejected || !strings.Contains(r.GateReason, x.reason) ||
				OutcomeOf(tr.parent) != OutcomeRejected {
				t.Errorf("ended %s with %+v", tr.parent.Status, r)
			}
			if n := len(tr.notes); n != 4 { // experiment, its hypothesis twice, a new one
				t.Errorf("%d notes", n)
			}
			if tr.parent.Rung != ktrdr.RungRejected {
				t.Errorf("rung %q", tr.parent.Rung)
			}
		})
	}
	t.Run("bypassed", func(t *testing.T) {
		spec := someSpec(t)
		spec.BypassGates = true
		tr := reach(t, spec, ktrdr.Training)
		tr.complete(func(v any) { v.(*jobs.TrainingResult).Test.Accuracy = 0.01 })
		if d := tr.ask(ktrdr.WhyChild); len(d.Create) != 1 || d.Create[0].Type != ktrdr.Backtesting || tr.state().Gates[0].Reason != "bypassed" {
			t.Errorf("%+v with gates %+v, want the backtest", d, tr.state().Gates)
		}
	})
}

func TestPlan_UnusableAnswerFailsTheResearch(t *testing.T) {
	for name, x := range map[string]struct {
		of     ktrdr.Type
		change func(v any)
		want   string
	}{
		"a design that is no strategy": {ktrdr.AgentDesign, func(v any) { v.(*Design).Strategy = "name: x\n" }, "cannot be used"},
		"a design of other data": {ktrdr.AgentDesign, func(v any) {
			d := v.(*Design)
			d.Strategy = strings.ReplaceAll(d.Strategy, "EURUSD", "ZZZUSD")
		}, "was not given these bars"},
		"a design too long": {ktrdr.AgentDesign, func(v any) { v.(*Design).Strategy += strings.Repeat("# x\n", 20_000) }, "longer than"},
	} {
		t.Run(name, func(t *testing.T) {
			tr := reach(t, someSpec(t), x.of)
			tr.complete(x.change)
			d := tr.ask(ktrdr.WhyChild)
			if tr.parent.Status != ktrdr.Failed || !strings.Contains(tr.parent.ErrorMessage, x.want) ||
				d.Finish.Checkpoint.Type != ktrdr.CheckpointFailure {
				t.Errorf("%s: %s, want FAILED because %s", tr.parent.Status, tr.parent.ErrorMessage, x.want)
			}
		})
	}
	vast := someSpec(t)
	vast.Bars[0].Size = 1 << 42
	tr := reach(t, vast, ktrdr.AgentDesign)
	tr.complete(nil)
	if tr.ask(ktrdr.WhyChild); tr.parent.Status != ktrdr.Failed || !strings.Contains(tr.parent.ErrorMessage, "training would take") {
		t.Errorf("more than a machine can do: %s: %s", tr.parent.Status, tr.parent.ErrorMessage)
	}
	tr = reach(t, someSpec(t), ktrdr.Training)
	tr.newest().Status, tr.newest().Result = ktrdr.Completed, json.RawMessage(`[]`)
	if tr.ask(ktrdr.WhyChild); tr.parent.Status != ktrdr.Failed || !strings.Contains(tr.parent.ErrorMessage, "result cannot be read") {
		t.Errorf("a result of another shape: %s: %s", tr.parent.Status, tr.parent.ErrorMessage)
	}
}

func TestPlan_AFailedResearchCarriesTheChainOfItsChild(t *testing.T) {
	tr := reach(t, someSpec(t), ktrdr.Training)
	child := tr.newest()
	child.Status, child.ErrorMessage = ktrdr.Failed, "prepare: no samples"
	child.Error = &ktrdr.Failure{Code: ktrdr.CodeInvalid, Chain: []string{"prepare: no samples", "no samples"}}
	d := tr.ask(ktrdr.WhyChild)
	if d.Finish == nil || d.Finish.Error.Code != ktrdr.CodeInvalid || len(d.Finish.Error.Chain) != 3 ||
		!slices.Equal(d.Finish.Error.Chain[1:], child.Error.Chain) {
		t.Errorf("%+v, want its own sentence and then those of the child", d.Finish.Error)
	}
}

// However often and whenever the plan is asked, and whatever is forgotten
// between the asking and the doing, the same children come about.
func TestPlan_CrashesMakeNoSecondChild(t *testing.T) {
	undisturbed := reach(t, someSpec(t), ktrdr.AgentAssessment)
	undisturbed.complete(nil)
	undisturbed.ask(ktrdr.WhyChild)
	whys := []ktrdr.Why{ktrdr.WhyCreated, ktrdr.WhyChild, ktrdr.WhyReconcile, ktrdr.WhyResumed}
	rapid.Check(t, func(rt *rapid.T) {
		tr := plant(t, someSpec(t))
		for tr.parent.Status == ktrdr.Running {
			why := rapid.SampledFrom(whys).Draw(rt, "why")
			d, err := new(plan).Next(tr.parent, tr.children, why)
			if err != nil {
				rt.Fatal(err)
			}
			if rapid.Bool().Draw(rt, "crash before the commit") {
				continue
			}
			tr.do(d)
			if len(tr.children) > 0 && !tr.newest().Status.Terminal() && rapid.Bool().Draw(rt, "child ends") {
				tr.complete(nil)
			}
		}
		ids := func(tr *tree) (list []ktrdr.OperationID) {
			for _, c := range tr.children {
				list = append(list, c.ID)
			}
			return list
		}
		if got, want := ids(tr), ids(undisturbed); !slices.Equal(got, want) {
			rt.Fatalf("children %v, want %v", got, want)
		}
		if tr.result().ResultHash != undisturbed.result().ResultHash || len(tr.notes) != len(undisturbed.notes) {
			rt.Fatalf("%d notes and hash %s, want %d and %s", len(tr.notes), tr.result().ResultHash, len(undisturbed.notes),
				undisturbed.result().ResultHash)
		}
	})
}

func TestChildID_IsItsOwnAmongAll(t *testing.T) {
	seen := map[ktrdr.OperationID]bool{}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	parents := []ktrdr.Operation{{ID: "op_mine", CreatedAt: at}, {ID: "op_other", CreatedAt: at}}
	for session := range int64(2000) { // all of one second
		parents = append(parents, ktrdr.Operation{ID: "op_agent_research_x", Session: session + 1, CreatedAt: at})
	}
	for i := range parents {
		for _, typ := range order {
			for attempt := range 12 {
				id := childID(&parents[i], typ, attempt)
				if seen[id] || !id.Valid() || !strings.Contains(string(id), "_20260102_030405_") {
					t.Fatalf("%s is taken or no id", id)
				}
				seen[id] = true
			}
		}
	}
}
