package storetest

import "github.com/ktrdr/ktrdr"

// askPlans requires for how many parents there is something to do.
func (l *lab) askPlans(want int) {
	l.Helper()
	n, err := l.AskPlans(l.ctx())
	l.must(err)
	if n != want {
		l.Errorf("there was something to do for %d parents, want %d", n, want)
	}
}

var asks = map[string]func(*lab){
	"AskPlansMovesAParentThatWaitsForNoChild": func(l *lab) {
		top := l.plant(treeSpec{Children: 1, Gated: true})
		l.finish(l.claim("w"), ktrdr.Completed)
		l.askPlans(0)
		l.is(top.ID, ktrdr.Running)
		l.gate.Store(true)
		l.askPlans(1)
		l.is(top.ID, ktrdr.Completed)
		l.askPlans(0)
	},

	"AskPlansMovesAParentThatStillHasOpenChildren": func(l *lab) {
		top := l.plant(treeSpec{Children: 2, Parallel: true, Gated: true})
		l.finish(l.claim("w"), ktrdr.Completed)
		same(l, "ends told while the gate is closed", l.ended(top.ID), 0)
		l.gate.Store(true)
		l.askPlans(1)
		same(l, "ends told", l.ended(top.ID), 1)
		l.askPlans(0)
	},

	"AskPlansReachesEveryParent": func(l *lab) {
		const n = 100
		for range n {
			l.plant(treeSpec{Children: 1, Gated: true})
			l.finish(l.claim("w"), ktrdr.Completed)
		}
		l.gate.Store(true)
		l.askPlans(n)
		same(l, "open", len(l.list(ktrdr.OperationQuery{ActiveOnly: true})), 0)
	},

	"AskPlansWritesNothingWhereThereIsNothing": func(l *lab) {
		top := l.plant(treeSpec{Children: 2, Noted: "the same again and again"})
		l.caughtUp()
		before, events := l.op(top.ID), len(l.log(""))
		changed := l.Changed()
		l.askPlans(0)
		select {
		case <-changed:
			l.Error("a waiter was woken")
		default:
		}
		same(l, "the parent", l.op(top.ID), before)
		same(l, "events", len(l.log("")), events)
	},

	"AskPlansTroubleIsOneParentsOwn": func(l *lab) {
		bad := l.plant(treeSpec{Children: 1, Trouble: "panic", When: ktrdr.WhyReconcile})
		good := l.plant(treeSpec{Children: 1, Gated: true})
		first, second := l.claim("w"), l.claim("w")
		l.finish(second, ktrdr.Completed)
		l.gate.Store(true)
		l.askPlans(2)
		l.is(good.ID, ktrdr.Completed)
		if l.op(bad.ID).Status.Terminal() {
			l.Error("the parent ended before its child")
		}
		l.finish(first, ktrdr.Cancelled)
		l.is(bad.ID, ktrdr.Failed)
	},
}
