package storetest

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ktrdr/ktrdr"
)

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
		all := l.log("")
		if len(all) != 3*n+2 { // the marker is two
			l.Fatalf("%d events, want %d", len(all), 3*n+2)
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
		same(l, "pages", pages, all)
		last, err := l.LastEvent(l.ctx())
		l.must(err)
		same(l, "the last event", last, all[len(all)-1].Cursor)
		for _, n := range []int{1, 7, len(all), len(all) + 1} {
			before, err := l.EventBefore(l.ctx(), n)
			l.must(err)
			newest, err := l.Events(l.ctx(), ktrdr.EventQuery{After: before})
			l.must(err)
			same(l, "the newest events", newest, all[max(0, len(all)-n):])
		}
		if !slices.IsSortedFunc(all, func(a, b ktrdr.Event) int { return compareCursors(a.Cursor, b.Cursor) }) {
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
		var followed []ktrdr.Cursor
		var follower sync.WaitGroup
		last := l.name("last")
		follower.Go(func() { followed = l.follow(last) })
		defer follower.Wait()
		each(8, 8, func(int) {
			for range 25 {
				op, err := l.Create(l.ctx(), ktrdr.NewOperation{Type: ktrdr.Dummy}, ktrdr.IdempotencyKey{})
				if err == nil {
					_, _, err = l.Cancel(l.ctx(), op.ID, "")
				}
				if err != nil {
					l.Error(err)
				}
			}
		})
		l.register(ktrdr.Registration{Worker: ktrdr.Worker{ID: ktrdr.WorkerID(last), Types: []ktrdr.Type{ktrdr.Dummy}}})
		follower.Wait()
		var all []ktrdr.Cursor
		for _, e := range l.log("") {
			all = append(all, e.Cursor)
		}
		same(l, "followed", followed, all)
		same(l, "events", len(all), 8*25*2+1)
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

// follow reads the log in small pages as it grows, until it names a worker.
func (l *lab) follow(last string) []ktrdr.Cursor {
	var all []ktrdr.Cursor
	q := ktrdr.EventQuery{Limit: 11}
	for end := time.Now().Add(patience); time.Now().Before(end); {
		page, err := l.Events(l.ctx(), q)
		if err != nil {
			l.Error(err)
			return nil
		}
		for _, e := range page {
			all, q.After = append(all, e.Cursor), e.Cursor
			if strings.Contains(string(e.Data), `"`+last+`"`) {
				return all
			}
		}
	}
	l.Errorf("the log did not name %s in %v", last, patience)
	return all
}
