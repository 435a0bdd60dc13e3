package storetest

import (
	"context"
	"encoding/json"
	"strings"
	"sync"

	"github.com/ktrdr/ktrdr"
)

var trees = map[string]func(*lab){
	"CreateAsksTheNewParentsPlan": func(l *lab) {
		top := l.plant(treeSpec{Children: 2})
		if top.Status != ktrdr.Running || top.Epoch != 1 || top.Attempts != 1 || top.Worker != "" || top.HeldBy != "" || !top.HasPlan ||
			top.Phase != "CHILD_1" {
			l.Errorf("planted: %+v", top)
		}
		kids := l.children(top.ID)
		if len(kids) != 1 || kids[0].Status != ktrdr.Pending || kids[0].Root != top.ID || kids[0].Ordinal != 1 {
			l.Errorf("children: %+v", kids)
		}
		same(l, "read back", l.op(top.ID), top)
	},

	"ChildrenRunOneAfterTheOther": func(l *lab) {
		top := l.plant(treeSpec{Children: 3})
		for i := range 3 {
			task := l.claim("w")
			if l.try("w") != nil {
				l.Fatal("two children are claimable at once")
			}
			if kids := l.children(top.ID); len(kids) != i+1 || kids[i].ID != task.Operation {
				l.Errorf("children: %v", idsOf(kids))
			}
			l.is(top.ID, ktrdr.Running)
			l.finish(task, ktrdr.Completed)
		}
		if op := l.is(top.ID, ktrdr.Completed); string(op.Result) != `{"children":3}` || op.CompletedAt.IsZero() {
			l.Errorf("completed: %+v", op)
		}
		l.logIsLegal()
	},

	"ChildrenRunSideBySide": func(l *lab) {
		top := l.plant(treeSpec{Children: 8, Parallel: true})
		each(8, 8, func(int) {
			task := l.claimUnder("w", l.name("key"))
			if task == nil {
				l.Error("there is nothing to claim")
				return
			}
			if _, err := l.Finish(l.ctx(), ending(*task, ktrdr.Completed)); err != nil {
				l.Error(err)
			}
		})
		l.is(top.ID, ktrdr.Completed)
		l.logIsLegal()
	},

	"AFailedChildIsToldToThePlan": func(l *lab) {
		top := l.plant(treeSpec{Children: 3})
		l.finish(l.claim("w"), ktrdr.Completed)
		l.finish(l.claim("w"), ktrdr.Failed)
		if op := l.is(top.ID, ktrdr.Failed); op.ErrorMessage != "child 2 ended FAILED" || op.Error == nil {
			l.Errorf("failed: %q %+v", op.ErrorMessage, op.Error)
		}
		if kids := l.children(top.ID); len(kids) != 2 {
			l.Errorf("%d children, want no third", len(kids))
		}
	},

	"TheEndOfAChildAndTheBeginningOfTheNextAreSeenTogether": func(l *lab) {
		const n = 12
		top := l.plant(treeSpec{Children: n})
		ctx, stop := context.WithCancel(l.ctx())
		var watch sync.WaitGroup
		defer watch.Wait()
		defer stop()
		for range 3 {
			watch.Go(func() {
				for ctx.Err() == nil && l.chainIsComplete(top.ID, n) {
				}
			})
		}
		for range n {
			l.finish(l.claim("w"), ktrdr.Completed)
		}
		l.is(top.ID, ktrdr.Completed)
	},

	"AChildsEndMovesItsGrandparent": func(l *lab) {
		top := l.plant(treeSpec{Children: 2, Depth: 2})
		for range 8 {
			l.is(top.ID, ktrdr.Running)
			l.finish(l.claim("w"), ktrdr.Completed)
		}
		l.is(top.ID, ktrdr.Completed)
		l.logIsLegal()
	},

	"AReleasedChildUnderACancelTellsItsParent": func(l *lab) {
		top := l.plant(treeSpec{Children: 1})
		task := l.claim("w")
		l.cancel(task.Operation)
		l.must(l.Release(l.ctx(), ktrdr.Released{Operation: task.Operation, Epoch: task.Epoch}))
		l.is(task.Operation, ktrdr.Cancelled)
		l.is(top.ID, ktrdr.Failed)
	},

	"APlansErrorFailsItsParentAlone": func(l *lab) { l.trouble("error", ktrdr.CodeInternal, ktrdr.CodeFailed) },
	"APlansPanicFailsItsParentAlone": func(l *lab) { l.trouble("panic", ktrdr.CodePanic) },

	"APlanInTroubleDoesNotEndBeforeItsChildren": func(l *lab) {
		top := l.plant(treeSpec{Children: 2, Parallel: true, Trouble: "panic", When: ktrdr.WhyChild})
		first, second := l.claim("w"), l.claim("w")
		if op := l.finish(first, ktrdr.Completed); op.Status != ktrdr.Completed {
			l.Errorf("the child became %s", op.Status)
		}
		if l.op(top.ID).Status.Terminal() {
			l.Error("the parent ended before its second child")
		}
		l.finish(second, ktrdr.Completed)
		l.is(top.ID, ktrdr.Failed)
	},

	"APlanThatFailsAtOnceIsStillAnOperation": func(l *lab) {
		top := l.plant(treeSpec{Children: 1, Trouble: "panic", When: ktrdr.WhyCreated})
		if top.Status != ktrdr.Failed || top.Error == nil || top.Error.Code != ktrdr.CodePanic ||
			!strings.Contains(top.ErrorMessage, errTrouble.Error()) {
			l.Errorf("planted: %s %q %+v", top.Status, top.ErrorMessage, top.Error)
		}
	},

	"ATreeHasBounds": func(l *lab) {
		wide := l.plant(treeSpec{Children: 1001, Parallel: true})
		if wide.Status != ktrdr.Failed || !strings.Contains(wide.ErrorMessage, "1000") || len(l.children(wide.ID)) != 0 {
			l.Errorf("a tree of 1001 children is %s: %q", wide.Status, wide.ErrorMessage)
		}
		deep := l.plant(treeSpec{Children: 1, Depth: 30})
		if deep.Status != ktrdr.Failed {
			l.Errorf("a tree of 30 levels is %s", deep.Status)
		}
		if task := l.try("w"); task != nil {
			l.Errorf("a tree out of bounds has work: %s", task.Operation)
		}
	},

	"OnlyItsPlanWritesAParent": func(l *lab) {
		top := l.plant(treeSpec{Children: 1})
		task := ktrdr.Task{Operation: top.ID, Epoch: top.Epoch}
		_, err := l.Finish(l.ctx(), ending(task, ktrdr.Completed))
		l.refused(err, ktrdr.CodeConflict, ktrdr.CodeStaleEpoch)
		l.refused(l.Release(l.ctx(), ktrdr.Released{Operation: top.ID, Epoch: top.Epoch}), ktrdr.CodeConflict, ktrdr.CodeStaleEpoch)
		same(l, "the parent", l.op(top.ID), top)
	},
}

// chainIsComplete requires that every child but the newest has completed, and
// that the newest has not, unless it is the last of all.
func (l *lab) chainIsComplete(top ktrdr.OperationID, n int) bool {
	page, err := l.List(l.ctx(), ktrdr.OperationQuery{Parent: top, Limit: n})
	if err != nil {
		l.Error(err)
		return false
	}
	kids := byOrdinal(page.Operations)
	for i, child := range kids {
		newest, completed := i == len(kids)-1, child.Status == ktrdr.Completed
		if newest == completed && i < n-1 {
			l.Errorf("child %d of %d is %s", i+1, len(kids), child.Status)
			return false
		}
	}
	return true
}

// trouble plants a tree whose plan goes wrong beside one whose plan does not.
func (l *lab) trouble(kind string, want ...ktrdr.Code) {
	l.Helper()
	bad := l.plant(treeSpec{Children: 2, Trouble: kind, When: ktrdr.WhyChild})
	good := l.plant(treeSpec{Children: 1})
	for range 2 {
		if op := l.finish(l.claim("w"), ktrdr.Completed); op.Status != ktrdr.Completed {
			l.Errorf("a child became %s by its parent's plan", op.Status)
		}
	}
	op := l.is(bad.ID, ktrdr.Failed)
	if !strings.Contains(op.ErrorMessage, errTrouble.Error()) || op.Error == nil {
		l.Fatalf("failed: %q %+v", op.ErrorMessage, op.Error)
	}
	l.refused(ktrdr.Errorf(op.Error.Code, "%s", op.ErrorMessage), want...)
	l.is(good.ID, ktrdr.Completed)
}

var adoptions = map[string]func(*lab){
	"AResumedParentResumesItsDeadChildren": func(l *lab) {
		top := l.plant(treeSpec{Children: 2, Parallel: true})
		done, dead := l.claim("w"), l.claim("w")
		l.save(dead, 1, 1)
		before := l.finish(done, ktrdr.Completed)
		l.finish(dead, ktrdr.Failed)
		l.is(top.ID, ktrdr.Failed)

		op, err := l.Resume(l.ctx(), top.ID)
		l.must(err)
		if op.Status != ktrdr.Running || op.Epoch != 2 || op.Attempts != 2 || !op.CompletedAt.IsZero() || op.ErrorMessage != "" {
			l.Errorf("resumed: %+v", op)
		}
		same(l, "the child that had completed", l.op(done.Operation), before)
		next := l.claim("w")
		if next.Operation != dead.Operation || next.Epoch != 2 || next.Checkpoint == nil {
			l.Errorf("claimed %+v", next)
		}
		l.finish(next, ktrdr.Completed)
		l.is(top.ID, ktrdr.Completed)
		l.logIsLegal()
	},

	"AResumedParentWaitsForAChildThatRuns": func(l *lab) {
		l.start("b", "i1", keep)
		top := l.plant(treeSpec{Children: 1})
		task := l.claim("w")
		l.start("b", "i2", failing())
		l.is(top.ID, ktrdr.Failed)
		l.report("w", held(task, 1))
		_, err := l.Resume(l.ctx(), top.ID)
		l.must(err)
		l.is(top.ID, ktrdr.Running)
		if op := l.is(task.Operation, ktrdr.Running); op.Epoch != task.Epoch {
			l.Errorf("the running child is at epoch %d", op.Epoch)
		}
		l.finish(task, ktrdr.Completed)
		l.is(top.ID, ktrdr.Completed)
	},

	"ACancelledTreeIsResumedWhole": func(l *lab) {
		top := l.plant(treeSpec{Children: 2, Parallel: true})
		l.cancel(top.ID)
		_, err := l.Resume(l.ctx(), top.ID)
		l.must(err)
		for range 2 {
			l.finish(l.claim("w"), ktrdr.Completed)
		}
		l.is(top.ID, ktrdr.Completed)
		l.logIsLegal()
	},

	"AParentLeavesCheckpointsToResumeFrom": func(l *lab) {
		top := l.plant(treeSpec{Children: 2})
		l.finish(l.claim("w"), ktrdr.Completed)
		op := l.op(top.ID)
		if op.Checkpoint == nil || op.Checkpoint.Type != ktrdr.CheckpointPhase {
			l.Fatalf("checkpoint: %+v", op.Checkpoint)
		}
		c, err := l.Checkpoint(l.ctx(), top.ID, "")
		l.must(err)
		var state treeState
		l.must(json.Unmarshal(c.State, &state))
		if state.Ended != 1 {
			l.Errorf("its state is %s, want that of the parent", c.State)
		}
	},

	"AParentsLastCheckpointSaysHowItEnded": func(l *lab) {
		last := func(id ktrdr.OperationID, want ktrdr.CheckpointType, ended int) {
			c, err := l.Checkpoint(l.ctx(), id, "")
			l.must(err)
			var state treeState
			l.must(json.Unmarshal(c.State, &state))
			if c.Type != want || state.Ended != ended || l.op(id).Checkpoint.ID != c.ID {
				l.Errorf("the last checkpoint is %s of type %s with %s, want %s with %d ended", c.ID, c.Type, c.State, want, ended)
			}
		}
		cancelled := l.plant(treeSpec{Children: 2})
		l.finish(l.claim("w"), ktrdr.Completed)
		task := l.claim("w")
		l.cancel(cancelled.ID)
		l.finish(task, ktrdr.Cancelled)
		l.is(cancelled.ID, ktrdr.Cancelled)
		last(cancelled.ID, ktrdr.CheckpointCancellation, 1)

		failed := l.plant(treeSpec{Children: 2})
		l.finish(l.claim("w"), ktrdr.Completed)
		l.finish(l.claim("w"), ktrdr.Failed)
		l.is(failed.ID, ktrdr.Failed)
		last(failed.ID, ktrdr.CheckpointFailure, 2)

		troubled := l.plant(treeSpec{Children: 2, Trouble: "panic", When: ktrdr.WhyChild})
		l.finish(l.claim("w"), ktrdr.Completed)
		l.is(troubled.ID, ktrdr.Failed)
		last(troubled.ID, ktrdr.CheckpointFailure, 0)
		l.logIsLegal()
	},

	"AChildResumedByHandIsAdoptedLater": func(l *lab) {
		top := l.plant(treeSpec{Children: 1})
		task := l.claim("w")
		l.save(task, 1, 1)
		l.finish(task, ktrdr.Failed)
		failed := l.is(top.ID, ktrdr.Failed)
		_, err := l.Resume(l.ctx(), task.Operation)
		l.must(err)
		l.finish(l.claim("w"), ktrdr.Completed)
		same(l, "the ended parent", l.op(top.ID), failed)
		resumed, err := l.Resume(l.ctx(), top.ID)
		l.must(err)
		if resumed.Status != ktrdr.Completed {
			l.Errorf("resumed, the parent is %s", resumed.Status)
		}
	},

	"AResumedGrandchildTreeContinues": func(l *lab) {
		top := l.plant(treeSpec{Children: 1, Depth: 1})
		task := l.claim("w")
		l.save(task, 1, 1)
		l.finish(task, ktrdr.Failed)
		l.is(top.ID, ktrdr.Failed)
		_, err := l.Resume(l.ctx(), top.ID)
		l.must(err)
		l.finish(l.claim("w"), ktrdr.Completed)
		l.is(top.ID, ktrdr.Completed)
		l.logIsLegal()
	},
}
