package storetest

import (
	"fmt"
	"slices"
	"strings"

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
	l.must(l.RemoveWorker(l.ctx(), ktrdr.WorkerID(marker), ""))
	l.eventually("the log catches up", func() bool {
		return slices.ContainsFunc(l.log(""), func(e ktrdr.Event) bool {
			return e.Kind == ktrdr.EventWorkerLeft && strings.Contains(string(e.Data), `"`+marker+`"`)
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

// pathOf lists the statuses that events name, in their order.
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
