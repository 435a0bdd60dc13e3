package designer

import (
	"math"
	"slices"
	"testing"

	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/num"
	"github.com/ktrdr/ktrdr/strategy"
	"github.com/ktrdr/ktrdr/strategy/strategytest"
)

func TestMutate_ChangesTheTimeframeOfAnInput(t *testing.T) {
	f := openFrame()
	brief := *f.brief
	brief.Longer, brief.LongerStats = []market.Timeframe{market.H4, market.D1}, []Stats{brief.Stats, brief.Stats}
	f.brief = &brief
	was := f.repair(Genome{Inputs: []Gene{
		{Reading: "cci", Period: 24, Partition: Thirds, Frame: 1}, {Reading: "rsi", Period: 24, Partition: Raw},
	}})
	seen := map[int]bool{}
	r := num.NewRand(4)
	for range 2000 {
		g := was.clone()
		f.mutate(&g, r)
		other := g.clone()
		if len(g.Inputs) != 2 || slices.Equal(g.Inputs, was.Inputs) {
			continue
		}
		for i := range other.Inputs {
			other.Inputs[i].Frame = was.Inputs[i].Frame
		}
		if slices.Equal(other.Inputs, was.Inputs) { // nothing but a timeframe
			seen[g.Inputs[0].Frame], seen[3+g.Inputs[1].Frame] = true, true
		}
	}
	if len(seen) != 6 {
		t.Errorf("the frames %v were reached, want all three of both inputs", seen)
	}
}

func TestPool_IsTheMeanOfWhatAllHave(t *testing.T) {
	a := Stats{
		Bars: 900, Volatility: 0.001,
		Columns: []Column{{"cci", 24, [7]float64{0, 1, 2, 3, 4, 5, 6}}, {"mfi", 24, [7]float64{1, 2, 3, 4, 5, 6, 7}}},
	}
	b := Stats{Bars: 700, Volatility: 0.004, Columns: []Column{{"cci", 24, [7]float64{2, 3, 4, 5, 6, 7, 9}}}}
	got := pool([]Stats{a, b})
	if got.Bars != 700 || math.Abs(got.Volatility-0.002) > 1e-9 {
		t.Errorf("%d bars and a volatility of %v, want 700 and 0.002", got.Bars, got.Volatility)
	}
	if want := []Column{{"cci", 24, [7]float64{1, 2, 3, 4, 5, 6, 7.5}}}; !slices.Equal(got.Columns, want) {
		t.Errorf("columns %v, want %v", got.Columns, want)
	}
}

func TestGenomeOf_KnowsTheTimeframesOfAStrategy(t *testing.T) {
	s, _, err := strategy.Parse([]byte(strategytest.Small(
		"{mode: single, timeframe: 1h}", "{mode: multi_timeframe, timeframes: [1d, 1h, 4h], base_timeframe: 1h}",
		"{fuzzy_set: zone, timeframes: all}", "{fuzzy_set: zone, timeframes: [4h]}",
		"{raw_indicator: atr_14, timeframes: all,", "{raw_indicator: atr_14, timeframes: [1h, 1d],",
	)), "small")
	if err != nil {
		t.Fatal(err)
	}
	g := genomeOf(s)
	if g == nil || len(g.Inputs) != 3 || !g.has("rsi", 1) || !g.has("atr", 0) || !g.has("atr", 2) {
		t.Errorf("read as %+v, want rsi of 4h, and atr of 1h and 1d", g)
	}
}
