package storetest

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/ktrdr/ktrdr"
)

// series is a series of bars that begins with a hash of the given byte.
func series(symbol, timeframe string, hash byte) ktrdr.MarketSeries {
	day := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	return ktrdr.MarketSeries{
		Symbol: symbol, Timeframe: timeframe, Hash: ktrdr.Hash{hash}, First: day, Last: day.AddDate(1, 0, 0), Bars: 1000,
		Prices: ktrdr.Artifact{Name: "prices", SHA256: ktrdr.Hash{hash, 1}, Size: 77}, Reason: "first seen",
	}
}

// add assigns a series to the market that all the given are.
func (l *lab) add(s ktrdr.MarketSeries, sameAs ...string) ktrdr.MarketSeries {
	l.Helper()
	added, err := l.AddSeries(l.ctx(), ktrdr.NewSeries{MarketSeries: s, Same: sameAs})
	l.must(err)
	return added
}

var markets = map[string]func(*lab){
	"ASeriesIsAssignedOnce": func(l *lab) {
		eur := series("EURUSD", "1h", 1)
		first := l.add(eur)
		if first.Market == "" || first.AddedAt.IsZero() {
			l.Errorf("added: %+v", first)
		}
		want := eur
		want.Market, want.AddedAt = first.Market, first.AddedAt
		same(l, "series", first, want)
		eur.Reason, eur.Bars = "again", 5
		same(l, "added again", l.add(eur), first)
		found, err := l.SeriesOf(l.ctx(), "EURUSD", "1h", eur.Hash)
		l.must(err)
		same(l, "found", found, first)
		for _, other := range []ktrdr.MarketSeries{series("EURUSD", "4h", 1), series("EURUSD", "1h", 2), series("eurusd", "1h", 1)} {
			_, err := l.SeriesOf(l.ctx(), other.Symbol, other.Timeframe, other.Hash)
			l.refused(err, ktrdr.CodeNotFound)
		}
		same(l, "the same market", l.add(series("EUR", "4h", 3), first.Market).Market, first.Market)
		if other := l.add(series("GBPUSD", "1h", 4)); other.Market == first.Market {
			l.Error("another series is the same market")
		}
		for _, bad := range []ktrdr.MarketSeries{series("", "1h", 1), series("A", "", 1), series("A\x00", "1h", 1)} {
			_, err := l.AddSeries(l.ctx(), ktrdr.NewSeries{MarketSeries: bad})
			l.refused(err, ktrdr.CodeInvalid)
		}
		_, err = l.AddSeries(l.ctx(), ktrdr.NewSeries{MarketSeries: series("X", "1h", 9), Same: []string{"mkt_nothing"}})
		l.refused(err, ktrdr.CodeNotFound)
		_, err = l.Market(l.ctx(), "mkt_nothing")
		l.refused(err, ktrdr.CodeNotFound)
	},

	"MarketsAreListedWithTheNewestSeriesOfEach": func(l *lab) {
		same(l, "none", len(l.allMarkets()), 0)
		old := l.add(series("EURUSD", "1h", 1))
		hour := old
		for hash := byte(2); !hour.AddedAt.After(old.AddedAt); hash++ {
			hour = l.add(series("EURUSD", "1h", hash), old.Market)
		}
		day := l.add(series("EURUSD", "1d", 100), old.Market)
		copied := l.add(series("EU", "1h", 101), old.Market)
		gold := l.add(series("GOLD", "1h", 102))
		all := l.allMarkets()
		if len(all) != 2 {
			l.Fatalf("%d markets, want 2", len(all))
		}
		if all[0].ID != old.Market {
			all[0], all[1] = all[1], all[0] // both were made in one tick of the clock
		}
		same(l, "series of the first", all[0].Series, []ktrdr.MarketSeries{copied, day, hour})
		same(l, "series of the second", all[1].Series, []ktrdr.MarketSeries{gold})
		same(l, "one market", l.marketOf(gold.Market), all[1])
		same(l, "all series of one", len(l.marketOf(old.Market).Series), len([]ktrdr.MarketSeries{copied, day, hour, old}))
	},

	"AHoldoutBeginsWhereItWasFixedFirst": func(l *lab) {
		a := l.market("A").Market
		first := time.Date(2021, 3, 4, 5, 0, 0, 0, time.UTC)
		for _, from := range []time.Time{first, first.AddDate(1, 0, 0), first.AddDate(-1, 0, 0)} {
			fixed, err := l.FixHoldout(l.ctx(), a, from)
			l.must(err)
			same(l, "fixed", fixed, first)
		}
		same(l, "market", l.marketOf(a).HoldoutFrom, first)
		_, err := l.FixHoldout(l.ctx(), a, time.Time{})
		l.refused(err, ktrdr.CodeInvalid)
		_, err = l.FixHoldout(l.ctx(), "mkt_nothing", first)
		l.refused(err, ktrdr.CodeNotFound)
	},

	"ABlobThatALedgerNamesIsKept": func(l *lab) {
		s := l.market("A")
		op := l.create(looking("", s.Market))
		model := ktrdr.Hash{200}
		f := ending(l.claim("w"), ktrdr.Completed)
		f.Result = json.RawMessage(fmt.Sprintf(`{"look":{"result":{"trades":{"name":"t","sha256":%q,"size":3}}}}`, model))
		_, err := l.Finish(l.ctx(), f)
		l.must(err)
		bare := series("B", "1h", 99)
		bare.Prices = ktrdr.Artifact{}
		l.add(bare) // names no blob
		named := map[ktrdr.Hash][]ktrdr.OperationID{}
		for ref, err := range l.BlobRefs(l.ctx()) {
			l.must(err)
			named[ref.SHA256] = append(named[ref.SHA256], ref.Operation)
		}
		same(l, "blobs", named, map[ktrdr.Hash][]ktrdr.OperationID{
			s.Prices.SHA256: {""},
			model:           {op.ID, op.ID}, // by the result of the operation and by the look
		})
		n := 0
		for range l.BlobRefs(l.ctx()) { // to stop is no error
			if n++; n == 1 {
				break
			}
		}
	},
}

var marketMerges = map[string]func(*lab){
	"ABridgeMergesMarketsIntoTheOldest": func(l *lab) {
		old := l.add(series("OLD", "1h", 1))
		young := old
		for hash := byte(2); !l.marketOf(young.Market).CreatedAt.After(l.marketOf(old.Market).CreatedAt); hash++ {
			young = l.add(series(fmt.Sprint("YOUNG", hash), "1h", hash))
		}
		other := l.market("OTHER")
		for range 3 {
			l.byHand("", old.Market)
			l.create(looking("", young.Market))
		}
		both := l.create(looking("both", old.Market, young.Market))
		l.createAfter(both, ktrdr.NewOperation{}) // the clock of the store advances
		last := l.create(looking("first", young.Market, other.Market))
		newest := l.allTrials(ktrdr.TrialQuery{Of: []ktrdr.OperationID{last.ID}})[0].CreatedAt
		tried := func(want int) {
			l.Helper()
			tally, err := l.Tally(l.ctx(), ktrdr.TallyQuery{Since: newest})
			l.must(err)
			same(l, "markets that were tried last", tally.Markets, want)
		}
		tried(2) // the young and the other one
		early, late := time.Date(2021, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2022, 1, 1, 0, 0, 0, 0, time.UTC)
		_, err := l.FixHoldout(l.ctx(), old.Market, early)
		l.must(err)
		_, err = l.FixHoldout(l.ctx(), young.Market, late)
		l.must(err)
		listed := len(l.allTrials(ktrdr.TrialQuery{}))

		bridge := l.add(series("BRIDGE", "4h", 250), young.Market, old.Market)
		same(l, "market of the bridge", bridge.Market, old.Market)
		m := l.marketOf(young.Market) // is the market that it was merged into
		if m.ID != old.Market || m.Trials != 4+5 || m.Looks != 1+5 || !m.HoldoutFrom.Equal(late) {
			l.Errorf("merged: %+v, want the 9 trials, 6 looks and the later holdout of both", m)
		}
		found, err := l.SeriesOf(l.ctx(), young.Symbol, "1h", young.Hash)
		l.must(err)
		same(l, "market of the young series", found.Market, old.Market)
		if len(l.allMarkets()) != 2+int(young.Hash[0])-2 {
			l.Errorf("markets: %+v", l.allMarkets())
		}
		tried(2)
		l.numbered(old.Market, 6)
		if n := len(l.allTrials(ktrdr.TrialQuery{})); n != listed {
			l.Errorf("%d trials are listed, want the %d of before", n, listed)
		}
		if n := len(l.allTrials(ktrdr.TrialQuery{Market: young.Market})); n != 3+3+1+1 {
			l.Errorf("%d trials are listed under the old name, want 8", n)
		}
		same(l, "looks under the old name", len(l.allLooks(ktrdr.LookQuery{Market: young.Market})), 5)

		// Both names can be used from now on.
		same(l, "trials counted", l.byHand("", young.Market), 10)
		look := l.lookOf(l.create(looking("", young.Market, old.Market)).ID)
		same(l, "next look", look.Markets, []ktrdr.LookMarket{{Market: old.Market, Number: 7, Holdout: late}})
		fixed, err := l.FixHoldout(l.ctx(), young.Market, early)
		l.must(err)
		same(l, "holdout", fixed, late)
		same(l, "bridged again", l.add(series("BRIDGE", "4h", 250), other.Market).Market, old.Market)
		same(l, "all in one", l.marketOf(other.Market).ID, old.Market)
		l.numbered(old.Market, 8)
	},

	"AMarketThatWasMergedTwiceIsFoundUnderEveryName": func(l *lab) {
		oldest, middle := l.twoMarkets("A", "B")
		l.clockAdvances()
		youngest := l.market("C").Market
		for _, market := range []string{oldest, middle, youngest} {
			l.create(looking("", market))
		}
		l.add(series("D", "1h", 200), youngest, middle)
		same(l, "merged once", l.marketOf(youngest).ID, middle)
		l.add(series("E", "1h", 201), middle, oldest)
		for _, market := range []string{oldest, middle, youngest} {
			if m := l.marketOf(market); m.ID != oldest || m.Trials != 3 || m.Looks != 3 {
				l.Errorf("market: %+v, want the oldest with all 3", m)
			}
			same(l, "trials", len(l.allTrials(ktrdr.TrialQuery{Market: market})), 3)
			same(l, "looks", len(l.allLooks(ktrdr.LookQuery{Market: market})), 3)
		}
		l.numbered(oldest, 3)
	},

	"AMergeKeepsTheHoldoutThatOneHas": func(l *lab) {
		from := time.Date(2021, 1, 1, 0, 0, 0, 0, time.UTC)
		for i, fixed := range []int{0, 1} {
			a, b := l.twoMarkets(fmt.Sprint("A", i), fmt.Sprint("B", i))
			_, err := l.FixHoldout(l.ctx(), []string{a, b}[fixed], from)
			l.must(err)
			l.add(series(fmt.Sprint("C", i), "1h", byte(200+i)), a, b)
			same(l, "holdout", l.marketOf(a).HoldoutFrom, from)
		}
		a, b := l.market("A").Market, l.market("B").Market
		l.add(series("C", "1h", 202), a, b)
		if m := l.marketOf(b); !m.HoldoutFrom.IsZero() {
			l.Errorf("neither had a holdout: %+v", m)
		}
	},

	"TrialsWithTheSameKeyStayTwoAfterAMerge": func(l *lab) {
		a, b := l.market("A").Market, l.market("B").Market
		l.byHand("model", a)
		l.byHand("model", b)
		l.byHand("model", a, b)
		l.add(series("C", "1h", 200), a, b)
		into := l.marketOf(a).ID
		l.trialsOf(into, 2)
		same(l, "listed", len(l.allTrials(ktrdr.TrialQuery{})), 2)
		same(l, "the same again", l.byHand("model", b), 3)
		l.trialsOf(into, 2)
	},
}

// twoMarkets makes two markets, of which the first is older.
func (l *lab) twoMarkets(a, b string) (older, younger string) {
	l.Helper()
	older = l.market(a).Market
	l.clockAdvances()
	return older, l.market(b).Market
}

// clockAdvances waits until the clock of the store shows another instant.
func (l *lab) clockAdvances() {
	l.Helper()
	l.createAfter(l.create(ktrdr.NewOperation{Priority: -1}), ktrdr.NewOperation{Priority: -1})
}

// numbered requires that the looks of a market have the numbers from 1.
func (l *lab) numbered(market string, want int) {
	l.Helper()
	seen := map[int]bool{}
	for _, look := range l.allLooks(ktrdr.LookQuery{Market: market}) {
		for _, m := range look.Markets {
			if m.Market == market {
				if seen[m.Number] || m.Number < 1 || m.Number > want {
					l.Errorf("number %d was given twice, or is not one of 1 to %d", m.Number, want)
				}
				seen[m.Number] = true
			}
		}
	}
	if len(seen) != want {
		l.Errorf("%d numbers, want %d", len(seen), want)
	}
}

var ledgerAtOnce = map[string]func(*lab){
	"OfTenRunsAtOnceTheTenthCountsTen": func(l *lab) {
		const n = 10
		a := l.market("A").Market
		counts := make([]int, n)
		each(n, n, func(i int) {
			op := inRun(fmt.Sprint("r", i), 0, 0, treeSpec{Children: 1})
			op.NewRun, op.Trial = &ktrdr.NewRun{Size: 8, Planned: 1}, on(1, a)
			made, err := l.Create(l.ctx(), op, ktrdr.IdempotencyKey{})
			if err != nil {
				l.Error(err)
			}
			counts[i] = made.Trials
		})
		l.eachOnce(counts)
		l.trialsOf(a, n)
	},

	"OfManyTrialsByHandAtOnceEachCountsAnother": func(l *lab) {
		a := l.market("A").Market
		counts := make([]int, 60)
		each(len(counts), 10, func(i int) {
			made, err := l.Create(l.ctx(), ktrdr.NewOperation{Type: ktrdr.Dummy, Trial: on(1, a)}, ktrdr.IdempotencyKey{})
			if err != nil {
				l.Error(err)
			}
			counts[i] = made.Trials
		})
		l.eachOnce(counts)
		l.trialsOf(a, len(counts))
	},

	"TenLooksAtOnceHaveTenNumbers": func(l *lab) {
		const n = 10
		a, b := l.market("A").Market, l.market("B").Market
		numbers := make([]int, n)
		each(n, n, func(i int) {
			op, err := l.Create(l.ctx(), looking("", []string{a, b}[i%2], []string{b, a}[i%2]), ktrdr.IdempotencyKey{})
			if err != nil {
				l.Error(err)
				return
			}
			look, err := l.LookOf(l.ctx(), op.ID)
			if err != nil || len(look.Markets) != 2 {
				l.Errorf("look %+v, %v", look, err)
				return
			}
			numbers[i] = look.Before + 1
		})
		l.eachOnce(numbers)
		l.numbered(a, n)
		l.numbered(b, n)
	},

	"OfManyWithOneKeyOneLookIsCounted": func(l *lab) {
		const n = 12
		a, b := l.market("A").Market, l.market("B").Market
		each(n, n, func(i int) {
			look, err := l.ReserveLook(l.ctx(), ktrdr.NewLook{Kind: ktrdr.LookByHand, Key: "k", Markets: []string{a, b}[i%2 : i%2+1]})
			if ktrdr.CodeOf(err) == ktrdr.CodeKeyReused {
				return // the first look was at the other market
			}
			if err != nil || look.Before != 0 {
				l.Errorf("look %+v, %v", look, err)
			}
		})
		if n := l.marketOf(a).Looks + l.marketOf(b).Looks; n != 1 {
			l.Errorf("%d looks are counted, want 1", n)
		}
	},

	"OfManyThatAddASeriesAllGetItsMarket": func(l *lab) {
		const n = 12
		var mu sync.Mutex
		found := map[string]int{}
		each(n, n, func(i int) {
			added, err := l.AddSeries(l.ctx(), ktrdr.NewSeries{MarketSeries: series("A", "1h", 1)})
			if err != nil {
				l.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			found[added.Market]++
		})
		if len(found) != 1 || len(l.allMarkets()) != 1 {
			l.Errorf("the series is in %v, of %d markets", found, len(l.allMarkets()))
		}
	},

	"TrialsAndLooksSurviveAMergeInTheMiddle": func(l *lab) {
		const n = 30
		a, b := l.market("A").Market, l.market("B").Market
		each(n, 6, func(i int) {
			var err error
			switch {
			case i == n/2:
				_, err = l.AddSeries(l.ctx(), ktrdr.NewSeries{MarketSeries: series("C", "1h", 200), Same: []string{a, b}})
			case i%3 == 0:
				_, err = l.FixHoldout(l.ctx(), []string{a, b}[i%2], time.Unix(1e9, 0))
			default:
				_, err = l.Create(l.ctx(), looking("", []string{a, b}[i%2]), ktrdr.IdempotencyKey{})
			}
			if err != nil {
				l.Error(err)
			}
		})
		m := l.marketOf(b)
		want := len(l.allTrials(ktrdr.TrialQuery{}))
		if m.ID != l.marketOf(a).ID || m.Trials != want || m.Looks != want || m.HoldoutFrom.IsZero() {
			l.Errorf("merged: %+v, want %d trials and looks", m, want)
		}
		l.numbered(m.ID, want)
		same(l, "trials of the market", len(l.allTrials(ktrdr.TrialQuery{Market: m.ID})), want)
	},
}

// eachOnce requires the numbers from 1, each once.
func (l *lab) eachOnce(numbers []int) {
	l.Helper()
	seen := map[int]bool{}
	for _, n := range numbers {
		if n < 1 || n > len(numbers) || seen[n] {
			l.Errorf("%v is not each of 1 to %d once", numbers, len(numbers))
			return
		}
		seen[n] = true
	}
}
