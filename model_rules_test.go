package ktrdr_test

import (
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ktrdr/ktrdr"
)

// leastStates is how many states the exploration must reach to be worth its
// name; a change that makes the world small by accident fails here.
const leastStates = 1_000_000

func TestModel_NoInterleavingBreaksARule(t *testing.T) {
	t.Parallel()
	worlds := map[string]model{
		"children side by side": {
			hasParent: true,
			start:     budget{crashes: 1, stalls: 1, cancels: 1, resumes: 1, faults: 1},
		},
		"children one after the other": {
			hasParent: true, sequential: true,
			start: budget{crashes: 1, stalls: 1, cancels: 2, resumes: 1, restarts: 1, faults: 1},
		},
		"two operations on their own": {
			start: budget{crashes: 1, stalls: 1, cancels: 1, resumes: 1, restarts: 1, releases: 1, faults: 1},
		},
		"workers that keep dying": {
			hasParent: true,
			start:     budget{crashes: 3, cancels: 1, resumes: 1, releases: 1, steps: 1},
		},
		"a backend that restarts": {
			hasParent: true,
			start:     budget{crashes: 1, cancels: 1, resumes: 1, restarts: 1, faults: 1},
		},
		"a worker inside the backend": {
			hasParent: true, local: [2]bool{false, true},
			start: budget{stalls: 1, cancels: 1, resumes: 1, restarts: 1, steps: 1},
		},
		"a worker inside a backend that fails its work": {
			hasParent: true, local: [2]bool{false, true}, failLocal: true,
			start: budget{stalls: 1, cancels: 1, resumes: 1, restarts: 1, steps: 1},
		},
		"child processes that keep dying": {
			hasParent: true, local: [2]bool{true, false},
			start: budget{children: 3, cancels: 1, resumes: 1, restarts: 1, steps: 1},
		},
		"losses left to the plan": {
			hasParent: true, noResume: true,
			start: budget{crashes: 2, stalls: 1, cancels: 1, resumes: 1},
		},
	}
	if os.Getenv("KTRDR_SOAK") == "1" {
		worlds["everything at once, side by side"] = model{
			hasParent: true,
			start:     budget{crashes: 1, stalls: 1, cancels: 1, resumes: 1, restarts: 1, faults: 1},
		}
		worlds["everything at once, one after the other"] = model{
			hasParent: true, sequential: true,
			start: budget{crashes: 1, stalls: 1, cancels: 1, resumes: 1, restarts: 1, faults: 1, steps: 1},
		}
	}
	var states, moves atomic.Int64
	t.Run("worlds", func(t *testing.T) {
		for name, m := range worlds {
			m.step = ktrdr.Step
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				x, broken := m.explore()
				if broken == "" {
					broken = x.strand()
				}
				if broken != "" {
					t.Fatalf("the shortest of the ways to break a rule, after %d states:\n%s", len(x.worlds), broken)
				}
				t.Logf("%d states, %d moves", len(x.worlds), x.moves)
				states.Add(int64(len(x.worlds)))
				moves.Add(int64(x.moves))
			})
		}
	})
	t.Logf("explored %d states and %d moves", states.Load(), moves.Load())
	if !t.Failed() && states.Load() < leastStates {
		t.Errorf("explored %d states, want at least %d", states.Load(), leastStates)
	}
}

// small is a world in which every mistake below shows.
var small = model{
	hasParent: true,
	start:     budget{crashes: 1, stalls: 1, cancels: 1, resumes: 1, restarts: 1, releases: 1},
}

// mistaken returns how the model fails with that Step.
func mistaken(t *testing.T, m model, step func(ktrdr.StepState, ktrdr.Act) (ktrdr.StepState, ktrdr.Effects, error)) string {
	t.Helper()
	m.step = step
	x, broken := m.explore()
	if broken == "" {
		broken = x.strand()
	}
	t.Logf("%d states:\n%s", len(x.worlds), broken)
	return broken
}

func TestModel_FindsTheZombieWriteWithoutTheEpoch(t *testing.T) {
	t.Parallel()
	broken := mistaken(t, small, func(s ktrdr.StepState, a ktrdr.Act) (ktrdr.StepState, ktrdr.Effects, error) {
		a.Epoch = s.Epoch
		return ktrdr.Step(s, a)
	})
	if !strings.Contains(broken, "zombie write") || !strings.Contains(broken, "stalls") && !strings.Contains(broken, "restarts") {
		t.Errorf("got %q, want a zombie's accepted write", broken)
	}
}

func TestModel_FindsEveryMistake(t *testing.T) {
	t.Parallel()
	type state = ktrdr.StepState
	type act = ktrdr.Act
	type effects = ktrdr.Effects
	dying := model{hasParent: true, start: budget{crashes: 3}}

	for name, mistake := range map[string]struct {
		in   model
		step func(state, act) (state, effects, error)
		want string
	}{
		"a finish overwrites a cancel": {small, func(s state, a act) (state, effects, error) {
			next, eff, err := ktrdr.Step(s, a)
			if err == nil && a.Input == ktrdr.Finish {
				next.Status = a.Outcome
			}
			return next, eff, err
		}, "although its cancel was acknowledged"},
		"a late cancel overwrites the end": {small, func(s state, a act) (state, effects, error) {
			if a.Input == ktrdr.Cancel && s.Status.Terminal() {
				s.Status = ktrdr.Cancelled
				return s, effects{}, nil
			}
			return ktrdr.Step(s, a)
		}, "by cancel"},
		"a resume of what completed": {small, func(s state, a act) (state, effects, error) {
			if a.Input == ktrdr.Resume && s.Status == ktrdr.Completed {
				s.Status = ktrdr.Pending
				return s, effects{}, nil
			}
			return ktrdr.Step(s, a)
		}, "from COMPLETED to PENDING"},
		"attempts counted at the end": {small, func(s state, a act) (state, effects, error) {
			next, eff, err := ktrdr.Step(s, a)
			if err == nil && a.Input == ktrdr.Claim {
				next.Attempts--
			}
			if err == nil && a.Input == ktrdr.Finish {
				next.Attempts++
			}
			return next, eff, err
		}, "has attempts"},
		"a claim that keeps the epoch": {small, func(s state, a act) (state, effects, error) {
			next, eff, err := ktrdr.Step(s, a)
			if err == nil && a.Input == ktrdr.Claim && s.Epoch > 0 {
				next.Epoch = s.Epoch
			}
			return next, eff, err
		}, "kept epoch"},
		"an auto-resume despite a cancel": {small, func(s state, a act) (state, effects, error) {
			next, eff, err := ktrdr.Step(s, a)
			if err == nil && a.Input == ktrdr.LoseWorker && s.CancelRequested {
				next.Status, eff = ktrdr.Failed, effects{AutoResume: true}
			}
			return next, eff, err
		}, "its cancel"},
		"losses that are not counted": {dying, func(s state, a act) (state, effects, error) {
			next, eff, err := ktrdr.Step(s, a)
			if err == nil && a.Input == ktrdr.LoseWorker {
				next.Losses, eff = 0, effects{AutoResume: a.Child}
			}
			return next, eff, err
		}, "loss 3 in a row"},
		"losses forgiven by an old step": {dying, func(s state, a act) (state, effects, error) {
			next, eff, err := ktrdr.Step(s, a)
			if err == nil && a.Input == ktrdr.Report {
				next.Losses = 0
			}
			return next, eff, err
		}, "loss 3 in a row"},
		"a release that forgets the cancel": {small, func(s state, a act) (state, effects, error) {
			next, eff, err := ktrdr.Step(s, a)
			if err == nil && a.Input == ktrdr.Release {
				next.Status = ktrdr.Pending
			}
			return next, eff, err
		}, "although its cancel was acknowledged"},
		"a child resumed under a cancelled parent": {small, func(s state, a act) (state, effects, error) {
			if a.Input == ktrdr.Resume {
				a.ParentClosed = false
			}
			return ktrdr.Step(s, a)
		}, "after its parent was cancelled"},
		"an ended parent is told that its child ended": {small, func(s state, a act) (state, effects, error) {
			next, eff, err := ktrdr.Step(s, a)
			eff.Advance = eff.Advance || err == nil && a.Input == ktrdr.Finish
			return next, eff, err
		}, "a parent that has ended"},
		"a cancel that stays with the parent": {small, func(s state, a act) (state, effects, error) {
			next, eff, err := ktrdr.Step(s, a)
			eff.Cascade = false
			return next, eff, err
		}, "after its parent was cancelled"},
		"a reconciling operation that must not fail": {small, func(s state, a act) (state, effects, error) {
			if a.Input == ktrdr.LoseWorker && s.Status == ktrdr.Reconciling {
				return s, effects{}, &ktrdr.TransitionError{Code: ktrdr.CodeConflict}
			}
			return ktrdr.Step(s, a)
		}, "stranded"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if broken := mistaken(t, mistake.in, mistake.step); !strings.Contains(broken, mistake.want) {
				t.Errorf("got %q, want a rule broken with %q", broken, mistake.want)
			}
		})
	}
}
