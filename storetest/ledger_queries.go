package storetest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/ktrdr/ktrdr"
)

// tried makes a trial that completes with z values; "" leaves one out.
func (l *lab) tried(sharpeZ, alphaZ, sharpe string, markets ...ktrdr.TrialMarket) ktrdr.OperationID {
	l.Helper()
	op := l.create(ktrdr.NewOperation{Trial: &ktrdr.NewTrial{Own: 1, Markets: markets}})
	var said []string
	for name, value := range map[string]string{"sharpe_z": sharpeZ, "alpha_z": alphaZ, "sharpe_ratio": sharpe} {
		if value != "" {
			said = append(said, fmt.Sprintf("%q:%s", name, value))
		}
	}
	f := ending(l.claim("w"), ktrdr.Completed)
	f.Result = json.RawMessage(`{"trial":{` + strings.Join(said, ",") + `}}`)
	_, err := l.Finish(l.ctx(), f)
	l.must(err)
	return op.ID
}

func operationsOf(all []ktrdr.Trial) (ids []ktrdr.OperationID) {
	for _, t := range all {
		ids = append(ids, t.Operation)
	}
	return ids
}

var trialQueries = map[string]func(*lab){
	"TrialsArePagedNewestFirst": func(l *lab) {
		a, b := l.market("A").Market, l.market("B").Market
		var want []ktrdr.OperationID
		for i := range 7 {
			markets := []string{a, b}[i%2 : i%2+1]
			if i == 3 {
				markets = []string{b, a} // is listed once
			}
			want = append(want, l.create(ktrdr.NewOperation{Trial: on(1, markets...)}).ID)
		}
		all := l.allTrials(ktrdr.TrialQuery{})
		sameSet(l, "all", operationsOf(all), want...)
		if !slices.IsSortedFunc(all, func(x, y ktrdr.Trial) int {
			return cmp.Or(y.CreatedAt.Compare(x.CreatedAt), cmp.Compare(y.Market, x.Market), cmp.Compare(y.Key, x.Key))
		}) {
			l.Errorf("not the newest first: %+v", all)
		}
		for _, limit := range []int{1, 2, 3, 7, 8} {
			same(l, fmt.Sprintf("all by %d", limit), l.allTrials(ktrdr.TrialQuery{Limit: limit}), all)
		}
		for _, q := range []ktrdr.TrialQuery{
			{Limit: -1},
			{Limit: 1001},
			{Cursor: "rubbish"},
			{Run: "a\x00"},
			{Symbol: "a\x00"},
			{Market: "a\x00"},
		} {
			_, err := l.Trials(l.ctx(), q)
			l.refused(err, ktrdr.CodeInvalid)
		}
	},

	"TrialsAreSelectedByWhatTheyAre": func(l *lab) {
		a, b := l.market("A").Market, l.market("B").Market
		created := func(n ktrdr.NewOperation, market, symbols, timeframes string) ktrdr.OperationID {
			n.Trial = &ktrdr.NewTrial{Own: 1, Markets: []ktrdr.TrialMarket{{Market: market, Symbols: symbols, Timeframes: timeframes}}}
			return l.create(n).ID
		}
		first := created(inRun("r", 0, 0, treeSpec{Children: 1}), a, "EURUSD", "1h")
		second := created(inRun("s", 0, 0, treeSpec{Children: 1}), b, "EURUSD.X eurgbp", "1m 1M")
		third := created(ktrdr.NewOperation{Type: ktrdr.Training}, a, "EURUSD GBPUSD", "1h 4h")
		l.end(first)
		for what, c := range map[string]struct {
			q    ktrdr.TrialQuery
			want []ktrdr.OperationID
		}{
			"of a run":                {ktrdr.TrialQuery{Run: "r"}, []ktrdr.OperationID{first}},
			"of no run that is":       {ktrdr.TrialQuery{Run: "t"}, nil},
			"of a market":             {ktrdr.TrialQuery{Market: b}, []ktrdr.OperationID{second}},
			"of no market that is":    {ktrdr.TrialQuery{Market: "mkt_nothing"}, nil},
			"of a symbol":             {ktrdr.TrialQuery{Symbol: "EURUSD"}, []ktrdr.OperationID{first, third}},
			"of a symbol with a dot":  {ktrdr.TrialQuery{Symbol: "EURUSD.X"}, []ktrdr.OperationID{second}},
			"of part of a symbol":     {ktrdr.TrialQuery{Symbol: "EUR"}, nil},
			"of a pattern":            {ktrdr.TrialQuery{Symbol: "EUR___"}, nil},
			"of a symbol in capitals": {ktrdr.TrialQuery{Symbol: "EURGBP"}, nil},
			"of a timeframe":          {ktrdr.TrialQuery{Timeframe: "4h"}, []ktrdr.OperationID{third}},
			"of the months":           {ktrdr.TrialQuery{Timeframe: "1M"}, []ktrdr.OperationID{second}},
			"of a type":               {ktrdr.TrialQuery{Type: ktrdr.Training}, []ktrdr.OperationID{third}},
			"of a type and a market":  {ktrdr.TrialQuery{Type: ktrdr.AgentResearch, Market: a}, []ktrdr.OperationID{first}},
			"whose figures are known": {ktrdr.TrialQuery{Ended: true}, nil}, // its result says nothing of a trial
			"by score":                {ktrdr.TrialQuery{ByScore: true}, nil},
			"of a market by its score": {ktrdr.TrialQuery{
				ByScore: true, Market: a, Run: "r", Symbol: "EURUSD", Timeframe: "1h",
				Type: ktrdr.AgentResearch,
			}, nil},
		} {
			sameSet(l, what, operationsOf(l.allTrials(c.q)), c.want...)
		}
	},

	"ByScoreTheBestOfEachMarketComeFirst": func(l *lab) {
		a, b := l.market("A").Market, l.market("B").Market
		onA, onB := ktrdr.TrialMarket{Market: a, Symbols: "A", Timeframes: "1h"}, ktrdr.TrialMarket{Market: b, Symbols: "B", Timeframes: "4h"}
		best := l.tried("3", "2.5", "1", onA) // the weaker counts: 2.5
		fifth := l.tried("1", "9", "9", onA)
		second := l.tried("2", "2", "2", onA, onB) // is A's
		third := l.tried("2", "2", "1.5", onA)
		last := l.tried("", "", "", onA)
		loser := l.tried("", "5", "-0.5", onA) // has no score: only one z value is known
		alone := l.tried("-4", "7", "0", onB)
		l.create(ktrdr.NewOperation{Trial: &ktrdr.NewTrial{Own: 1, Markets: []ktrdr.TrialMarket{onA}}}) // has not ended

		same(l, "all", operationsOf(l.allTrials(ktrdr.TrialQuery{ByScore: true})),
			[]ktrdr.OperationID{best, second, third, fifth, alone, loser, last})
		same(l, "two", operationsOf(l.allTrials(ktrdr.TrialQuery{ByScore: true, Limit: 2})), []ktrdr.OperationID{best, second})
		same(l, "of a market", operationsOf(l.allTrials(ktrdr.TrialQuery{ByScore: true, Limit: 1, Market: b})), []ktrdr.OperationID{alone})
		same(l, "of a symbol", operationsOf(l.allTrials(ktrdr.TrialQuery{ByScore: true, Limit: 9, Symbol: "B"})),
			[]ktrdr.OperationID{second, alone})
		got := l.allTrials(ktrdr.TrialQuery{ByScore: true, Limit: 1, Market: a})[0]
		same(l, "trial", got, ktrdr.Trial{
			Market: a, Key: string(best), Operation: best, Type: ktrdr.Dummy, Symbols: "A", Timeframes: "1h", CreatedAt: got.CreatedAt,
			Status:       ktrdr.Completed,
			TrialFigures: ktrdr.TrialFigures{Sharpe: new(1.0), SharpeZ: new(3.0), AlphaZ: new(2.5)}, MarketTrials: 7,
		})
	},

	"ATrialShowsTheLookThatConfirmedIt": func(l *lab) {
		a := l.market("A").Market
		n := inRun("r", 0, 4, treeSpec{
			Children: 1, Rung: ktrdr.RungFinalist, Score: new(1.0),
			Result: json.RawMessage(`{"trial":{"sharpe_ratio":1}}`),
		})
		n.Trial = on(1, a)
		best := l.create(n)
		l.end(best.ID)
		_, err := l.ReserveLook(l.ctx(), ktrdr.NewLook{Kind: ktrdr.LookByHand, Key: "k", Research: best.ID, Markets: []string{a}})
		l.must(err)
		confirm := confirmation("r", 0, best.ID, a)
		_, err = l.CloseGeneration(l.ctx(), "r", 0, &confirm)
		l.must(err)
		task := l.claimLocal("i")
		f := ending(task, ktrdr.Completed)
		f.Result = json.RawMessage(`{"look":{"p":0.001,"adjusted_p":0.002,"claim":true}}`)
		_, err = l.Finish(l.ctx(), f)
		l.must(err)
		for _, byScore := range []bool{false, true} {
			all := l.allTrials(ktrdr.TrialQuery{ByScore: byScore})
			if len(all) != 1 {
				l.Fatalf("%d trials, want 1", len(all))
			}
			got := all[0]
			if got.Look != task.Operation || !got.Claim || got.Adjusted == nil || *got.Adjusted != 0.002 || got.MarketLooks != 2 ||
				got.Rung != ktrdr.RungFinalist || got.Run != "r" || got.Index != 4 {
				l.Errorf("trial: %+v", got)
			}
		}
		l.tried("", "", "", ktrdr.TrialMarket{Market: a, Symbols: "A", Timeframes: "1h"})
		points, err := l.TrialPoints(l.ctx(), ktrdr.TrialQuery{})
		l.must(err)
		same(l, "points", points, []ktrdr.TrialPoint{
			{Operation: best.ID, Market: a, Status: ktrdr.Completed, Rung: ktrdr.RungFinalist, Sharpe: new(1.0), Looked: true, Claim: true},
			{Operation: points[1].Operation, Market: a, Status: ktrdr.Completed},
		})
		points, err = l.TrialPoints(l.ctx(), ktrdr.TrialQuery{Run: "r"})
		l.must(err)
		same(l, "points of the run", len(points), 1)
	},
}
