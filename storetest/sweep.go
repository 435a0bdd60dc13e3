package storetest

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ktrdr/ktrdr"
)

var me = ktrdr.Backend{ID: "b", Incarnation: "sweeper"}

// lose sweeps until the operation's worker is found silent.
func (l *lab) lose(id ktrdr.OperationID) ktrdr.Orphan {
	l.Helper()
	return l.loseUnder(forced, id)
}

func (l *lab) loseUnder(p ktrdr.RecoveryPolicy, id ktrdr.OperationID) ktrdr.Orphan {
	l.Helper()
	var found ktrdr.Orphan
	l.eventually(string(id)+" is found silent", func() bool {
		r, err := l.Sweep(l.ctx(), me, p, true)
		l.must(err)
		i := slices.IndexFunc(r.Orphaned, func(o ktrdr.Orphan) bool { return o.Operation == id })
		if i >= 0 {
			found = r.Orphaned[i]
		}
		return i >= 0
	})
	return found
}

// sameSet requires the same elements in any order.
func sameSet[T ~string](t testing.TB, what string, got []T, want ...T) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.SortSlices(func(a, b T) bool { return a < b })); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

var sweeps = map[string]func(*lab){
	"SweepFailsAnOperationWhoseWorkerIsSilent": func(l *lab) {
		task := l.running()
		l.save(task, 1, 1)
		o := l.lose(task.Operation)
		if o.Epoch != task.Epoch || o.Worker != "w" || o.Poison || o.Resumed || o.Silent < forced.Timeout {
			l.Errorf("orphan: %+v", o)
		}
		op := l.is(task.Operation, ktrdr.Failed)
		if op.ErrorMessage != ktrdr.MessageOrphaned || op.Error == nil || op.Error.Code != ktrdr.CodeOrphaned || op.Losses != 1 ||
			op.CompletedAt.IsZero() {
			l.Errorf("orphaned: %+v (%+v)", op, op.Error)
		}
		_, err := l.Finish(l.ctx(), ending(task, ktrdr.Completed)) // the zombie comes back
		l.stale(err, ktrdr.Finish, op, task.Epoch)
		_, err = l.Resume(l.ctx(), task.Operation)
		l.must(err)
	},

	"SweepFailsAReconcilingOperationThatNoWorkerReports": func(l *lab) {
		task := l.running()
		l.start(me.ID, me.Incarnation, keep)
		l.is(task.Operation, ktrdr.Reconciling)
		l.lose(task.Operation)
		if op := l.is(task.Operation, ktrdr.Failed); op.ErrorMessage != ktrdr.MessageOrphaned {
			l.Errorf("failed: %q", op.ErrorMessage)
		}
	},

	"SweepIsNeverEarlyByTheStoresClock": func(l *lab) {
		p := keep
		p.Timeout = 60 * time.Millisecond
		for range 3 {
			task := l.running()
			l.report("w", held(task, 0))
			o := l.loseUnder(p, task.Operation)
			op := l.op(task.Operation)
			if silent := op.CompletedAt.Sub(op.HeartbeatAt); silent < p.Timeout || o.Silent < p.Timeout {
				l.Errorf("orphaned %v after its last heartbeat (told as %v), want at least %v", silent, o.Silent, p.Timeout)
			}
		}
	},

	"SweepLeavesWhoIsHeardOf": func(l *lab) {
		task := l.running()
		r, err := l.Sweep(l.ctx(), me, keep, true)
		l.must(err)
		same(l, "orphaned", len(r.Orphaned), 0)
		l.is(task.Operation, ktrdr.Running)
	},

	"SweepDoesNotJudgeUnlessAsked": func(l *lab) {
		task := l.running()
		l.eventually("the worker is late", func() bool { return l.sweep(me.ID, me.Incarnation, forced).Potential == 1 })
		l.is(task.Operation, ktrdr.Running)
	},

	"SweepNeverJudgesWhatNoWorkerRuns": func(l *lab) {
		top := l.plant(treeSpec{Children: 1})
		task := l.claim("w")
		pending := l.create(ktrdr.NewOperation{})
		l.lose(task.Operation)
		l.is(top.ID, ktrdr.Running)
		l.is(pending.ID, ktrdr.Pending)
	},

	"SweepEndsACancelledOperationWhoseWorkerIsSilent": func(l *lab) {
		task := l.running()
		l.cancel(task.Operation)
		l.lose(task.Operation)
		op := l.is(task.Operation, ktrdr.Cancelled)
		if op.Losses != 1 || op.Error == nil || op.Error.Code != ktrdr.CodeCancelled {
			l.Errorf("cancelled: %+v (%+v)", op, op.Error)
		}
	},

	"SweepTellsWhoIsLateAndWhoIsNext": func(l *lab) {
		r := l.sweep(me.ID, me.Incarnation, keep)
		same(l, "of nothing", [2]int64{int64(r.Potential), int64(r.NextOrphan)}, [2]int64{})
		l.running()
		l.running()
		r = l.sweep(me.ID, me.Incarnation, keep)
		if r.Potential != 0 || r.NextOrphan <= 0 || r.NextOrphan > keep.Timeout {
			l.Errorf("of fresh ones: %d late, next in %v", r.Potential, r.NextOrphan)
		}
		late := keep
		late.Late = time.Microsecond
		l.eventually("both are late", func() bool { return l.sweep(me.ID, me.Incarnation, late).Potential == 2 })
	},

	"SweepAsksThePlansOfParentsThatWaitForNoChild": func(l *lab) {
		top := l.plant(treeSpec{Children: 1, Gated: true})
		l.finish(l.claim("w"), ktrdr.Completed)
		l.sweep(me.ID, me.Incarnation, keep)
		l.is(top.ID, ktrdr.Running)
		l.gate.Store(true)
		l.sweep(me.ID, me.Incarnation, keep)
		l.is(top.ID, ktrdr.Completed)
	},

	"SweepsAtOnceFindEachOrphanOnce": func(l *lab) {
		const n = 40
		for range n {
			l.running()
		}
		var mu sync.Mutex
		found := map[ktrdr.OperationID]int{}
		l.eventually("all are found", func() bool {
			each(6, 6, func(i int) {
				r, err := l.Sweep(l.ctx(), ktrdr.Backend{ID: "b", Incarnation: ktrdr.Incarnation(rune('a' + i))}, forced, true)
				if err != nil {
					l.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				for _, o := range r.Orphaned {
					found[o.Operation]++
				}
			})
			return len(found) == n || l.Failed()
		})
		for id, times := range found {
			if op := l.op(id); times != 1 || op.Losses != 1 {
				l.Errorf("%s was found %d times with %d losses", id, times, op.Losses)
			}
		}
		l.logIsLegal()
	},
}

var orphans = map[string]func(*lab){
	"AnOpenParentsOrphanIsResumed": func(l *lab) {
		top := l.plant(treeSpec{Children: 1})
		task := l.claim("w")
		l.save(task, 1, 1)
		if o := l.lose(task.Operation); !o.Resumed || o.Poison {
			l.Errorf("orphan: %+v", o)
		}
		if op := l.is(task.Operation, ktrdr.Pending); op.Losses != 1 || op.ErrorMessage != "" || !op.CompletedAt.IsZero() {
			l.Errorf("resumed: %+v", op)
		}
		l.is(top.ID, ktrdr.Running)
		next := l.claim("w2")
		if next.Epoch != 2 || next.Checkpoint == nil {
			l.Errorf("claimed again: %+v", next)
		}
		l.finish(next, ktrdr.Completed)
		l.is(top.ID, ktrdr.Completed)
		l.logIsLegal()
	},

	"AnOrphanWithoutACheckpointIsResumedToo": func(l *lab) {
		l.plant(treeSpec{Children: 1})
		task := l.claim("w")
		l.lose(task.Operation)
		l.is(task.Operation, ktrdr.Pending)
	},

	"WithoutAutoResumeThePlanDecides": func(l *lab) {
		p := forced
		p.AutoResume = false
		top := l.plant(treeSpec{Children: 1})
		task := l.claim("w")
		if o := l.loseUnder(p, task.Operation); o.Resumed {
			l.Errorf("orphan: %+v", o)
		}
		l.is(task.Operation, ktrdr.Failed)
		l.is(top.ID, ktrdr.Failed)
	},

	"AnOrphanOfACancelledParentIsNotResumed": func(l *lab) {
		top := l.plant(treeSpec{Children: 1})
		task := l.claim("w")
		l.cancel(top.ID)
		if o := l.lose(task.Operation); o.Resumed {
			l.Errorf("orphan: %+v", o)
		}
		l.is(task.Operation, ktrdr.Cancelled)
		l.is(top.ID, ktrdr.Cancelled)
	},

	"TheThirdLossWithoutANewStepIsPoison": func(l *lab) {
		top := l.plant(treeSpec{Children: 1})
		var task ktrdr.Task
		for i := range ktrdr.PoisonLosses {
			task = l.claim("w")
			if o := l.lose(task.Operation); o.Poison != (i == 2) || o.Resumed != (i < 2) {
				l.Errorf("loss %d: %+v", i+1, o)
			}
		}
		op := l.is(task.Operation, ktrdr.Failed)
		if op.Losses != 3 || op.Error == nil || op.Error.Code != ktrdr.CodePoison || op.ErrorMessage == "" {
			l.Errorf("poison: %+v (%+v)", op, op.Error)
		}
		l.is(top.ID, ktrdr.Failed)
		l.logIsLegal()
	},

	"ANewStepBetweenLossesIsNotPoison": func(l *lab) {
		l.plant(treeSpec{Children: 1})
		for i := range int64(5) {
			task := l.claim("w")
			l.save(task, 1, i+1)
			if o := l.lose(task.Operation); o.Poison || !o.Resumed {
				l.Errorf("loss %d: %+v", i+1, o)
			}
		}
	},

	"ReleasesAndRestartsAreNotLosses": func(l *lab) {
		l.plant(treeSpec{Children: 1})
		for range 4 {
			task := l.claim("w")
			l.must(l.Release(l.ctx(), ktrdr.Released{Operation: task.Operation, Epoch: task.Epoch}))
		}
		task := l.claim("w")
		l.start("b", ktrdr.Incarnation(l.name("i")), keep)
		l.report("w", held(task, 0))
		if op := l.op(task.Operation); op.Losses != 0 || op.Attempts != 5 {
			l.Errorf("%d losses in %d attempts, want 0 in 5", op.Losses, op.Attempts)
		}
	},

	"AStandaloneOrphanBecomesPoisonToo": func(l *lab) {
		task := l.lossesOf(2)
		if o := l.lose(task.Operation); !o.Poison {
			l.Errorf("orphan: %+v", o)
		}
		if op := l.is(task.Operation, ktrdr.Failed); op.Error.Code != ktrdr.CodePoison {
			l.Errorf("poison: %+v", op.Error)
		}
	},
}
