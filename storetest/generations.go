package storetest

import (
	"encoding/json"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/ktrdr/ktrdr"
)

// confirmation is an operation that confirms a finalist of a generation.
func confirmation(run string, generation int, of ktrdr.OperationID, markets ...string) ktrdr.NewOperation {
	return ktrdr.NewOperation{
		Type: ktrdr.AgentConfirm, BackendLocal: true, Run: run, Generation: generation,
		Look: &ktrdr.NewLook{
			Kind: ktrdr.LookConfirmation, Research: of, Strategy: "a strategy", Markets: markets,
			Spans: json.RawMessage(`[{"symbol":"A"}]`),
		},
	}
}

// finalist runs a research of a generation that may start, to its end.
func (l *lab) finalist(run string, generation, index int, score float64) ktrdr.Operation {
	l.Helper()
	op := l.create(inRun(run, generation, index, treeSpec{Children: 1, Rung: ktrdr.RungFinalist, Score: &score}))
	l.end(op.ID)
	return l.op(op.ID)
}

var generations = map[string]func(*lab){
	"TheBestFinalistIsThatOfTheHighestScoreThenTheLowestIndex": func(l *lab) {
		best := func(want ktrdr.OperationID) {
			l.Helper()
			list, err := l.Finalists(l.ctx(), "r", 0, 1)
			l.must(err)
			switch {
			case len(list) == 0 && want != "":
				l.Errorf("there is no finalist, want %s", want)
			case len(list) > 0:
				same(l, "finalist", list[0], l.op(want))
			}
		}
		best("")
		score := 9.0
		for _, spec := range []treeSpec{{Rung: "nothing", Score: &score}, {Rung: ktrdr.RungFinalist}, {Score: &score}} {
			spec.Children = 1
			l.end(l.create(inRun("r", 0, 0, spec)).ID)
		}
		l.finalist("s", 0, 0, 8) // of another run
		failed := l.create(inRun("r", 0, 0, treeSpec{Children: 1, Rung: ktrdr.RungFinalist, Score: &score}))
		l.finish(l.claim("w"), ktrdr.Failed)
		l.is(failed.ID, ktrdr.Failed)
		best("")
		best(l.finalist("r", 0, 6, -1.5).ID)
		second := l.finalist("r", 0, 5, 2.25)
		best(second.ID)
		l.finalist("r", 0, 4, 2.2)
		best(second.ID)
		first := l.finalist("r", 0, 2, 2.25)
		best(first.ID)
		l.finalist("r", 0, 3, 2.25)
		best(first.ID)
		if *first.Score != 2.25 || first.Rung != ktrdr.RungFinalist {
			l.Errorf("stored as %q with %v", first.Rung, *first.Score)
		}
		two, err := l.Finalists(l.ctx(), "r", 0, 2)
		if err != nil || len(two) != 2 || two[0].ID != first.ID || *two[1].Score != 2.25 {
			l.Errorf("the best two are %+v, %v", two, err)
		}
		other, err := l.Finalists(l.ctx(), "r", 1, 2)
		if err != nil || len(other) != 0 {
			l.Errorf("another generation has the finalists %+v, %v", other, err)
		}
	},

	"AScoreThatIsNoNumberIsNone": func(l *lab) {
		l.create(ktrdr.NewOperation{})
		task := l.claim("w")
		f := ending(task, ktrdr.Completed)
		f.Rung, f.Score = ktrdr.RungFinalist, new(notANumber())
		op, err := l.Finish(l.ctx(), f)
		l.must(err)
		if op.Score != nil || op.Rung != ktrdr.RungFinalist {
			l.Errorf("stored as %q with %v", op.Rung, *op.Score)
		}
	},

	"WhatWasCancelledHasNoRung": func(l *lab) {
		task := l.running()
		l.cancel(task.Operation)
		f := ending(task, ktrdr.Completed)
		f.Rung, f.Score = ktrdr.RungFinalist, new(1.0)
		op, err := l.Finish(l.ctx(), f)
		l.must(err)
		if op.Status != ktrdr.Cancelled || op.Rung != "" || op.Score != nil {
			l.Errorf("it is %s as %q with %v", op.Status, op.Rung, op.Score)
		}
	},

	"AGenerationIsClosedWhenItIsCompleteAndNothingOfItIsOpen": func(l *lab) {
		n := inRun("r", 0, 0, treeSpec{Children: 1})
		n.NewRun = &ktrdr.NewRun{Size: 2, Planned: 4}
		l.create(n)
		l.end(l.researches("r")[0].ID)
		l.closes("r", 0, false) // another research is still to come
		l.research("r", 0, 1)
		l.closes("r", 0, false)
		next := l.research("r", 1, 0)
		l.closes("r", 0, false) // one is open
		l.finish(l.claim("w"), ktrdr.Completed)
		l.closes("r", 1, false) // out of order
		l.closes("r", 0, true)
		l.closes("r", 0, false) // closed before
		l.startQueued(much, 1)
		l.end(next.ID)
		l.closes("r", 1, false) // the last is still to come
		last := l.research("r", 1, 1)
		l.is(last.ID, ktrdr.Running)
		l.end(last.ID)
		l.closes("r", 1, true)
		l.closes("r", 2, false) // there is no such generation
		if run := l.run("r"); run.Closed != 2 || run.Generations != 2 {
			l.Errorf("%d of %d generations are closed, want 2 of 2", run.Closed, run.Generations)
		}
		_, err := l.CloseGeneration(l.ctx(), "nothing", 0, nil)
		l.refused(err, ktrdr.CodeNotFound)

		l.end(l.research("s", 0, 0).ID)
		l.cancelRun("s")
		l.closes("s", 0, false)
		l.end(l.research("t", 0, 0).ID)
		changed, err := l.GiveUpRun(l.ctx(), "t", "no hope")
		if err != nil || !changed {
			l.Fatalf("given up: %v, %v", changed, err)
		}
		l.closes("t", 0, false)
	},

	"TheConfirmationAndItsLookAreMadeWithTheClosing": func(l *lab) {
		market := l.market("A").Market
		best := l.finalist("r", 0, 0, 1)
		l.research("s", 1, 0)
		bad := map[string]ktrdr.NewOperation{
			"of another run":        confirmation("s", 0, best.ID, market),
			"of another generation": confirmation("r", 1, best.ID, market),
			"without a market":      confirmation("r", 0, best.ID),
			"of no known market":    confirmation("r", 0, best.ID, "mkt_nothing"),
			"without a look":        {Type: ktrdr.AgentConfirm, Run: "r"},
		}
		for what, n := range bad {
			if changed, err := l.CloseGeneration(l.ctx(), "r", 0, &n); err == nil || changed {
				l.Errorf("a confirmation %s: %v, %v", what, changed, err)
			}
		}
		if run := l.run("r"); run.Closed != 0 || run.Looks != 0 || l.marketOf(market).Looks != 0 {
			l.Errorf("a refused confirmation left %+v", run)
		}
		n := confirmation("r", 0, best.ID, market)
		n.ID = "op_agent_confirmation_1"
		changed, err := l.CloseGeneration(l.ctx(), "r", 0, &n)
		if err != nil || !changed {
			l.Fatalf("closed: %v, %v", changed, err)
		}
		op := l.is(n.ID, ktrdr.Pending)
		if op.Run != "r" || op.Queue != nil || op.Parent != "" {
			l.Errorf("confirmation: %+v", op)
		}
		look, err := l.LookOf(l.ctx(), n.ID)
		l.must(err)
		same(l, "look", look, ktrdr.Look{
			Key: string(n.ID), Operation: n.ID, Kind: ktrdr.LookConfirmation, Research: best.ID, Run: "r", Strategy: "a strategy",
			Markets: []ktrdr.LookMarket{{Market: market, Number: 1}}, Spans: n.Look.Spans, ReservedAt: look.ReservedAt,
		})
		same(l, "counts", l.recount("r"), ktrdr.RunCounts{Created: 1, Completed: 1, Finalists: 1, Looks: 1})

		next := l.finalist("r", 1, 0, 1)
		l.closes("r", 1, false) // the confirmation is open
		task := l.claimLocal("i")
		same(l, "claimed", task.Operation, n.ID)
		f := ending(task, ktrdr.Completed)
		f.Result = json.RawMessage(`{"look":{"p":0.001,"adjusted_p":0.002,"claim":true}}`)
		_, err = l.Finish(l.ctx(), f)
		l.must(err)
		same(l, "counts with a claim", l.recount("r"), ktrdr.RunCounts{Created: 2, Completed: 2, Finalists: 2, Looks: 1, Claims: 1})
		second := confirmation("r", 1, next.ID, market)
		second.ID = n.ID
		_, err = l.CloseGeneration(l.ctx(), "r", 1, &second)
		l.refused(err, ktrdr.CodeConflict) // the id is taken
		l.closes("r", 1, true)
	},

	"AClosedGenerationIsInTheLog": func(l *lab) {
		l.end(l.research("r", 0, 0).ID)
		l.closes("r", 0, true)
		l.caughtUp()
		for _, e := range l.log("") {
			if e.Kind == ktrdr.EventGenerationClosed {
				var data map[string]any
				l.must(json.Unmarshal(e.Data, &data))
				same(l, "event", data, map[string]any{"run": "r", "generation": 0.0})
				return
			}
		}
		l.Error("there is no event")
	},

	"OneOfManyClosesAGeneration": func(l *lab) {
		market := l.market("A").Market
		for generation := range 3 {
			best := l.finalist("r", generation, 0, 1)
			var closed atomic.Int64
			each(8, 8, func(int) {
				n := confirmation("r", generation, best.ID, market)
				changed, err := l.CloseGeneration(l.ctx(), "r", generation, &n)
				if err != nil {
					l.Error(err)
				}
				if changed {
					closed.Add(1)
				}
			})
			if run := l.run("r"); closed.Load() != 1 || run.Looks != generation+1 || run.Closed != generation+1 {
				l.Fatalf("%d closed generation %d: %+v", closed.Load(), generation, run)
			}
			l.finish(l.claimLocal("i"), ktrdr.Completed)
		}
		l.end(l.research("s", 0, 0).ID)
		l.cancel(l.research("s", 1, 0).ID) // could be closed next
		var closed atomic.Int64
		each(8, 8, func(int) {
			changed, err := l.CloseGeneration(l.ctx(), "s", 0, nil)
			if err != nil {
				l.Error(err)
			}
			if changed {
				closed.Add(1)
			}
		})
		if run := l.run("s"); closed.Load() != 1 || run.Closed != 1 {
			l.Errorf("%d closed the first generation: %+v", closed.Load(), run)
		}
		page, err := l.List(l.ctx(), ktrdr.OperationQuery{Type: []ktrdr.Type{ktrdr.AgentConfirm}})
		l.must(err)
		if len(page.Operations) != 3 || l.marketOf(market).Looks != 3 {
			l.Errorf("%d confirmations and %d looks, want 3 of each", len(page.Operations), l.marketOf(market).Looks)
		}
	},

	"AResearchThatIsResumedKeepsItsGenerationOpen": func(l *lab) {
		const rounds = 20
		for i := range rounds { // either it is open, or the generation is closed
			run := fmt.Sprintf("r%d", i)
			op := l.research(run, 0, 0)
			l.finish(l.claim("w"), ktrdr.Failed)
			var closed, resumed atomic.Bool
			each(2, 2, func(which int) {
				var err error
				if which == 0 {
					var changed bool
					changed, err = l.CloseGeneration(l.ctx(), run, 0, nil)
					closed.Store(changed)
				} else {
					_, err = l.Resume(l.ctx(), op.ID)
					resumed.Store(err == nil)
				}
				if err != nil {
					l.Error(err)
				}
			})
			if !resumed.Load() || l.run(run).Open != 1 {
				l.Fatalf("it was not resumed: %+v", l.run(run))
			}
			if changed, err := l.EndRun(l.ctx(), run); err != nil || changed {
				l.Fatalf("the run ended although a research was resumed: %v, %v", changed, err)
			}
			l.finish(l.claim("w"), ktrdr.Completed)
			l.closes(run, 0, !closed.Load())
		}
	},
}

// ends ends a run and requires whether that changed anything.
func (l *lab) ends(run string, want bool) {
	l.Helper()
	changed, err := l.EndRun(l.ctx(), run)
	l.must(err)
	if changed != want {
		l.Fatalf("run %s ended: %v, want %v: %+v", run, changed, want, l.run(run))
	}
}

var runEnds = map[string]func(*lab){
	"ARunEndsWhenNothingIsOpenAndEverythingClosed": func(l *lab) {
		market := l.market("A").Market
		n := inRun("r", 0, 0, treeSpec{Children: 1})
		n.NewRun = &ktrdr.NewRun{Size: 1, Planned: 2}
		l.create(n)
		l.ends("r", false) // open
		l.end(l.researches("r")[0].ID)
		l.ends("r", false) // not closed
		best := l.research("r", 1, 0)
		l.closes("r", 0, true)
		l.startQueued(much, 1)
		l.end(best.ID)
		confirm := confirmation("r", 1, best.ID, market)
		_, err := l.CloseGeneration(l.ctx(), "r", 1, &confirm)
		l.must(err)
		l.ends("r", false) // the confirmation is open
		l.finish(l.claimLocal("i"), ktrdr.Failed)
		l.ends("r", true)
		run := l.run("r")
		if run.State != ktrdr.RunCompleted || run.EndedAt.IsZero() {
			l.Errorf("ended: %+v", run)
		}
		l.ends("r", false)
		same(l, "ended again", l.run("r"), run)
		open, err := l.OpenRuns(l.ctx())
		l.must(err)
		if len(open) != 0 {
			l.Errorf("open runs: %+v", open)
		}
		_, err = l.EndRun(l.ctx(), "nothing")
		l.refused(err, ktrdr.CodeNotFound)
		_, err = l.Create(l.ctx(), inRun("r", 2, 0, treeSpec{Children: 1}), ktrdr.IdempotencyKey{})
		l.refused(err, ktrdr.CodeConflict)

		again := l.create(retryOf(best, inRun("r", 1, 0, treeSpec{Children: 1}))) // a person tries it again
		l.is(again.ID, ktrdr.Running)
		l.end(again.ID)
		same(l, "counts", l.recount("r"), ktrdr.RunCounts{Created: 2, Completed: 3, Looks: 1})
	},

	"ARunThatIsMissingResearchesDoesNotEndBeforeItIsSettled": func(l *lab) {
		n := inRun("r", 0, 0, treeSpec{Children: 1})
		n.NewRun = &ktrdr.NewRun{Size: 8, Planned: 5}
		l.end(l.create(n).ID)
		l.closes("r", 0, false)
		l.ends("r", false)
		l.must(l.SettleRun(l.ctx(), "r"))
		if run := l.run("r"); run.Planned != 1 {
			l.Errorf("%d are planned, want the one that was created", run.Planned)
		}
		l.must(l.SettleRun(l.ctx(), "r"))
		l.closes("r", 0, true)
		l.ends("r", true)
		l.must(l.SettleRun(l.ctx(), "nothing")) // changes nothing
	},

	"ARunThatIsGivenUpStartsNothingAndEnds": func(l *lab) {
		l.finish(func() ktrdr.Task { l.research("r", 0, 0); return l.claim("w") }(), ktrdr.Failed)
		changed, err := l.GiveUpRun(l.ctx(), "r", "only failures")
		l.must(err)
		if run := l.run("r"); !changed || run.State != ktrdr.RunGivenUp || run.GivenUp != "only failures" || !run.EndedAt.IsZero() {
			l.Errorf("given up: %v %+v", changed, run)
		}
		if changed, err := l.GiveUpRun(l.ctx(), "r", "again"); err != nil || changed {
			l.Errorf("given up again: %v, %v", changed, err)
		}
		_, err = l.Create(l.ctx(), inRun("r", 1, 0, treeSpec{Children: 1}), ktrdr.IdempotencyKey{})
		l.refused(err, ktrdr.CodeConflict)
		l.ends("r", true)
		if run := l.run("r"); run.State != ktrdr.RunGivenUp || run.EndedAt.IsZero() {
			l.Errorf("ended: %+v", run)
		}
		_, err = l.GiveUpRun(l.ctx(), "nothing", "")
		l.refused(err, ktrdr.CodeNotFound)

		l.research("s", 1, 0)
		_, err = l.GiveUpRun(l.ctx(), "s", "not yet")
		l.must(err)
		l.startQueued(much, 0)
		l.ends("s", false) // one waits
		l.cancelRun("s")   // a person may cancel it all the same
		l.batch("s", true)
		l.batch("s", false)
		l.ends("s", true)
		if run := l.run("s"); run.State != ktrdr.RunCancelled || run.GivenUp != "not yet" {
			l.Errorf("ended: %+v", run)
		}
	},

	"AnEndedRunIsToldByOneWhoHasTheLease": func(l *lab) {
		next := func(lease time.Duration) string {
			l.Helper()
			run, err := l.NextUndelivered(l.ctx(), lease)
			l.must(err)
			if run == nil {
				return ""
			}
			same(l, "run to tell", *run, l.run(run.ID))
			return run.ID
		}
		l.research("r", 0, 0)
		same(l, "nothing has ended", next(time.Hour), "")
		for _, run := range []string{"s", "t"} {
			l.research(run, 0, 0)
			l.cancelRun(run)
			l.batch(run, false)
			l.ends(run, true)
			l.eventually("the clock of the store has advanced", func() bool { return time.Since(l.run(run).EndedAt) > 2*time.Millisecond })
		}
		same(l, "the first that ended", next(time.Hour), "s")
		same(l, "while the first is told", next(time.Microsecond), "t")
		l.eventually("the lease is over", func() bool { return next(time.Hour) == "t" })
		same(l, "while both are told", next(time.Hour), "")
		l.must(l.MarkDelivered(l.ctx(), "t"))
		told := l.run("t").ToldAt
		if told.IsZero() || !l.run("s").ToldAt.IsZero() {
			l.Errorf("t was told at %v and s at %v", told, l.run("s").ToldAt)
		}
		l.createAfter(ktrdr.Operation{CreatedAt: told}, ktrdr.NewOperation{}) // the clock of the store advances
		l.must(l.MarkDelivered(l.ctx(), "t"))
		same(l, "told again", l.run("t").ToldAt, told)
	},

	"OfManyOneTellsARun": func(l *lab) {
		const n, many = 3, 8
		for i := range n {
			run := fmt.Sprintf("r%d", i)
			l.research(run, 0, 0)
			l.cancelRun(run)
			l.batch(run, false)
			l.ends(run, true)
		}
		var told [n]atomic.Int64
		each(many, many, func(int) {
			for range n {
				run, err := l.NextUndelivered(l.ctx(), time.Hour)
				if err != nil {
					l.Error(err)
				}
				if run != nil {
					told[run.ID[1]-'0'].Add(1)
				}
			}
		})
		for i := range told {
			if told[i].Load() != 1 {
				l.Errorf("run %d was leased %d times at once, want 1", i, told[i].Load())
			}
		}
	},
}
