package examine_test

import (
	"testing"

	"github.com/ktrdr/ktrdr/examine"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/neural"
	"github.com/ktrdr/ktrdr/strategy"
	"github.com/ktrdr/ktrdr/train"
)

const reversal = `
name: reversal
version: "3.0"
training_data:
  symbols: {mode: single, symbol: EURUSD}
  timeframes: {mode: single, timeframe: 1h}
  history_required: 80
indicators:
  rsi_8: {type: rsi, period: 8}
  roc_5: {type: roc, period: 5}
fuzzy_sets: {}
nn_inputs:
  - {raw_indicator: rsi_8, timeframes: all, normalization: zscore}
  - {raw_indicator: roc_5, timeframes: all, normalization: zscore}
model: {type: mlp, architecture: {hidden_layers: [16], dropout: 0.1}}
decisions: {output_format: classification, confidence_threshold: 0.38}
training:
  labels: {source: triple_barrier, max_holding_period: 8}
  epochs: 10
  batch_size: 256
  learning_rate: 0.004
backtest: {commission: 0.00005, slippage: 0.00005, spread: 0.0001, position_size: 1}
`

func parsed(t testing.TB, text string) *strategy.Strategy {
	t.Helper()
	s, _, err := strategy.Parse([]byte(text), "test")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func series(b *market.Bars) []train.Series {
	return []train.Series{{Symbol: b.Symbol, Bars: []*market.Bars{b}}}
}

// BenchmarkExamination is an examination of 20,000 bars on one core: 215 trainings with
// two indicators.
func BenchmarkExamination(b *testing.B) {
	bars := market.Synth(market.SynthConfig{Symbol: "EURUSD", Timeframe: market.H1, Bars: 20_000, Seed: 7, Edge: 0.2})
	for b.Loop() {
		r, err := examine.Run(b.Context(), examine.Finalist{Strategy: parsed(b, reversal), Bars: series(bars), Seed: 1, Kernel: neural.Best()})
		if err != nil {
			b.Fatal(err)
		}
		b.Log(r.Summary, show(r.Score), show(r.WalkForward.Sharpe))
		for _, p := range r.Paths {
			b.Log(show(p.Sharpe), p.Trades)
		}
		for _, p := range r.Perturbed {
			b.Log(p.Name, show(p.Sharpe), show(p.Kept), p.Undefined)
		}
		for _, s := range r.Seeds {
			b.Log(show(s))
		}
	}
}

func show(x *float64) float64 {
	if x == nil {
		return -999
	}
	return *x
}
