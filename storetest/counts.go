package storetest

import (
	"time"

	"github.com/ktrdr/ktrdr"
)

var counts = map[string]func(*lab){
	"WaitingCountsWhatAWorkerCouldClaim": func(l *lab) {
		waiting := func() []ktrdr.Waiting {
			all, err := l.Waiting(l.ctx())
			l.must(err)
			return all
		}
		if all := waiting(); len(all) != 0 {
			l.Errorf("nothing waits, but there is %+v", all)
		}
		l.running()
		l.create(ktrdr.NewOperation{Type: ktrdr.Training})
		l.create(ktrdr.NewOperation{Type: ktrdr.Training, BackendLocal: true})
		l.create(ktrdr.NewOperation{Type: ktrdr.Training, BackendLocal: true})
		l.plant(treeSpec{Children: 1}) // a parent waits for no worker
		same(l, "waiting", waiting(), []ktrdr.Waiting{
			{Type: ktrdr.Dummy, N: 1},
			{Type: ktrdr.Training, N: 1},
			{Type: ktrdr.Training, BackendLocal: true, N: 2},
		})
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
