package ktrdr_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/ktrdr/ktrdr"
)

// The situations of the table below, all at epoch 4 and step 10.
func at(status ktrdr.Status) ktrdr.StepState {
	return ktrdr.StepState{Status: status, Epoch: 4, Attempts: 4, MaxStep: 10}
}

func flagged(s ktrdr.StepState) ktrdr.StepState {
	s.CancelRequested = true
	return s
}

func losing(s ktrdr.StepState, losses int) ktrdr.StepState {
	s.Losses = losses
	return s
}

// orphaned is an operation whose backend died while it ran it.
func orphaned(s ktrdr.StepState) ktrdr.StepState {
	s.BackendDied = true
	return s
}

func TestStep_AnswersAsTheTableSays(t *testing.T) {
	t.Parallel()
	fourth := func(i ktrdr.Input) ktrdr.Act { return ktrdr.Act{Input: i, Epoch: 4, Step: 10} }
	finish := func(outcome ktrdr.Status) ktrdr.Act {
		return ktrdr.Act{Input: ktrdr.Finish, Epoch: 4, Outcome: outcome}
	}
	ofParent := func(a ktrdr.Act) ktrdr.Act { a.Child = true; return a }
	step := func(a ktrdr.Act, n int64) ktrdr.Act { a.Step = n; return a }

	for _, c := range []struct {
		name string
		from ktrdr.StepState
		act  ktrdr.Act
		want ktrdr.StepState
		eff  ktrdr.Effects
	}{
		{
			"a claim mints the next epoch and counts the attempt",
			at(ktrdr.Pending),
			ktrdr.Act{Input: ktrdr.Claim},
			ktrdr.StepState{Status: ktrdr.Running, Epoch: 5, Attempts: 5, MaxStep: 10},
			ktrdr.Effects{},
		},
		{
			"a report keeps a running operation running",
			at(ktrdr.Running), fourth(ktrdr.Report), at(ktrdr.Running),
			ktrdr.Effects{},
		},
		{
			"a report brings a reconciling operation back",
			at(ktrdr.Reconciling), fourth(ktrdr.Report), at(ktrdr.Running),
			ktrdr.Effects{},
		},
		{
			"a report beyond the furthest step forgives earlier losses",
			losing(at(ktrdr.Running), 2), step(fourth(ktrdr.Report), 11),
			ktrdr.StepState{Status: ktrdr.Running, Epoch: 4, Attempts: 4, MaxStep: 11},
			ktrdr.Effects{},
		},
		{
			"a save at the furthest step forgives nothing",
			losing(at(ktrdr.Running), 2), fourth(ktrdr.Save), losing(at(ktrdr.Running), 2),
			ktrdr.Effects{},
		},
		{
			"a save leaves a reconciling operation where it is",
			at(ktrdr.Reconciling), step(fourth(ktrdr.Save), 12),
			ktrdr.StepState{Status: ktrdr.Reconciling, Epoch: 4, Attempts: 4, MaxStep: 12},
			ktrdr.Effects{},
		},
		{
			"a finish ends a running operation",
			at(ktrdr.Running), finish(ktrdr.Completed), at(ktrdr.Completed),
			ktrdr.Effects{},
		},
		{
			"a finish ends a reconciling operation and tells its parent",
			at(ktrdr.Reconciling), ofParent(finish(ktrdr.Failed)), at(ktrdr.Failed),
			ktrdr.Effects{Advance: true},
		},
		{
			"an acknowledged cancel wins over a finish",
			flagged(at(ktrdr.Running)), finish(ktrdr.Completed), flagged(at(ktrdr.Cancelled)),
			ktrdr.Effects{},
		},
		{
			"a release returns the operation",
			losing(at(ktrdr.Running), 2), ofParent(fourth(ktrdr.Release)), losing(at(ktrdr.Pending), 2),
			ktrdr.Effects{},
		},
		{
			"a release under a cancel ends it",
			flagged(at(ktrdr.Running)), ofParent(fourth(ktrdr.Release)), flagged(at(ktrdr.Cancelled)),
			ktrdr.Effects{Advance: true},
		},
		{
			"a standalone operation whose worker died stays failed",
			at(ktrdr.Running), fourth(ktrdr.LoseWorker), losing(at(ktrdr.Failed), 1),
			ktrdr.Effects{},
		},
		{
			"a child whose worker died is resumed",
			losing(at(ktrdr.Reconciling), 1), ofParent(fourth(ktrdr.LoseWorker)), losing(at(ktrdr.Failed), 2),
			ktrdr.Effects{AutoResume: true},
		},
		{
			"the third loss without a new step is poison",
			losing(at(ktrdr.Running), 2), ofParent(fourth(ktrdr.LoseWorker)), losing(at(ktrdr.Failed), 3),
			ktrdr.Effects{Poison: true, Advance: true},
		},
		{
			"a loss under a cancel is the cancel's end",
			losing(flagged(at(ktrdr.Running)), 2), ofParent(fourth(ktrdr.LoseWorker)), losing(flagged(at(ktrdr.Cancelled)), 3),
			ktrdr.Effects{Advance: true},
		},
		{
			"a lost backend is not a lost worker",
			losing(at(ktrdr.Running), 2), ofParent(fourth(ktrdr.LoseHolder)), orphaned(losing(at(ktrdr.Failed), 2)),
			ktrdr.Effects{Advance: true},
		},
		{
			"a requeue after a dead backend is no loss, and is remembered",
			losing(at(ktrdr.Running), 2), ofParent(fourth(ktrdr.Requeue)), orphaned(losing(at(ktrdr.Pending), 2)),
			ktrdr.Effects{},
		},
		{
			"a requeue under a cancel ends it",
			flagged(at(ktrdr.Running)), ofParent(fourth(ktrdr.Requeue)), orphaned(flagged(at(ktrdr.Cancelled))),
			ktrdr.Effects{Advance: true},
		},
		{
			"a release keeps in mind that a backend died",
			orphaned(at(ktrdr.Running)), fourth(ktrdr.Release), orphaned(at(ktrdr.Pending)),
			ktrdr.Effects{},
		},
		{
			"a dead child process is a loss, and the work is tried again",
			orphaned(losing(at(ktrdr.Running), 1)), ofParent(fourth(ktrdr.LoseChild)), orphaned(losing(at(ktrdr.Pending), 2)),
			ktrdr.Effects{},
		},
		{
			"the third dead child process without a new step is poison",
			orphaned(losing(at(ktrdr.Running), 2)), ofParent(fourth(ktrdr.LoseChild)), orphaned(losing(at(ktrdr.Failed), 3)),
			ktrdr.Effects{Poison: true, Advance: true},
		},
		{
			"a dead child process under a cancel is the cancel's end",
			flagged(losing(at(ktrdr.Running), 2)), ofParent(fourth(ktrdr.LoseChild)), flagged(losing(at(ktrdr.Cancelled), 3)),
			ktrdr.Effects{Advance: true},
		},
		{
			"a lost backend under a cancel is the cancel's end",
			flagged(at(ktrdr.Running)), fourth(ktrdr.LoseHolder), orphaned(flagged(at(ktrdr.Cancelled))),
			ktrdr.Effects{},
		},
		{
			"a backend's start puts the operation in question",
			flagged(at(ktrdr.Running)), fourth(ktrdr.Restart), flagged(at(ktrdr.Reconciling)),
			ktrdr.Effects{},
		},
		{
			"a cancel ends what has not begun",
			at(ktrdr.Pending), ofParent(ktrdr.Act{Input: ktrdr.Cancel}), at(ktrdr.Cancelled),
			ktrdr.Effects{Advance: true, Cascade: true},
		},
		{
			"a cancel flags what runs",
			at(ktrdr.Reconciling), ofParent(ktrdr.Act{Input: ktrdr.Cancel}), flagged(at(ktrdr.Reconciling)),
			ktrdr.Effects{Cascade: true},
		},
		{
			"a second cancel changes nothing",
			flagged(at(ktrdr.Running)),
			ktrdr.Act{Input: ktrdr.Cancel},
			flagged(at(ktrdr.Running)),
			ktrdr.Effects{Cascade: true},
		},
		{
			"a resume clears the cancel and keeps the losses",
			losing(flagged(at(ktrdr.Cancelled)), 2),
			ktrdr.Act{Input: ktrdr.Resume},
			losing(at(ktrdr.Pending), 2),
			ktrdr.Effects{},
		},
		{
			"a resume continues what failed",
			at(ktrdr.Failed), ofParent(ktrdr.Act{Input: ktrdr.Resume}), at(ktrdr.Pending),
			ktrdr.Effects{},
		},
	} {
		got, eff, err := ktrdr.Step(c.from, c.act)
		if err != nil || got != c.want || eff != c.eff {
			t.Errorf("%s: got %+v %+v %v, want %+v %+v", c.name, got, eff, err, c.want, c.eff)
		}
	}
}

func TestStep_RefusesWithTheCodeThatSaysHow(t *testing.T) {
	t.Parallel()
	speaks := []ktrdr.Input{
		ktrdr.Report, ktrdr.Save, ktrdr.Finish, ktrdr.Release, ktrdr.Requeue,
		ktrdr.LoseWorker, ktrdr.LoseHolder, ktrdr.LoseChild, ktrdr.Restart,
	}
	type row struct {
		from ktrdr.StepState
		act  ktrdr.Act
		want ktrdr.Code
	}
	var rows []row
	for _, input := range speaks { // the fence
		for _, status := range ktrdr.Statuses {
			for _, epoch := range []ktrdr.Epoch{0, 3, 5} {
				rows = append(rows, row{at(status), ktrdr.Act{Input: input, Epoch: epoch, Outcome: ktrdr.Completed}, ktrdr.CodeStaleEpoch})
			}
			if !status.Live() {
				rows = append(rows, row{at(status), ktrdr.Act{Input: input, Epoch: 4, Outcome: ktrdr.Completed}, ktrdr.CodeStaleEpoch})
			}
		}
	}
	for _, status := range ktrdr.Statuses {
		if status != ktrdr.Pending {
			rows = append(rows, row{at(status), ktrdr.Act{Input: ktrdr.Claim}, ktrdr.CodeConflict})
		}
		if status.Terminal() {
			rows = append(rows, row{at(status), ktrdr.Act{Input: ktrdr.Cancel}, ktrdr.CodeConflict})
		}
		if status != ktrdr.Failed && status != ktrdr.Cancelled {
			rows = append(rows, row{at(status), ktrdr.Act{Input: ktrdr.Resume}, ktrdr.CodeConflict})
		}
		rows = append(rows,
			row{at(status), ktrdr.Act{Input: ktrdr.Resume, ParentClosed: true}, ktrdr.CodeConflict},
			row{at(status), ktrdr.Act{Input: "explode"}, ktrdr.CodeInvalid})
	}
	for _, outcome := range []ktrdr.Status{"", ktrdr.Pending, ktrdr.Running, ktrdr.Reconciling, "DONE"} {
		rows = append(rows, row{at(ktrdr.Running), ktrdr.Act{Input: ktrdr.Finish, Epoch: 4, Outcome: outcome}, ktrdr.CodeInvalid})
	}
	rows = append(rows, row{at(ktrdr.Reconciling), ktrdr.Act{Input: ktrdr.Restart, Epoch: 4}, ktrdr.CodeConflict})

	for _, r := range rows {
		got, eff, err := ktrdr.Step(r.from, r.act)
		if got != r.from || eff != (ktrdr.Effects{}) {
			t.Errorf("%s of %s changed it to %+v %+v", r.act.Input, r.from.Status, got, eff)
		}
		te, ok := errors.AsType[*ktrdr.TransitionError](err)
		if !ok {
			t.Errorf("%s of %s: got %v, want a TransitionError", r.act.Input, r.from.Status, err)
			continue
		}
		want := ktrdr.TransitionError{Input: r.act.Input, From: r.from.Status, Epoch: 4, Given: r.act.Epoch, Code: r.want}
		if *te != want {
			t.Errorf("%s of %s: got %+v, want %+v", r.act.Input, r.from.Status, *te, want)
		}
	}
}

// everySituation calls f with every state and act that Step can tell apart.
func everySituation(f func(ktrdr.StepState, ktrdr.Act)) {
	for _, status := range ktrdr.Statuses {
		for _, input := range ktrdr.Inputs {
			for _, given := range []ktrdr.Epoch{1, 2, 3} {
				for _, outcome := range ktrdr.Statuses {
					for bits := range 8 {
						for losses := range ktrdr.PoisonLosses + 1 {
							for step := range int64(3) {
								f(ktrdr.StepState{
									Status: status, Epoch: 2, Attempts: 2,
									CancelRequested: bits&1 != 0, Losses: losses, MaxStep: 1,
								}, ktrdr.Act{
									Input: input, Epoch: given, Outcome: outcome, Step: step,
									Child: bits&2 != 0, ParentClosed: bits&4 != 0,
								})
							}
						}
					}
				}
			}
		}
	}
}

func TestStep_MakesExactlyTheTransitions(t *testing.T) {
	t.Parallel()
	made := map[[2]ktrdr.Status]bool{}
	everySituation(func(s ktrdr.StepState, a ktrdr.Act) {
		next, _, err := ktrdr.Step(s, a)
		if err == nil && next.Status != s.Status {
			made[[2]ktrdr.Status{s.Status, next.Status}] = true
		}
	})
	for pair := range made {
		if !slices.Contains(ktrdr.Transitions[pair[0]], pair[1]) {
			t.Errorf("Step goes from %s to %s, which Transitions does not hold", pair[0], pair[1])
		}
	}
	for from, tos := range ktrdr.Transitions {
		for _, to := range tos {
			if !made[[2]ktrdr.Status{from, to}] {
				t.Errorf("Transitions holds %s to %s, which no act makes", from, to)
			}
		}
	}
	if len(ktrdr.Transitions) != len(ktrdr.Statuses) {
		t.Errorf("Transitions has %d statuses, want all %d", len(ktrdr.Transitions), len(ktrdr.Statuses))
	}
}

func TestStep_ChangesOnlyWhatTheInputMay(t *testing.T) {
	t.Parallel()
	n := 0
	everySituation(func(s ktrdr.StepState, a ktrdr.Act) {
		n++
		next, eff, err := ktrdr.Step(s, a)
		if err != nil {
			if next != s || eff != (ktrdr.Effects{}) {
				t.Errorf("%+v on %+v was refused and changed it to %+v %+v", a, s, next, eff)
			}
			return
		}
		claimed := a.Input == ktrdr.Claim
		if (next.Epoch != s.Epoch || next.Attempts != s.Attempts) != claimed {
			t.Errorf("%+v on %+v made epoch %d and attempts %d", a, s, next.Epoch, next.Attempts)
		}
		if s.Status == ktrdr.Completed || s.Status.Terminal() && a.Input != ktrdr.Resume {
			t.Errorf("%+v left %s", a, s.Status)
		}
		if s.CancelRequested && !next.CancelRequested && a.Input != ktrdr.Resume {
			t.Errorf("%+v on %+v undid a cancel", a, s)
		}
		if s.CancelRequested && s.Status.Live() && !next.Status.Live() && next.Status != ktrdr.Cancelled {
			t.Errorf("%+v ended a cancelled operation as %s", a, next.Status)
		}
		if (eff.Advance || eff.AutoResume) && !a.Child {
			t.Errorf("%+v on %+v tells a parent that is not there: %+v", a, s, eff)
		}
		if eff.Advance && eff.AutoResume || eff.Advance && !next.Status.Terminal() {
			t.Errorf("%+v on %+v has effects that exclude each other: %+v at %s", a, s, eff, next.Status)
		}
	})
	t.Logf("%d situations", n)
}
