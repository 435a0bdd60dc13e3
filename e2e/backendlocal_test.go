package e2e

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/labtest"
	"github.com/ktrdr/ktrdr/research"
)

// local names a phase whose work is held when the backend dies.
type local struct {
	phase research.Phase
	child ktrdr.Type
}

var (
	inDesign     = local{research.Designing, ktrdr.AgentDesign}
	inTraining   = local{research.Training, ktrdr.Training}
	inAssessment = local{research.Assessing, ktrdr.AgentAssessment}
)

// killed starts a backend under a policy, has a research held in a phase, and
// kills the backend there.
func (l *lab) killed(at local, policy string) (parent, child ktrdr.Operation) {
	l.t.Helper()
	hold := "hang:"
	if at == inTraining {
		hold = "delay=3s:" // its worker outlives the backend and finishes
	}
	backend := l.Serve("RESTART_POLICY="+policy, "KTRDR_INJECT="+hold+string(at.phase)+":stuck")
	l.Researcher()
	id := l.ask(research.Request{Brief: "stuck", TriggerReason: "start_new_cycle", BypassGates: true, Seed: new(uint64(7))})
	child = l.held(id, at.child)
	parent = l.Op(id)
	backend.Kill()
	return parent, child
}

func TestBackendLocal_UnderThePolicyFailAResearchWaitsToBeResumed(t *testing.T) {
	for _, at := range []local{inDesign, inTraining, inAssessment} {
		t.Run(string(at.phase), func(t *testing.T) {
			onBoth(t, labtest.Calm, func(t *testing.T, l *lab) {
				before, held := l.killed(at, "fail")
				l.Serve("RESTART_POLICY=fail")

				op := l.Op(before.ID) // it is decided before anybody is answered
				if op.Status != ktrdr.Failed || op.ErrorMessage != "Backend restarted - checkpoint available for resume" || !op.BackendLocal {
					t.Fatalf("after the restart it is %s: %q", op.Status, op.ErrorMessage)
				}
				l.remembersAll(op, at)
				kept := slices.DeleteFunc(l.Children(op.ID), func(c ktrdr.Operation) bool { return c.ID == held.ID })
				if child := l.Op(held.ID); at != inTraining &&
					(child.Status != ktrdr.Failed || !strings.HasPrefix(child.ErrorMessage, "Backend restarted - ")) {
					t.Errorf("what the dead backend ran is %s: %q", child.Status, child.ErrorMessage)
				}

				if at == inTraining { // it finishes although no parent waits for it
					l.Ends(held.ID, ktrdr.Completed)
				}
				l.Resume(op.ID)
				l.completes(op.ID, phases...)
				for _, c := range kept {
					if now := l.Op(c.ID); now.Attempts != 1 || string(now.Result) != string(c.Result) {
						t.Errorf("%s of before the restart was claimed %d times; its result was to be kept", c.Type, now.Attempts)
					}
				}
				if now := l.Op(held.ID); at == inTraining && (now.Epoch != held.Epoch || now.Worker != held.Worker) {
					t.Errorf("the training on its worker was disturbed: epoch %d on %s, was %d on %s", now.Epoch, now.Worker, held.Epoch, held.Worker)
				}
			})
		})
	}
}

// remembersAll checks the checkpoint of a research that stopped in a phase, by
// the names that its readers know.
func (l *lab) remembersAll(op ktrdr.Operation, at local) {
	l.t.Helper()
	c, _ := l.checkpoint(op.ID)
	state := decode[map[string]json.RawMessage](l.t, c.State)
	want := []string{"session_id", "phase", "trigger_reason", "brief", "seed", "horizon", "budget", "design_operation_id"}
	if at != inDesign {
		want = append(want, "strategy_config", "research_notes", "training_operation_id")
	}
	if at == inAssessment {
		want = append(want, "training_checkpoint_epoch", "backtest_operation_id", "assessment_operation_id", "gates")
	}
	for _, name := range want {
		if text := cmp.Or(string(state[name]), "null"); text == "null" || text == `""` || text == "0" {
			l.t.Errorf("a checkpoint in %s has %s: %s", at.phase, name, text)
		}
	}
	s := decode[research.PlanState](l.t, c.State)
	if s.Session != op.Session || s.Phase != at.phase || s.TriggerReason != "start_new_cycle" || s.Brief != "stuck" {
		l.t.Errorf("the checkpoint remembers %+v", s)
	}
}

func TestBackendLocal_UnderThePolicyResumeAResearchResumesByItself(t *testing.T) {
	for _, at := range []local{inDesign, inAssessment} {
		t.Run(string(at.phase), func(t *testing.T) {
			onBoth(t, labtest.Calm, func(t *testing.T, l *lab) {
				before, held := l.killed(at, "resume")
				backend := l.Serve("RESTART_POLICY=resume")

				l.completes(before.ID, again(at.child)...)
				old := l.Op(held.ID)
				if old.Status != ktrdr.Failed || !strings.HasPrefix(old.ErrorMessage, "Backend restarted - ") || old.Error == nil ||
					old.Error.Code != ktrdr.CodeBackendRestart {
					t.Errorf("the old %s is %s: %q %+v", old.Type, old.Status, old.ErrorMessage, old.Error)
				}
				l.logs(backend, "level=WARN", string(held.ID))
				l.once(before.ID, held.ID)
			})
		})
	}
}

// What a backend computes itself it loses with its life, the training too.
func TestBackendLocal_ATrainingInsideTheBackendResumes(t *testing.T) {
	for _, policy := range []string{"fail", "resume"} {
		t.Run(policy, func(t *testing.T) {
			onBoth(t, labtest.Calm, func(t *testing.T, l *lab) {
				backend := l.ServeWith(1, "RESTART_POLICY="+policy, "KTRDR_INJECT=hang:training:stuck")
				id := l.trigger("stuck")
				held := l.held(id, ktrdr.Training)
				backend.Kill()
				l.ServeWith(1, "RESTART_POLICY="+policy)
				if policy == "fail" {
					// it hung before its first checkpoint
					if op := l.Op(held.ID); op.Status != ktrdr.Failed || op.ErrorMessage != ktrdr.MessageRestartLost {
						t.Errorf("the training is %s: %q", op.Status, op.ErrorMessage)
					}
					l.Resume(id)
				}
				l.completes(id, phases...)
				if op := l.Op(held.ID); op.Epoch != held.Epoch+1 {
					t.Errorf("the training ended in epoch %d, want the one after %d", op.Epoch, held.Epoch)
				}
				l.once(id, held.ID)
			})
		})
	}
}

// A backend that is asked to stop loses nothing: not even the child changes.
func TestBackendLocal_AStoppedBackendGivesItsDesignBack(t *testing.T) {
	onBoth(t, labtest.Calm, func(t *testing.T, l *lab) {
		backend := l.Serve("KTRDR_INJECT=hang:designing:stuck")
		id := l.trigger("stuck")
		held := l.held(id, ktrdr.AgentDesign)
		if code := backend.End(syscall.SIGTERM); code != 0 {
			t.Fatalf("the backend ended with %d\n%s", code, backend.Log())
		}
		l.Serve()
		l.Researcher()
		l.completes(id, phases...)
		if op := l.Op(held.ID); op.Epoch != held.Epoch+1 || op.Status != ktrdr.Completed {
			t.Errorf("the design is %s in epoch %d, want it claimed again after %d", op.Status, op.Epoch, held.Epoch)
		}
	})
}

// again is what the children of a research are when one of a type was lost.
func again(t ktrdr.Type) []ktrdr.Type {
	i := slices.Index(phases, t)
	return slices.Insert(slices.Clone(phases), i, t)
}

// once checks that no child but the lost one was claimed more than once or ended
// otherwise than it should.
func (l *lab) once(id ktrdr.OperationID, lost ...ktrdr.OperationID) {
	l.t.Helper()
	for _, c := range l.Children(id) {
		if !slices.Contains(lost, c.ID) && (c.Attempts != 1 || c.Status != ktrdr.Completed) {
			l.t.Errorf("%s of %s is %s after %d claims, want one", c.ID, id, c.Status, c.Attempts)
		}
	}
}

// A training and a backtest on workers, and a design in the backend, when the
// backend is killed: the work on workers continues, the design restarts.
func TestRestart_WorkOnWorkersIsNotDisturbed(t *testing.T) {
	onBoth(t, labtest.Calm, func(t *testing.T, l *lab) {
		backend := l.Serve("KTRDR_MAX_RESEARCHES=3", "KTRDR_INJECT=delay=6s:backtesting:first,delay=4s:training:second,hang:designing:third")
		l.Researcher()
		l.Researcher()
		first := l.trigger("first")
		backtest := l.held(first, ktrdr.Backtesting)
		second, third := l.trigger("second"), l.trigger("third")
		training := l.held(second, ktrdr.Training)
		design := l.held(third, ktrdr.AgentDesign)
		backend.Kill()
		l.Serve()

		l.completes(first, phases...)
		l.completes(second, phases...)
		l.completes(third, again(ktrdr.AgentDesign)...)
		l.once(first)
		l.once(second)
		l.once(third, design.ID)
		for _, held := range []ktrdr.Operation{backtest, training} {
			op := l.Op(held.ID)
			if op.Epoch != held.Epoch || op.Worker != held.Worker || !op.ClaimedAt.Equal(held.ClaimedAt) {
				t.Errorf("%s ended in epoch %d on %s, began in %d on %s", op.Type, op.Epoch, op.Worker, held.Epoch, held.Worker)
			}
			l.reported(held.ID)
		}
	})
}

// reported checks that the worker of an operation told the new backend of it.
func (l *lab) reported(id ktrdr.OperationID) {
	l.t.Helper()
	var kinds []string
	for line := range strings.Lines(l.must("events", string(id), "--json")) {
		kinds = append(kinds, string(decode[ktrdr.Event](l.t, json.RawMessage(line)).Kind))
	}
	story := strings.Join(kinds, " ")
	if !strings.Contains(story, "claimed reconciling reported") {
		l.t.Errorf("the story of %s is %q: it was not running when the backend came back", id, story)
	}
}
