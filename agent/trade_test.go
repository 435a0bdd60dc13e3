package agent

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr/backtest"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/neural"
	"github.com/ktrdr/ktrdr/strategy"
	"github.com/ktrdr/ktrdr/strategy/strategytest"
	"github.com/ktrdr/ktrdr/train"
)

// open leaves of a market the bars from one on that are not in the first hours of
// a day.
func open(b *market.Bars, from int) train.Series {
	some := &market.Bars{Symbol: b.Symbol, Timeframe: b.Timeframe}
	for i := from; i < b.Len(); i++ {
		if b.Time[i]/3600%24 > 5 {
			some.Append(b.At(i))
		}
	}
	return train.Series{Symbol: b.Symbol, Bars: []*market.Bars{some}}
}

func synth(symbol string, seed uint64) *market.Bars {
	return market.Synth(market.SynthConfig{Symbol: symbol, Timeframe: market.H1, Bars: 4000, Seed: seed, Edge: 0.3})
}

// trained makes a model of some symbols.
func trained(t *testing.T, data ...train.Series) *train.TrainedModel {
	t.Helper()
	var symbols []string
	for _, d := range data {
		symbols = append(symbols, d.Symbol)
	}
	text := strategytest.Small("epochs: 24", "epochs: 2", "{mode: single, symbol: EURUSD}",
		"{mode: multi_symbol, symbols: ["+strings.Join(symbols, ", ")+"]}")
	s, _, err := strategy.Parse([]byte(text), "small")
	if err != nil {
		t.Fatal(err)
	}
	ds, _, err := train.Prepare(s, data, train.Options{})
	if err != nil {
		t.Fatal(err)
	}
	run, err := train.Start(ds, s, 3, neural.Best())
	if err != nil {
		t.Fatal(err)
	}
	for !run.Done() {
		if err := run.Epoch(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
	m, _, err := run.Finish()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// part is the bars of a series from one on to another.
func part(s train.Series, from, to int) train.Series {
	return train.Series{Symbol: s.Symbol, Bars: []*market.Bars{s.Bars[0].Slice(from, to)}}
}

func TestTrader_HoldsOutTheSameInstantOfEverySymbol(t *testing.T) {
	a, b := train.Series{Symbol: "AAA", Bars: []*market.Bars{synth("AAA", 1)}}, open(synth("BBB", 2), 0)
	n := 3200
	for a.Bars[0].Time[n]/3600%24 != 2 { // BBB is closed
		n++
	}
	at := a.Bars[0].Time[n]
	k, _ := slices.BinarySearch(b.Bars[0].Time, at)
	seen := []train.Series{part(a, 0, n), part(b, 0, k)}
	sealed := []train.Series{part(a, n, 4000), part(b, k, b.Bars[0].Len())}
	tr, from := trader{model: trained(t, seen...)}, time.Unix(at, 0).UTC()
	judged, run, err := tr.holdout(seen, sealed, from)
	if err != nil {
		t.Fatal(err)
	}
	union := slices.Concat(sealed[0].Bars[0].Time, sealed[1].Bars[0].Time)
	slices.Sort(union)
	if want := len(slices.Compact(union)) - 1; run.Sum.Time[run.Sum.Config.StartBar] != at || len(judged.Returns) != want ||
		judged.Accounts != 2 {
		t.Errorf("the holdout begins at %d with %d returns of %d accounts, want %d, %d and 2",
			run.Sum.Time[run.Sum.Config.StartBar], len(judged.Returns), judged.Accounts, at, want)
	}
	for i, account := range run.Accounts {
		first := account.Time[account.Config.StartBar]
		if first != sealed[i].Bars[0].Time[0] || account.Config.InitialCapital != 50_000 || len(account.Trades) == 0 {
			t.Errorf("%s begins at %d with %v and makes %d trades; want half of the capital, from its first bar of the holdout on",
				account.Symbol, first, account.Config.InitialCapital, len(account.Trades))
		}
	}
	if _, _, err := tr.holdout(seen, []train.Series{sealed[1], sealed[0]}, from); err == nil ||
		!strings.Contains(err.Error(), "the holdout has BBB where the bars before it have AAA") {
		t.Errorf("err = %v, want the symbols in one order", err)
	}
	if _, _, err := tr.holdout(seen, sealed[:1], from); err == nil ||
		!strings.Contains(err.Error(), "bars of 2 symbols before the holdout, and of 1 in it") {
		t.Errorf("err = %v, want both symbols", err)
	}
}

func TestTrader_OverridesAreOfTheSymbol(t *testing.T) {
	a, b := train.Series{Symbol: "AAA", Bars: []*market.Bars{synth("AAA", 1)}}, open(synth("BBB", 2), 0)
	dear := 0.01
	tr := trader{model: trained(t, a, b), overrides: func(symbol string) backtest.Overrides {
		if symbol == "BBB" {
			return backtest.Overrides{Commission: &dear}
		}
		return backtest.Overrides{}
	}}
	_, run, err := tr.trade([]train.Series{a, b}, strategy.Span{Start: at(tr.model.Info.Split.Test)})
	if err != nil {
		t.Fatal(err)
	}
	if got := run.Accounts[1].Config.Commission; got != dear || run.Accounts[0].Config.Commission == dear ||
		run.Sum.Config.Commission != dear {
		t.Errorf("commissions %v and %v, of the sum %v; want the dear one for BBB alone, and told", run.Accounts[0].Config.Commission, got,
			run.Sum.Config.Commission)
	}
}

func TestTrader_StoredIsWhatWasTraded(t *testing.T) {
	a, b := train.Series{Symbol: "AAA", Bars: []*market.Bars{synth("AAA", 1)}}, open(synth("BBB", 2), 0)
	data := []train.Series{a, b}
	tr := trader{model: trained(t, data...)}
	want, run, err := tr.trade(data, strategy.Span{Start: at(tr.model.Info.Split.Test)})
	if err != nil {
		t.Fatal(err)
	}
	file, err := run.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := tr.stored(data, file)
	if err != nil || !slices.Equal(got.Returns, want.Returns) || !slices.Equal(got.Hold, want.Hold) || !slices.Equal(got.Trades, want.Trades) {
		t.Errorf("the part that was stored has %d returns and %d trades (%v), want the %d and %d that were traded", len(got.Returns),
			len(got.Trades), err, len(want.Returns), len(want.Trades))
	}
	if _, err := tr.stored([]train.Series{b, a}, file); err == nil ||
		!strings.Contains(err.Error(), "the bars of BBB stand where the backtest traded AAA") {
		t.Errorf("err = %v, want bars in the order of the accounts", err)
	}
	if _, err := tr.stored(data, file[1:]); err == nil || !strings.Contains(err.Error(), backtest.ErrCorrupt.Error()) {
		t.Errorf("err = %v, want a damaged file refused", err)
	}
}

// LATE has no bars before the test part: there is nothing of it in sample.
func TestTrader_InSampleLeavesOutWhatHadNotBegun(t *testing.T) {
	early, late := train.Series{Symbol: "EARLY", Bars: []*market.Bars{synth("EARLY", 1)}}, open(synth("LATE", 2), 3700)
	tr := trader{model: trained(t, early, late)}
	if first := late.Bars[0].Time[0]; first < tr.model.Info.Split.Test {
		t.Fatalf("LATE begins at %d, before the test part at %d: nothing is shown", first, tr.model.Info.Split.Test)
	}
	both, err := tr.inSample([]train.Series{early, late})
	if err != nil {
		t.Fatal(err)
	}
	alone, err := tr.inSample([]train.Series{early})
	if err != nil {
		t.Fatal(err)
	}
	if len(both.Returns) == 0 || len(both.Returns) != len(alone.Returns) || math.Abs(both.Returns[500]-alone.Returns[500]) > 1e-12 {
		t.Errorf("%d returns in sample, want the %d of EARLY", len(both.Returns), len(alone.Returns))
	}
	if _, err := tr.inSample([]train.Series{late}); err == nil || !strings.Contains(err.Error(), "no bar is left to decide at") {
		t.Errorf("err = %v, want nothing in sample of LATE alone", err)
	}
}
