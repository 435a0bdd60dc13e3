package storetest

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/ktrdr/ktrdr"
)

func notANumber() float64 { return math.NaN() }

// market makes a market of its own for a symbol and returns its series.
func (l *lab) market(symbol string) ktrdr.MarketSeries {
	l.Helper()
	added, err := l.AddSeries(l.ctx(), ktrdr.NewSeries{MarketSeries: series(symbol, "1h", byte(l.names.Add(1)))})
	l.must(err)
	return added
}

// marketOf reads a market that must exist.
func (l *lab) marketOf(id string) ktrdr.Market {
	l.Helper()
	m, err := l.Market(l.ctx(), id)
	l.must(err)
	return m
}

// on is a trial on markets, with n of its own run.
func on(own int, markets ...string) *ktrdr.NewTrial {
	t := &ktrdr.NewTrial{Own: own}
	for _, m := range markets {
		t.Markets = append(t.Markets, ktrdr.TrialMarket{Market: m, Symbols: "A", Timeframes: "1h"})
	}
	return t
}

// byHand creates a training on markets and returns how many trials are counted
// against it.
func (l *lab) byHand(key string, markets ...string) int {
	l.Helper()
	n := ktrdr.NewOperation{Trial: on(1, markets...)}
	n.Trial.Key = key
	return l.create(n).Trials
}

// trialsOf requires how many trials a market counts, which are those of its rows.
func (l *lab) trialsOf(market string, want int) {
	l.Helper()
	if got := l.marketOf(market).Trials; got != want {
		l.Errorf("the market counts %d trials, want %d", got, want)
	}
}

// allTrials reads every page of a query.
func (l *lab) allTrials(q ktrdr.TrialQuery) (all []ktrdr.Trial) {
	l.Helper()
	for {
		page, err := l.Trials(l.ctx(), q)
		l.must(err)
		all = append(all, page.Trials...)
		if q.Cursor = page.Next; q.Cursor == "" {
			return all
		}
	}
}

var trials = map[string]func(*lab){
	"ATrialIsCountedWhenItsOperationIsCreated": func(l *lab) {
		a, b := l.market("A").Market, l.market("B").Market
		for i := range 3 {
			if got := l.byHand("", a); got != i+1 {
				l.Errorf("trial %d counts %d", i+1, got)
			}
		}
		if got := l.byHand("", b); got != 1 {
			l.Errorf("the first on another market counts %d", got)
		}
		l.trialsOf(a, 3)
		l.trialsOf(b, 1)
		plain := l.create(ktrdr.NewOperation{})
		if plain.Trials != 0 {
			l.Errorf("what is no trial counts %d", plain.Trials)
		}
		for what, bad := range map[string]*ktrdr.NewTrial{
			"no market": {Own: 1}, "no known market": on(1, "mkt_nothing"), "a negative count": on(-1, a), "a NUL": on(1, "a\x00"),
		} {
			if _, err := l.Create(l.ctx(), ktrdr.NewOperation{Type: ktrdr.Dummy, Trial: bad}, ktrdr.IdempotencyKey{}); err == nil {
				l.Errorf("a trial with %s was created", what)
			}
		}
		l.trialsOf(a, 3)
	},

	"AResearchCountsAllOfItsRunAndAllBefore": func(l *lab) {
		a := l.market("A").Market
		const n, before = 5, 3
		for range before {
			l.byHand("", a)
		}
		counts := func(run string, want int) {
			l.Helper()
			for i := range n {
				op := inRun(run, i/2, i%2, treeSpec{Children: 1})
				op.Trial = on(n, a)
				if got := l.create(op).Trials; got != want {
					l.Errorf("research %d of run %s counts %d, want %d", i, run, got, want)
				}
			}
		}
		counts("r", before+n)
		counts("s", before+n+n)
		l.trialsOf(a, before+2*n)
	},

	"TrialsOfOthersInTheMiddleOfARunCountForTheRest": func(l *lab) {
		a := l.market("A").Market
		for i, want := range []int{2, 3} {
			op := inRun("r", 0, i, treeSpec{Children: 1})
			op.Trial = on(2, a)
			if got := l.create(op).Trials; got != want {
				l.Errorf("research %d counts %d, want %d", i, got, want)
			}
			l.byHand("", a)
		}
	},

	"OfTrialsWithTheSameKeyTheFirstIsCounted": func(l *lab) {
		a, b := l.market("A").Market, l.market("B").Market
		first := l.byHand("model 1", a)
		again := l.byHand("model 1", a)
		other := l.byHand("model 2", a)
		same(l, "counted", []int{first, again, other}, []int{1, 2, 2})
		l.byHand("model 1", b) // of each market
		l.trialsOf(a, 2)
		l.trialsOf(b, 1)
		key := ktrdr.IdempotencyKey{Key: "k"}
		for range 2 { // one request that is repeated
			_, err := l.Create(l.ctx(), ktrdr.NewOperation{Type: ktrdr.Dummy, Trial: on(1, a)}, key)
			l.must(err)
		}
		l.trialsOf(a, 3)
	},

	"ATrialOnSeveralMarketsCountsTheOneThatHasMost": func(l *lab) {
		a, b, c := l.market("A").Market, l.market("B").Market, l.market("C").Market
		l.byHand("", a)
		for range 4 {
			l.byHand("", b)
		}
		if got := l.byHand("", a, b, c); got != 5 {
			l.Errorf("it counts %d, want 5", got)
		}
		l.trialsOf(a, 2)
		l.trialsOf(b, 5)
		l.trialsOf(c, 1)
		n := ktrdr.NewOperation{Trial: &ktrdr.NewTrial{Own: 1, Markets: []ktrdr.TrialMarket{
			{Market: c, Symbols: "X", Timeframes: "1h"}, {Market: c, Symbols: "Y X", Timeframes: "4h 1h"},
		}}}
		op := l.create(n) // both are one market
		l.trialsOf(c, 2)
		got := l.allTrials(ktrdr.TrialQuery{Symbol: "Y"})
		if len(got) != 1 || got[0].Operation != op.ID || got[0].Symbols != "X Y" || got[0].Timeframes != "1h 4h" {
			l.Errorf("listed as %+v", got)
		}
	},

	"ARetryIsAnotherTrial": func(l *lab) {
		a := l.market("A").Market
		for range 5 {
			l.byHand("", a)
		}
		var last ktrdr.Operation
		for i := range 8 {
			n := inRun("r", 0, i, treeSpec{Children: 1})
			n.NewRun, n.Trial = &ktrdr.NewRun{Size: 8, Planned: 8}, on(8, a)
			last = l.create(n)
		}
		same(l, "counted", last.Trials, 13)
		l.cancel(last.ID)
		again := l.create(retryOf(last, inRun("r", 0, 7, treeSpec{Children: 1})))
		same(l, "counted again", again.Trials, 14)
		l.trialsOf(a, 14)
		l.cancel(again.ID)
		third := l.create(retryOf(again, inRun("r", 0, 7, treeSpec{Children: 1})))
		same(l, "counted a third time", third.Trials, 15)

		n := ktrdr.NewOperation{Type: ktrdr.Training, Trial: on(1, a)}
		n.Trial.Key = "by hand"
		hand := l.create(n)
		same(l, "by hand", hand.Trials, 16)
		retried := l.create(ktrdr.NewOperation{Type: ktrdr.Training, RetryOf: hand.ID})
		same(l, "by hand again", retried.Trials, 17)
		l.trialsOf(a, 17)
		got := l.allTrials(ktrdr.TrialQuery{Type: ktrdr.Training})
		same(l, "operations", []ktrdr.OperationID{got[0].Operation, got[1].Operation}, []ktrdr.OperationID{retried.ID, hand.ID})
		if plain := l.create(ktrdr.NewOperation{RetryOf: "op_dummy_gone"}); plain.Trials != 0 {
			l.Errorf("a retry of what is no trial counts %d", plain.Trials)
		}
	},

	"ATrialIsOfTheOperationThatComesToSomething": func(l *lab) {
		a, b := l.market("A").Market, l.market("B").Market
		l.byHand("model", a, b)
		l.finish(l.claim("w"), ktrdr.Failed)
		second := ktrdr.NewOperation{Trial: on(1, b, a)}
		second.Trial.Key = "model"
		op := l.create(second)
		f := ending(l.claim("w"), ktrdr.Completed)
		f.Result = json.RawMessage(`{"trial":{"strategy_name":"s","sharpe_ratio":1}}`)
		_, err := l.Finish(l.ctx(), f)
		l.must(err)
		got := l.allTrials(ktrdr.TrialQuery{})
		if len(got) != 1 || got[0].Operation != op.ID || got[0].Status != ktrdr.Completed || got[0].Strategy != "s" {
			l.Errorf("listed: %+v", got)
		}
		l.byHand("model", a) // too late: it has come to something
		l.finish(l.claim("w"), ktrdr.Failed)
		same(l, "operation", l.allTrials(ktrdr.TrialQuery{})[0].Operation, op.ID)
		l.trialsOf(a, 1)
		l.trialsOf(b, 1)
	},

	"WhatTheLedgerSaysIsKeptOfWhatCompletes": func(l *lab) {
		a := l.market("A").Market
		said := `{"trial":{"strategy_name":"trend","sharpe_ratio":0.5,"sharpe_z":2,"alpha":0.01,"alpha_z":1.25,"net_return":-0.5,` +
			`"max_drawdown":0.25,` +
			`"total_trades":7,"cost_below_default":true,"result_hash":"` + ktrdr.Hash{5}.String() + `"}}`
		for _, outcome := range []ktrdr.Status{ktrdr.Failed, ktrdr.Cancelled, ktrdr.Completed} {
			op := l.create(ktrdr.NewOperation{Trial: on(1, a)})
			f := ending(l.claim("w"), outcome)
			f.Result = json.RawMessage(said)
			_, err := l.Finish(l.ctx(), f)
			l.must(err)
			_, err = l.Finish(l.ctx(), f) // its answer was lost
			l.must(err)
			var want ktrdr.TrialFigures
			if outcome == ktrdr.Completed {
				want = ktrdr.TrialFigures{
					Strategy: "trend", Sharpe: new(0.5), SharpeZ: new(2.0), Alpha: new(0.01), AlphaZ: new(1.25), NetReturn: new(-0.5),
					MaxDrawdown: new(0.25),
					Trades:      7, CheapCosts: true, Hash: ktrdr.Hash{5},
				}
			}
			got := l.allTrials(ktrdr.TrialQuery{})[0]
			same(l, fmt.Sprintf("figures of what ended %s", outcome), got.TrialFigures, want)
			if got.Operation != op.ID || got.Status != outcome || got.Type != ktrdr.Dummy {
				l.Errorf("trial: %+v", got)
			}
		}
		l.create(ktrdr.NewOperation{Trial: on(1, a)})
		f := ending(l.claim("w"), ktrdr.Completed)
		f.Result = json.RawMessage(`{"odd":true}`)
		_, err := l.Finish(l.ctx(), f)
		l.must(err)
		same(l, "NaN and infinities", l.allTrials(ktrdr.TrialQuery{})[0].TrialFigures, ktrdr.TrialFigures{AlphaZ: new(1.0)})
	},
}
