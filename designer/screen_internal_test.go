package designer

import (
	"math"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr/instrument"
	"github.com/ktrdr/ktrdr/market"
)

// A context symbol is read as of its last closed bar. One that has ended is not read
// as if its last bar held for ever.
func TestAligned_ReadsTheLastClosedBarThatIsNotOutOfDate(t *testing.T) {
	b := market.Synth(market.SynthConfig{Symbol: "EURUSD", Timeframe: market.H1, Bars: 50, Seed: 1})
	const ends = 20
	from := b.Slice(0, ends)
	values := make([]float64, ends)
	for i := range values {
		values[i] = float64(i)
	}
	got := aligned(values, from, []*market.Bars{b})[0]
	for i, x := range got {
		switch {
		case i < ends && x != float64(i):
			t.Errorf("bar %d has the value of bar %v", i, x)
		case i > ends+2 && !math.IsNaN(x):
			t.Errorf("bar %d has the value of bar %v, the last one", i, x)
		}
	}
}

// The symbols of a research share the quarters of the time: the table that trades a
// quarter knows nothing of what another symbol did then.
func TestSample_SymbolsShareTheQuartersOfTheTime(t *testing.T) {
	b := market.Synth(market.SynthConfig{Symbol: "EURUSD", Timeframe: market.H1, Bars: 1000, Seed: 1})
	var one, two sample
	one.of([]*market.Bars{b})
	if want := [screenFolds + 1]int{0, 250, 500, 750, 1000}; one.folds[0] != want {
		t.Errorf("one symbol: %v, want %v", one.folds[0], want)
	}
	late := b.Slice(400, 1000)
	two.of([]*market.Bars{b, late})
	for k := range screenFolds + 1 {
		first, second := two.folds[0][k], two.folds[1][k]
		if want := max(0, first-400); second != want {
			t.Errorf("quarter %d begins at bar %d, and of the second symbol at its bar %d, want %d: the same time", k, first, second, want)
		}
	}
	if inner := two.folds[0][1:screenFolds]; inner[0] <= 250 || inner[2] >= 1000 {
		t.Errorf("the quarters begin at %v: they have not as many bars of both symbols", inner)
	}
}

// The bars of a context symbol begin a while before those that are traded.
func TestBeside_BeginsBeforeTheBarsThatAreTraded(t *testing.T) {
	b := market.Synth(market.SynthConfig{Symbol: "EURUSD", Timeframe: market.H1, Bars: 1000, Seed: 1})
	got := beside(b, []*market.Bars{b.Slice(900, 1000), b.Slice(600, 1000)})
	if want := 400 + beginning; got.Len() != want || got.Time[0] != b.Time[1000-want] {
		t.Errorf("%d bars from %d, want %d", got.Len(), got.Time[0], want)
	}
	if got := beside(b, []*market.Bars{b.Slice(10, 1000)}); got.Len() != 1000 {
		t.Errorf("%d bars of 1,000 that have no more before them", got.Len())
	}
}

// Of two symbols one may begin after the test part of the other. It has no bars that the
// screen may read, and the context symbol is read beside the other.
func TestScreen_ASymbolMayHaveNoBarsBeforeTheTestPart(t *testing.T) {
	made := func(symbol string, year int) *market.Bars {
		return market.Synth(market.SynthConfig{
			Symbol: symbol, Timeframe: market.H1, Bars: 2000, Seed: uint64(year), Start: time.Date(year, 1, 5, 0, 0, 0, 0, time.UTC),
		})
	}
	first, second, context := made("EURUSD", 2015), made("GBPUSD", 2016), made("USDJPY", 2015)
	for _, symbols := range [][]string{{"EURUSD", "GBPUSD"}, {"GBPUSD", "EURUSD"}} {
		b := Brief{Symbols: symbols, Timeframe: market.H1, Context: []string{"USDJPY"}}
		series := []*market.Bars{first, second, context}
		if err := b.Measure(series); err != nil {
			t.Fatal(err)
		}
		if err := b.Screen(series, instrument.Costs{}); err != nil || len(b.Hints) == 0 {
			t.Errorf("%v: %d hints, %v", symbols, len(b.Hints), err)
		}
	}
}
