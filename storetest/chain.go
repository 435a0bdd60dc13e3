package storetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/ktrdr/ktrdr"
)

// chain reads the chain of a market's ledger, link by link, and requires that each
// hash is that of the one before and of its entry.
func (l *lab) chain(market string) (all []ktrdr.ChainEntry) {
	l.Helper()
	var before ktrdr.ChainLink
	for {
		some, err := l.Links(l.ctx(), market, before.Position, 3)
		l.must(err)
		if len(some) == 0 {
			return all
		}
		for _, link := range some {
			e, err := ktrdr.ParseEntry([]byte(link.Entry))
			l.must(err)
			if link.Position != before.Position+1 || link.Market != market || link.Hash != ktrdr.LinkHash(before.Hash, []byte(link.Entry)) ||
				e.Position != link.Position || e.Market != market {
				l.Errorf("link %d does not follow %d: %+v", link.Position, before.Position, link)
			}
			before, all = link, append(all, e)
		}
	}
}

// headIs requires that a market publishes the newest link of its chain, and returns
// it.
func (l *lab) headIs(market string, links int) ktrdr.ChainHead {
	l.Helper()
	head := l.marketOf(market).Head
	same(l, "links", head.Links, links)
	newest, err := l.Links(l.ctx(), market, links-1, 1)
	l.must(err)
	if len(newest) != 1 || newest[0].Hash != head.Hash || head.Market != market {
		l.Errorf("the head is %v, and the newest link %+v", head, newest)
	}
	return head
}

// entryText is what an entry is about, in short.
func entryText(e ktrdr.ChainEntry) string {
	switch {
	case e.Trial != nil && e.Trial.Amends > 0:
		return fmt.Sprintf("%d/%d %s again", e.Trial.Generation, e.Trial.Index, e.Trial.Status)
	case e.Trial != nil:
		return fmt.Sprintf("%s%d/%d %s", e.Trial.Run, e.Trial.Generation, e.Trial.Index, e.Trial.Status)
	case e.Look != nil:
		return fmt.Sprintf("look %d after %d", e.Look.Number, e.Look.Before)
	case e.Result != nil:
		return "result " + fmt.Sprint(e.Result.Claim)
	case e.Merge != nil:
		return fmt.Sprintf("merge of %d links, %d trials, %d looks", e.Merge.Head.Links, e.Merge.Trials, e.Merge.Looks)
	case e.Holdout != nil:
		return fmt.Sprintf("holdout after %d looks and %d claims", e.Holdout.Looks, len(e.Holdout.Claims))
	}
	return string(e.Kind)
}

func (l *lab) chainTells(market string, want ...string) {
	l.Helper()
	var got []string
	for _, e := range l.chain(market) {
		got = append(got, entryText(e))
	}
	same(l, "chain of the market", got, want)
}

// chained creates a research of a run on a market.
func (l *lab) chained(run string, generation, index, planned int, market string) ktrdr.Operation {
	l.Helper()
	n := inRun(run, generation, index, treeSpec{Children: 1})
	n.NewRun = &ktrdr.NewRun{Size: 2, Planned: planned}
	n.Trial = on(planned, market)
	return l.create(n)
}

var chains = map[string]func(*lab){
	"AGenerationGetsItsLinksInOrderWhenItIsClosed": func(l *lab) {
		a := l.market("A").Market
		one, two := l.chained("r", 0, 1, 3, a), l.chained("r", 0, 0, 3, a) // created and ended out of order
		l.chained("r", 1, 0, 3, a)
		for range 2 {
			l.finish(l.claim("w"), ktrdr.Completed)
		}
		l.is(one.ID, ktrdr.Completed)
		l.chainTells(a)
		if head := l.marketOf(a).Head; head != (ktrdr.ChainHead{}) {
			l.Errorf("a market without links has the head %v", head)
		}
		confirm := confirmation("r", 0, two.ID, a)
		confirm.Spec = json.RawMessage(`{"a":1}`)
		changed, err := l.CloseGeneration(l.ctx(), "r", 0, &confirm)
		if err != nil || !changed {
			l.Fatal(changed, err)
		}
		l.chainTells(a, "r0/0 COMPLETED", "r0/1 COMPLETED", "look 1 after 0")
		morning := l.headIs(a, 3)
		task := l.claimLocal("i")
		f := ending(task, ktrdr.Completed)
		f.Result = json.RawMessage(`{"look":{"p":0.001,"adjusted_p":0.002,"claim":true}}`)
		_, err = l.Finish(l.ctx(), f)
		l.must(err)
		l.startQueued(much, 1)
		l.finish(l.claim("w"), ktrdr.Completed)
		l.closes("r", 1, true)
		ended, err := l.EndRun(l.ctx(), "r")
		if err != nil || !ended {
			l.Fatal(ended, err)
		}
		l.chainTells(a, "r0/0 COMPLETED", "r0/1 COMPLETED", "look 1 after 0", "result true", "r1/0 COMPLETED")
		same(l, "heads of the run", l.run("r").Heads, []ktrdr.ChainHead{l.headIs(a, 5)})
		links, err := l.Links(l.ctx(), a, 0, 0)
		l.must(err)
		same(l, "hash of the morning", links[morning.Links-1].Hash, morning.Hash)
		e := l.chain(a)
		same(l, "trial", e[0].Trial.Operation, two.ID)
		same(l, "look", e[2].Look.Spec.String(), "015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862") // sha256 of {"a":1}
		same(l, "p", *e[3].Result.P, 0.001)
	},

	"ATrialByHandGetsItsLinkWhenItEnds": func(l *lab) {
		a, b := l.market("A").Market, l.market("B").Market
		l.create(ktrdr.NewOperation{Trial: on(1, a, b)})
		l.chainTells(a)
		f := ending(l.claim("w"), ktrdr.Completed)
		f.Result = json.RawMessage(`{"trial":{"sharpe_ratio":1.5,"total_trades":7}}`)
		_, err := l.Finish(l.ctx(), f)
		l.must(err)
		l.create(ktrdr.NewOperation{Trial: on(1, a)})
		l.finish(l.claim("w"), ktrdr.Failed)
		l.chainTells(a, "0/0 COMPLETED", "0/0 FAILED")
		l.chainTells(b, "0/0 COMPLETED")
		t := l.chain(a)[0].Trial
		same(l, "figures", []float64{*t.Sharpe, float64(t.Trades)}, []float64{1.5, 7})
		_, err = l.Links(l.ctx(), "mkt_nothing", 0, 0)
		l.refused(err, ktrdr.CodeNotFound)
		_, err = l.Links(l.ctx(), a, 0, 1001)
		l.refused(err, ktrdr.CodeInvalid)
	},

	"ATrialThatEndsAgainAmendsItsLink": func(l *lab) {
		a := l.market("A").Market
		op := l.create(ktrdr.NewOperation{Trial: on(1, a)})
		task := l.claim("w")
		l.save(task, 1, 1)
		l.finish(task, ktrdr.Failed)
		_, err := l.Resume(l.ctx(), op.ID)
		l.must(err)
		l.finish(l.claim("w"), ktrdr.Completed)
		l.chainTells(a, "0/0 FAILED", "0/0 COMPLETED again")
		same(l, "amended", l.chain(a)[1].Trial.Amends, 1)
	},

	"ACancelledRunGetsItsLinksWhenItEnds": func(l *lab) {
		a := l.market("A").Market
		for i := range 3 {
			l.chained("r", 0, 2-i, 3, a)
		}
		l.cancelRun("r")
		l.batch("r", false)
		l.chainTells(a)
		_, err := l.EndRun(l.ctx(), "r")
		l.must(err)
		l.chainTells(a, "r0/0 CANCELLED", "r0/1 CANCELLED", "r0/2 CANCELLED")
		same(l, "heads of the run", l.run("r").Heads, []ktrdr.ChainHead{l.headIs(a, 3)})
	},

	"AMergedMarketKeepsItsChain": func(l *lab) {
		older, younger := l.twoMarkets("A", "B")
		for _, m := range []string{older, younger, younger} {
			l.create(ktrdr.NewOperation{Trial: on(1, m)})
			l.finish(l.claim("w"), ktrdr.Completed)
		}
		_, err := l.ReserveLook(l.ctx(), ktrdr.NewLook{Kind: ktrdr.LookByHand, Key: "k", Markets: []string{younger}})
		l.must(err)
		l.create(ktrdr.NewOperation{Trial: on(1, younger)}) // is open when the markets are merged
		was := l.headIs(younger, 3)
		l.add(series("C", "1h", 200), older, younger)
		l.finish(l.claim("w"), ktrdr.Completed)
		l.chainTells(older, "0/0 COMPLETED", "merge of 3 links, 3 trials, 1 looks", "0/0 COMPLETED")
		same(l, "head of the market that ended", l.chain(older)[1].Merge.Head, was)
		l.chainTells(younger, "0/0 COMPLETED", "0/0 COMPLETED", "look 1 after 0")
		_, err = l.ReserveLook(l.ctx(), ktrdr.NewLook{Kind: ktrdr.LookByHand, Key: "l", Markets: []string{younger}})
		l.must(err)
		same(l, "next look", entryText(l.chain(older)[3]), "look 2 after 1")
	},

	"LinksOfManyAtOnceAreInOneLine": func(l *lab) {
		a, b := l.market("A").Market, l.market("B").Market
		const many = 8
		for i := range many {
			l.create(ktrdr.NewOperation{Trial: on(1, [][]string{{a, b}, {b, a}}[i%2]...)})
		}
		var tasks []ktrdr.Task
		for range many {
			tasks = append(tasks, l.claim("w"))
		}
		each(many, many, func(i int) {
			if _, err := l.Finish(l.ctx(), ending(tasks[i], ktrdr.Completed)); err != nil {
				l.Error(err)
			}
		})
		for _, m := range []string{a, b} {
			var ops []string
			for _, e := range l.chain(m) {
				ops = append(ops, string(e.Trial.Operation))
			}
			slices.Sort(ops)
			if same(l, "links", len(ops), many); len(slices.Compact(ops)) != many {
				l.Errorf("one has two links: %s", strings.Join(ops, " "))
			}
			l.headIs(m, many)
		}
	},
}
