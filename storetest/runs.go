package storetest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/ktrdr/ktrdr"
)

// much is a limit that no queue of these cases reaches.
const much = 10_000

// inRun is a research of a run that does what the spec says.
func inRun(run string, generation, index int, spec treeSpec) ktrdr.NewOperation {
	n := parentOf(spec)
	n.Queue = &ktrdr.Queue{Name: line, Limit: much, Force: true, Run: run, Generation: generation, Index: index}
	return n
}

// research creates a research of one child.
func (l *lab) research(run string, generation, index int) ktrdr.Operation {
	l.Helper()
	return l.create(inRun(run, generation, index, treeSpec{Children: 1}))
}

// run reads a run that must exist.
func (l *lab) run(id string) ktrdr.Run {
	l.Helper()
	run, err := l.Store.Run(l.ctx(), id) // a test has a Run, too
	l.must(err)
	return run
}

// closes closes a generation and requires whether that changed anything.
func (l *lab) closes(run string, generation int, want bool) {
	l.Helper()
	changed, err := l.CloseGeneration(l.ctx(), run, generation, nil)
	l.must(err)
	if changed != want {
		l.Fatalf("generation %d of run %s was closed: %v, want %v", generation, run, changed, want)
	}
}

// researches reads all researches of a run, newest first.
func (l *lab) researches(run string) (all []ktrdr.Operation) {
	l.Helper()
	for q := (ktrdr.OperationQuery{Run: run, Limit: 1000}); ; {
		page, err := l.List(l.ctx(), q)
		l.must(err)
		all = append(all, page.Operations...)
		if q.Cursor = page.Next; q.Cursor == "" {
			return all
		}
	}
}

// recount requires that the counts of a run are those of its rows, and returns
// them.
func (l *lab) recount(run string) ktrdr.RunCounts {
	l.Helper()
	var want ktrdr.RunCounts
	for _, op := range l.researches(run) {
		if op.RetryOf == "" {
			want.Created++
		}
		switch op.Status {
		case ktrdr.Completed:
			if op.Rung == ktrdr.RungRejected {
				want.Rejected++
			} else {
				want.Completed++
			}
			if op.Rung == ktrdr.RungFinalist {
				want.Finalists++
			}
		case ktrdr.Failed:
			want.Failed++
		case ktrdr.Cancelled:
			want.Cancelled++
		default:
			want.Open++
		}
	}
	page, err := l.Looks(l.ctx(), ktrdr.LookQuery{Run: run, Limit: 1000})
	l.must(err)
	want.Looks = len(page.Looks)
	for _, look := range page.Looks {
		if look.Claim {
			want.Claims++
		}
	}
	got := l.run(run).RunCounts
	same(l, "counts of run "+run, got, want)
	return got
}

var runs = map[string]func(*lab){
	"ARunIsMadeWithItsFirstResearch": func(l *lab) {
		until := time.Now().Add(time.Hour).UTC().Truncate(time.Microsecond)
		n := inRun("r", 0, 0, treeSpec{Children: 1})
		n.NewRun = &ktrdr.NewRun{Goal: "find an edge", Request: json.RawMessage(`{"brief": "find an edge"}`), Until: until, Size: 4, Planned: 3}
		first := l.create(n)
		again := inRun("r", 1, 0, treeSpec{Children: 1})
		again.NewRun = &ktrdr.NewRun{Goal: "another goal", Size: 9, Planned: 9} // the row is there
		l.create(again)
		run := l.run("r")
		if run.CreatedAt.IsZero() || run.CreatedAt.After(first.CreatedAt) {
			l.Errorf("the run was created at %v, its first research at %v", run.CreatedAt, first.CreatedAt)
		}
		want := ktrdr.Run{
			ID: "r", Goal: "find an edge", Request: n.NewRun.Request, CreatedAt: run.CreatedAt, Until: until, Size: 4, Planned: 3,
			State: ktrdr.RunRunning, Generations: 2, RunCounts: ktrdr.RunCounts{Created: 2, Open: 2},
		}
		same(l, "run", run, want)
		open, err := l.OpenRuns(l.ctx())
		l.must(err)
		newest := l.researches("r")[0]
		same(l, "open runs", open, []ktrdr.OpenRun{{Run: want, NewestAdded: newest.CreatedAt}})
		l.recount("r")
		_, err = l.Store.Run(l.ctx(), "s")
		l.refused(err, ktrdr.CodeNotFound)
	},

	"ChildrenBelongToTheRunOfTheirParent": func(l *lab) {
		top := l.create(inRun("r", 0, 3, treeSpec{Children: 2, Depth: 1}))
		if top.Run != "r" {
			l.Errorf("the research belongs to %q", top.Run)
		}
		for _, middle := range l.children(top.ID) {
			for _, child := range append(l.children(middle.ID), middle) {
				if child.Run != "r" || child.Queue != nil {
					l.Errorf("child %s belongs to %q and stands at %+v", child.ID, child.Run, child.Queue)
				}
			}
		}
		by := l.create(ktrdr.NewOperation{Parent: top.ID, Ordinal: 9})
		if by.Run != "r" {
			l.Errorf("a child by hand belongs to %q", by.Run)
		}
		same(l, "researches of the run", idsOf(l.researches("r")), []ktrdr.OperationID{top.ID})
		if n := l.recount("r"); n.Created != 1 || n.Open != 1 {
			l.Errorf("children are counted: %+v", n)
		}
		bad := ktrdr.NewOperation{Type: ktrdr.Dummy, Parent: top.ID, Run: "s"}
		_, err := l.Create(l.ctx(), bad, ktrdr.IdempotencyKey{})
		l.refused(err, ktrdr.CodeInvalid)
	},

	"RunsArePagedNewestFirst": func(l *lab) {
		var some []ktrdr.NewOperation // at once, so that some are created in the same tick of the clock
		for i := range 20 {
			some = append(some, inRun(fmt.Sprintf("%c", 'a'+i*7%20), 0, 0, treeSpec{Children: 1}))
		}
		_, err := l.CreateAll(l.ctx(), some, nil)
		l.must(err)
		_, err = l.CancelRun(l.ctx(), "c", "", "")
		l.must(err)
		var all []ktrdr.Run
		for _, n := range some {
			all = append(all, l.run(n.Queue.Run))
		}
		slices.SortFunc(all, func(x, y ktrdr.Run) int { return cmp.Or(y.CreatedAt.Compare(x.CreatedAt), cmp.Compare(y.ID, x.ID)) })
		want := func(of func(ktrdr.Run) bool) (ids []string) {
			for _, run := range all {
				if of(run) {
					ids = append(ids, run.ID)
				}
			}
			return ids
		}
		ids := func(q ktrdr.RunQuery) (ids []string) {
			for {
				page, err := l.Runs(l.ctx(), q)
				l.must(err)
				for _, run := range page.Runs {
					same(l, "run in a page", run, l.run(run.ID))
					ids = append(ids, run.ID)
				}
				if q.Cursor = page.Next; q.Cursor == "" {
					return ids
				}
			}
		}
		for _, limit := range []int{0, 1, 3, 20, 21} {
			same(l, "all runs", ids(ktrdr.RunQuery{Limit: limit}), want(func(ktrdr.Run) bool { return true }))
		}
		isRunning := func(run ktrdr.Run) bool { return run.ID != "c" }
		same(l, "running", ids(ktrdr.RunQuery{Limit: 1, State: []ktrdr.RunState{ktrdr.RunRunning}}), want(isRunning))
		same(l, "cancelled or completed", ids(ktrdr.RunQuery{State: []ktrdr.RunState{ktrdr.RunCompleted, ktrdr.RunCancelled}}), []string{"c"})
		for _, q := range []ktrdr.RunQuery{{Limit: -1}, {Limit: 1001}, {Cursor: "rubbish"}, {State: []ktrdr.RunState{"ASLEEP"}}} {
			_, err := l.Runs(l.ctx(), q)
			l.refused(err, ktrdr.CodeInvalid)
		}
	},

	"TheCountsOfARunAreThoseOfItsRows": func(l *lab) {
		score := 1.5
		finish := func(spec treeSpec, outcome ktrdr.Status) ktrdr.Operation {
			spec.Children = 1
			op := l.create(inRun("r", 0, 0, spec))
			l.recount("r")
			l.finish(l.claim("w"), outcome)
			l.recount("r")
			return op
		}
		finish(treeSpec{}, ktrdr.Completed)
		finish(treeSpec{Rung: "nothing"}, ktrdr.Completed)
		finish(treeSpec{Rung: ktrdr.RungRejected}, ktrdr.Completed)
		finish(treeSpec{Rung: ktrdr.RungFinalist, Score: &score}, ktrdr.Completed)
		failed := finish(treeSpec{Rung: ktrdr.RungFinalist, Score: &score}, ktrdr.Failed)
		if op := l.op(failed.ID); op.Rung != "" || op.Score != nil {
			l.Errorf("a research that failed is a %q with %v", op.Rung, op.Score)
		}

		running := l.research("r", 0, 1) // is cancelled while its child runs
		task := l.claim("w")
		l.cancel(running.ID)
		l.recount("r")
		l.finish(task, ktrdr.Completed)
		l.is(running.ID, ktrdr.Cancelled)
		l.recount("r")

		waits := l.research("r", 1, 0) // is cancelled while it waits
		l.is(waits.ID, ktrdr.Pending)
		l.cancel(waits.ID)
		same(l, "counts", l.recount("r"), ktrdr.RunCounts{Created: 7, Completed: 3, Rejected: 1, Finalists: 1, Failed: 1, Cancelled: 2})

		for _, id := range []ktrdr.OperationID{failed.ID, running.ID} { // resume, and end again
			_, err := l.Resume(l.ctx(), id)
			l.must(err)
			l.recount("r")
			l.finish(l.claim("w"), ktrdr.Completed)
			l.is(id, ktrdr.Completed)
			l.recount("r")
		}
		again := inRun("r", 1, 0, treeSpec{Children: 1})
		again.RetryOf = waits.ID
		retry := l.create(again)
		l.recount("r")
		l.closes("r", 0, true)
		l.startQueued(much, 1)
		l.finish(l.claim("w"), ktrdr.Failed)
		l.is(retry.ID, ktrdr.Failed)
		same(l, "counts at the end", l.recount("r"),
			ktrdr.RunCounts{Created: 7, Completed: 5, Rejected: 1, Finalists: 2, Failed: 1, Cancelled: 1})
		if run := l.run("r"); run.Ended() != 8 || run.Generations != 2 {
			l.Errorf("%d have ended in %d generations, want 7 and a retry in 2", run.Ended(), run.Generations)
		}
	},

	"ACountIsThatOfPlansThatGoWrongToo": func(l *lab) {
		bad := l.create(inRun("r", 0, 0, treeSpec{Children: 1, Trouble: "panic", When: ktrdr.WhyCreated}))
		l.is(bad.ID, ktrdr.Failed)
		l.start("b", "i1", keep)
		lost := l.research("r", 0, 1)
		l.start("b", "i2", failing())
		l.is(lost.ID, ktrdr.Failed)
		same(l, "counts", l.recount("r"), ktrdr.RunCounts{Created: 2, Failed: 2})
	},

	"TheTallyIsOfTheLastTwoGenerations": func(l *lab) {
		for generation := range 3 {
			for i := range 2 {
				l.research("r", generation, i)
			}
		}
		for generation := range 3 {
			for i := range 2 {
				outcome := ktrdr.Completed
				if generation == 2 || generation == 1 && i == 0 {
					outcome = ktrdr.Failed
				}
				l.finish(l.claim("w"), outcome)
			}
			l.closes("r", generation, true)
			_, err := l.StartQueued(l.ctx(), line, much)
			l.must(err)
		}
		all, err := l.TallyGenerations(l.ctx(), "r")
		l.must(err)
		same(l, "tally", all, []ktrdr.GenerationTally{{Generation: 1, Researches: 2, Failed: 1}, {Generation: 2, Researches: 2, Failed: 2}})
		l.research("s", 0, 0)
		all, err = l.TallyGenerations(l.ctx(), "s")
		l.must(err)
		same(l, "tally of one generation", all, []ktrdr.GenerationTally{{Researches: 1}})
	},
}
