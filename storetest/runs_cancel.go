package storetest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ktrdr/ktrdr"
)

// cancelRun cancels a run that must not have ended.
func (l *lab) cancelRun(id string) ktrdr.Run {
	l.Helper()
	run, err := l.CancelRun(l.ctx(), id, "a person", "enough")
	l.must(err)
	return run
}

// batch cancels some of a cancelled run and requires whether more are left.
func (l *lab) batch(run string, want bool) {
	l.Helper()
	more, err := l.CancelBatch(l.ctx(), run)
	l.must(err)
	if more != want {
		l.Fatalf("more are left: %v, want %v", more, want)
	}
}

var runCancels = map[string]func(*lab){
	"CancelRunIsIdempotentAndRefusedAfterTheEnd": func(l *lab) {
		top := l.research("r", 0, 0)
		before := l.op(top.ID)
		first, err := l.CancelRun(l.ctx(), "r", "a person", "the night is over")
		l.must(err)
		if first.State != ktrdr.RunCancelled || first.CancelledAt.IsZero() || first.CancelledBy != "a person" ||
			first.CancelReason != "the night is over" || !first.EndedAt.IsZero() {
			l.Errorf("cancelled: %+v", first)
		}
		same(l, "read back", l.run("r"), first)
		same(l, "its research", l.op(top.ID), before) // follows later
		again, err := l.CancelRun(l.ctx(), "r", "another person", "again")
		l.must(err)
		same(l, "cancelled again", again, first)
		l.batch("r", false)
		ended, err := l.EndRun(l.ctx(), "r")
		l.must(err)
		if !ended {
			l.Error("a cancelled run of which nothing is open does not end")
		}
		again, err = l.CancelRun(l.ctx(), "r", "a third person", "at its end")
		l.must(err)
		if again.CancelledBy != "a person" || again.State != ktrdr.RunCancelled {
			l.Errorf("cancelled after its end: %+v", again)
		}

		l.research("s", 0, 0)
		l.finish(l.claim("w"), ktrdr.Completed)
		l.closes("s", 0, true)
		_, err = l.EndRun(l.ctx(), "s")
		l.must(err)
		_, err = l.CancelRun(l.ctx(), "s", "", "")
		l.refused(err, ktrdr.CodeConflict)
		if run := l.run("s"); run.State != ktrdr.RunCompleted || !run.CancelledAt.IsZero() {
			l.Errorf("a refused cancel left %+v", run)
		}
		_, err = l.CancelRun(l.ctx(), "nothing", "", "")
		l.refused(err, ktrdr.CodeNotFound)
		_, err = l.CancelBatch(l.ctx(), "nothing")
		l.refused(err, ktrdr.CodeNotFound)
	},

	"NothingOfACancelledRunStarts": func(l *lab) {
		first := inRun("r", 0, 0, treeSpec{Children: 2})
		first.Priority = 1 // is claimed first
		working := l.create(first)
		failed := l.research("r", 0, 1)
		task := l.claim("w")
		l.finish(l.claim("w"), ktrdr.Failed)
		ready := l.research("r", 0, 2)
		waits := l.stand(ktrdr.Queue{Limit: 1, Run: "r"})
		other := l.create(ktrdr.NewOperation{Priority: -1}) // of no run
		l.cancelRun("r")

		if got := l.claim("w"); got.Operation != other.ID {
			l.Errorf("%s was claimed", got.Operation)
		}
		if got := l.try("w", typeNames...); got != nil {
			l.Errorf("%s was claimed", got.Operation)
		}
		l.startQueued(much, 0)
		for what, n := range map[string]ktrdr.NewOperation{
			"another research":        inRun("r", 0, 3, treeSpec{Children: 1}),
			"a research that waits":   inRun("r", 5, 0, treeSpec{Children: 1}),
			"a confirmation":          {Type: ktrdr.AgentConfirm, Run: "r"},
			"a child of one that ran": {Type: ktrdr.Dummy, Parent: working.ID, Ordinal: 9},
			"a retry":                 retryOf(failed, inRun("r", 0, 1, treeSpec{Children: 1})),
		} {
			if _, err := l.Create(l.ctx(), n, ktrdr.IdempotencyKey{}); ktrdr.CodeOf(err) != ktrdr.CodeConflict {
				l.Errorf("%s: got %v, want %s", what, err, ktrdr.CodeConflict)
			}
		}
		for _, id := range []ktrdr.OperationID{failed.ID, l.children(failed.ID)[0].ID} {
			_, err := l.Resume(l.ctx(), id)
			l.refused(err, ktrdr.CodeConflict)
		}

		l.finish(task, ktrdr.Completed) // its parent wants another child
		if kids := l.children(working.ID); len(kids) != 1 {
			l.Errorf("%d children, want no second", len(kids))
		}
		if op := l.is(working.ID, ktrdr.Cancelled); op.CancelReason == "" {
			l.Errorf("cancelled without a reason: %+v", op)
		}
		l.batch("r", true)
		l.is(waits.ID, ktrdr.Cancelled)
		l.batch("r", false)
		l.is(ready.ID, ktrdr.Cancelled)
		for _, child := range l.children(ready.ID) {
			l.is(child.ID, ktrdr.Cancelled)
		}
		same(l, "counts", l.recount("r"), ktrdr.RunCounts{Created: 4, Failed: 1, Cancelled: 3})
		l.logIsLegal()
	},

	"WhatRunsInACancelledRunIsToldToStop": func(l *lab) {
		top := l.research("r", 0, 0)
		task := l.claim("w")
		l.cancelRun("r")
		l.batch("r", false)
		same(l, "orders", l.report("w", held(task, 1)).Cancel, []ktrdr.Claimed{{Operation: task.Operation, Epoch: task.Epoch, Step: 1}})
		if changed, err := l.EndRun(l.ctx(), "r"); err != nil || changed {
			l.Errorf("a run with an open operation ended: %v, %v", changed, err)
		}
		l.finish(task, ktrdr.Completed)
		l.is(top.ID, ktrdr.Cancelled)
		l.batch("r", false)
		if changed, err := l.EndRun(l.ctx(), "r"); err != nil || !changed {
			l.Errorf("the run did not end: %v, %v", changed, err)
		}
	},

	"AnOrphanOfACancelledRunIsNotResumed": func(l *lab) {
		l.start("b", "i1", keep)
		top := l.research("r", 0, 0)
		task := l.claim("w")
		l.cancelRun("r")
		l.lose(task.Operation)
		l.is(task.Operation, ktrdr.Failed)
		l.is(top.ID, ktrdr.Failed)
	},

	"AWaitingResearchIsCancelledWithItsChildren": func(l *lab) {
		waits := l.research("r", 1, 0)
		child := l.create(ktrdr.NewOperation{Parent: waits.ID, Ordinal: 1})
		runs := l.create(ktrdr.NewOperation{Parent: waits.ID, Ordinal: 2, Priority: 1})
		task := l.claim("w")
		same(l, "claimed", task.Operation, runs.ID)
		l.cancelRun("r")
		l.batch("r", false)
		l.is(child.ID, ktrdr.Cancelled)
		l.finish(task, ktrdr.Completed)
		l.is(runs.ID, ktrdr.Cancelled)
		l.is(waits.ID, ktrdr.Cancelled)
	},

	"CancelBatchEndsManyInBatches": func(l *lab) {
		const n, atOnce = 1200, 500
		for i := 0; i < n; {
			var some []ktrdr.NewOperation
			for range ktrdr.MaxCreate {
				some = append(some, inRun("r", 1+i/8, i%8, treeSpec{Children: 1}))
				i++
			}
			_, err := l.CreateAll(l.ctx(), some, nil)
			l.must(err)
		}
		l.research("s", 1, 0)
		if more, err := l.CancelBatch(l.ctx(), "r"); err != nil || more || l.run("r").Cancelled != 0 {
			l.Fatalf("a batch of a run that was not cancelled: %v, %v", more, err)
		}
		l.cancelRun("r")
		done := 0
		for more := true; more; {
			var err error
			more, err = l.CancelBatch(l.ctx(), "r")
			l.must(err)
			now := l.run("r").Cancelled
			if now-done > atOnce {
				l.Fatalf("one batch cancelled %d", now-done)
			}
			done = now
		}
		same(l, "counts", l.run("r").RunCounts, ktrdr.RunCounts{Created: n, Cancelled: n})
		if other := l.run("s"); other.Open != 1 || other.State != ktrdr.RunRunning {
			l.Errorf("another run: %+v", other)
		}
	},
}

func retryOf(op ktrdr.Operation, n ktrdr.NewOperation) ktrdr.NewOperation {
	n.RetryOf = op.ID
	return n
}

var runCancelsAtOnce = map[string]func(*lab){
	"NothingOfARunStartsAfterItsCancel": func(l *lab) {
		const rounds = 4
		for round := range rounds {
			l.cancelInTheMiddle(fmt.Sprintf("r%d", round))
		}
		l.logIsLegal()
	},
}

// cancelInTheMiddle cancels a run while others claim, finish, start, create and
// resume what belongs to it, and requires that nothing of it is younger than the
// cancel.
func (l *lab) cancelInTheMiddle(run string) {
	l.Helper()
	const first = 24
	for i := range first {
		l.create(inRun(run, 0, i, treeSpec{Children: 3, Parallel: i%2 == 0}))
	}
	var over atomic.Bool
	var made, claimed atomic.Int64
	var all sync.WaitGroup
	allowed := func(err error) {
		switch ktrdr.CodeOf(err) {
		case "", ktrdr.CodeConflict, ktrdr.CodeNoCheckpoint, ktrdr.CodeStaleEpoch:
		default:
			l.Error(err)
		}
	}
	until := func(f func(i int)) {
		all.Go(func() {
			for i := 0; !over.Load() && !l.Failed(); i++ {
				f(i)
			}
		})
	}
	for range 3 {
		until(func(i int) {
			task := l.claimUnder("w", l.name("key"))
			if task == nil {
				return
			}
			claimed.Add(1)
			outcome := ktrdr.Completed
			if i%5 == 4 {
				outcome = ktrdr.Failed
			}
			_, err := l.Finish(l.ctx(), ending(*task, outcome))
			allowed(err)
		})
	}
	until(func(i int) {
		_, err := l.Create(l.ctx(), inRun(run, 0, first+i, treeSpec{Children: 2}), ktrdr.IdempotencyKey{})
		allowed(err)
		if err == nil {
			made.Add(1)
		}
	})
	until(func(int) {
		_, err := l.StartQueued(l.ctx(), line, much)
		allowed(err)
	})
	until(func(int) {
		page, err := l.List(l.ctx(), ktrdr.OperationQuery{Run: run, Status: []ktrdr.Status{ktrdr.Failed}, Limit: 5})
		allowed(err)
		for _, op := range page.Operations {
			_, err := l.Resume(l.ctx(), op.ID)
			allowed(err)
		}
	})
	l.eventually("the run is in full swing", func() bool { return l.Failed() || claimed.Load() > 8 && made.Load() > 2 })
	cancelled := l.cancelRun(run)
	for more := true; more; {
		var err error
		more, err = l.CancelBatch(l.ctx(), run)
		l.must(err)
	}
	l.eventually("nothing of it is open", func() bool { return l.Failed() || l.run(run).Open == 0 })
	over.Store(true)
	all.Wait()
	l.noneAfter(run, cancelled.CancelledAt)
	l.recount(run)
}

// noneAfter requires that no operation of a run was created or claimed later.
func (l *lab) noneAfter(run string, at time.Time) {
	l.Helper()
	for _, research := range l.researches(run) {
		for _, op := range append(l.children(research.ID), research) {
			if op.CreatedAt.After(at) || op.ClaimedAt.After(at) {
				l.Errorf("%s was created %v and claimed %v after the cancel", op.ID, op.CreatedAt.Sub(at), op.ClaimedAt.Sub(at))
			}
		}
	}
}
