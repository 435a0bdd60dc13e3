package storetest

import (
	"encoding/json"
	"math"
	"slices"
	"time"

	"github.com/ktrdr/ktrdr"
)

// later gives a claim back for the time wait and returns the operation.
func (l *lab) later(task ktrdr.Task, wait time.Duration) ktrdr.Operation {
	l.Helper()
	l.must(l.Release(l.ctx(), ktrdr.Released{
		Operation: task.Operation, Epoch: task.Epoch, Reason: "asked to come back later", AfterSeconds: wait.Seconds(),
	}))
	return l.is(task.Operation, ktrdr.Pending)
}

// released is when an operation was last given back, on the store's clock.
func (l *lab) released(id ktrdr.OperationID) time.Time {
	l.Helper()
	return l.last(id, ktrdr.EventReleased).At
}

var waits = map[string]func(*lab){
	"AReleaseForLaterIsClaimedAfterItsWaitAndNotBefore": func(l *lab) {
		const wait = 300 * time.Millisecond
		task := l.running()
		l.save(task, 1, 3)
		op := l.later(task, wait)
		due := l.released(op.ID).Add(wait)
		var next *ktrdr.Task
		l.eventually("it is claimed", func() bool { next = l.try("w2"); return next != nil })
		now := l.is(op.ID, ktrdr.Running)
		if now.ClaimedAt.Before(due) || !now.NotBefore.IsZero() {
			l.Errorf("claimed at %v, to be claimed from %v; it says that it waits until %v", now.ClaimedAt, due, now.NotBefore)
		}
		if next.Epoch != 2 || next.Checkpoint == nil || now.Losses != 0 {
			l.Errorf("claimed: %+v", next)
		}
	},

	"AnOperationThatWaitsHoldsUpNoOther": func(l *lab) {
		first := l.create(ktrdr.NewOperation{Priority: 9})
		l.later(l.claim("w"), time.Hour)
		second := l.create(ktrdr.NewOperation{})
		l.claimsInOrder(second.ID)
		if op := l.op(first.ID); op.NotBefore.IsZero() || op.Attempts != 1 {
			l.Errorf("the one that waits: %+v", op)
		}
	},

	"AnAnswerEndsAnOperationThatWaitsAndAdvancesItsParent": func(l *lab) {
		parent := l.plant(treeSpec{Children: 1, Delay: time.Hour})
		child := l.children(parent.ID)[0]
		if wait := child.NotBefore.Sub(child.CreatedAt); wait < time.Hour || wait > time.Hour+time.Minute {
			l.Errorf("created at %v and not to be claimed before %v, want an hour between", child.CreatedAt, child.NotBefore)
		}
		if task := l.try("w"); task != nil {
			l.Errorf("%s was claimed before its time", task.Operation)
		}
		result := json.RawMessage(`{"answer":1}`)
		op, err := l.Answer(l.ctx(), child.ID, result)
		l.must(err)
		if op.Status != ktrdr.Completed || op.Epoch != 1 || string(op.Result) != string(result) || op.Worker != "" {
			l.Errorf("answered: %+v", op)
		}
		if _, err := l.Answer(l.ctx(), child.ID, result); ktrdr.CodeOf(err) != ktrdr.CodeConflict {
			l.Errorf("answered twice: %v", err)
		}
		l.is(parent.ID, ktrdr.Completed)
	},

	"AnAnswerIsRefusedWhereAWorkerIsAtWork": func(l *lab) {
		task := l.running()
		if _, err := l.Answer(l.ctx(), task.Operation, nil); ktrdr.CodeOf(err) != ktrdr.CodeConflict {
			l.Errorf("answered: %v", err)
		}
		l.is(task.Operation, ktrdr.Running)
		if _, err := l.Answer(l.ctx(), "op_none_20260101_000000_abcdef01", nil); ktrdr.CodeOf(err) != ktrdr.CodeNotFound {
			l.Errorf("an operation that is not there: %v", err)
		}
	},

	"WhoWaitsIsShownAndWaitsForNoWorker": func(l *lab) {
		op := l.later(l.running(), time.Hour)
		if waits := op.NotBefore.Sub(l.released(op.ID)); waits != time.Hour {
			l.Errorf("it waits for %v, want an hour", waits)
		}
		page, err := l.List(l.ctx(), ktrdr.OperationQuery{ActiveOnly: true})
		l.must(err)
		if len(page.Operations) != 1 || page.Operations[0].NotBefore != op.NotBefore {
			l.Errorf("listed: %+v", page.Operations)
		}
		all, err := l.Waiting(l.ctx())
		l.must(err)
		same(l, "what a worker could claim", all, nil)
	},

	"ACancelEndsAWait": func(l *lab) {
		task := l.running()
		l.save(task, 1, 1)
		l.later(task, time.Hour)
		l.cancel(task.Operation)
		if op := l.is(task.Operation, ktrdr.Cancelled); !op.NotBefore.IsZero() {
			l.Errorf("cancelled, and it waits until %v", op.NotBefore)
		}
		op, err := l.Resume(l.ctx(), task.Operation)
		l.must(err)
		if !op.NotBefore.IsZero() {
			l.Errorf("resumed, and it waits until %v", op.NotBefore)
		}
		l.claimsInOrder(task.Operation)
	},

	"AReleaseForLaterUnderACancelEndsTheOperation": func(l *lab) {
		task := l.running()
		l.cancel(task.Operation)
		l.must(l.Release(l.ctx(), ktrdr.Released{Operation: task.Operation, Epoch: task.Epoch, AfterSeconds: 3600}))
		if op := l.is(task.Operation, ktrdr.Cancelled); !op.NotBefore.IsZero() {
			l.Errorf("cancelled, and it waits until %v", op.NotBefore)
		}
	},

	"AWaitIsANumberOfSecondsAndAtMostThirtyDays": func(l *lab) {
		task := l.running()
		for _, wait := range []float64{-1, -1e-9, math.NaN(), math.Inf(-1)} {
			l.refused(l.Release(l.ctx(), ktrdr.Released{Operation: task.Operation, Epoch: task.Epoch, AfterSeconds: wait}), ktrdr.CodeInvalid)
		}
		l.is(task.Operation, ktrdr.Running)
		for _, wait := range []float64{1e12, math.MaxFloat64, math.Inf(1)} {
			task := l.running()
			l.must(l.Release(l.ctx(), ktrdr.Released{Operation: task.Operation, Epoch: task.Epoch, AfterSeconds: wait}))
			op := l.is(task.Operation, ktrdr.Pending)
			if days := op.NotBefore.Sub(l.released(op.ID)).Hours() / 24; math.Abs(days-30) > 0.001 {
				l.Errorf("%g seconds became %g days, want 30", wait, days)
			}
		}
	},

	"AStartAndASweepLeaveAWaitAlone": func(l *lab) {
		before := l.later(l.running(), time.Hour)
		l.start("b", "i1", forced)
		_, err := l.Sweep(l.ctx(), ktrdr.Backend{ID: "b", Incarnation: "i1"}, forced, true)
		l.must(err)
		same(l, "the operation", l.op(before.ID), before)
	},

	"ManyWhoWaitAreClaimedWhenTheirTimesHaveCome": func(l *lab) {
		const n = 12
		due := map[ktrdr.OperationID]time.Time{}
		for i := range n {
			wait := time.Duration(1+i%4) * 200 * time.Millisecond
			op := l.later(l.running(), wait)
			due[op.ID] = l.released(op.ID).Add(wait)
		}
		var got []ktrdr.OperationID
		l.eventually("all of them are claimed", func() bool {
			if task := l.try("w"); task != nil {
				got = append(got, task.Operation)
				if at := l.op(task.Operation).ClaimedAt; at.Before(due[task.Operation]) {
					l.Errorf("%s was claimed at %v, before %v", task.Operation, at, due[task.Operation])
				}
			}
			return len(got) == n
		})
		slices.Sort(got)
		same(l, "claimed once each", len(slices.Compact(got)), n)
	},
}
