package storetest

import (
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ktrdr/ktrdr"
)

var cancels = map[string]func(*lab){
	"CancelEndsWhatHasNotBegun": func(l *lab) {
		op := l.create(ktrdr.NewOperation{})
		got, reached, err := l.Cancel(l.ctx(), op.ID, "not needed")
		l.must(err)
		if got.Status != ktrdr.Cancelled || got.CompletedAt.IsZero() || got.CancelReason != "not needed" || got.Error == nil ||
			got.Error.Code != ktrdr.CodeCancelled {
			l.Errorf("cancelled: %+v", got)
		}
		same(l, "reached", reached, []ktrdr.OperationID{op.ID})
		same(l, "read back", l.op(op.ID), got)
		if task := l.try("w"); task != nil {
			l.Errorf("claimed %s after its cancel", task.Operation)
		}
	},

	"CancelFlagsWhatRuns": func(l *lab) {
		task := l.running()
		got, reached, err := l.Cancel(l.ctx(), task.Operation, "stop")
		l.must(err)
		if got.Status != ktrdr.Running || !got.CancelRequested || got.CancelReason != "stop" || got.Epoch != task.Epoch {
			l.Errorf("cancelled: %+v", got)
		}
		same(l, "reached", reached, []ktrdr.OperationID{task.Operation})
		l.save(task, 1, 1) // its worker may still leave a checkpoint
	},

	"CancelIsIdempotent": func(l *lab) {
		task := l.running()
		l.cancel(task.Operation)
		before := l.op(task.Operation)
		_, _, err := l.Cancel(l.ctx(), task.Operation, "again")
		l.must(err)
		if now := l.op(task.Operation); now.Lifecycle() != before.Lifecycle() {
			l.Errorf("the second cancel changed %+v to %+v", before.Lifecycle(), now.Lifecycle())
		}
		n := 0
		l.finish(task, ktrdr.Cancelled)
		for _, e := range l.logOf(task.Operation) {
			if e.Kind == ktrdr.EventCancelRequested {
				n++
			}
		}
		if n != 1 {
			l.Errorf("%d cancel_requested events, want 1", n)
		}
	},

	"CancelOfATerminalOperationIsAConflict": func(l *lab) {
		for _, outcome := range []ktrdr.Status{ktrdr.Completed, ktrdr.Failed, ktrdr.Cancelled} {
			task := l.running()
			before := l.finish(task, outcome)
			_, reached, err := l.Cancel(l.ctx(), task.Operation, "too late")
			l.refused(err, ktrdr.CodeConflict)
			same(l, "reached", reached, nil)
			same(l, "the operation", l.op(task.Operation), before)
		}
		_, _, err := l.Cancel(l.ctx(), "op_dummy_nobody", "")
		l.refused(err, ktrdr.CodeNotFound)
	},

	"CancelReachesEveryOpenDescendant": func(l *lab) {
		top := l.plant(treeSpec{Children: 3, Parallel: true, Depth: 1})
		var middle, leaves []ktrdr.Operation
		for _, m := range l.children(top.ID) {
			middle = append(middle, m)
			leaves = append(leaves, l.children(m.ID)...)
		}
		if len(middle) != 3 || len(leaves) != 9 {
			l.Fatalf("the tree has %d and %d descendants, want 3 and 9", len(middle), len(leaves))
		}
		done := l.claim("w")
		l.finish(done, ktrdr.Completed)
		live := l.claim("w")
		other := l.create(ktrdr.NewOperation{})

		want := append(idsOf(middle), top.ID)
		for _, leaf := range leaves {
			if leaf.ID != done.Operation {
				want = append(want, leaf.ID)
			}
		}
		reached := l.cancel(top.ID)
		same(l, "reached", slices.Sorted(slices.Values(reached)), slices.Sorted(slices.Values(want)))

		l.is(done.Operation, ktrdr.Completed)
		l.is(other.ID, ktrdr.Pending)
		if op := l.is(live.Operation, ktrdr.Running); !op.CancelRequested {
			l.Error("the running leaf is not flagged")
		}
		l.is(top.ID, ktrdr.Running) // it waits for the leaf
		for _, leaf := range leaves {
			if leaf.ID != done.Operation && leaf.ID != live.Operation {
				l.is(leaf.ID, ktrdr.Cancelled)
			}
		}
		l.finish(live, ktrdr.Cancelled)
		l.is(top.ID, ktrdr.Cancelled)
		for _, m := range middle {
			l.is(m.ID, ktrdr.Cancelled)
		}
	},

	"CancelOfAParentWithoutOpenChildrenEndsItAtOnce": func(l *lab) {
		top := l.plant(treeSpec{Children: 2, Parallel: true})
		l.cancel(top.ID)
		l.is(top.ID, ktrdr.Cancelled)
		for _, child := range l.children(top.ID) {
			l.is(child.ID, ktrdr.Cancelled)
		}
	},

	"CancelOfAPendingChildTellsItsParent": func(l *lab) {
		top := l.plant(treeSpec{Children: 2, Parallel: true})
		kids := l.children(top.ID)
		same(l, "reached", l.cancel(kids[0].ID), []ktrdr.OperationID{kids[0].ID})
		l.is(top.ID, ktrdr.Running)
		if n := l.ended(top.ID); n != 1 {
			l.Errorf("the plan heard of %d ends, want 1", n)
		}
		l.finish(l.claim("w"), ktrdr.Completed)
		l.is(top.ID, ktrdr.Failed)
	},

	"NoChildStartsAfterItsParentIsCancelled": func(l *lab) {
		top := l.plant(treeSpec{Children: 3})
		task := l.claim("w")
		l.cancel(top.ID)
		l.finish(task, ktrdr.Completed) // one more child would come next
		l.is(task.Operation, ktrdr.Cancelled)
		l.is(top.ID, ktrdr.Cancelled)
		if kids := l.children(top.ID); len(kids) != 1 {
			l.Errorf("%d children, want no new one", len(kids))
		}
		if got := l.try("w", typeNames...); got != nil {
			l.Errorf("claimed %s", got.Operation)
		}
	},
}

// headStart is what one rival may have over the other, at most: enough to
// decide the race either way.
const headStart = 2 * time.Millisecond

var races = map[string]func(*lab){
	"ACancelAndAFinishNeverOverwriteEachOther": func(l *lab) {
		const n = 1000
		tasks := make([]ktrdr.Task, n)
		each(n, 16, func(int) {
			if _, err := l.Create(l.ctx(), ktrdr.NewOperation{Type: ktrdr.Dummy}, ktrdr.IdempotencyKey{}); err != nil {
				l.Error(err)
			}
		})
		each(n, 16, func(i int) {
			if task := l.claimUnder("w", l.name("key")); task != nil {
				tasks[i] = *task
			} else {
				l.Error("there is nothing to claim")
			}
		})
		if l.Failed() {
			return
		}
		var cancelled atomic.Int64
		each(n, 16, func(i int) {
			var both sync.WaitGroup
			var cancelErr, finishErr error
			run := func(rival func()) {
				late := time.NewTimer(rand.N(headStart)) //nolint:gosec // no secret
				both.Go(func() {
					<-late.C
					rival()
				})
			}
			run(func() { _, _, cancelErr = l.Cancel(l.ctx(), tasks[i].Operation, "race") })
			run(func() { _, finishErr = l.Finish(l.ctx(), ending(tasks[i], ktrdr.Completed)) })
			both.Wait()
			op, err := l.Operation(l.ctx(), tasks[i].Operation)
			if err != nil || finishErr != nil {
				l.Errorf("finish: %v, read: %v", finishErr, err)
			}
			switch {
			case cancelErr == nil && op.Status == ktrdr.Cancelled:
				cancelled.Add(1)
			case ktrdr.CodeOf(cancelErr) == ktrdr.CodeConflict && op.Status == ktrdr.Completed:
			default:
				l.Errorf("%s is %s after the cancel answered %v", op.ID, op.Status, cancelErr)
			}
		})
		if first := cancelled.Load(); first == 0 || first == n {
			l.Errorf("the cancel came first in %d of %d races: they were none", first, n)
		}
		l.logIsLegal()
	},

	"EverythingAtOnceLeavesALegalLog": func(l *lab) {
		for range 8 {
			l.plant(treeSpec{Children: 4, Parallel: true})
		}
		var tops []ktrdr.Operation
		page, err := l.List(l.ctx(), ktrdr.OperationQuery{Roots: true})
		l.must(err)
		tops = page.Operations
		each(12, 12, func(i int) {
			for range 12 {
				l.meddle(i, tops)
			}
		})
		l.logIsLegal()
		for _, top := range tops {
			now := l.op(top.ID)
			for _, child := range l.children(top.ID) {
				if now.Status.Terminal() && !child.Status.Terminal() {
					l.Errorf("%s is %s while its child %s is %s", now.ID, now.Status, child.ID, child.Status)
				}
			}
		}
	},
}

// meddle does one thing to the trees; refusals are part of the game.
func (l *lab) meddle(i int, tops []ktrdr.Operation) {
	top := tops[i%len(tops)]
	allowed := func(err error) {
		switch ktrdr.CodeOf(err) {
		case "", ktrdr.CodeConflict, ktrdr.CodeStaleEpoch, ktrdr.CodeNoCheckpoint:
		default:
			l.Error(err)
		}
	}
	task := l.claimUnder("w", l.name("key"))
	if task == nil {
		_, err := l.Resume(l.ctx(), top.ID)
		allowed(err)
		return
	}
	_, err := l.SaveCheckpoint(l.ctx(), checkpoint(*task, 1, 1), nil)
	allowed(err)
	switch i % 4 {
	case 0:
		_, _, err = l.Cancel(l.ctx(), top.ID, "")
		allowed(err)
	case 1:
		_, err = l.Sweep(l.ctx(), ktrdr.Backend{ID: "b", Incarnation: "i"}, forced, true)
		allowed(err)
	case 2:
		allowed(l.Release(l.ctx(), ktrdr.Released{Operation: task.Operation, Epoch: task.Epoch}))
	}
	_, err = l.Finish(l.ctx(), ending(*task, ktrdr.Completed))
	allowed(err)
}
