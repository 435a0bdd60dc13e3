package examine_test

import (
	"testing"

	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/examine"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/neural"
	"github.com/ktrdr/ktrdr/num"
)

// echo is a market whose return repeats the sign of the return of one earlier bar, 25 bars
// before: only the difference of the two rates of change over 24 and 25 bars shows it.
func echo(bars int, seed uint64) *market.Bars {
	b := market.Synth(market.SynthConfig{Symbol: "EURUSD", Timeframe: market.H1, Bars: bars, Seed: seed})
	r := num.NewRand(seed)
	returns, price := make([]float64, bars), 1.0
	for i := range bars {
		returns[i] = 0.001 * r.Norm()
		if i >= 25 {
			edge := 0.0009
			if returns[i-25] < 0 {
				edge = -edge
			}
			returns[i] += edge
		}
		open := price
		price *= 1 + returns[i]
		b.Open[i], b.Close[i], b.High[i], b.Low[i] = open, price, max(open, price), min(open, price)
	}
	return b
}

const oneSetting = `
name: one_setting
version: "3.0"
training_data:
  symbols: {mode: single, symbol: EURUSD}
  timeframes: {mode: single, timeframe: 1h}
  history_required: 100
indicators:
  roc_24: {type: roc, period: 24}
  roc_25: {type: roc, period: 25}
fuzzy_sets: {}
nn_inputs:
  - {raw_indicator: roc_24, timeframes: all, normalization: zscore}
  - {raw_indicator: roc_25, timeframes: all, normalization: zscore}
model: {type: mlp, architecture: {hidden_layers: [16], dropout: 0}}
decisions: {output_format: classification, confidence_threshold: 0.34}
training:
  labels: {source: triple_barrier, max_holding_period: 1}
  epochs: 40
  batch_size: 64
  learning_rate: 0.01
backtest: {commission: 0, slippage: 0.00002, spread: 0, position_size: 1, flip: true, exit_after: 1}
`

func examined(t *testing.T, text string, bars *market.Bars) examine.Result {
	t.Helper()
	r, err := examine.Run(t.Context(), examine.Finalist{
		Strategy: parsed(t, text), Bars: series(bars), Seed: 5, Kernel: neural.Best(),
		Workers: 2,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range r.Perturbed {
		t.Logf("%-32s %6.2f kept %5.2f %d trades %s", p.Name, show(p.Sharpe), show(p.Kept), p.Trades, p.Undefined)
	}
	t.Logf("walk-forward %.2f: %s", show(r.WalkForward.Sharpe), r.Summary)
	return r
}

func TestRun_AnEdgeThatLivesOnOneSettingIsFragileAndARobustOneIsNot(t *testing.T) {
	r := examined(t, oneSetting, echo(5000, 3))
	if r.WalkForward.Sharpe == nil || *r.WalkForward.Sharpe < 2 {
		t.Errorf("the walk-forward has a Sharpe ratio of %v: the network did not find the edge", show(r.WalkForward.Sharpe))
	}
	if r.State != evidence.Fragile || !r.State.Refuses() {
		t.Errorf("the edge that lives on one setting is %s: %s", r.State, r.Summary)
	}
	bars := market.Synth(market.SynthConfig{Symbol: "EURUSD", Timeframe: market.H1, Bars: 5000, Seed: 7, Edge: 0.6})
	if r := examined(t, reversal, bars); r.State != evidence.Robust {
		t.Errorf("the robust edge is %s: %s", r.State, r.Summary)
	}
}
