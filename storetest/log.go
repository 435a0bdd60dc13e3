package storetest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ktrdr/ktrdr"
)

// leadsTo is the status that an event of a kind leaves its operation in;
// other kinds leave it where it is.
var leadsTo = map[ktrdr.EventKind]ktrdr.Status{
	ktrdr.EventCreated: ktrdr.Pending, ktrdr.EventClaimed: ktrdr.Running, ktrdr.EventReconciling: ktrdr.Reconciling,
	ktrdr.EventReported: ktrdr.Running, ktrdr.EventReleased: ktrdr.Pending, ktrdr.EventCompleted: ktrdr.Completed,
	ktrdr.EventFailed: ktrdr.Failed, ktrdr.EventCancelled: ktrdr.Cancelled, ktrdr.EventResumed: ktrdr.Pending,
}

// log reads the events of an operation, or all, that are visible now.
func (l *lab) log(op ktrdr.OperationID) []ktrdr.Event {
	l.Helper()
	var all []ktrdr.Event
	q := ktrdr.EventQuery{Operation: op, Limit: 200}
	for {
		page, err := l.Events(l.ctx(), q)
		l.must(err)
		all = append(all, page...)
		if len(page) < q.Limit {
			return all
		}
		q.After = page[len(page)-1].Cursor
	}
}

// caughtUp waits until the log shows everything that has happened. An event
// may become visible a moment after its transaction, but not before an older
// one: so it makes one and waits for that.
func (l *lab) caughtUp() {
	l.Helper()
	marker := l.name("marker")
	l.register(ktrdr.Registration{Worker: ktrdr.Worker{ID: ktrdr.WorkerID(marker), Types: []ktrdr.Type{ktrdr.Dummy}}})
	l.must(l.RemoveWorker(l.ctx(), ktrdr.WorkerID(marker)))
	l.eventually("the log catches up", func() bool {
		return slices.ContainsFunc(l.log(""), func(e ktrdr.Event) bool {
			return e.Kind == ktrdr.EventWorkerRegistered && strings.Contains(string(e.Data), `"`+marker+`"`)
		})
	})
}

// logOf reads all of an operation's events.
func (l *lab) logOf(id ktrdr.OperationID) []ktrdr.Event {
	l.Helper()
	l.caughtUp()
	return l.log(id)
}

// last waits for an event of a kind and returns the newest.
func (l *lab) last(id ktrdr.OperationID, kind ktrdr.EventKind) ktrdr.Event {
	l.Helper()
	var found ktrdr.Event
	l.eventually(fmt.Sprintf("%s has an event %s", id, kind), func() bool {
		for _, e := range l.log(id) {
			if e.Kind == kind {
				found = e
			}
		}
		return found.Kind == kind
	})
	return found
}

// pathOf is the way through the statuses that events tell of.
func pathOf(events []ktrdr.Event) []ktrdr.Status {
	var path []ktrdr.Status
	for _, e := range events {
		if to, ok := leadsTo[e.Kind]; ok {
			path = append(path, to)
		}
	}
	return path
}

// logIsLegal requires of every operation that its events are a path through
// ktrdr.Transitions from PENDING to where it is, and that its epoch counts the
// claims on the way.
func (l *lab) logIsLegal() {
	l.Helper()
	ops := map[ktrdr.OperationID]ktrdr.Operation{}
	q := ktrdr.OperationQuery{Limit: 1000}
	for more := true; more; more = q.Cursor != "" {
		page, err := l.List(l.ctx(), q)
		l.must(err)
		for _, op := range page.Operations {
			ops[op.ID] = op
		}
		q.Cursor = page.Next
	}
	l.caughtUp()
	logs := map[ktrdr.OperationID][]ktrdr.Event{}
	for _, e := range l.log("") {
		logs[e.Operation] = append(logs[e.Operation], e)
	}
	for id, op := range ops {
		path := pathOf(logs[id])
		if len(path) == 0 || path[0] != ktrdr.Pending || path[len(path)-1] != op.Status {
			l.Errorf("the log of %s tells %v, and it is %s", id, path, op.Status)
		}
		for i := range max(0, len(path)-1) {
			if !slices.Contains(ktrdr.Transitions[path[i]], path[i+1]) {
				l.Errorf("%s went from %s to %s: %v", id, path[i], path[i+1], path)
			}
		}
		var claims ktrdr.Epoch
		for _, e := range logs[id] {
			if e.Kind == ktrdr.EventClaimed {
				claims++
			}
			if _, moved := leadsTo[e.Kind]; moved && e.Epoch != claims {
				l.Errorf("%s: event %s has epoch %d after %d claims", id, e.Kind, e.Epoch, claims)
			}
		}
		if op.Epoch != claims || op.Attempts != int(claims) {
			l.Errorf("%s has epoch %d and attempts %d after %d claims", id, op.Epoch, op.Attempts, claims)
		}
	}
}

func kinds(events []ktrdr.Event) []ktrdr.EventKind {
	var all []ktrdr.EventKind
	for _, e := range events {
		all = append(all, e.Kind)
	}
	return all
}

var logs = map[string]func(*lab){
	"EveryTransitionIsAnEvent": func(l *lab) {
		task := l.running()
		l.start("b", "i1", keep)
		l.report("w", held(task, 0))
		l.save(task, 1, 1)
		l.must(l.Release(l.ctx(), ktrdr.Released{Operation: task.Operation, Epoch: 1}))
		l.lose(l.claim("w").Operation)
		_, err := l.Resume(l.ctx(), task.Operation)
		l.must(err)
		task = l.claim("w")
		l.cancel(task.Operation)
		l.finish(task, ktrdr.Cancelled)
		_, err = l.Resume(l.ctx(), task.Operation)
		l.must(err)
		l.finish(l.claim("w"), ktrdr.Completed)

		events := l.logOf(task.Operation)
		same(l, "kinds", kinds(events), []ktrdr.EventKind{
			ktrdr.EventCreated, ktrdr.EventClaimed, ktrdr.EventReconciling, ktrdr.EventReported, ktrdr.EventCheckpoint,
			ktrdr.EventReleased, ktrdr.EventClaimed, ktrdr.EventFailed, ktrdr.EventResumed, ktrdr.EventClaimed,
			ktrdr.EventCancelRequested, ktrdr.EventCancelled, ktrdr.EventResumed, ktrdr.EventClaimed, ktrdr.EventCompleted,
		})
		for i, e := range events {
			var data struct{ From, To ktrdr.Status }
			l.must(json.Unmarshal(e.Data, &data))
			if to, moved := leadsTo[e.Kind]; moved && (data.To != to || i > 0 && !slices.Contains(ktrdr.Transitions[data.From], to)) {
				l.Errorf("%s says %s", e.Kind, e.Data)
			}
			if e.Operation != task.Operation || e.At.IsZero() || e.Cursor == (ktrdr.Cursor{}) {
				l.Errorf("event %+v", e)
			}
			if i > 0 && e.At.Before(events[i-1].At.Add(-time.Second)) {
				l.Errorf("%s at %v comes after %s at %v", e.Kind, e.At, events[i-1].Kind, events[i-1].At)
			}
		}
		l.logIsLegal()
	},

	"AParentsPhasesAreEvents": func(l *lab) {
		top := l.plant(treeSpec{Children: 2})
		l.finish(l.claim("w"), ktrdr.Completed)
		l.finish(l.claim("w"), ktrdr.Completed)
		n := 0
		for _, e := range l.logOf(top.ID) {
			if e.Kind == ktrdr.EventPhase {
				n++
			}
		}
		if n != 2 {
			l.Errorf("%d phase events, want 2", n)
		}
	},

	"EventsComeInPagesWithoutGaps": func(l *lab) {
		const n = 30
		for range n {
			l.finish(l.running(), ktrdr.Completed)
		}
		l.caughtUp()
		whole := l.log("")
		if len(whole) != 3*n+1 { // the marker is one
			l.Fatalf("%d events, want %d", len(whole), 3*n+1)
		}
		var pages []ktrdr.Event
		q := ktrdr.EventQuery{Limit: 7}
		for {
			page, err := l.Events(l.ctx(), q)
			l.must(err)
			if len(page) == 0 {
				break
			}
			pages = append(pages, page...)
			q.After = page[len(page)-1].Cursor
		}
		same(l, "pages", pages, whole)
		last, err := l.LastEvent(l.ctx())
		l.must(err)
		same(l, "the last event", last, whole[len(whole)-1].Cursor)
		if !slices.IsSortedFunc(whole, func(a, b ktrdr.Event) int { return compareCursors(a.Cursor, b.Cursor) }) {
			l.Error("the cursors are not in order")
		}
	},

	"EventsOfOneOperationAreItsOwn": func(l *lab) {
		a, b := l.running(), l.running()
		l.finish(b, ktrdr.Failed)
		same(l, "kinds", kinds(l.logOf(a.Operation)), []ktrdr.EventKind{ktrdr.EventCreated, ktrdr.EventClaimed})
		for _, e := range l.logOf(b.Operation) {
			if e.Operation != b.Operation {
				l.Errorf("got an event of %s", e.Operation)
			}
		}
		after := l.logOf(b.Operation)[0].Cursor
		rest, err := l.Events(l.ctx(), ktrdr.EventQuery{Operation: b.Operation, After: after})
		l.must(err)
		same(l, "after the first", kinds(rest), []ktrdr.EventKind{ktrdr.EventClaimed, ktrdr.EventFailed})
	},

	"AFollowerMissesNothing": func(l *lab) {
		const writers, each1 = 8, 25
		var mu sync.Mutex
		followed := map[ktrdr.Cursor]int{}
		stop := make(chan struct{})
		var follower sync.WaitGroup
		follower.Go(func() {
			var after ktrdr.Cursor
			for stopping := false; ; {
				page, err := l.Events(l.ctx(), ktrdr.EventQuery{After: after, Limit: 11})
				if err != nil {
					l.Error(err)
					return
				}
				mu.Lock()
				for _, e := range page {
					followed[e.Cursor]++
					after = e.Cursor
				}
				n := len(followed)
				mu.Unlock()
				if stopping && (len(page) == 0 && n >= writers*each1*2) {
					return
				}
				select {
				case <-stop:
					stopping = true
				case <-l.ctx().Done():
					return
				default:
				}
			}
		})
		each(writers, writers, func(int) {
			for range each1 {
				op, err := l.Create(l.ctx(), ktrdr.NewOperation{Type: ktrdr.Dummy}, ktrdr.IdempotencyKey{})
				if err == nil {
					_, _, err = l.Cancel(l.ctx(), op.ID, "")
				}
				if err != nil {
					l.Error(err)
				}
			}
		})
		close(stop)
		follower.Wait()
		whole := map[ktrdr.Cursor]int{}
		for _, e := range l.log("") {
			whole[e.Cursor] = 1
		}
		if !maps.Equal(followed, whole) {
			l.Errorf("followed %d events, the log holds %d", len(followed), len(whole))
		}
	},

	"EventsDoNotWait": func(l *lab) {
		last, err := l.LastEvent(l.ctx())
		l.must(err)
		same(l, "cursor of an empty log", last, ktrdr.Cursor{})
		page, err := l.Events(l.ctx(), ktrdr.EventQuery{})
		l.must(err)
		same(l, "an empty log", page, nil)
	},

	"EventsRefuseABadLimit": func(l *lab) {
		for _, limit := range []int{-1, 1001} {
			_, err := l.Events(l.ctx(), ktrdr.EventQuery{Limit: limit})
			l.refused(err, ktrdr.CodeInvalid)
		}
	},

	"PruneDeletesOldEventsInBoundedSteps": func(l *lab) {
		const n = 320
		each(n, 8, func(int) {
			op, err := l.Create(l.ctx(), ktrdr.NewOperation{Type: ktrdr.Dummy}, ktrdr.IdempotencyKey{})
			if err == nil {
				_, _, err = l.Cancel(l.ctx(), op.ID, "")
			}
			if err != nil {
				l.Error(err)
			}
		})
		kept, err := l.PruneEvents(l.ctx(), time.Hour)
		l.must(err)
		if kept != 0 {
			l.Errorf("pruned %d young events", kept)
		}
		total := 0
		l.eventually("all are pruned", func() bool {
			n1, err := l.PruneEvents(l.ctx(), 0)
			l.must(err)
			if n1 > 500 {
				l.Errorf("pruned %d events at once, want at most 500", n1)
			}
			total += n1
			return total >= 2*n
		})
		same(l, "what is left", len(l.log("")), 0)
	},
}

func compareCursors(a, b ktrdr.Cursor) int {
	if a.Tx != b.Tx {
		return int(a.Tx - b.Tx)
	}
	return int(a.ID - b.ID)
}
