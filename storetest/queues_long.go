package storetest

import (
	"os"
	"slices"

	"github.com/ktrdr/ktrdr"
)

// A long line is a thousand. Where every word goes over the network, it is
// shorter unless KTRDR_SOAK=1.
const (
	longLine    = 1000
	shorterLine = 200
	urgencies   = 3 // priorities among them
)

func (l *lab) lineLength() int {
	if l.remote && os.Getenv("KTRDR_SOAK") != "1" {
		return shorterLine
	}
	return longLine
}

var longQueues = map[string]func(*lab){
	"ALongLineStartsByPriorityAndThenByComing": func(l *lab) {
		n := l.lineLength()
		var want []ktrdr.OperationID
		for range room { // they come while there is room
			want = append(want, l.stand(ktrdr.Queue{}).ID)
		}
		waiting := l.crowd(n)
		l.queueCounts(room, n)
		for left := n; left > 0; left -= room {
			each(room, room, func(int) { // one worker for each place
				if !l.finishOne() {
					l.Error("a worker finds nothing to do")
				}
			})
			if l.Failed() {
				return
			}
			l.startQueued(room, room)
		}
		l.queueCounts(room, 0)

		slices.SortStableFunc(waiting, func(a, b ktrdr.Operation) int { return b.Priority - a.Priority })
		want = append(want, idsOf(waiting)...)
		same(l, "who started, one after the other", l.started(want), want)
	},
}

// crowd adds n operations to the line, one after the other.
func (l *lab) crowd(n int) (all []ktrdr.Operation) {
	l.Helper()
	for len(all) < n {
		var coming []ktrdr.NewOperation
		for i := range min(n-len(all), ktrdr.MaxCreate) {
			next := queued(ktrdr.Queue{Force: true})
			next.Priority = i * 7 % urgencies
			coming = append(coming, next)
		}
		made, err := l.CreateAll(l.ctx(), coming, make([]ktrdr.IdempotencyKey, len(coming)))
		l.must(err)
		all = append(all, made...)
	}
	return all
}

// started lists those of the parents that have started, by the log.
func (l *lab) started(parents []ktrdr.OperationID) (ids []ktrdr.OperationID) {
	l.Helper()
	one := map[ktrdr.OperationID]bool{}
	for _, id := range parents {
		one[id] = true
	}
	l.caughtUp()
	for _, e := range l.log("") {
		if e.Kind == ktrdr.EventClaimed && one[e.Operation] {
			ids = append(ids, e.Operation)
		}
	}
	return ids
}
