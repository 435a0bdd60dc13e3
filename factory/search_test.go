package factory_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/factory"
	"github.com/ktrdr/ktrdr/instrument"
	"github.com/ktrdr/ktrdr/labtest"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/research"
)

func TestMain(m *testing.M) { os.Exit(labtest.Main(m, "")) }

// cheap lets strategies trade almost for nothing, so that many pass the gates.
var cheap = instrument.Table{instrument.EverySymbol: {Commission: 0.00001}}

func synth(symbol string, bars int, seed uint64, edge float64) *market.Bars {
	return market.Synth(market.SynthConfig{Symbol: symbol, Timeframe: market.H1, Bars: bars, Seed: seed, Edge: edge})
}

func split(t *testing.T, series ...*market.Bars) factory.World {
	t.Helper()
	w, err := factory.Split(series, 0)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func search(t *testing.T, w factory.World, s factory.Settings) factory.SearchOutcome {
	t.Helper()
	out, err := factory.Search(t.Context(), w, s)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Two generations, then two symbols, then two timeframes: the researches and looks
// have the strategies and the hashes of those that the program makes.
func TestSearch_IsThatOfTheProgramBitForBit(t *testing.T) {
	one, euro, pound := synth("SYNTH", 5000, 1, 0.6), synth("EURUSD", 3000, 2, 0.3), synth("GBPUSD", 3000, 3, 0.3)
	hours := synth("AUDUSD", 3000, 4, 0.3)
	long, err := market.Resample(hours, market.H4)
	if err != nil {
		t.Fatal(err)
	}
	looks := 0
	for _, c := range []struct {
		request research.Request
		series  []*market.Bars
	}{
		{research.Request{Symbols: []string{"SYNTH"}, Count: 10}, []*market.Bars{one}},
		{research.Request{Brief: "mean reversion", Symbols: []string{"EURUSD", "GBPUSD"}, Count: 2}, []*market.Bars{euro, pound}},
		{
			research.Request{Brief: "trend", Symbols: []string{"AUDUSD"}, Timeframes: []string{"1h", "4h"}, Count: 2},
			[]*market.Bars{hours, long},
		},
	} {
		// Each has a lab of its own: the examination of a finalist is a trial on the markets of related symbols.
		l := labtest.New(t, labtest.SQLite, labtest.Calm)
		l.ServeWith(2, "KTRDR_COSTS=*=0.1/0/0")
		for _, b := range c.series {
			l.Import(b)
		}
		c.request.Seed, c.request.Force, c.request.Fresh = new(uint64(7)), true, true
		run := l.Research(c.request, c.request.Symbols[0]).Run
		l.RunEnds(run)
		ledger, made := l.Ledger(run), l.Looks(run)
		out := search(t, split(t, c.series...), factory.Settings{
			Researches: c.request.Count, Seed: *c.request.Seed, Goal: c.request.Brief, Costs: cheap,
		})
		if len(ledger) != len(out.Researches) {
			t.Fatalf("%s: the program made %d researches, the search %d", c.request.Symbols, len(ledger), len(out.Researches))
		}
		for _, r := range out.Researches {
			want := ledger[labtest.RunPlace{Generation: r.Generation, Index: r.Index}]
			if r.Result.StrategyName != want.Strategy || r.Rung != want.Status || r.Result.ResultHash.String() != want.Result {
				t.Errorf("%s %s: %s %s %s, the program has %+v", c.request.Symbols, r.Key(), r.Result.StrategyName, r.Rung,
					r.Result.ResultHash, want)
			}
		}
		var got []labtest.Look
		for i, g := range out.Generations {
			if g.Look != nil {
				got = append(got, labtest.Look{Generation: i, Number: g.Look.Before + 1, Claim: g.Look.Claim, Hash: g.LookHash.String()})
			}
		}
		for _, look := range made { // an examination may have refused the finalist: then the program looks at another, or at none
			if slices.Contains(got, look) {
				looks++
			}
		}
	}
	if looks == 0 {
		t.Error("not one look of the program is a look of the search")
	}
}

func TestSearch_TrialsAndLooksOfOthersCount(t *testing.T) {
	w := split(t, synth("SYNTH", 4000, 1, 0.5))
	s := factory.Settings{Researches: 3, Seed: 7, Costs: cheap}
	alone := search(t, w, s)
	if alone.Looks() != 1 || alone.Score() == nil || alone.Sharpe() == nil {
		t.Fatalf("%d looks, score %v: the test needs a finalist", alone.Looks(), alone.Score())
	}
	s.LooksBefore = 4
	if got := search(t, w, s).Generations[0].Look; got.Before != 4 || *got.P != *alone.Generations[0].Look.P {
		t.Errorf("after four looks: %+v", got)
	}
	s.Before = []int{1 << 30}
	if crowded := search(t, w, s); crowded.Finalists() != 0 || *crowded.Score() != *alone.Score() {
		t.Errorf("against a billion trials there are %d finalists, score %v; want none and the same score", crowded.Finalists(), *crowded.Score())
	}
}

func TestSearch_EndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(ktrdr.ErrCancelled)
	_, err := factory.Search(ctx, split(t, synth("SYNTH", 2000, 1, 0)), factory.Settings{})
	if !errors.Is(err, ktrdr.ErrCancelled) {
		t.Errorf("%v, want the cause", err)
	}
}
