// Package strategytest holds strategies for other packages' tests.
package strategytest

import "strings"

// Small is a strategy that trains in a moment: dropout, early stopping and a
// schedule are on, so that all of them must survive a stop. Change holds pairs of
// what to replace and by what.
func Small(change ...string) string {
	text := `
name: small
version: "3.0"
training_data:
  symbols: {mode: single, symbol: EURUSD}
  timeframes: {mode: single, timeframe: 1h}
  history_required: 60
indicators:
  rsi_14: {type: rsi, period: 14}
  atr_14: {type: atr, period: 14}
fuzzy_sets:
  zone:
    indicator: rsi_14
    low: {type: gaussian, parameters: [25, 15]}
    middle: {type: gaussian, parameters: [50, 15]}
    high: {type: gaussian, parameters: [75, 15]}
nn_inputs:
  - {fuzzy_set: zone, timeframes: all}
  - {raw_indicator: atr_14, timeframes: all, normalization: zscore}
model:
  type: mlp
  architecture: {hidden_layers: [12, 6], activation: tanh, dropout: 0.2}
decisions: {output_format: classification, confidence_threshold: 0.34, allow_short_from_flat: true}
training:
  labels: {source: triple_barrier, pt_multiplier: 2.0, sl_multiplier: 2.0, max_holding_period: 12, vol_span: 20, vol_method: atr}
  epochs: 24
  batch_size: 64
  learning_rate: 0.003
  lr_scheduler: {type: plateau, factor: 0.5, patience: 2}
  early_stopping: {patience: 12}
  data_split: {train: 0.6, validation: 0.2, test: 0.2}
`
	return strings.NewReplacer(change...).Replace(text)
}
