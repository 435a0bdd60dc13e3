package research

import (
	"bytes"
	"context"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/backtest"
	"github.com/ktrdr/ktrdr/instrument"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/num"
	"github.com/ktrdr/ktrdr/strategy"
)

// likened makes bars whose returns have about a correlation with those of others.
func likened(b *market.Bars, symbol string, correlation float64, seed uint64) *market.Bars {
	r := num.NewRand(seed)
	c := &market.Bars{Symbol: symbol, Timeframe: b.Timeframe}
	price := b.Open[0]
	for i := range b.Time {
		own := 0.0
		if i > 0 {
			own = (b.Close[i]/b.Close[i-1] - 1) * correlation
		}
		open := price
		price *= 1 + own + 0.0012*math.Sqrt(1-correlation*correlation)*r.Norm()
		c.Append(market.Bar{Time: b.Time[i], Open: open, High: max(open, price), Low: min(open, price), Close: price, Volume: 1})
	}
	return c
}

// shop is an attic in which a name with a suffix is the market of the name.
type shop struct{ *attic }

func (s shop) Of(ctx context.Context, b *market.Bars) (ktrdr.Market, error) {
	if strings.HasPrefix(b.Symbol, "USDCHF") {
		return ktrdr.Market{}, ktrdr.Errorf(ktrdr.CodeConflict, "a person has to decide")
	}
	named := *b
	named.Symbol, _, _ = strings.Cut(b.Symbol, ".")
	return s.attic.Of(ctx, &named)
}

// alikeDesk makes a desk with EURUSD and symbols that are more or less like it.
func alikeDesk(t *testing.T) (*Desk, *attic, Spec, *strategy.Strategy) {
	t.Helper()
	d, a := newDesk(t, nil)
	d.cfg.Markets = shop{a}
	own := market.Synth(market.SynthConfig{Symbol: "EURUSD", Bars: 4000, Seed: 3})
	added(t, d.cfg.Library, own)
	for i, x := range []struct {
		symbol      string
		correlation float64
		from, to    int
	}{
		{"GBPUSD", 0.9, 500, 4000}, // is most alike, and begins later
		{"AUDUSD", 0.4, 0, 4000},
		{"USDJPY", -0.8, 0, 4000},    // the other way round
		{"GBPUSD.r", 0.9, 500, 4000}, // the same prices
		{"EURUSD.r", 1, 0, 4000},     // the finalist's own market
		{"NZDUSD", 0.95, 3000, 4000}, // few bars in common
		{"BTCUSD", 0.95, 0, 4000},    // another class
		{"USDCHF", 0.95, 0, 4000},    // its market is undecided
		{"SOMEOTHERTHING", 1, 0, 4000},
	} {
		added(t, d.cfg.Library, likened(own.Slice(x.from, x.to), x.symbol, x.correlation, uint64(10+i%3)))
	}
	p, err := d.cut(t.Context(), []string{"EURUSD"}, []market.Timeframe{market.H1}, nil, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	s, _, err := strategy.Parse([]byte(strings.ReplaceAll(oneSymbol, "SYMBOL", "EURUSD")), "one")
	if err != nil {
		t.Fatal(err)
	}
	return d, a, Spec{Bars: p.research, Searched: p.searched, Markets: p.markets}, s
}

const oneSymbol = `
name: one
version: "3.0"
training_data:
  symbols: {mode: single, symbol: SYMBOL}
  timeframes: {mode: single, timeframe: 1h}
  history_required: 50
indicators:
  rsi_8: {type: rsi, period: 8}
fuzzy_sets: {}
nn_inputs:
  - {raw_indicator: rsi_8, timeframes: all, normalization: zscore}
model: {type: mlp, architecture: {hidden_layers: [6], dropout: 0}}
decisions: {output_format: classification, confidence_threshold: 0.34}
training:
  labels: {source: triple_barrier, max_holding_period: 12}
  epochs: 3
  batch_size: 128
  learning_rate: 0.01
backtest: {commission: 0.00001, slippage: 0.00001, spread: 0.00002, position_size: 1}
`

func TestDesk_RelatedSymbolsAreTheMostAlikeOfTheSameKind(t *testing.T) {
	d, a, spec, s := alikeDesk(t)
	r, err := d.Related(t.Context(), &spec, s)
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, 0, len(r.Symbols))
	for _, x := range r.Symbols {
		names = append(names, x.Symbol)
	}
	if !slices.Equal(names, []string{"GBPUSD", "USDJPY"}) {
		t.Fatalf("related are %v", names)
	}
	if c := r.Symbols[1].Correlation; c > -0.5 || r.Symbols[1].Market != "mkt_USDJPY" {
		t.Errorf("USDJPY is %+v", r.Symbols[1])
	}
	if paid := r.Costs["USDJPY"]; *paid.Commission != instrument.MajorFX.Costs().Commission {
		t.Errorf("USDJPY pays %v", *paid.Commission)
	}
	want := []ktrdr.TrialMarket{{Market: "mkt_GBPUSD", Symbols: "GBPUSD", Timeframes: "1h"}, {
		Market: "mkt_USDJPY", Symbols: "USDJPY", Timeframes: "1h",
	}}
	if r.Trial == nil || r.Trial.Own != 1 || !slices.Equal(r.Trial.Markets, want) {
		t.Errorf("the trial is %+v", r.Trial)
	}
	again, err := d.Related(t.Context(), &spec, s)
	if err != nil || !slices.Equal(again.Symbols, r.Symbols) || !slices.Equal(again.Bars, r.Bars) {
		t.Errorf("asked again: %+v, %v", again.Symbols, err)
	}
	if a.from["mkt_GBPUSD"].IsZero() {
		t.Error("the holdout of GBPUSD has no start")
	}
}

// The holdout of a related symbol begins before or after that of the finalist: no bar of
// either is read.
func TestDesk_RelatedSymbolsShowNoHoldout(t *testing.T) {
	for name, shift := range map[string]int{"the finalist's begins first": 300, "the related symbol's begins first": -300} {
		t.Run(name, func(t *testing.T) {
			d, a, spec, s := alikeDesk(t)
			ends := spec.Searched[0].To
			a.from["mkt_GBPUSD"] = a.from["mkt_EURUSD"].Add(time.Duration(shift) * time.Hour)
			r, err := d.Related(t.Context(), &spec, s)
			if err != nil || len(r.Bars) == 0 {
				t.Fatal(r.Symbols, err)
			}
			b, err := market.Decode(a.blobs[r.Bars[0].SHA256])
			if err != nil || b.Symbol != "GBPUSD" {
				t.Fatal(b.Symbol, err)
			}
			last := time.Unix(market.H1.End(b.Time[b.Len()-1]), 0)
			if last.After(ends) || last.After(a.from["mkt_EURUSD"]) || last.After(a.from["mkt_GBPUSD"]) {
				t.Errorf("its last bar closes at %v; the research part ends at %v, and the holdouts begin at %v and %v", last, ends,
					a.from["mkt_EURUSD"], a.from["mkt_GBPUSD"])
			}
		})
	}
}

func TestDesk_ASymbolOfAnUnknownKindHasNoRelatedOnes(t *testing.T) {
	d, _, spec, s := alikeDesk(t)
	own := likened(market.Synth(market.SynthConfig{Symbol: "EURUSD", Bars: 4000, Seed: 3}), "SOMETHINGELSE", 0.9, 1)
	var file bytes.Buffer
	if err := market.Encode(&file, own); err != nil {
		t.Fatal(err)
	}
	all, err := d.relatives(t.Context(), &spec, s, own)
	if err != nil || len(all) > 0 {
		t.Errorf("%v, %v", all, err)
	}
}

// The related symbols stand in the spec of the examination and in the ledger, and are
// found once: a library that changes meanwhile changes nothing.
func TestRunController_PinsRelatedSymbolsOnce(t *testing.T) {
	asked := 0
	fee := 0.5
	d := twoFinalists(t, func(d *diary) {
		d.related = func(_ context.Context, spec *Spec, _ *strategy.Strategy) (Related, error) {
			asked++
			bars := spec.Bars[0]
			bars.Symbol = "GBPUSD"
			return Related{
				Symbols: []jobs.RelatedSymbol{{Symbol: "GBPUSD", Market: "mkt_b"}}, Bars: []jobs.Bars{bars},
				Costs: map[string]backtest.Overrides{"GBPUSD": {Commission: &fee}},
				Trial: &ktrdr.NewTrial{Own: 1, Markets: []ktrdr.TrialMarket{{Market: "mkt_b"}}},
			}, nil
		}
	})
	d.twice(t)
	if asked != 2 {
		t.Errorf("related symbols were asked for %d times, want once for each of two finalists", asked)
	}
	for i, op := range d.exams {
		spec, err := ktrdr.ParseSpec[jobs.ExaminationSpec](op.Spec)
		if err != nil {
			t.Fatal(err)
		}
		if len(spec.RelatedBars) != 1 || spec.Related[0].Symbol != "GBPUSD" || *spec.CostsOf("GBPUSD").Commission != fee {
			t.Errorf("examination %d: %+v", i, spec)
		}
		if d.trials[i] == nil || d.trials[i].Markets[0].Market != "mkt_b" {
			t.Errorf("examination %d counts %+v", i, d.trials[i])
		}
	}
	if d.confirmed == nil {
		t.Error("no look is made")
	}
}
