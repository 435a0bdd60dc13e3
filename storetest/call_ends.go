package storetest

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ktrdr/ktrdr"
)

var callEnds = map[string]func(*lab){
	"TheSameEndAgainChangesNothingAndAnotherIsAConflict": func(l *lab) {
		task := l.running()
		call := l.reserve(asking(task, 1))
		end := answer(call, 5)
		l.settle(end)
		before := l.calls("")
		l.settle(end)
		for what, spoil := range map[string]func(e *ktrdr.CallEnd){
			"cost":   func(e *ktrdr.CallEnd) { e.Cost++ },
			"input":  func(e *ktrdr.CallEnd) { e.Input++ },
			"output": func(e *ktrdr.CallEnd) { e.Output++ },
			"answer": func(e *ktrdr.CallEnd) { e.Answer = json.RawMessage(`"another"`) },
			"failed": func(e *ktrdr.CallEnd) { e.Status, e.Answer, e.Error = ktrdr.CallFailed, nil, "no" },
		} {
			other := end
			spoil(&other)
			if err := l.SettleCall(l.ctx(), other); ktrdr.CodeOf(err) != ktrdr.CodeConflict {
				l.Errorf("another %s: %v, want CodeConflict", what, err)
			}
		}
		same(l, "journal", l.calls(""), before)
		unknown := end
		unknown.ID += 1000
		l.refused(l.SettleCall(l.ctx(), unknown), ktrdr.CodeNotFound)
	},

	"AnEndAsksForNoEpoch": func(l *lab) {
		task := l.running()
		call := l.reserve(asking(task, 1))
		l.finish(task, ktrdr.Failed)
		l.settle(answer(call, 3*dollar)) // what was paid was paid, also beyond the reservation
		l.spent(task.Operation, 3*dollar, 3*dollar, 1)
	},

	"AnEndThatCannotBeKeptIsRefused": func(l *lab) {
		task := l.running()
		call := l.reserve(asking(task, 1))
		failed := ktrdr.CallEnd{ID: call.ID, Status: ktrdr.CallFailed, Error: "no"}
		for what, c := range map[string]struct {
			end   ktrdr.CallEnd
			spoil func(e *ktrdr.CallEnd)
			want  ktrdr.Code
		}{
			"still reserved":       {failed, func(e *ktrdr.CallEnd) { e.Status = ktrdr.CallReserved }, ktrdr.CodeInvalid},
			"no status":            {failed, func(e *ktrdr.CallEnd) { e.Status = "" }, ktrdr.CodeInvalid},
			"negative cost":        {failed, func(e *ktrdr.CallEnd) { e.Cost = -1 }, ktrdr.CodeInvalid},
			"beyond all money":     {failed, func(e *ktrdr.CallEnd) { e.Cost = 1 << 62 }, ktrdr.CodeInvalid},
			"negative tokens":      {failed, func(e *ktrdr.CallEnd) { e.Output = -1 }, ktrdr.CodeInvalid},
			"failed with answer":   {failed, func(e *ktrdr.CallEnd) { e.Answer = json.RawMessage(`1`) }, ktrdr.CodeInvalid},
			"failed without error": {failed, func(e *ktrdr.CallEnd) { e.Error = "" }, ktrdr.CodeInvalid},
			"no answer":            {answer(call, 1), func(e *ktrdr.CallEnd) { e.Answer = nil }, ktrdr.CodeInvalid},
			"answer with error":    {answer(call, 1), func(e *ktrdr.CallEnd) { e.Error = "no" }, ktrdr.CodeInvalid},
			"answer is no JSON":    {answer(call, 1), func(e *ktrdr.CallEnd) { e.Answer = json.RawMessage(`{`) }, ktrdr.CodeInvalid},
			"answer is no UTF-8":   {answer(call, 1), func(e *ktrdr.CallEnd) { e.Answer = json.RawMessage("\"\xff\"") }, ktrdr.CodeInvalid},
			"answer is too large": {answer(call, 1), func(e *ktrdr.CallEnd) {
				e.Answer = json.RawMessage(`"` + strings.Repeat("x", ktrdr.MaxAnswer) + `"`)
			}, ktrdr.CodeTooLarge},
		} {
			c.spoil(&c.end)
			if err := l.SettleCall(l.ctx(), c.end); ktrdr.CodeOf(err) != c.want {
				l.Errorf("%s: %v, want %s", what, err, c.want)
			}
		}
		same(l, "status", l.calls("")[0].Status, ktrdr.CallReserved)
		longest := answer(call, 1)
		longest.Answer = json.RawMessage(`"` + strings.Repeat("x", ktrdr.MaxAnswer-2) + `"`)
		l.settle(longest)
	},

	"AnErrorIsCutAndCleanedNotRefused": func(l *lab) {
		task := l.running()
		call := l.reserve(asking(task, 1))
		end := ktrdr.CallEnd{ID: call.ID, Status: ktrdr.CallFailed, Error: "a\x00b\xff" + strings.Repeat("é", 9000)}
		l.settle(end)
		l.settle(end) // the same again, whatever was made of it
		if said := l.calls("")[0].Error; !clean(said) || len(said) > 4096 || !strings.HasPrefix(said, "a\uFFFDb\uFFFD") {
			l.Errorf("stored %d bytes: %.20q", len(said), said)
		}
	},
}

var callsAtOnce = map[string]func(*lab){
	"ConcurrentReservationsNeverExceedABudget": func(l *lab) {
		const n, fit = 80, 20
		tasks := []ktrdr.Task{l.running(), l.running(), l.running(), l.running()}
		made := make([]bool, n)
		each(n, 16, func(i int) {
			c := asking(tasks[i%len(tasks)], i+1)
			c.Daily, c.Research = fit*dollar, 6*dollar
			_, err := l.ReserveCall(l.ctx(), c)
			if made[i] = err == nil; err != nil && ktrdr.CodeOf(err) != ktrdr.CodeBudget {
				l.Error(err)
			}
		})
		count := 0
		for _, ok := range made {
			if ok {
				count++
			}
		}
		same(l, "reserved", count, fit) // four researches could have 24
		l.spent("", 0, fit*dollar, fit)
		for _, task := range tasks {
			if got, err := l.Spending(l.ctx(), task.Operation); err != nil || got.Research > 6*dollar {
				l.Errorf("%s spent %v, %v", task.Operation, got, err)
			}
		}
		ids := map[int64]bool{}
		for _, c := range l.calls("") {
			ids[c.ID] = true
		}
		same(l, "numbers", len(ids), fit)
	},

	"ConcurrentCallsOfAKeyAreAtMostTwo": func(l *lab) {
		task := l.running()
		poisoned := make([]bool, 12)
		each(len(poisoned), len(poisoned), func(i int) {
			_, err := l.ReserveCall(l.ctx(), asking(task, 1))
			if poisoned[i] = ktrdr.CodeOf(err) == ktrdr.CodePoison; err != nil && !poisoned[i] {
				l.Error(err)
			}
		})
		same(l, "calls in flight", len(l.calls("")), 2)
	},

	"ReservingAndSettlingAtOnceKeepsTheSum": func(l *lab) {
		const n = 40
		task := l.running()
		each(n, 8, func(i int) {
			c := asking(task, i+1)
			c.Daily, c.Research = n*dollar, n*dollar
			call, err := l.ReserveCall(l.ctx(), c)
			if err == nil {
				err = l.SettleCall(l.ctx(), answer(call, ktrdr.MicroUSD(i)))
			}
			if err != nil {
				l.Error(fmt.Errorf("call %d: %w", i, err))
			}
		})
		l.spent(task.Operation, n*(n-1)/2, n*(n-1)/2, n)
	},
}
