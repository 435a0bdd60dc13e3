package examine_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr/examine"
	"github.com/ktrdr/ktrdr/strategy"
)

const fuzzyStrategy = `
name: fuzzy
version: "3.0"
training_data:
  symbols: {mode: single, symbol: EURUSD}
  timeframes: {mode: single, timeframe: 1h}
  history_required: 80
indicators:
  rsi_8: {type: rsi, period: 8}
  roc_5: {type: roc, period: 5}
  roc_12: {type: roc, period: 12}
  roc_16: {type: roc, period: 16}
  roc_24: {type: roc, period: 24}
fuzzy_sets:
  rsi_sets:
    indicator: rsi_8
    low: {type: triangular, parameters: [0, 20, 40]}
    high: {type: trapezoidal, parameters: [50, 70, 90, 100]}
  roc_sets:
    indicator: roc_5
    falls: {type: gaussian, parameters: [-1, 0.5]}
    rises: {type: sigmoid, parameters: [1, 4]}
nn_inputs:
  - {fuzzy_set: rsi_sets, timeframes: all}
  - {fuzzy_set: roc_sets, timeframes: all}
  - {raw_indicator: roc_12, timeframes: all, normalization: zscore}
  - {raw_indicator: roc_16, timeframes: all, normalization: zscore}
  - {raw_indicator: roc_24, timeframes: all, normalization: zscore}
model: {type: mlp, architecture: {hidden_layers: [16], dropout: 0}}
decisions: {output_format: classification, confidence_threshold: 0.41, position_awareness: true, filters: {min_signal_separation: 4}}
training:
  labels: {source: triple_barrier, max_holding_period: 8}
  epochs: 10
  batch_size: 256
  learning_rate: 0.004
backtest: {position_size: 1, stop_loss: 0.01, exit_after: 8}
`

func names(list []examine.Neighbour) (all []string) {
	for _, n := range list {
		all = append(all, n.Name+" | "+n.Setting)
	}
	return all
}

// Windows and thresholds take turns, so that five windows leave room for both variables.
func TestNeighbours_ChangeWindowsAndThresholdsOfFuzzySets(t *testing.T) {
	list := examine.Neighbours(parsed(t, fuzzyStrategy))
	want := []string{
		"roc_12.period 12 -> 8 | roc_12.period 12", "roc_12.period 12 -> 16 | roc_12.period 12",
		"roc_sets thresholds x0.8 | roc_sets thresholds as they are", "roc_sets thresholds x1.25 | roc_sets thresholds as they are",
		"roc_16.period 16 -> 12 | roc_16.period 16", "roc_16.period 16 -> 24 | roc_16.period 16",
		"rsi_sets thresholds x0.8 | rsi_sets thresholds as they are", "rsi_sets thresholds x1.25 | rsi_sets thresholds as they are",
		"roc_24.period 24 -> 16 | roc_24.period 24", "roc_24.period 24 -> 36 | roc_24.period 24",
	}
	if got := names(list); !slices.Equal(got, want) {
		t.Fatalf("the neighbours are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	checkSets(t, list[3].Strategy, map[string][]float64{ // around 0
		"roc_sets.falls": {-1.25, 0.625}, "roc_sets.rises": {1.25, 3.2}, "rsi_sets.low": {0, 20, 40},
	})
	checkSets(t, list[6].Strategy, map[string][]float64{ // around 50
		"rsi_sets.low": {10, 26, 42}, "rsi_sets.high": {50, 66, 82, 90}, "roc_sets.falls": {-1, 0.5},
	})
}

func checkSets(t *testing.T, s *strategy.Strategy, want map[string][]float64) {
	t.Helper()
	for _, set := range s.FuzzySets {
		for _, m := range set.Members {
			name := set.ID + "." + m.Name
			for i, p := range m.Membership.Params() {
				if w, ok := want[name]; ok && math.Abs(p-w[i]) > 1e-9 {
					t.Errorf("%s has the parameters %v, want %v", name, m.Membership.Params(), w)
					break
				}
			}
		}
	}
}

func TestDecisions_ChangeWhatTheNetworksDoNotRead(t *testing.T) {
	list := examine.Decisions(parsed(t, fuzzyStrategy))
	want := []string{
		"confidence_threshold 0.41 -> 0.3908 | confidence_threshold 0.41", "confidence_threshold 0.41 -> 0.4292 | confidence_threshold 0.41",
		"exit_after 8 -> 5 | exit_after 8", "exit_after 8 -> 12 | exit_after 8",
		"min_signal_separation in bars 4 -> 3 | min_signal_separation in bars 4",
		"min_signal_separation in bars 4 -> 5 | min_signal_separation in bars 4",
		"stop_loss 0.01 -> 0.008 | stop_loss 0.01", "stop_loss 0.01 -> 0.0125 | stop_loss 0.01",
	}
	if got := names(list); !slices.Equal(got, want) {
		t.Errorf("the decisions are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	regression := strings.NewReplacer(
		"output_format: classification, confidence_threshold: 0.41", "output_format: regression, cost_model: {min_edge_multiplier: 1.5}",
		"labels: {source: triple_barrier, max_holding_period: 8}", "labels: {source: forward_return, horizon: 8}",
		", stop_loss: 0.01, exit_after: 8", "",
	).Replace(fuzzyStrategy)
	got := names(examine.Decisions(parsed(t, regression)))
	if len(got) != 4 || got[0] != "min_edge_multiplier 1.5 -> 1.2 | min_edge_multiplier 1.5" {
		t.Errorf("of a regression they are %q", got)
	}
}
