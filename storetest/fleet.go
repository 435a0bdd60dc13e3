package storetest

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"github.com/ktrdr/ktrdr"
)

// told waits until n events of a kind are visible, and returns the
// processes that they name.
func (l *lab) told(kind ktrdr.EventKind, n int) (who []string) {
	l.Helper()
	l.caughtUp()
	events, err := l.Events(l.ctx(), ktrdr.EventQuery{Kinds: []ktrdr.EventKind{kind}})
	l.must(err)
	for _, e := range events {
		var d struct {
			Worker      string `json:"worker_id"`
			Incarnation string `json:"incarnation"`
		}
		l.must(json.Unmarshal(e.Data, &d))
		if e.Kind != kind {
			l.Errorf("asked for %s, got %s", kind, e.Kind)
		}
		who = append(who, d.Worker+d.Incarnation)
	}
	slices.Sort(who)
	if len(who) != n {
		l.Errorf("%d events %s: %v, want %d", len(who), kind, who, n)
	}
	return who
}

// fleet is how backends and workers come and go.
var fleet = map[string]func(*lab){
	"LostWorkersAreToldOnceEachBusyOrNot": func(l *lab) {
		l.create(ktrdr.NewOperation{})
		for _, id := range []ktrdr.WorkerID{"w1", "w2", "w3"} {
			l.register(ktrdr.Registration{Worker: ktrdr.Worker{ID: id, Name: "n", Types: []ktrdr.Type{ktrdr.Dummy}, Slots: 1}})
		}
		l.register(ktrdr.Registration{Worker: ktrdr.Worker{ID: "inside", HeldBy: "i", Types: []ktrdr.Type{ktrdr.Dummy}, Slots: 1}})
		task := l.claim("w1")
		for range 3 {
			l.lose(task.Operation)
			_, err := l.Resume(l.ctx(), task.Operation)
			if err != nil { // it has no checkpoint
				break
			}
		}
		_, err := l.Sweep(l.ctx(), me, forced, true)
		l.must(err)
		if who := l.told(ktrdr.EventWorkerLost, 3); !slices.Equal(who, []string{"w1", "w2", "w3"}) {
			l.Errorf("lost are %v, want the three processes", who)
		}
		_, err = l.Report(l.ctx(), ktrdr.Heartbeat{Worker: "w2"})
		l.must(err)
		later := forced
		later.Timeout = time.Hour
		_, err = l.Sweep(l.ctx(), me, later, true)
		l.must(err)
		if who := l.told(ktrdr.EventWorkerReturned, 1); !slices.Equal(who, []string{"w2"}) {
			l.Errorf("returned are %v, want the one that was heard from", who)
		}
		l.must(l.RemoveWorker(l.ctx(), "w3", ""))
		if who := l.told(ktrdr.EventWorkerLeft, 4); !slices.Contains(who, "w3") { // three markers of caughtUp
			l.Errorf("left are %v, want w3 among them", who)
		}
	},

	"BackendsThatStartStopAndDieAreTold": func(l *lab) {
		for range 2 { // a repeated start is one
			_, err := l.Start(l.ctx(), ktrdr.Backend{ID: "b", Incarnation: "i1"}, forced)
			l.must(err)
		}
		_, err := l.Start(l.ctx(), ktrdr.Backend{ID: "b", Incarnation: "i2"}, forced) // the first has not left
		l.must(err)
		l.must(l.Leave(l.ctx(), ktrdr.Backend{ID: "b", Incarnation: "i2"}))
		l.must(l.Leave(l.ctx(), ktrdr.Backend{ID: "b", Incarnation: "i2"}))
		for kind, want := range map[ktrdr.EventKind][]string{
			ktrdr.EventBackendStarted: {"i1", "i2"}, ktrdr.EventBackendDied: {"i1"}, ktrdr.EventBackendStopped: {"i2"},
		} {
			if who := l.told(kind, len(want)); !slices.Equal(who, want) {
				l.Errorf("%s: %v, want %v", kind, who, want)
			}
		}
	},

	"ASilentBackendIsToldOnce": func(l *lab) {
		if !l.remote { // one backend at a time
			return
		}
		_, err := l.Start(l.ctx(), ktrdr.Backend{ID: "a", Incarnation: "a1"}, forced)
		l.must(err)
		for range 2 {
			_, err = l.Sweep(l.ctx(), me, forced, true)
			l.must(err)
		}
		_, err = l.Start(l.ctx(), ktrdr.Backend{ID: "a", Incarnation: "a2"}, forced)
		l.must(err)
		if who := l.told(ktrdr.EventBackendDied, 1); !slices.Equal(who, []string{"a1"}) {
			l.Errorf("died are %v, want a1", who)
		}
	},

	"EventsOfAnUnknownKindAreRefused": func(l *lab) {
		if _, err := l.Events(l.ctx(), ktrdr.EventQuery{Kinds: []ktrdr.EventKind{"birthday"}}); ktrdr.CodeOf(err) != ktrdr.CodeInvalid {
			l.Errorf("got %v, want %s", err, ktrdr.CodeInvalid)
		}
	},
}

// orders is lists in other orders than newest first, and their rows.
var orders = map[string]func(*lab){
	"OperationsAreListedInEveryOrder": func(l *lab) {
		var made []ktrdr.OperationID
		for range 5 {
			made = append(made, l.create(ktrdr.NewOperation{Spec: json.RawMessage(`{"x":1}`)}).ID)
		}
		var ended []ktrdr.OperationID
		for range 3 {
			f := ending(l.claim("w"), ktrdr.Completed)
			f.Result = json.RawMessage(`{"y":2}`)
			_, err := l.Finish(l.ctx(), f)
			l.must(err)
			ended = append([]ktrdr.OperationID{f.Operation}, ended...)
		}
		// Two may be of one instant; then their ids decide.
		slices.SortStableFunc(made, func(a, b ktrdr.OperationID) int {
			return cmp.Or(l.op(a).CreatedAt.Compare(l.op(b).CreatedAt), cmp.Compare(a, b))
		})
		slices.SortStableFunc(ended, func(a, b ktrdr.OperationID) int {
			return cmp.Or(l.op(b).CompletedAt.Compare(l.op(a).CompletedAt), cmp.Compare(b, a))
		})
		for sort, want := range map[ktrdr.Sort][]ktrdr.OperationID{ktrdr.Oldest: made, ktrdr.Ended: ended} {
			var got []ktrdr.OperationID
			q := ktrdr.OperationQuery{Sort: sort, Brief: true, Limit: 2}
			for {
				page, err := l.List(l.ctx(), q)
				l.must(err)
				got = append(got, idsOf(page.Operations)...)
				for _, op := range page.Operations {
					if len(op.Spec)+len(op.State)+len(op.Metadata)+len(op.Result) > 0 || op.Root != op.ID || op.CreatedAt.IsZero() {
						l.Errorf("a row of a list is %+v", op)
					}
				}
				if q.Cursor = page.Next; q.Cursor == "" {
					break
				}
				if _, err := l.List(l.ctx(), ktrdr.OperationQuery{Cursor: page.Next}); ktrdr.CodeOf(err) != ktrdr.CodeInvalid {
					l.Errorf("a cursor of another order gives %v, want %s", err, ktrdr.CodeInvalid)
				}
			}
			same(l, string(sort), got, want)
		}
		if _, err := l.List(l.ctx(), ktrdr.OperationQuery{Sort: "loudest"}); ktrdr.CodeOf(err) != ktrdr.CodeInvalid {
			l.Errorf("an unknown order gives %v, want %s", err, ktrdr.CodeInvalid)
		}
	},

	"RunsAreListedInEveryOrderAndFoundByTheirBeginning": func(l *lab) {
		ids := []string{"run_aaaa1111", "run_aaaa2222", "run_bbbb3333"}
		for i, id := range ids {
			l.research(id, 0, i)
		}
		var got []string
		q := ktrdr.RunQuery{Sort: ktrdr.Oldest, Limit: 2}
		for {
			page, err := l.Runs(l.ctx(), q)
			l.must(err)
			for _, r := range page.Runs {
				got = append(got, r.ID)
			}
			if q.Cursor = page.Next; q.Cursor == "" {
				break
			}
		}
		same(l, "oldest first", got, ids)
		if page, err := l.Runs(l.ctx(), ktrdr.RunQuery{Sort: ktrdr.Ended}); err != nil || len(page.Runs) != 0 {
			l.Errorf("%d runs have ended, %v, want none", len(page.Runs), err)
		}
		for text, want := range map[string]string{
			"run_bbbb": "run_bbbb3333", "run_aaaa1": "run_aaaa1111", "run_aaaa2222": "run_aaaa2222",
			"run_aaaa": "", "run_bbb": "", "run_cccc": "", "run_bbbb33334": "", "run_aaa%": "", "": "",
		} {
			r, err := l.Store.Run(l.ctx(), text)
			if r.ID != want || (want == "") != (err != nil) {
				l.Errorf("%q is %q, %v, want %q", text, r.ID, err, want)
			}
		}
		if _, err := l.Store.Run(l.ctx(), "run_aaaa"); ktrdr.CodeOf(err) != ktrdr.CodeInvalid {
			l.Errorf("a beginning of two runs gives %v, want %s", err, ktrdr.CodeInvalid)
		}
	},

	"ATrialOnSeveralMarketsIsSummedUpOnce": func(l *lab) {
		a, b, c := l.market("A").Market, l.market("B").Market, l.market("C").Market
		n := inRun("run_abc", 0, 0, treeSpec{Children: 1})
		n.Trial = on(1, a, b, c)
		l.create(n)
		l.create(ktrdr.NewOperation{Trial: on(1, b)})
		_, err := l.ReserveLook(l.ctx(), ktrdr.NewLook{Kind: ktrdr.LookByHand, Key: "k", Markets: []string{a, b}})
		l.must(err)
		for _, q := range []ktrdr.TallyQuery{{}, {Run: "run_abc"}, {Since: time.Unix(1, 0)}} {
			if t, err := l.Tally(l.ctx(), q); err != nil || t.Markets != 3 || t.Trials != 2 || t.Looks != 1 {
				l.Errorf("%+v: %+v, %v, want 3 markets, 2 trials and 1 look", q, t, err)
			}
		}
	},

	"WhatEarnedComesBeforeWhatLostHoweverFew": func(l *lab) {
		m := ktrdr.TrialMarket{Market: l.market("A").Market, Symbols: "A", Timeframes: "1h"}
		l.tried("-1", "-1", "-2", m) // was judged and lost: it has a score
		gated := l.tried("", "", "0.5", m)
		judged := l.tried("1", "1", "1", m)
		same(l, "cut to two", operationsOf(l.allTrials(ktrdr.TrialQuery{ByScore: true, Limit: 2})), []ktrdr.OperationID{judged, gated})
	},
}
