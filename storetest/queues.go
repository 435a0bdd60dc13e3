package storetest

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
)

// line is the queue of these cases, and room how many may be live in it.
const (
	line = "line"
	room = 2
)

// queued is a tree of one child that stands in a line.
func queued(q ktrdr.Queue) ktrdr.NewOperation {
	n := parentOf(treeSpec{Children: 1})
	if q.Name == "" {
		q.Name = line
	}
	if q.Limit == 0 {
		q.Limit = room
	}
	n.Queue = &q
	return n
}

// stand creates a parent that waits in the line when it has to.
func (l *lab) stand(q ktrdr.Queue) ktrdr.Operation {
	l.Helper()
	q.Force = true
	return l.create(queued(q))
}

func sortedIDs(ops []ktrdr.Operation) []ktrdr.OperationID {
	return slices.Sorted(slices.Values(idsOf(ops)))
}

// startQueued requires how many parents of the line start now.
func (l *lab) startQueued(limit, want int) {
	l.Helper()
	n, err := l.StartQueued(l.ctx(), line, limit)
	l.must(err)
	if n != want {
		l.Fatalf("%d parents started, want %d", n, want)
	}
}

// end runs the child of a tree to its end, and with it the tree.
func (l *lab) end(top ktrdr.OperationID) {
	l.Helper()
	for {
		task := l.claim("w")
		op := l.finish(task, ktrdr.Completed)
		if op.Parent == top {
			l.is(top, ktrdr.Completed)
			return
		}
	}
}

// queueCounts requires how many of the line are live and how many wait.
func (l *lab) queueCounts(active, waiting int) {
	l.Helper()
	all, err := l.QueueCounts(l.ctx())
	l.must(err)
	same(l, "queues", all, []ktrdr.QueueCount{{Name: line, Active: active, Waiting: waiting}})
}

var queues = map[string]func(*lab){
	"AQueueTakesSoManyAndRefusesTheNext": func(l *lab) {
		for i := range room {
			op := l.create(queued(ktrdr.Queue{Run: "r", Generation: 0, Index: i}))
			if op.Status != ktrdr.Running || op.Phase != "CHILD_1" || op.Session != int64(i+1) {
				l.Errorf("created %s in phase %q with session %d", op.Status, op.Phase, op.Session)
			}
			same(l, "place", *op.Queue, ktrdr.QueuePlace{Name: line, Run: "r", Index: i})
			same(l, "read back", l.op(op.ID), op)
		}
		key := ktrdr.IdempotencyKey{Key: "k", Body: ktrdr.Hash{1}}
		_, err := l.Create(l.ctx(), queued(ktrdr.Queue{}), key)
		l.refused(err, ktrdr.CodeAtCapacity)
		facts, ok := errors.AsType[*ktrdr.Capacity](err)
		if !ok || *facts != (ktrdr.Capacity{Queue: line, Active: 2, Limit: 2}) || !strings.Contains(err.Error(), "2 of at most 2") {
			l.Errorf("refused with %+v: %v", facts, err)
		}
		if left := l.list(ktrdr.OperationQuery{Roots: true}); len(left) != room {
			l.Errorf("%d parents exist after a refusal, want %d", len(left), room)
		}
		l.queueCounts(2, 0)

		l.end(l.list(ktrdr.OperationQuery{Roots: true})[1])
		op, err := l.Create(l.ctx(), queued(ktrdr.Queue{}), key) // the refusal took nothing, the key neither
		l.must(err)
		if op.Status != ktrdr.Running || op.Session != 3 {
			l.Errorf("created %s with session %d, want RUNNING with 3", op.Status, op.Session)
		}
	},

	"AParentThatWaitsForAnAnswerTakesNoRoom": func(l *lab) {
		waits := func() ktrdr.Operation {
			n := parentOf(treeSpec{Children: 1, Delay: time.Hour})
			n.Queue = &ktrdr.Queue{Name: line, Limit: room, Force: true}
			return l.create(n)
		}
		asked := waits()
		for range room {
			waits()
		}
		for range room {
			l.is(l.create(queued(ktrdr.Queue{})).ID, ktrdr.Running)
		}
		_, err := l.Create(l.ctx(), queued(ktrdr.Queue{}), ktrdr.IdempotencyKey{})
		l.refused(err, ktrdr.CodeAtCapacity)
		l.is(l.stand(ktrdr.Queue{}).ID, ktrdr.Pending)

		_, err = l.Answer(l.ctx(), l.children(asked.ID)[0].ID, json.RawMessage(`{"summary":"answered"}`))
		l.must(err)
		l.is(asked.ID, ktrdr.Completed)
		l.startQueued(room, 0)
	},

	"AForcedParentWaitsForItsTurn": func(l *lab) {
		first, second := l.stand(ktrdr.Queue{}), l.stand(ktrdr.Queue{})
		third := l.stand(ktrdr.Queue{})
		if third.Status != ktrdr.Pending || third.Epoch != 0 || third.Phase != "" || len(l.children(third.ID)) != 0 {
			l.Errorf("waiting: %+v", third)
		}
		l.queueCounts(2, 1)
		l.startQueued(room, 0)
		l.end(first.ID)
		l.is(third.ID, ktrdr.Pending)
		l.startQueued(room, 1)
		if op := l.is(third.ID, ktrdr.Running); op.Epoch != 1 || op.Attempts != 1 || op.Phase != "CHILD_1" || len(l.children(op.ID)) != 1 {
			l.Errorf("started: %+v", op)
		}
		l.startQueued(room, 0)
		l.end(second.ID)
		l.logIsLegal()
	},

	"AQueueTellsWhoHasStartedAndWhoIsNext": func(l *lab) {
		var ids []ktrdr.OperationID
		for range 4 {
			ids = append(ids, l.stand(ktrdr.Queue{Run: "r", Index: len(ids)}).ID)
		}
		urgent := queued(ktrdr.Queue{Force: true})
		urgent.Priority, urgent.Metadata = 1, json.RawMessage(`{"brief":"soon"}`)
		first := l.create(urgent).ID
		l.stand(ktrdr.Queue{Name: "another"})
		q, err := l.InQueue(l.ctx(), line, 10)
		l.must(err)
		same(l, "counts", q.Count, ktrdr.QueueCount{Name: line, Active: room, Waiting: 3})
		same(l, "started", q.Started, []ktrdr.Operation{l.op(ids[0]), l.op(ids[1])})
		same(l, "open children", sortedIDs(q.Children), sortedIDs(slices.Concat(l.children(ids[0]), l.children(ids[1]))))
		var want []ktrdr.Operation
		for _, id := range []ktrdr.OperationID{first, ids[2], ids[3]} {
			op := l.op(id)
			op.Spec = nil
			want = append(want, op)
		}
		same(l, "waiting", q.Waiting, want)
		if q.Last != nil {
			l.Errorf("%s ended last, and none did", q.Last.ID)
		}
		l.end(ids[0])
		q, err = l.InQueue(l.ctx(), line, 2)
		l.must(err)
		same(l, "started after an end", idsOf(q.Started), ids[1:room])
		same(l, "first two who wait", idsOf(q.Waiting), []ktrdr.OperationID{first, ids[2]})
		same(l, "counts after an end", q.Count, ktrdr.QueueCount{Name: line, Active: room - 1, Waiting: 3})
		same(l, "last", q.Last, new(l.op(ids[0])))
		ended := l.op(ids[0])
		same(l, "ended", q.Ended, []ktrdr.Operation{{
			ID: ended.ID, Type: ended.Type, Status: ended.Status, Root: ended.Root, HasPlan: true, BackendLocal: ended.BackendLocal,
			Metadata:     ended.Metadata,
			CancelReason: ended.CancelReason, CreatedAt: ended.CreatedAt, CompletedAt: ended.CompletedAt, Run: ended.Run, Queue: ended.Queue,
			Session: ended.Session,
		}})
		same(l, "open children after an end", idsOf(q.Children), idsOf(l.children(ids[1])))
	},

	"TheLastOfAQueueIsWhoEndedLast": func(l *lab) {
		older, newer := l.stand(ktrdr.Queue{}), l.stand(ktrdr.Queue{})
		waits, other := l.stand(ktrdr.Queue{}), l.stand(ktrdr.Queue{Name: "another"})
		tasks := map[ktrdr.OperationID]ktrdr.Task{}
		for range 3 {
			task := l.claim("w")
			tasks[l.op(task.Operation).Parent] = task
		}
		last := func(want ktrdr.OperationID) {
			q, err := l.InQueue(l.ctx(), line, 1)
			l.must(err)
			if q.Last == nil || q.Last.ID != want {
				l.Errorf("last is %v, want %s", q.Last, want)
			}
		}
		for _, top := range []ktrdr.Operation{newer, older} {
			l.finish(tasks[top.ID], ktrdr.Completed)
			last(top.ID)
		}
		l.finish(tasks[other.ID], ktrdr.Completed)
		last(older.ID)
		_, _, err := l.Cancel(l.ctx(), waits.ID, "")
		l.must(err)
		last(waits.ID)
	},

	"AHigherLimitStartsMore": func(l *lab) {
		for range 5 {
			l.stand(ktrdr.Queue{})
		}
		l.startQueued(room+2, 2)
		l.startQueued(1, 0)
		l.startQueued(100, 1)
		l.queueCounts(5, 0)
	},

	"TheLineIsKeptByPriorityAndThenByComing": func(l *lab) {
		last := l.stand(ktrdr.Queue{Limit: 1})
		var want []ktrdr.OperationID
		low := [2]ktrdr.Operation{l.stand(ktrdr.Queue{Limit: 1}), l.stand(ktrdr.Queue{Limit: 1})}
		for range 3 {
			n := queued(ktrdr.Queue{Force: true, Limit: 1})
			n.Priority = 1
			want = append(want, l.create(n).ID)
		}
		for _, id := range append(want, low[0].ID, low[1].ID) {
			l.is(id, ktrdr.Pending)
			l.end(last.ID)
			l.startQueued(1, 1)
			last = l.is(id, ktrdr.Running)
		}
	},

	"NoOperationOvertakesOneThatWaits": func(l *lab) {
		first, waits := l.stand(ktrdr.Queue{Limit: 1}), l.stand(ktrdr.Queue{Limit: 1})
		l.end(first.ID)
		_, err := l.Create(l.ctx(), queued(ktrdr.Queue{Limit: 1}), ktrdr.IdempotencyKey{})
		l.refused(err, ktrdr.CodeAtCapacity)
		late := l.stand(ktrdr.Queue{Limit: 1})
		if late.Status != ktrdr.Pending {
			l.Errorf("who came last is %s", late.Status)
		}
		l.startQueued(1, 1)
		l.is(waits.ID, ktrdr.Running)
	},

	"AGenerationWaitsUntilTheOnesBeforeItAreClosed": func(l *lab) {
		const many = 10
		of := func(run string, generation, index int) ktrdr.Operation {
			return l.stand(ktrdr.Queue{Limit: many, Run: run, Generation: generation, Index: index})
		}
		a, b := of("r", 0, 0), of("r", 0, 1)
		third := of("r", 2, 0)
		second := of("r", 1, 0)
		other := of("s", 0, 0)
		alone := l.create(queued(ktrdr.Queue{Limit: many, Generation: 3})) // a generation of no run is only a number
		for _, op := range []ktrdr.Operation{a, b, other, alone} {
			l.is(op.ID, ktrdr.Running) // a run waits for no other run
		}
		l.closes("r", 0, false)
		l.end(a.ID)
		l.closes("r", 0, false)
		l.cancel(b.ID)
		l.startQueued(many, 0) // it has ended, but is not closed
		l.closes("r", 0, true)
		l.startQueued(many, 1)
		l.is(second.ID, ktrdr.Running)
		l.is(third.ID, ktrdr.Pending)
		for _, op := range []ktrdr.Operation{other, alone, second} {
			l.cancel(op.ID)
		}
		l.closes("r", 1, true)
		l.startQueued(many, 1)
		l.is(third.ID, ktrdr.Running)
	},

	"AParentInALineIsAskedOnlyInItsTurn": func(l *lab) {
		first, waits := l.stand(ktrdr.Queue{Limit: 1}), l.stand(ktrdr.Queue{Limit: 1})
		l.end(first.ID)
		l.create(ktrdr.NewOperation{Parent: waits.ID, Ordinal: 1})
		l.finish(l.claim("w"), ktrdr.Completed)
		l.askPlans(0)
		same(l, "waiting", l.op(waits.ID), waits)
		l.startQueued(1, 1)
		l.is(waits.ID, ktrdr.Completed) // its one child has ended already
	},

	"WhoIsCancelledLeavesTheLine": func(l *lab) {
		first := l.stand(ktrdr.Queue{Limit: 1})
		gone, next := l.stand(ktrdr.Queue{Limit: 1}), l.stand(ktrdr.Queue{Limit: 1})
		l.cancel(gone.ID)
		l.is(gone.ID, ktrdr.Cancelled)
		_, err := l.Resume(l.ctx(), gone.ID)
		l.refused(err, ktrdr.CodeNoCheckpoint)
		l.cancel(first.ID)
		l.startQueued(1, 1)
		l.is(next.ID, ktrdr.Running)
		l.logIsLegal()
	},

	"AResumedParentHadItsPlace": func(l *lab) {
		first := l.stand(ktrdr.Queue{Limit: 1})
		l.finish(l.claim("w"), ktrdr.Failed)
		l.is(first.ID, ktrdr.Failed)
		second := l.create(queued(ktrdr.Queue{Limit: 1}))
		waits := l.stand(ktrdr.Queue{Limit: 1})
		op, err := l.Resume(l.ctx(), first.ID)
		l.must(err)
		if op.Status != ktrdr.Running || op.Session != first.Session {
			l.Errorf("resumed: %s with session %d, want RUNNING with %d", op.Status, op.Session, first.Session)
		}
		l.queueCounts(2, 1)
		l.cancel(second.ID)
		l.startQueued(1, 0)
		l.is(waits.ID, ktrdr.Pending)
	},

	"APlanThatPanicsAtItsTurnHoldsUpNoOther": func(l *lab) {
		first := l.stand(ktrdr.Queue{Limit: 1})
		n := parentOf(treeSpec{Children: 1, Trouble: "panic", When: ktrdr.WhyCreated})
		n.Queue = queued(ktrdr.Queue{Limit: 1, Force: true}).Queue
		bad := l.create(n)
		good := l.stand(ktrdr.Queue{Limit: 1})
		l.end(first.ID)
		l.startQueued(1, 2)
		l.is(bad.ID, ktrdr.Failed)
		l.is(good.ID, ktrdr.Running)
	},

	"AnOperationThatWaitsInAQueueIsNoOrphan": func(l *lab) {
		l.start("b", "i1", keep)
		l.stand(ktrdr.Queue{Limit: 1})
		waits := l.stand(ktrdr.Queue{Limit: 1})
		l.lose(l.claim("w").Operation)
		l.is(waits.ID, ktrdr.Pending)
		l.start("b", "i2", failing())
		same(l, "waiting", l.op(waits.ID), waits)
		same(l, "what a worker could claim", l.waiting(), []ktrdr.Waiting{{Type: ktrdr.Dummy, N: 1}})
		if task, err := l.Claim(l.ctx(), ktrdr.ClaimRequest{Worker: "w", Key: "k", Types: []ktrdr.Type{ktrdr.AgentResearch}, Free: 1},
			"i2"); err != nil || task != nil {
			l.Errorf("a worker got %+v, %v", task, err)
		}
	},

	"AQueueRefusesWhatCannotStandInIt": func(l *lab) {
		top := l.plant(treeSpec{Children: 1})
		child, plain := queued(ktrdr.Queue{}), queued(ktrdr.Queue{})
		child.Parent = top.ID
		plain.HasPlan = false
		unlimited := queued(ktrdr.Queue{})
		unlimited.Queue.Limit = -1
		nameless := queued(ktrdr.Queue{})
		nameless.Queue.Name = ""
		for what, n := range map[string]ktrdr.NewOperation{
			"a child": child, "one without a plan": plain, "no limit": unlimited, "no name": nameless,
			"a long name":           queued(ktrdr.Queue{Name: strings.Repeat("q", 65)}),
			"a run with a NUL":      queued(ktrdr.Queue{Run: "a\x00"}),
			"a negative generation": queued(ktrdr.Queue{Generation: -1}),
			"a negative index":      queued(ktrdr.Queue{Index: -1}),
		} {
			if _, err := l.Create(l.ctx(), n, ktrdr.IdempotencyKey{}); ktrdr.CodeOf(err) != ktrdr.CodeInvalid {
				l.Errorf("%s: got %v, want %s", what, err, ktrdr.CodeInvalid)
			}
		}
		l.startQueued(0, 0)
		if left := l.list(ktrdr.OperationQuery{Roots: true}); len(left) != 1 {
			l.Errorf("%d parents exist, want the one that stands in no line", len(left))
		}
	},
}
