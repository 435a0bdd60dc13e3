package storetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ktrdr/ktrdr"
)

// Days of the markets of these tests: the holdout begins on the first.
var (
	firstDay = time.Date(2021, 1, 1, 0, 0, 0, 0, time.UTC)
	day      = func(n int) time.Time { return firstDay.AddDate(0, 0, n) }
)

// held is a market whose holdout begins on a day.
func (l *lab) held(symbol string, from time.Time) string {
	l.Helper()
	id := l.market(symbol).Market
	_, err := l.FixHoldout(l.ctx(), id, from)
	l.must(err)
	return id
}

func spansUntil(to time.Time) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`[{"symbol":"A","timeframe":"1h","from":%q,"to":%q}]`,
		firstDay.Format(time.RFC3339), to.Format(time.RFC3339)))
}

// lookUntil looks at markets by hand, until a day. holdout is where it trades from; zero
// means the newest holdout.
func (l *lab) lookUntil(key string, to, holdout time.Time, markets ...string) ktrdr.Look {
	l.Helper()
	look, err := l.ReserveLook(l.ctx(), ktrdr.NewLook{
		Kind: ktrdr.LookByHand, Key: key, Markets: markets, Spans: spansUntil(to), Holdout: holdout,
	})
	l.must(err)
	return look
}

// renewal is a holdout from a day, after looks until another, with enough bars.
func renewal(market string, before, looked, from time.Time) ktrdr.NewHoldout {
	return ktrdr.NewHoldout{Market: market, From: from, HoldoutLength: ktrdr.HoldoutLength{
		Before: before, LookedUntil: looked, Until: from.Add(looked.Sub(before)), Bars: 100, BarsBefore: 100,
	}}
}

func (l *lab) renew(n ...ktrdr.NewHoldout) {
	l.Helper()
	l.must(l.RenewHoldouts(l.ctx(), n))
}

// budgets requires where the holdouts of a market begin and how many looks the next look
// at each pays for.
func (l *lab) budgets(market string, want ...ktrdr.Holdout) {
	l.Helper()
	m := l.marketOf(market)
	got := m.Holdouts
	for i := range got {
		if old := !got[i].ReplacedAt.IsZero(); old != (i < len(got)-1) {
			l.Errorf("holdout %d of %d was replaced at %v", i+1, len(got), got[i].ReplacedAt)
		}
		got[i].ReplacedAt = time.Time{}
	}
	same(l, "holdouts", got, want)
	same(l, "newest holdout", m.HoldoutFrom, want[len(want)-1].From)
	same(l, "looks at it", m.Looks, want[len(want)-1].Looks)
	for _, one := range l.allMarkets() {
		if one.ID == m.ID && (len(one.Holdouts) != len(want) || one.Looks != m.Looks || !one.LookedUntil.Equal(m.LookedUntil)) {
			l.Errorf("the market is listed as %+v, and is %+v", one, m)
		}
	}
}

// opens makes an operation that looks at a market over bars until a day, and that runs.
func (l *lab) opens(market string, to, holdout time.Time) ktrdr.Task {
	l.Helper()
	n := looking("", market)
	n.Look.Spans, n.Look.Holdout = spansUntil(to), holdout
	l.create(n)
	return l.claim("w")
}

// showsAnEdge ends a look: it claims.
func (l *lab) showsAnEdge(task ktrdr.Task) ktrdr.OperationID {
	l.Helper()
	f := ending(task, ktrdr.Completed)
	f.Result = json.RawMessage(`{"look":{"p":0.001,"adjusted_p":0.002,"claim":true},"claim":{"strategy_name":"s"}}`)
	_, err := l.Finish(l.ctx(), f)
	l.must(err)
	return task.Operation
}

var holdouts = map[string]func(*lab){
	"ANewHoldoutHasABudgetOfItsOwn": func(l *lab) {
		a := l.held("A", day(0))
		l.lookUntil("one", day(10), time.Time{}, a)
		l.lookUntil("two", day(8), time.Time{}, a)
		same(l, "looked until", l.marketOf(a).LookedUntil, day(10))
		l.budgets(a, ktrdr.Holdout{From: day(0), Looks: 2})
		l.renew(renewal(a, day(0), day(10), day(11)))
		l.budgets(a, ktrdr.Holdout{From: day(0), Looks: 2}, ktrdr.Holdout{From: day(11)})

		look := l.lookUntil("three", day(30), time.Time{}, a)
		same(l, "the first look at the new one", look.Before, 0)
		same(l, "its number", look.Markets, []ktrdr.LookMarket{{Market: a, Number: 3, Holdout: day(11)}})
		same(l, "stored", l.allLooks(ktrdr.LookQuery{})[0].Markets, look.Markets)
		same(l, "the second", l.lookUntil("four", day(30), time.Time{}, a).Before, 1)
		l.budgets(a, ktrdr.Holdout{From: day(0), Looks: 4}, ktrdr.Holdout{From: day(11), Looks: 2})
		l.renew(renewal(a, day(11), day(30), day(30)))
		l.budgets(a, ktrdr.Holdout{From: day(0), Looks: 4}, ktrdr.Holdout{From: day(11), Looks: 2}, ktrdr.Holdout{From: day(30)})
		l.numbered(a, 4)
		l.chainTells(a, "look 1 after 0", "look 2 after 1", "holdout after 2 looks and 0 claims", "look 3 after 0", "look 4 after 1",
			"holdout after 4 looks and 0 claims")
		same(l, "in the chain", l.chain(a)[3].Look.Holdout, day(11))
		same(l, "trials see it", l.marketOf(a).Looks, 0)
	},

	"AResearchKeepsTheHoldoutItWasGiven": func(l *lab) {
		a := l.held("A", day(0))
		l.lookUntil("one", day(10), time.Time{}, a)
		l.renew(renewal(a, day(0), day(10), day(20)))
		m := l.marketOf(a)
		for _, c := range []struct{ given, want time.Time }{
			{day(0), day(0)}, {day(19), day(0)}, {day(20), day(20)}, {day(-1), day(20)}, {day(99), day(20)},
		} {
			same(l, "holdout for "+c.given.Format(time.DateOnly), m.HoldoutFor(c.given), c.want)
		}
		// It ends before the new one begins: only the old one pays.
		look := l.lookUntil("short", day(20), day(0), a)
		same(l, "before", look.Before, 1)
		same(l, "holdout", look.Markets[0].Holdout, day(0))
		l.budgets(a, ktrdr.Holdout{From: day(0), Looks: 2}, ktrdr.Holdout{From: day(20)})
		// It shows bars of the new one too: both pay.
		same(l, "before", l.lookUntil("long", day(21), day(0), a).Before, 2)
		l.budgets(a, ktrdr.Holdout{From: day(0), Looks: 3}, ktrdr.Holdout{From: day(20), Looks: 1})
		same(l, "the next at the new one", l.lookUntil("new", day(21), day(20), a).Before, 1)
		// A look that names no bars may have shown all.
		_, err := l.ReserveLook(l.ctx(), ktrdr.NewLook{Kind: ktrdr.LookByHand, Key: "bare", Markets: []string{a}, Holdout: day(0)})
		l.must(err)
		l.budgets(a, ktrdr.Holdout{From: day(0), Looks: 5}, ktrdr.Holdout{From: day(20), Looks: 3})
		if since := time.Since(l.marketOf(a).LookedUntil); since > time.Hour {
			l.Errorf("a look without bars used bars until %v ago, want until now", since)
		}
	},

	"BarsThatAClaimShowsAreOneLook": func(l *lab) {
		a := l.held("A", day(0))
		living := l.showsAnEdge(l.opens(a, day(10), day(0)))
		retired := l.showsAnEdge(l.opens(a, day(10), day(0)))
		late := l.showsAnEdge(l.opens(a, day(10), day(0)))
		for id, last := range map[ktrdr.OperationID]time.Time{retired: day(12), late: day(13)} { // its bar may be a week long
			retires := advance(id, 1, ktrdr.ClaimRetired)
			retires.Last = last
			l.steps(retires)
		}
		l.renew(renewal(a, day(0), day(10), day(20)))
		l.budgets(a, ktrdr.Holdout{From: day(0), Looks: 3}, ktrdr.Holdout{From: day(20), Looks: 2})
		chain := l.chain(a)
		continued := chain[len(chain)-1].Holdout.Claims
		same(l, "claims that continue", slices.Sorted(slices.Values(continued)), slices.Sorted(slices.Values([]ktrdr.OperationID{living, late})))
		same(l, "the first look at the new one", l.lookUntil("new", day(40), time.Time{}, a).Before, 2)
	},

	"AClaimThatComesLaterIsOneLookToo": func(l *lab) {
		a := l.held("A", day(0))
		open := l.opens(a, day(10), day(0)) // its look has not ended
		l.renew(renewal(a, day(0), day(10), day(20)))
		l.budgets(a, ktrdr.Holdout{From: day(0), Looks: 1}, ktrdr.Holdout{From: day(20)})
		l.showsAnEdge(open)
		l.budgets(a, ktrdr.Holdout{From: day(0), Looks: 1}, ktrdr.Holdout{From: day(20), Looks: 1})
		l.showsAnEdge(l.opens(a, day(15), day(0))) // of a run that had the old holdout
		l.budgets(a, ktrdr.Holdout{From: day(0), Looks: 2}, ktrdr.Holdout{From: day(20), Looks: 2})
		l.showsAnEdge(l.opens(a, day(30), day(20))) // is counted as a look already
		l.budgets(a, ktrdr.Holdout{From: day(0), Looks: 3}, ktrdr.Holdout{From: day(20), Looks: 3})
	},

	"AHoldoutThatBreaksARuleIsRefused": func(l *lab) {
		a := l.held("A", day(0))
		good := renewal(a, day(0), day(10), day(10))
		refused := func(code ktrdr.Code, change func(*ktrdr.NewHoldout)) {
			l.Helper()
			n := good
			change(&n)
			l.refused(l.RenewHoldouts(l.ctx(), []ktrdr.NewHoldout{n}), code)
		}
		refused(ktrdr.CodeConflict, func(*ktrdr.NewHoldout) {}) // no look was made
		l.lookUntil("one", day(10), time.Time{}, a)
		refused(ktrdr.CodeInvalid, func(n *ktrdr.NewHoldout) { n.LookedUntil = day(0) })
		refused(ktrdr.CodeInvalid, func(n *ktrdr.NewHoldout) { n.From = day(9) })
		refused(ktrdr.CodeInvalid, func(n *ktrdr.NewHoldout) { n.Bars = 99 })
		refused(ktrdr.CodeInvalid, func(n *ktrdr.NewHoldout) { n.Until = day(19) })
		refused(ktrdr.CodeConflict, func(n *ktrdr.NewHoldout) { n.Before = day(1) })
		refused(ktrdr.CodeConflict, func(n *ktrdr.NewHoldout) { n.LookedUntil = day(9) })
		refused(ktrdr.CodeNotFound, func(n *ktrdr.NewHoldout) { n.Market = "mkt_nothing" })
		b := l.held("B", day(0)) // of two all or none are renewed
		l.refused(l.RenewHoldouts(l.ctx(), []ktrdr.NewHoldout{good, renewal(b, day(0), day(10), day(10))}), ktrdr.CodeConflict)
		l.budgets(a, ktrdr.Holdout{From: day(0), Looks: 1})
		l.must(l.RenewHoldouts(l.ctx(), nil))
		l.renew(good, good)
		l.renew(good) // again it changes nothing
		l.budgets(a, ktrdr.Holdout{From: day(0), Looks: 1}, ktrdr.Holdout{From: day(10)})
		l.chainTells(a, "look 1 after 0", "holdout after 1 looks and 0 claims")
	},

	"AMergeLeavesOneHoldoutThatPaysForAll": func(l *lab) {
		a, b := l.held("A", day(0)), l.held("B", day(5))
		l.lookUntil("one", day(10), time.Time{}, a)
		l.lookUntil("two", day(12), time.Time{}, b)
		l.renew(renewal(a, day(0), day(10), day(10)))
		into := l.add(series("C", "1h", 200), a, b).Market
		l.budgets(into, ktrdr.Holdout{From: day(10), Looks: 2})
		same(l, "looked until", l.marketOf(into).LookedUntil, day(12))
		same(l, "the next look, of a research of before", l.lookUntil("three", day(12), day(0), into).Before, 2)
	},

	"OfTwoDatesAtOnceOneIsSet": func(l *lab) {
		const n = 12
		a, b := l.held("A", day(0)), l.held("B", day(0))
		for _, m := range []string{a, b} {
			l.lookUntil(m, day(10), time.Time{}, m)
		}
		var mu sync.Mutex
		set := map[time.Time]bool{}
		each(n, n, func(i int) {
			from := day(10 + i%3)
			both := []ktrdr.NewHoldout{renewal(a, day(0), day(10), from), renewal(b, day(0), day(10), from)}
			if i%2 == 1 {
				both[0], both[1] = both[1], both[0]
			}
			err := l.RenewHoldouts(l.ctx(), both)
			mu.Lock()
			defer mu.Unlock()
			switch ktrdr.CodeOf(err) {
			case "":
				set[from] = true
			case ktrdr.CodeConflict:
			default:
				l.Error(err)
			}
		})
		if len(set) != 1 || !set[l.marketOf(a).HoldoutFrom] || !set[l.marketOf(b).HoldoutFrom] {
			l.Errorf("accepted: %v, set: %v and %v, want one date", set, l.marketOf(a).HoldoutFrom, l.marketOf(b).HoldoutFrom)
		}
	},

	"OfALookAndANewHoldoutAtOnceNoneOverlaps": func(l *lab) {
		a := l.held("A", day(0))
		l.lookUntil("one", day(10), time.Time{}, a)
		each(8, 8, func(i int) {
			if i%2 == 0 {
				_, err := l.ReserveLook(l.ctx(), ktrdr.NewLook{
					Kind: ktrdr.LookByHand, Key: fmt.Sprint(i), Markets: []string{a}, Spans: spansUntil(day(12)), Holdout: day(0),
				})
				if err != nil {
					l.Error(err)
				}
				return
			}
			err := l.RenewHoldouts(l.ctx(), []ktrdr.NewHoldout{renewal(a, day(0), day(10), day(11))})
			if err != nil && ktrdr.CodeOf(err) != ktrdr.CodeConflict {
				l.Error(err)
			}
		})
		m := l.marketOf(a)
		if len(m.Holdouts) == 2 { // it was set before the looks: they show its bars, and it pays for them
			l.budgets(a, ktrdr.Holdout{From: day(0), Looks: 5}, ktrdr.Holdout{From: day(11), Looks: 4})
			return
		}
		l.budgets(a, ktrdr.Holdout{From: day(0), Looks: 5})
	},
}
