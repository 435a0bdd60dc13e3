package storetest

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
)

// dollar is what budgets here are counted in.
const dollar ktrdr.MicroUSD = 1e6

// question is the key of the n-th thing that is asked.
func question(n int) ktrdr.Hash { return ktrdr.Hash{1, byte(n >> 8), byte(n)} }

// asking is a call of a dollar at most, with ten to spend.
func asking(task ktrdr.Task, n int) ktrdr.NewCall {
	return ktrdr.NewCall{
		Operation: task.Operation, Epoch: task.Epoch, Key: question(n), Model: "anthropic/claude",
		Most: dollar, Daily: 10 * dollar, Research: 10 * dollar,
	}
}

// reserve reserves a call that must fit.
func (l *lab) reserve(c ktrdr.NewCall) ktrdr.Call {
	l.Helper()
	call, err := l.ReserveCall(l.ctx(), c)
	l.must(err)
	return call
}

// answer is the end of a call for so much.
func answer(call ktrdr.Call, cost ktrdr.MicroUSD) ktrdr.CallEnd {
	return ktrdr.CallEnd{
		ID: call.ID, Status: ktrdr.CallAnswered, Cost: cost, Input: 7, Output: 9,
		Answer: json.RawMessage(`{"text": "é\u0000"}`),
	}
}

func (l *lab) settle(e ktrdr.CallEnd) {
	l.Helper()
	l.must(l.SettleCall(l.ctx(), e))
}

func (l *lab) calls(root ktrdr.OperationID) []ktrdr.Call {
	l.Helper()
	all, err := l.Calls(l.ctx(), root, 1000)
	l.must(err)
	return all
}

// spent requires what a research, and all of today, is charged with.
func (l *lab) spent(root ktrdr.OperationID, research, today ktrdr.MicroUSD, calls int64) {
	l.Helper()
	got, err := l.Spending(l.ctx(), root)
	l.must(err)
	if all := l.calls(""); len(all) > 0 && all[len(all)-1].At.YearDay() != time.Now().UTC().YearDay() {
		l.Skip("the day has ended meanwhile")
	}
	same(l, "spending", got, ktrdr.Spending{Today: today, Research: research, Calls: calls})
}

var calls = map[string]func(*lab){
	"AReservedCallIsRecordedAndChargedInFull": func(l *lab) {
		task := l.running()
		call := l.reserve(asking(task, 1))
		want := ktrdr.Call{
			ID: call.ID, Root: task.Operation, Operation: task.Operation, Epoch: task.Epoch, Key: question(1),
			Model: "anthropic/claude", Status: ktrdr.CallReserved, Charged: dollar, At: call.At,
		}
		if call.ID == 0 || call.At.Before(l.op(task.Operation).ClaimedAt) {
			l.Errorf("call %d was reserved at %v", call.ID, call.At)
		}
		same(l, "call", call, want)
		same(l, "journal", l.calls(task.Operation), []ktrdr.Call{want})
		l.spent(task.Operation, dollar, dollar, 1)
	},

	"AnAnswerIsChargedWithWhatItCost": func(l *lab) {
		task := l.running()
		call := l.reserve(asking(task, 1))
		l.settle(answer(call, dollar/4))
		all := l.calls(task.Operation)
		if len(all) != 1 || all[0].SettledAt.Before(call.At) {
			l.Fatalf("journal: %+v", all)
		}
		call.Status, call.Charged, call.Input, call.Output = ktrdr.CallAnswered, dollar/4, 7, 9
		call.Answer, call.SettledAt = json.RawMessage(`{"text": "é\u0000"}`), all[0].SettledAt
		same(l, "settled", all[0], call)
		l.spent(task.Operation, dollar/4, dollar/4, 1)
	},

	"AJournaledAnswerIsNeverBoughtAgain": func(l *lab) {
		top := l.plant(treeSpec{Children: 2, Parallel: true})
		first, second := l.claim("w1"), l.claim("w2")
		call := l.reserve(asking(first, 1))
		l.settle(answer(call, dollar))
		poor := asking(second, 1)
		poor.Model, poor.Daily, poor.Research = "openai/gpt", 0, 0
		again := l.reserve(poor) // another operation of the same research, and no money left
		same(l, "what is given", again, l.calls(top.ID)[0])
		same(l, "status", again.Status, ktrdr.CallAnswered)
		l.spent(top.ID, dollar, dollar, 1)
		l.finish(first, ktrdr.Completed)
		l.finish(second, ktrdr.Completed)

		other := l.running() // another research buys its own
		if bought := l.reserve(asking(other, 1)); bought.Status != ktrdr.CallReserved || bought.Root != other.Operation {
			l.Errorf("another research was given %+v", bought)
		}
	},

	"ACallOfAnOldEpochIsNotReserved": func(l *lab) {
		old := l.running()
		l.settle(answer(l.reserve(asking(old, 1)), dollar))
		l.must(l.Release(l.ctx(), ktrdr.Released{Operation: old.Operation, Epoch: old.Epoch}))
		_, err := l.ReserveCall(l.ctx(), asking(old, 2))
		l.stale(err, ktrdr.Save, l.op(old.Operation), old.Epoch)
		l.claim("w2")
		for _, n := range []int{1, 2} { // answered or not: a worker without the claim is told nothing
			_, err = l.ReserveCall(l.ctx(), asking(old, n))
			l.stale(err, ktrdr.Save, l.op(old.Operation), old.Epoch)
		}
		same(l, "calls", len(l.calls(old.Operation)), 1)
		l.last(old.Operation, ktrdr.EventWriteRefused)
		unknown := asking(old, 1)
		unknown.Operation = "op_dummy_unknown"
		_, err = l.ReserveCall(l.ctx(), unknown)
		l.refused(err, ktrdr.CodeNotFound)
	},

	"AReconcilingClaimReserves": func(l *lab) {
		task := l.running()
		l.start("b", "i1", keep)
		l.is(task.Operation, ktrdr.Reconciling)
		l.reserve(asking(task, 1))
	},

	"WhatDoesNotFitIsNotReserved": func(l *lab) {
		task := l.running()
		for n := range 3 {
			l.reserve(asking(task, n))
		}
		tight := asking(task, 9)
		for what, c := range map[string]struct{ daily, research ktrdr.MicroUSD }{
			"day":      {4*dollar - 1, 10 * dollar},
			"research": {10 * dollar, 4*dollar - 1},
			"nothing":  {0, 0},
		} {
			tight.Daily, tight.Research = c.daily, c.research
			_, err := l.ReserveCall(l.ctx(), tight)
			l.refused(err, ktrdr.CodeBudget)
			if err != nil && (!strings.Contains(err.Error(), "$3 ") || !strings.Contains(err.Error(), "may cost $1")) {
				l.Errorf("%s: the sentence has no figures: %v", what, err)
			}
		}
		l.spent(task.Operation, 3*dollar, 3*dollar, 3)
		tight.Daily, tight.Research = 4*dollar, 4*dollar
		l.reserve(tight)
	},

	"ResearchesShareTheDayAndNothingElse": func(l *lab) {
		one, two := l.running(), l.running()
		l.reserve(asking(one, 1))
		own := asking(two, 2)
		own.Research = dollar
		l.reserve(own)
		l.spent(one.Operation, dollar, 2*dollar, 2)
		own.Key, own.Research, own.Daily = question(3), 10*dollar, 2*dollar
		_, err := l.ReserveCall(l.ctx(), own)
		l.refused(err, ktrdr.CodeBudget)
		l.spent("", 0, 2*dollar, 2)
	},

	"WhatCostsNothingNeedsNoBudget": func(l *lab) {
		task := l.running()
		l.reserve(asking(task, 1))
		free := asking(task, 2)
		free.Most, free.Daily, free.Research = 0, 0, 0
		l.reserve(free)
		l.spent(task.Operation, dollar, dollar, 2)
	},

	"AnUnsettledCallStaysChargedAndIsRepeatedOnce": func(l *lab) {
		task := l.running()
		for range 2 {
			l.reserve(asking(task, 1))
			l.must(l.Release(l.ctx(), ktrdr.Released{Operation: task.Operation, Epoch: task.Epoch}))
			task = l.claim("w") // after a crash
		}
		_, err := l.ReserveCall(l.ctx(), asking(task, 1))
		l.refused(err, ktrdr.CodePoison)
		l.spent(task.Operation, 2*dollar, 2*dollar, 2)
		l.reserve(asking(task, 2)) // another question is another matter

		late := l.calls(task.Operation)[0]
		l.settle(answer(late, dollar)) // and a late answer is the answer
		if got := l.reserve(asking(task, 1)); got.ID != late.ID || got.Status != ktrdr.CallAnswered {
			l.Errorf("after the late answer: %+v", got)
		}
	},

	"AFailedCallMayBeMadeAgain": func(l *lab) {
		task := l.running()
		for n := range 4 {
			call := l.reserve(asking(task, 1))
			l.settle(ktrdr.CallEnd{ID: call.ID, Status: ktrdr.CallFailed, Cost: ktrdr.MicroUSD(n), Error: "529 overloaded"})
		}
		l.spent(task.Operation, 0+1+2+3, 0+1+2+3, 4)
	},

	"CallsAreListedAndBounded": func(l *lab) {
		one, two := l.running(), l.running()
		var ids []int64
		for n := range 4 {
			ids = append(ids, l.reserve(asking([]ktrdr.Task{one, two}[n%2], n)).ID)
		}
		idsOf := func(root ktrdr.OperationID, limit int) (got []int64) {
			all, err := l.Calls(l.ctx(), root, limit)
			l.must(err)
			for _, c := range all {
				got = append(got, c.ID)
			}
			return got
		}
		same(l, "of a research, oldest first", idsOf(one.Operation, 0), []int64{ids[0], ids[2]})
		same(l, "of all, newest first", idsOf("", 3), []int64{ids[3], ids[2], ids[1]})
		same(l, "of an unknown operation", idsOf("op_dummy_unknown", 1), nil)
		for _, limit := range []int{-1, 1001} {
			_, err := l.Calls(l.ctx(), "", limit)
			l.refused(err, ktrdr.CodeInvalid)
		}
	},

	"ACallThatMakesNoSenseIsRefused": func(l *lab) {
		task := l.running()
		for what, spoil := range map[string]func(c *ktrdr.NewCall){
			"negative":          func(c *ktrdr.NewCall) { c.Most = -1 },
			"beyond all money":  func(c *ktrdr.NewCall) { c.Most, c.Daily, c.Research = 1<<62, 1<<63-1, 1<<63-1 },
			"negative day":      func(c *ktrdr.NewCall) { c.Daily = -1 },
			"negative research": func(c *ktrdr.NewCall) { c.Research = -1 },
			"no model":          func(c *ktrdr.NewCall) { c.Model = "" },
			"NUL in the model":  func(c *ktrdr.NewCall) { c.Model = "a\x00" },
			"long model":        func(c *ktrdr.NewCall) { c.Model = strings.Repeat("m", 256) },
			"no key":            func(c *ktrdr.NewCall) { c.Key = ktrdr.Hash{} },
		} {
			c := asking(task, 1)
			spoil(&c)
			if _, err := l.ReserveCall(l.ctx(), c); ktrdr.CodeOf(err) != ktrdr.CodeInvalid {
				l.Errorf("%s: %v, want CodeInvalid", what, err)
			}
		}
		top := l.plant(treeSpec{Children: 1})
		_, err := l.ReserveCall(l.ctx(), ktrdr.NewCall{Operation: top.ID, Epoch: top.Epoch, Key: question(1), Model: "m"})
		l.refused(err, ktrdr.CodeConflict) // a parent makes no calls
		same(l, "calls", len(l.calls("")), 0)
	},

	"CallsOutliveEverything": func(l *lab) {
		task := l.running()
		l.settle(answer(l.reserve(asking(task, 1)), dollar))
		l.finish(task, ktrdr.Completed)
		before := l.calls("")
		_, err := l.ExpireCheckpoints(l.ctx(), 0)
		l.must(err)
		_, err = l.PruneEvents(l.ctx(), 0)
		l.must(err)
		same(l, "calls", l.calls(""), before)
	},
}
