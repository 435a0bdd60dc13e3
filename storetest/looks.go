package storetest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/ktrdr/ktrdr"
)

// looking is an operation that looks at markets by hand.
func looking(key string, markets ...string) ktrdr.NewOperation {
	return ktrdr.NewOperation{
		Type: ktrdr.Dummy, Trial: on(1, markets...),
		Look: &ktrdr.NewLook{Kind: ktrdr.LookByHand, Key: key, Markets: markets, Strategy: "by hand"},
	}
}

func (l *lab) lookOf(op ktrdr.OperationID) ktrdr.Look {
	l.Helper()
	look, err := l.LookOf(l.ctx(), op)
	l.must(err)
	return look
}

// looksOf requires how many looks a market counts.
func (l *lab) looksOf(market string, want int) {
	l.Helper()
	if got := l.marketOf(market).Looks; got != want {
		l.Errorf("the market counts %d looks, want %d", got, want)
	}
}

var looks = map[string]func(*lab){
	"ALookHasANumberOnEachOfItsMarkets": func(l *lab) {
		a, b, c := l.market("A").Market, l.market("B").Market, l.market("C").Market
		for i := range 3 {
			look := l.lookOf(l.create(looking("", a)).ID)
			same(l, "numbers", look.Markets, []ktrdr.LookMarket{{Market: a, Number: i + 1}})
			same(l, "before", look.Before, i)
		}
		l.create(looking("", b))
		op := l.create(looking("", c, b, a, b))
		look := l.lookOf(op.ID)
		want := map[string]int{a: 4, b: 2, c: 1}
		got := map[string]int{}
		for _, m := range look.Markets {
			got[m.Market] = m.Number
		}
		same(l, "numbers on several markets", got, want)
		same(l, "before, on the market that had most", look.Before, 3)
		if look.Key != string(op.ID) || look.Operation != op.ID || look.Kind != ktrdr.LookByHand || look.ReservedAt.IsZero() ||
			!look.EndedAt.IsZero() {
			l.Errorf("look: %+v", look)
		}
		l.looksOf(a, 4)
		l.looksOf(b, 2)
		_, err := l.LookOf(l.ctx(), l.create(ktrdr.NewOperation{}).ID)
		l.refused(err, ktrdr.CodeNotFound)
		_, err = l.LookOf(l.ctx(), "op_dummy_nothing")
		l.refused(err, ktrdr.CodeNotFound)
	},

	"TheSameKeyIsTheSameLook": func(l *lab) {
		a, b := l.market("A").Market, l.market("B").Market
		n := ktrdr.NewLook{Kind: ktrdr.LookByHand, Key: "k", Markets: []string{a}, Strategy: "s", Spans: json.RawMessage(`[1]`)}
		first, err := l.ReserveLook(l.ctx(), n)
		l.must(err)
		if first.Operation != "" || first.Before != 0 || len(first.Markets) != 1 || first.Markets[0].Number != 1 || string(first.Spans) != `[1]` {
			l.Errorf("reserved: %+v", first)
		}
		n.Strategy = "another"
		again, err := l.ReserveLook(l.ctx(), n)
		l.must(err)
		same(l, "reserved again", again, first)
		n.Markets = []string{b}
		_, err = l.ReserveLook(l.ctx(), n) // or a look at one market would pay for another
		l.refused(err, ktrdr.CodeKeyReused)
		l.looksOf(a, 1)
		l.looksOf(b, 0)

		one := l.create(looking("model", a))
		two := l.create(looking("model", a)) // looks at the same thing again
		same(l, "look of the second", l.lookOf(two.ID), l.lookOf(one.ID))
		same(l, "who made it", l.lookOf(two.ID).Operation, one.ID)
		l.looksOf(a, 2)
		retry := l.create(ktrdr.NewOperation{RetryOf: two.ID})
		same(l, "look of a retry", l.lookOf(retry.ID), l.lookOf(one.ID))
		l.looksOf(a, 2)
	},

	"ALookRefusesWhatMakesNoSense": func(l *lab) {
		a := l.market("A").Market
		good := ktrdr.NewLook{Kind: ktrdr.LookByHand, Key: "k", Markets: []string{a}}
		for what, change := range map[string]func(*ktrdr.NewLook){
			"kind": func(n *ktrdr.NewLook) { n.Kind = "peek" }, "no market": func(n *ktrdr.NewLook) { n.Markets = nil },
			"no key": func(n *ktrdr.NewLook) { n.Key = "" }, "key": func(n *ktrdr.NewLook) { n.Key = "a\x00" },
			"research": func(n *ktrdr.NewLook) { n.Research = "nothing" }, "spans": func(n *ktrdr.NewLook) { n.Spans = json.RawMessage(`{`) },
			"market": func(n *ktrdr.NewLook) { n.Markets = []string{"a\x00"} },
		} {
			bad := good
			change(&bad)
			if _, err := l.ReserveLook(l.ctx(), bad); ktrdr.CodeOf(err) != ktrdr.CodeInvalid {
				l.Errorf("%s: got %v, want %s", what, err, ktrdr.CodeInvalid)
			}
		}
		bad := good
		bad.Markets = []string{a, "mkt_nothing"}
		_, err := l.ReserveLook(l.ctx(), bad)
		l.refused(err, ktrdr.CodeNotFound)
		l.looksOf(a, 0)
	},

	"ALookEndsOnce": func(l *lab) {
		a := l.market("A").Market
		end := func(said string, outcome ktrdr.Status) {
			f := ending(l.claim("w"), outcome)
			f.Result = json.RawMessage(said)
			_, err := l.Finish(l.ctx(), f)
			l.must(err)
		}
		first := l.create(looking("k", a))
		end(`{"look":{"p":0.5}}`, ktrdr.Failed)
		if look := l.lookOf(first.ID); !look.EndedAt.IsZero() || look.P != nil {
			l.Errorf("a look whose operation failed: %+v", look)
		}
		second := l.create(looking("k", a)) // the same look continues
		end(`{"look":{"p":0.25,"adjusted_p":0.5,"claim":true,"look_hash":"`+ktrdr.Hash{9}.String()+`","result":{"a": 1}}}`, ktrdr.Completed)
		look := l.lookOf(first.ID)
		same(l, "look", look.LookResult, ktrdr.LookResult{
			P: new(0.25), Adjusted: new(0.5), Claim: true, Hash: ktrdr.Hash{9}, Result: json.RawMessage(`{"a": 1}`),
		})
		if look.EndedAt.IsZero() {
			l.Error("it has not ended")
		}
		third := l.create(looking("k", a))
		end(`{"look":{"p":0.75}}`, ktrdr.Completed)
		for _, op := range []ktrdr.OperationID{second.ID, third.ID} {
			same(l, "look after its end", l.lookOf(op), look)
		}
		odd := l.create(looking("", a))
		end(`{"odd":true}`, ktrdr.Completed)
		if look := l.lookOf(odd.ID); look.EndedAt.IsZero() || look.P != nil || look.Adjusted != nil {
			l.Errorf("a look that showed no numbers: %+v", look)
		}
	},
}

var lookQueries = map[string]func(*lab){
	"LooksAreSelectedByWhatTheyAreNewestFirst": func(l *lab) {
		a, b := l.market("A").Market, l.market("B").Market
		best := l.finalist("r", 0, 0, 1)
		confirm := confirmation("r", 0, best.ID, a)
		_, err := l.CloseGeneration(l.ctx(), "r", 0, &confirm)
		l.must(err)
		f := ending(l.claimLocal("i"), ktrdr.Completed)
		f.Result = json.RawMessage(`{"look":{"claim":true}}`)
		_, err = l.Finish(l.ctx(), f)
		l.must(err)
		all := []ktrdr.Look{l.lookOf(f.Operation)}
		for i, markets := range [][]string{{a}, {b}, {a}, {b}, {b, a}} {
			n := ktrdr.NewLook{Kind: ktrdr.LookByHand, Key: fmt.Sprint("k", i), Markets: markets}
			if i == 2 {
				n.Research = best.ID
			}
			look, err := l.ReserveLook(l.ctx(), n)
			l.must(err)
			all = append(all, look)
		}
		slices.SortFunc(all, func(x, y ktrdr.Look) int {
			return cmp.Or(y.ReservedAt.Compare(x.ReservedAt), cmp.Compare(y.Key, x.Key))
		})
		for what, c := range map[string]struct {
			q    ktrdr.LookQuery
			want func(ktrdr.Look) bool
		}{
			"all":      {ktrdr.LookQuery{}, func(ktrdr.Look) bool { return true }},
			"of a run": {ktrdr.LookQuery{Run: "r"}, func(k ktrdr.Look) bool { return k.Run == "r" }},
			"claims":   {ktrdr.LookQuery{Claims: true}, func(k ktrdr.Look) bool { return k.Claim }},
			"of a market": {ktrdr.LookQuery{Market: b}, func(k ktrdr.Look) bool {
				return slices.ContainsFunc(k.Markets, func(m ktrdr.LookMarket) bool { return m.Market == b })
			}},
			"of a research":         {ktrdr.LookQuery{Research: best.ID}, func(k ktrdr.Look) bool { return k.Research == best.ID }},
			"of a run and a market": {ktrdr.LookQuery{Run: "r", Market: b}, func(ktrdr.Look) bool { return false }},
		} {
			want := slices.DeleteFunc(slices.Clone(all), func(k ktrdr.Look) bool { return !c.want(k) })
			for _, c.q.Limit = range []int{0, 1, 2, 6, 7} {
				same(l, fmt.Sprintf("%s by %d", what, c.q.Limit), l.allLooks(c.q), want)
			}
		}
		for _, q := range []ktrdr.LookQuery{{Limit: -1}, {Limit: 1001}, {Cursor: "rubbish"}, {Run: "a\x00"}, {Research: "nothing"}} {
			_, err := l.Looks(l.ctx(), q)
			l.refused(err, ktrdr.CodeInvalid)
		}
	},
}

// allLooks reads every page of a query.
func (l *lab) allLooks(q ktrdr.LookQuery) (all []ktrdr.Look) {
	l.Helper()
	for {
		page, err := l.Looks(l.ctx(), q)
		l.must(err)
		all = append(all, page.Looks...)
		if q.Cursor = page.Next; q.Cursor == "" {
			return all
		}
	}
}

// allMarkets lists the markets.
func (l *lab) allMarkets() []ktrdr.Market {
	l.Helper()
	all, err := l.Markets(l.ctx())
	l.must(err)
	return all
}
