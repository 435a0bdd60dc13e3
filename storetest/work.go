package storetest

import (
	"encoding/json"
	"math"

	"github.com/ktrdr/ktrdr"
)

var reports = map[string]func(*lab){
	"ReportRefreshesTheClaims": func(l *lab) {
		a, b := l.running(), l.running()
		before := l.op(b.Operation)
		l.eventually("both heartbeats are newer", func() bool {
			same(l, "orders", l.report("w", held(a, 0), held(b, 0)), ktrdr.Orders{})
			return l.op(a.Operation).HeartbeatAt.After(before.HeartbeatAt) && l.op(b.Operation).HeartbeatAt.After(before.HeartbeatAt)
		})
		if now := l.op(b.Operation); now.ClaimedAt != before.ClaimedAt || now.Status != ktrdr.Running {
			l.Errorf("the report changed %+v", now)
		}
	},

	"ReportBringsAReconcilingOperationBack": func(l *lab) {
		task := l.running()
		l.start("b", "i1", keep)
		l.is(task.Operation, ktrdr.Reconciling)
		same(l, "orders", l.report("w", held(task, 0)), ktrdr.Orders{})
		if op := l.is(task.Operation, ktrdr.Running); op.Epoch != task.Epoch || op.Attempts != 1 {
			l.Errorf("back at epoch %d after %d attempts", op.Epoch, op.Attempts)
		}
	},

	"ReportAnswersWhatIsCancelled": func(l *lab) {
		a, b := l.running(), l.running()
		l.cancel(a.Operation)
		same(l, "orders", l.report("w", held(a, 3), held(b, 4)), ktrdr.Orders{Cancel: []ktrdr.Claimed{held(a, 3)}})
	},

	"ReportAnswersWhatIsLost": func(l *lab) {
		ended := l.running()
		l.finish(ended, ktrdr.Completed)
		released := l.running()
		l.must(l.Release(l.ctx(), ktrdr.Released{Operation: released.Operation, Epoch: released.Epoch}))
		newer := l.claim("w2")
		stale := held(released, 9)
		future := held(newer, 9)
		future.Epoch++
		unknown := ktrdr.Claimed{Operation: "op_dummy_nobody", Epoch: 1}
		odd := ktrdr.Claimed{Operation: "\x00'; --", Epoch: 1}
		live := l.running()
		got := l.report("w", held(ended, 0), stale, future, unknown, odd, held(live, 0))
		same(l, "orders", got, ktrdr.Orders{Lost: []ktrdr.Claimed{held(ended, 0), stale, future, unknown, odd}})
		if op := l.op(newer.Operation); op.MaxStep != 0 {
			l.Errorf("a stale report moved the step to %d", op.MaxStep)
		}
		l.is(ended.Operation, ktrdr.Completed)
	},

	"ReportOfAnEarlierWorkersClaimIsByEpochAlone": func(l *lab) {
		task := l.running()
		same(l, "orders", l.report("another name", held(task, 2)), ktrdr.Orders{})
		if op := l.op(task.Operation); op.MaxStep != 2 {
			l.Errorf("step %d, want 2", op.MaxStep)
		}
	},

	"ReportOfANewStepForgivesLosses": func(l *lab) {
		task := l.lossesOf(1)
		l.report("w", held(task, 0))
		if op := l.op(task.Operation); op.Losses != 1 {
			l.Errorf("losses %d after an old step, want 1", op.Losses)
		}
		l.report("w", held(task, 7))
		if op := l.op(task.Operation); op.Losses != 0 || op.MaxStep != 7 {
			l.Errorf("losses %d at step %d after a new step, want 0 at 7", op.Losses, op.MaxStep)
		}
		l.report("w", held(task, 5))
		if op := l.op(task.Operation); op.MaxStep != 7 {
			l.Errorf("the furthest step went back to %d", op.MaxStep)
		}
	},

	"ReportTakesHundredsAtOnce": func(l *lab) {
		const n = 250
		each(n, 8, func(int) {
			if _, err := l.Create(l.ctx(), ktrdr.NewOperation{Type: ktrdr.Dummy}, ktrdr.IdempotencyKey{}); err != nil {
				l.Error(err)
			}
		})
		all := make([]ktrdr.Claimed, n)
		each(n, 8, func(i int) {
			if task := l.claimUnder("w", l.name("key")); task != nil {
				all[i] = held(*task, 5)
			}
		})
		l.cancel(all[17].Operation)
		same(l, "orders", l.report("w", all...), ktrdr.Orders{Cancel: all[17:18]})
		page, err := l.List(l.ctx(), ktrdr.OperationQuery{Limit: 1000})
		l.must(err)
		for _, op := range page.Operations {
			if op.MaxStep != 5 {
				l.Errorf("%s is at step %d, want 5", op.ID, op.MaxStep)
			}
		}
	},

	"OrdersAnswerAsReportWouldWithoutWriting": func(l *lab) {
		cancelled, lost, live := l.running(), l.running(), l.running()
		l.cancel(cancelled.Operation)
		l.finish(lost, ktrdr.Failed)
		l.start("b", "i1", keep)
		before := l.op(live.Operation)
		got, err := l.Orders(l.ctx(), []ktrdr.Claimed{held(cancelled, 1), held(lost, 1), held(live, 1)})
		l.must(err)
		same(l, "orders", got, ktrdr.Orders{Cancel: []ktrdr.Claimed{held(cancelled, 1)}, Lost: []ktrdr.Claimed{held(lost, 1)}})
		same(l, "the operation", l.op(live.Operation), before)
	},
}

// lossesOf makes a claimed operation that has lost that number of workers.
func (l *lab) lossesOf(n int) ktrdr.Task {
	l.Helper()
	task := l.running()
	l.save(task, 1, 0)
	for range n {
		l.lose(task.Operation)
		_, err := l.Resume(l.ctx(), task.Operation)
		l.must(err)
		task = l.claim("w")
	}
	return task
}

var saves = map[string]func(*lab){
	"SaveProgressOverwritesTheProgress": func(l *lab) {
		task := l.running()
		for _, p := range []ktrdr.Progress{
			{Percentage: 10, CurrentStep: "one", StepsCompleted: 1, StepsTotal: 10, Context: json.RawMessage(`{"loss":0.5}`)},
			{Percentage: 20.5, CurrentStep: "two “quoted”", StepsCompleted: 2, StepsTotal: 10},
		} {
			l.must(l.SaveProgress(l.ctx(), ktrdr.ProgressReport{Operation: task.Operation, Epoch: task.Epoch, Progress: p}))
			same(l, "progress", l.op(task.Operation).Progress, p)
		}
		if op := l.op(task.Operation); op.MaxStep != 2 {
			l.Errorf("furthest step %d, want 2", op.MaxStep)
		}
	},

	"SaveProgressOfAnOldEpochChangesNothing": func(l *lab) {
		old := l.running()
		l.must(l.Release(l.ctx(), ktrdr.Released{Operation: old.Operation, Epoch: old.Epoch}))
		l.claim("w2")
		before := l.op(old.Operation)
		for _, epoch := range []ktrdr.Epoch{old.Epoch, old.Epoch + 5, 0, -1} {
			err := l.SaveProgress(l.ctx(), ktrdr.ProgressReport{Operation: old.Operation, Epoch: epoch, Progress: ktrdr.Progress{StepsCompleted: 9}})
			l.stale(err, ktrdr.Save, before, epoch)
		}
		same(l, "the operation", l.op(old.Operation), before)
	},

	"SaveProgressLeavesAReconcilingOperationInQuestion": func(l *lab) {
		task := l.running()
		l.start("b", "i1", keep)
		l.must(l.SaveProgress(l.ctx(), ktrdr.ProgressReport{
			Operation: task.Operation, Epoch: task.Epoch,
			Progress: ktrdr.Progress{StepsCompleted: 4},
		}))
		if op := l.is(task.Operation, ktrdr.Reconciling); op.MaxStep != 4 {
			l.Errorf("step %d, want 4", op.MaxStep)
		}
	},

	"SaveProgressRefusesWhatCannotBeStored": func(l *lab) {
		task := l.running()
		err := l.SaveProgress(l.ctx(), ktrdr.ProgressReport{
			Operation: task.Operation, Epoch: task.Epoch,
			Progress: ktrdr.Progress{Percentage: math.NaN()},
		})
		l.refused(err, ktrdr.CodeInvalid)
		err = l.SaveProgress(l.ctx(), ktrdr.ProgressReport{Operation: "op_dummy_nobody", Epoch: 1})
		l.refused(err, ktrdr.CodeNotFound)
	},

	"ARefusedWriteIsLoggedOnce": func(l *lab) {
		old := l.running()
		l.must(l.Release(l.ctx(), ktrdr.Released{Operation: old.Operation, Epoch: old.Epoch}))
		l.claim("w2")
		for range 3 {
			_, err := l.Finish(l.ctx(), ending(old, ktrdr.Completed))
			l.refused(err, ktrdr.CodeStaleEpoch)
		}
		n := 0
		for _, e := range l.logOf(old.Operation) {
			if e.Kind == ktrdr.EventWriteRefused {
				n++
			}
		}
		if n != 1 {
			l.Errorf("%d write_refused events, want 1", n)
		}
	},
}
