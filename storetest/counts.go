package storetest

import (
	"time"

	"github.com/ktrdr/ktrdr"
)

var counts = map[string]func(*lab){
	"WaitingCountsWhatAWorkerCouldClaim": func(l *lab) {
		if all := l.waiting(); len(all) != 0 {
			l.Errorf("nothing waits, but there is %+v", all)
		}
		l.running()
		l.create(ktrdr.NewOperation{Type: ktrdr.Training})
		l.create(ktrdr.NewOperation{Type: ktrdr.Training, BackendLocal: true})
		l.create(ktrdr.NewOperation{Type: ktrdr.Training, BackendLocal: true})
		l.plant(treeSpec{Children: 1}) // a parent waits for no worker
		same(l, "waiting", l.waiting(), []ktrdr.Waiting{
			{Type: ktrdr.Dummy, N: 1},
			{Type: ktrdr.Training, N: 1},
			{Type: ktrdr.Training, BackendLocal: true, N: 2},
		})
	},

	"WhatWasReleasedWaitsSinceItsWorkersLastWord": func(l *lab) {
		l.create(ktrdr.NewOperation{})
		l.create(ktrdr.NewOperation{Type: ktrdr.Training}) // the younger
		oldest := func() (dummy, training time.Duration) {
			all, err := l.Waiting(l.ctx())
			l.must(err)
			if len(all) != 2 {
				l.Fatalf("two types wait, but there is %+v", all)
			}
			return all[0].Oldest, all[1].Oldest
		}
		if dummy, training := oldest(); dummy <= training || training < 0 {
			l.Errorf("the older waits for %v, the younger for %v", dummy, training)
		}
		task := l.claim("w")
		l.must(l.Release(l.ctx(), ktrdr.Released{Operation: task.Operation, Epoch: task.Epoch}))
		if dummy, training := oldest(); dummy >= training || dummy < 0 {
			l.Errorf("what was released waits for %v, what was never claimed for %v", dummy, training)
		}
	},

	"WhatBeatsButDoesNotMoveIsStalled": func(l *lab) {
		stands, moves := l.running(), l.running()
		l.create(ktrdr.NewOperation{})
		l.plant(treeSpec{Children: 1}) // a parent is moved by its plan
		const after = 200 * time.Millisecond
		step := int64(0)
		l.eventually("one of them stands still and the other does not", func() bool {
			step++
			l.report("w", held(stands, 0), held(moves, step))
			all, err := l.Stalled(l.ctx(), after)
			l.must(err)
			return len(all) == 1 && all[0].Operation == stands.Operation && all[0].For >= after
		})
		l.eventually("progress is a move too", func() bool {
			step++
			l.must(l.SaveProgress(l.ctx(), ktrdr.ProgressReport{
				Operation: stands.Operation, Epoch: stands.Epoch,
				Progress: ktrdr.Progress{StepsCompleted: step},
			}))
			l.report("w", held(moves, step))
			all, err := l.Stalled(l.ctx(), after)
			l.must(err)
			return len(all) == 0
		})
		l.finish(stands, ktrdr.Completed)
		l.finish(moves, ktrdr.Completed)
		all, err := l.Stalled(l.ctx(), 0)
		l.must(err)
		same(l, "stalled when all have ended", len(all), 0)
	},

	"AStepDoneAgainAfterAResumeIsAMove": func(l *lab) {
		const furthest = 1 << 40
		task := l.running()
		l.save(task, 1, furthest)
		l.finish(task, ktrdr.Failed)
		_, err := l.Resume(l.ctx(), task.Operation)
		l.must(err)
		task = l.claim("w")
		const after = 200 * time.Millisecond
		claimed, step := time.Now(), int64(0)
		l.eventually("it was claimed long ago and moves", func() bool {
			step++
			l.report("w", held(task, step))
			all, err := l.Stalled(l.ctx(), after)
			l.must(err)
			return time.Since(claimed) > 2*after && len(all) == 0
		})
		same(l, "the furthest step", l.op(task.Operation).MaxStep, furthest)
	},
}

// waiting is what a worker could claim, without how long it has waited.
func (l *lab) waiting() []ktrdr.Waiting {
	l.Helper()
	all, err := l.Waiting(l.ctx())
	l.must(err)
	for i := range all {
		if all[i].Oldest < 0 {
			l.Errorf("%s waits for %v", all[i].Type, all[i].Oldest)
		}
		all[i].Oldest = 0
	}
	return all
}
