package research

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/instrument"
	"github.com/ktrdr/ktrdr/market"
)

// wide are bars with a spread of 4 basis points before the holdout, and of 40 in it.
func wide(symbol string) *market.Bars {
	b := market.Synth(market.SynthConfig{Symbol: symbol, Bars: 1200, Seed: 3})
	b.Spread = make([]float64, b.Len())
	for i, c := range b.Close {
		b.Spread[i] = 4 * c / instrument.BasisPoints
		if i >= 960 {
			b.Spread[i] *= 10
		}
	}
	return b
}

func bp(rate float64) string { return instrument.Points(rate) }

func TestDesk_RaisesADefaultFloorToTheSpreadOfTheBars(t *testing.T) {
	d, _ := newDesk(t, map[string]int{"XAUUSD": 1200})
	added(t, d.cfg.Library, wide("EURUSD"))
	spec, said := costed(t, d, Request{Symbols: []string{"EURUSD", "XAUUSD"}})
	c, other := spec.SymbolCosts[0], spec.SymbolCosts[1]
	if bp(c.Spread) != "4" || bp(c.Measured) != "4" || c.Commission != instrument.MajorFX.Costs().Commission || other.Measured != 0 ||
		other.Costs != instrument.Metal.Costs() {
		t.Errorf("the floors are %+v and %+v, want a spread of 4 basis points for the first", c, other)
	}
	want := "The bars of EURUSD have a typical spread of 4 basis points, wider than the default for major FX"
	if !strings.Contains(said, want) {
		t.Errorf("said %q, want %q", said, want)
	}
	preview, err := d.Start(t.Context(), Request{Symbols: []string{"EURUSD"}, DryRun: true}, ktrdr.IdempotencyKey{})
	if err != nil || bp(preview.Preview.Series[0].CostPerSide/instrument.BasisPoints) != "3" {
		t.Errorf("the preview has %+v, %v: want 3 basis points a side", preview.Preview, err)
	}
}

func TestDesk_KeepsASetFloorAndSaysThatTheSpreadIsWider(t *testing.T) {
	d, _ := newDesk(t, map[string]int{"XAUUSD": 1200})
	added(t, d.cfg.Library, wide("EURUSD"))
	spec, said := costed(t, d, Request{Symbols: []string{"EURUSD"}, Costs: "EURUSD=0.1/0.1/1"})
	if c := spec.SymbolCosts[0]; bp(c.Spread) != "1" || bp(c.Measured) != "4" {
		t.Errorf("the floor is %+v, want that of the request", c)
	}
	if want := "wider than the 1 that are set (set for this run): the costs may be too low"; !strings.Contains(said, want) {
		t.Errorf("said %q, want %q", said, want)
	}
	p := paidOf(instrument.Costs{}, spec.SymbolCosts[0], spec.SymbolCosts[0].Costs)
	if !slices.ContainsFunc(p.Sentences(), func(s string) bool { return strings.Contains(s, "typical spread of 4 basis points") }) {
		t.Errorf("the result says %q", p.Sentences())
	}
	if _, said := costed(t, d, Request{Symbols: []string{"EURUSD"}, Costs: "EURUSD=0.1/0.1/5"}); strings.Contains(said, "typical spread") {
		t.Errorf("a wider floor is said to be too low: %q", said)
	}
}

func TestDesk_RefusesAStrategyThatNeedsVolumeOnBarsWithout(t *testing.T) {
	d, _ := newDesk(t, map[string]int{"XAUUSD": 1200})
	b := market.Synth(market.SynthConfig{Symbol: "EURUSD", Bars: 1200, Seed: 3})
	b.Volume = slices.Repeat([]float64{math.NaN()}, b.Len())
	added(t, d.cfg.Library, b)
	text, err := d.cfg.Strategy(t.Context(), "rsi_mean_reversion")
	if err != nil {
		t.Fatal(err)
	}
	needs := strings.Replace(string(text), "type: rsi, period: 14, source: close", "type: mfi, period: 14", 1)
	_, err = d.Trigger(t.Context(), Request{StrategyYAML: needs})
	if want := "(mfi) needs the volume, and the 1h bars of EURUSD have none"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("err = %v, want %q", err, want)
	}
	if _, err := d.Trigger(t.Context(), Request{StrategyYAML: string(text)}); err != nil {
		t.Errorf("an indicator of prices is refused too: %v", err)
	}
}
