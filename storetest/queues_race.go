package storetest

import (
	"sync/atomic"

	"github.com/ktrdr/ktrdr"
)

var queuesAtOnce = map[string]func(*lab){
	"ManyAtOnceNeverExceedTheLimit": func(l *lab) {
		const n = 48
		var refused, made atomic.Int64
		each(n, 8, func(i int) {
			n := queued(ktrdr.Queue{Force: i%2 == 0})
			n.Priority = i // so that each new one goes before all that wait
			_, err := l.Create(l.ctx(), n, ktrdr.IdempotencyKey{})
			switch ktrdr.CodeOf(err) {
			case "":
				made.Add(1)
			case ktrdr.CodeAtCapacity:
				refused.Add(1)
			default:
				l.Error(err)
			}
			l.finishOne()
			if _, err := l.StartQueued(l.ctx(), line, room); err != nil {
				l.Error(err)
			}
		})
		l.eventually("all have ended", func() bool {
			each(4, 4, func(int) {
				l.finishOne()
				if _, err := l.StartQueued(l.ctx(), line, room); err != nil {
					l.Error(err)
				}
			})
			return l.Failed() || len(l.list(ktrdr.OperationQuery{ActiveOnly: true, Limit: 1000})) == 0
		})
		if made.Load() < n/2 || made.Load()+refused.Load() != n {
			l.Errorf("%d were made and %d refused, of %d", made.Load(), refused.Load(), n)
		}
		l.neverMoreThan(room)
		l.logIsLegal()
	},

	"SessionsAreGivenOnce": func(l *lab) {
		const n = 40
		sessions := make([]int64, n)
		each(n, 8, func(i int) {
			q := ktrdr.Queue{Force: true, Name: []string{"one", "two"}[i%2]}
			op, err := l.Create(l.ctx(), queued(q), ktrdr.IdempotencyKey{})
			if err != nil {
				l.Error(err)
			}
			sessions[i] = op.Session
		})
		seen := map[int64]bool{}
		for _, s := range sessions {
			if s < 1 || seen[s] {
				l.Errorf("session %d was given twice, or is not valid: %v", s, sessions)
			}
			seen[s] = true
		}
		if op := l.plant(treeSpec{Children: 1}); op.Session != 0 || op.Queue != nil {
			l.Errorf("who stands in no line has session %d and the place %+v", op.Session, op.Queue)
		}
		if op := l.stand(ktrdr.Queue{}); op.Session <= n-1 {
			l.Errorf("the last one has session %d, which does not follow %d", op.Session, n)
		}
	},
}

// finishOne runs the next child to its end, and says whether there was one. A
// claim may find none although one waits, when another claim holds the rows.
func (l *lab) finishOne() bool {
	task := l.claimUnder("w", l.name("key"))
	if task == nil {
		return false
	}
	if _, err := l.Finish(l.ctx(), ending(*task, ktrdr.Completed)); err != nil {
		l.Error(err)
	}
	return true
}

// neverMoreThan requires of the log that at no time more parents were live: an
// end that made room comes before the beginning that took it.
func (l *lab) neverMoreThan(limit int) {
	l.Helper()
	parents := map[ktrdr.OperationID]bool{}
	for _, id := range l.list(ktrdr.OperationQuery{Roots: true, Limit: 1000}) {
		parents[id] = true
	}
	l.caughtUp()
	live, most := 0, 0
	for _, e := range l.log("") {
		if !parents[e.Operation] {
			continue
		}
		switch e.Kind {
		case ktrdr.EventClaimed:
			live++
		case ktrdr.EventCompleted, ktrdr.EventFailed, ktrdr.EventCancelled:
			live--
		}
		most = max(most, live)
	}
	if most > limit {
		l.Errorf("%d were live at once, want at most %d", most, limit)
	}
}
