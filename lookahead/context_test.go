package lookahead

import (
	"testing"

	"github.com/ktrdr/ktrdr/strategy"
)

// A strategy that reads the hour and another symbol uses no future price, and every
// planted error is found in it too.
func TestCheck_CoversContextSymbolsAndTheClock(t *testing.T) {
	s, _, err := strategy.Parse([]byte(`
name: reads_another
training_data: {symbols: {symbol: EURUSD}, context_symbols: [GBPUSD], timeframes: {timeframe: 1h}, history_required: 50}
indicators:
  move: {type: roc, period: 1, symbol: GBPUSD}
  mean: {type: distancefromma, period: 10}
  clock: {type: hour}
fuzzy_sets: {}
nn_inputs:
  - {raw_indicator: move, normalization: zscore}
  - {raw_indicator: mean, normalization: zscore}
  - {raw_indicator: clock.sin}
model: {type: mlp, architecture: {hidden_layers: [8]}}
decisions: {allow_short_from_flat: true, confidence_threshold: 0.34}
training: {labels: {source: context, horizon: 2, bullish_threshold: 0.0005, bearish_threshold: -0.0005}, epochs: 2}
`), "test.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s = Shortened(s)
	data, err := Synthetic(s, 1500, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, cheat := range append([]string{""}, Cheats...) {
		r, err := Check(t.Context(), s, Options{Data: data, Made: true, Seed: 1, Planted: cheat})
		if err != nil {
			t.Fatal(err)
		}
		if r.Found != (cheat != "") {
			t.Errorf("planted %q: found %v by %+v", cheat, r.Found, r.Checks)
		}
	}
}
