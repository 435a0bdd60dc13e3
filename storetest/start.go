package storetest

import (
	"time"

	"github.com/ktrdr/ktrdr"
)

// The policies of these cases: one under which no worker is late, one under which
// all workers are.
var (
	keep   = ktrdr.RecoveryPolicy{Timeout: time.Hour, Late: time.Hour, AutoResume: true}
	forced = ktrdr.RecoveryPolicy{Timeout: time.Microsecond, Late: time.Microsecond, AutoResume: true}
)

// failing is keep under RESTART_POLICY=fail.
func failing() ktrdr.RecoveryPolicy {
	p := keep
	p.FailLocal = true
	return p
}

// start starts a life of a backend.
func (l *lab) start(id string, life ktrdr.Incarnation, p ktrdr.RecoveryPolicy) ktrdr.Recovered {
	l.Helper()
	r, err := l.Start(l.ctx(), ktrdr.Backend{ID: id, Incarnation: life}, p)
	l.must(err)
	return r
}

// sweep sweeps without judging silent workers.
func (l *lab) sweep(id string, life ktrdr.Incarnation, p ktrdr.RecoveryPolicy) ktrdr.Recovered {
	l.Helper()
	r, err := l.Sweep(l.ctx(), ktrdr.Backend{ID: id, Incarnation: life}, p, false)
	l.must(err)
	return r
}

var starts = map[string]func(*lab){
	"StartPutsOutsideWorkersOperationsInQuestion": func(l *lab) {
		l.start("b", "i1", keep)
		pending := l.create(ktrdr.NewOperation{Priority: -1})
		done := l.finish(l.running(), ktrdr.Completed)
		task := l.running()
		before := l.op(task.Operation)
		r := l.start("b", "i2", keep)
		same(l, "reconciling", r.Reconciling, []ktrdr.OperationID{task.Operation})
		op := l.is(task.Operation, ktrdr.Reconciling)
		if op.Epoch != before.Epoch || op.Worker != before.Worker || op.Attempts != 1 || op.Losses != 0 {
			l.Errorf("in question: %+v", op)
		}
		l.is(pending.ID, ktrdr.Pending)
		same(l, "what had ended", l.op(done.ID), done)
		if again := l.start("b", "i3", keep); len(again.Reconciling) != 0 {
			l.Errorf("the next start put %v in question again", again.Reconciling)
		}
	},

	"StartRequeuesWhatItsEarlierLifeHeld": func(l *lab) {
		l.start("b", "i1", keep)
		l.create(ktrdr.NewOperation{})
		task := l.claimLocal("i1")
		l.save(task, 1, 2)
		r := l.start("b", "i2", keep)
		same(l, "requeued", r.Requeued, []ktrdr.OperationID{task.Operation})
		op := l.is(task.Operation, ktrdr.Pending)
		if op.Losses != 0 || op.Checkpoint == nil || op.HeldBy != "" {
			l.Errorf("requeued: %+v", op)
		}
		if next := l.claimLocal("i2"); next.Epoch != 2 || next.Checkpoint == nil {
			l.Errorf("claimed again: %+v", next)
		}
	},

	"StartFailsWhatItsPlanMustDecide": func(l *lab) {
		l.start("b", "i1", keep)
		l.create(ktrdr.NewOperation{Type: ktrdr.AgentDesign, BackendLocal: true})
		task := l.claimLocal("i1")
		r := l.start("b", "i2", keep)
		same(l, "failed", r.Failed, []ktrdr.OperationID{task.Operation})
		op := l.is(task.Operation, ktrdr.Failed)
		if op.Error == nil || op.Error.Code != ktrdr.CodeBackendRestart || op.ErrorMessage != ktrdr.MessageRestartLost || op.Losses != 0 {
			l.Errorf("failed: %+v (%+v)", op, op.Error)
		}
	},

	"StartFailsEverythingItHeldWhenThePolicySaysSo": func(l *lab) {
		l.start("b", "i1", keep)
		l.create(ktrdr.NewOperation{})
		saved := l.claimLocal("i1")
		l.save(saved, 1, 1)
		l.create(ktrdr.NewOperation{})
		lost := l.claimLocal("i1")
		outside := l.running()
		r := l.start("b", "i2", failing())
		sameSet(l, "failed", r.Failed, saved.Operation, lost.Operation)
		if op := l.is(saved.Operation, ktrdr.Failed); op.ErrorMessage != ktrdr.MessageRestartResumable ||
			op.Error.Code != ktrdr.CodeBackendRestart {
			l.Errorf("with a checkpoint: %q %+v", op.ErrorMessage, op.Error)
		}
		if op := l.is(lost.Operation, ktrdr.Failed); op.ErrorMessage != ktrdr.MessageRestartLost {
			l.Errorf("without a checkpoint: %q", op.ErrorMessage)
		}
		l.is(outside.Operation, ktrdr.Reconciling)
		_, err := l.Resume(l.ctx(), saved.Operation)
		l.must(err)
	},

	"StartFailsParentsWhenThePolicySaysSo": func(l *lab) {
		l.start("b", "i1", keep)
		top := l.plant(treeSpec{Children: 1})
		task := l.claim("w")
		l.start("b", "i2", failing())
		op := l.is(top.ID, ktrdr.Failed)
		if op.ErrorMessage != ktrdr.MessageRestartResumable {
			l.Errorf("failed: %q", op.ErrorMessage)
		}
		l.is(task.Operation, ktrdr.Reconciling)
		l.finish(task, ktrdr.Completed) // it finished meanwhile; its ended parent is not moved by it
		same(l, "the parent", l.op(top.ID), op)
		resumed, err := l.Resume(l.ctx(), top.ID)
		l.must(err)
		if resumed.Status != ktrdr.Completed {
			l.Errorf("resumed, the parent is %s, want COMPLETED by the child it had", resumed.Status)
		}
	},

	"StartLeavesParentsRunning": func(l *lab) {
		l.start("b", "i1", keep)
		top := l.plant(treeSpec{Children: 1})
		before := l.op(top.ID)
		l.start("b", "i2", keep)
		same(l, "the parent", l.op(top.ID), before)
	},

	"StartCancelsWhatWasToBeCancelled": func(l *lab) {
		l.start("b", "i1", keep)
		l.create(ktrdr.NewOperation{})
		requeued := l.claimLocal("i1")
		l.create(ktrdr.NewOperation{Type: ktrdr.AgentDesign, BackendLocal: true})
		failed := l.claimLocal("i1")
		l.cancel(requeued.Operation)
		l.cancel(failed.Operation)
		l.start("b", "i2", keep)
		l.is(requeued.Operation, ktrdr.Cancelled)
		l.is(failed.Operation, ktrdr.Cancelled)
	},

	"StartTellsTheParentOfAFailedChild": func(l *lab) {
		l.start("b", "i1", keep)
		top := l.plant(treeSpec{Children: 1, Local: true, Design: true})
		task := l.claimLocal("i1")
		r := l.start("b", "i2", keep)
		same(l, "failed", r.Failed, []ktrdr.OperationID{task.Operation})
		l.is(task.Operation, ktrdr.Failed)
		l.is(top.ID, ktrdr.Failed) // its plan was asked and gave up
	},

	"StartIsIdempotent": func(l *lab) {
		l.start("b", "i1", keep)
		l.create(ktrdr.NewOperation{})
		task := l.claimLocal("i1")
		l.start("b", "i1", keep) // the same life says it again
		l.is(task.Operation, ktrdr.Running)
	},
}

var lives = map[string]func(*lab){
	"SweepRecoversWhatAnUnknownLifeHeld": func(l *lab) {
		l.start("b", "i2", keep)
		l.create(ktrdr.NewOperation{})
		task := l.claimLocal("i1") // a life that never started, or has left
		r := l.sweep("b", "i2", keep)
		same(l, "requeued", r.Requeued, []ktrdr.OperationID{task.Operation})
		l.is(task.Operation, ktrdr.Pending)
	},

	"ABeatKeepsABackendAlive": func(l *lab) {
		me := ktrdr.Backend{ID: "b", Incarnation: "i1"}
		l.start("b", "i1", keep)
		l.create(ktrdr.NewOperation{})
		task := l.claimLocal("i1")
		l.must(l.Beat(l.ctx(), me))
		l.must(l.Beat(l.ctx(), me))
		if r := l.sweep("b", "i1", keep); len(r.Requeued)+len(r.Failed) != 0 {
			l.Errorf("a live backend was recovered from itself: %+v", r)
		}
		l.is(task.Operation, ktrdr.Running)
	},
}

// aloneInIt holds where a backend has the store to itself.
var aloneInIt = map[string]func(*lab){
	"StartTakesOverFromAnyBackendWhenAlone": func(l *lab) {
		l.start("b1", "i1", keep)
		l.create(ktrdr.NewOperation{})
		task := l.claimLocal("i1")
		r := l.start("b2", "i2", keep)
		same(l, "requeued", r.Requeued, []ktrdr.OperationID{task.Operation})
		l.is(task.Operation, ktrdr.Pending)
	},
}

// shared holds where several backends have it together.
var shared = map[string]func(*lab){
	"StartLeavesTheWorkOfALiveBackendAlone": func(l *lab) {
		l.start("b1", "i1", keep)
		outside := l.running()
		l.create(ktrdr.NewOperation{})
		inside := l.claimLocal("i1")
		r := l.start("b2", "i2", keep)
		same(l, "recovered", len(r.Reconciling)+len(r.Requeued)+len(r.Failed), 0)
		l.is(outside.Operation, ktrdr.Running)
		l.is(inside.Operation, ktrdr.Running)
		l.sweep("b2", "i2", keep)
		l.is(inside.Operation, ktrdr.Running)
	},

	"StartQuestionsALateWorkerBesideALiveBackend": func(l *lab) {
		l.start("b1", "i1", keep)
		outside := l.running()
		p := keep
		p.Late = time.Microsecond
		r := l.start("b2", "i2", p)
		same(l, "reconciling", r.Reconciling, []ktrdr.OperationID{outside.Operation})
	},

	"StartQuestionsEveryWorkerWhenTheOtherBackendIsSilent": func(l *lab) {
		l.start("b1", "i1", keep)
		outside := l.running()
		p := keep
		p.Timeout = time.Microsecond // b1 has been silent for longer
		r := l.start("b2", "i2", p)
		same(l, "reconciling", r.Reconciling, []ktrdr.OperationID{outside.Operation})
	},

	"ABackendThatLeftIsNotAlive": func(l *lab) {
		l.start("b1", "i1", keep)
		outside := l.running()
		l.must(l.Leave(l.ctx(), ktrdr.Backend{ID: "b1", Incarnation: "i1"}))
		l.must(l.Leave(l.ctx(), ktrdr.Backend{ID: "b1", Incarnation: "i1"}))
		r := l.start("b2", "i2", keep)
		same(l, "reconciling", r.Reconciling, []ktrdr.OperationID{outside.Operation})
	},

	"SweepRecoversWhatASilentBackendHeld": func(l *lab) {
		l.start("b1", "i1", keep)
		l.create(ktrdr.NewOperation{})
		task := l.claimLocal("i1")
		l.start("b2", "i2", keep)
		l.is(task.Operation, ktrdr.Running)
		r, err := l.Sweep(l.ctx(), ktrdr.Backend{ID: "b2", Incarnation: "i2"}, forced, true)
		l.must(err)
		same(l, "requeued", r.Requeued, []ktrdr.OperationID{task.Operation})
		if op := l.is(task.Operation, ktrdr.Pending); op.Losses != 0 {
			l.Errorf("the lost backend counts as %d lost workers", op.Losses)
		}
	},
}
