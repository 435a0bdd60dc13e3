package strategy_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ktrdr/ktrdr/strategy"
)

// roundTrip demands that what is written reads back to the same strategy, in
// both notations, without warnings, and is written the same again.
func roundTrip(t interface{ Fatalf(string, ...any) }, s *strategy.Strategy) {
	for name, text := range map[string][]byte{"YAML": s.YAML(), "JSON": s.JSON()} {
		again, warnings, err := strategy.Parse(text, name)
		if err != nil {
			t.Fatalf("the %s cannot be read back: %v\n%s", name, err, text)
		}
		if !reflect.DeepEqual(s, again) {
			t.Fatalf("the %s reads back to\n%+v\nnot to\n%+v\n%s", name, again, s, text)
		}
		if again.Hash() != s.Hash() || !bytes.Equal(again.YAML(), s.YAML()) {
			t.Fatalf("written again, the strategy is another")
		}
		for _, w := range warnings {
			if strings.Contains(w.Message, "no effect") {
				t.Fatalf("the %s holds what has no effect: %v", name, w)
			}
		}
	}
}

func TestYAML_ReadsBackToTheSameStrategy(t *testing.T) {
	for _, e := range strategy.Examples() {
		roundTrip(t, parse(t, string(e.Source)))
	}
	for _, file := range []string{base, "testdata/bench_tb.yaml", "testdata/bench_zz.yaml"} {
		roundTrip(t, parse(t, source(t, file)))
	}
	rapid.Check(t, func(rt *rapid.T) {
		text := anyStrategy(rt)
		s, _, err := strategy.Parse([]byte(text), "any")
		if err != nil {
			rt.Fatalf("%v\n%s", err, text)
		}
		roundTrip(rt, s)
	})
}

// The hash is of these bytes: how texts are written may become faster, and never
// other.
func TestJSON_WritesTextsAsTheStandardDoes(t *testing.T) {
	s := *parse(t, source(t, base))
	texts := []string{"plain words", "<markup> & more", "naïve", "\u2028", "😀", "\xff", "a\nb\tc"}
	for c := range rune(256) {
		texts = append(texts, "a"+string(c)+"b")
	}
	for _, text := range texts {
		var want bytes.Buffer
		enc := json.NewEncoder(&want)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(text); err != nil {
			t.Fatal(err)
		}
		s.Description = text
		if member := `"description":` + strings.TrimSpace(want.String()) + `,`; !strings.Contains(string(s.JSON()), member) {
			t.Errorf("%q is not written as %s", text, member)
		}
	}
}

// anyStrategy writes a strategy that is right, with one of every choice.
func anyStrategy(rt *rapid.T) string {
	pick := func(name string, of ...string) string { return rapid.SampledFrom(of).Draw(rt, name) }
	regression := rapid.Bool().Draw(rt, "regression")
	labels := pick("labels", "zigzag, zigzag_threshold: 0.013", "context, horizon: 3", "regime, macro_atr_mult: 4.5",
		"triple_barrier, vol_method: ewm, compute_weights: true", "triple_barrier, cusum_threshold: 0",
		"triple_barrier, cusum_threshold: 0.002, max_holding_period: 7", "triple_barrier, cusum_threshold: 0, cusum_multiplier: 1.25")
	decisions := pick("decisions", "{}", "{confidence_threshold: 0.25, position_awareness: true}", "{filters: {min_signal_separation: 0.35}}")
	loss := pick("loss", "", "loss: cross_entropy", "loss: focal", "loss: focal\n  focal_gamma: 0", "class_weights: none")
	if regression {
		labels = pick("horizon", "forward_return", "forward_return, horizon: 1")
		decisions = pick("costs", "{cost_model: {}}", "{cost_model: {round_trip_cost: 1e-7}, allow_short_from_flat: false}")
		loss = pick("regression loss", "", "loss: mse", "loss: huber", "huber_delta: 0.123456789012345")
	}
	description, err := json.Marshal(rapid.StringN(0, 20, 60).Draw(rt, "description"))
	if err != nil {
		rt.Fatal(err)
	}
	return fmt.Sprintf(`name: any-%s
description: %s
training_data:
  symbols: {%s}
  timeframes: {timeframes: [4h, 1h]}
  %s
indicators:
  %s: {type: %s}
  adx: {type: ADX, period: %d}
fuzzy_sets:
  z: {indicator: adx, b: {type: sigmoid, parameters: [%v, -1]}, a: [0, %v, 1e6]}
nn_inputs:
  - {raw_indicator: %s, normalization: %s}
  - {fuzzy_set: z, timeframes: %s}
model: {%s}
decisions: %s
deployment: {%s}
training:
  labels: {source: %s}
  %s
  lr_scheduler: {%s}
  early_stopping: {%s}
  data_split: {%s}
  learning_rate: %v
  seed: %d
backtest: {%s}
`,
		pick("name", "a", "1", "true"), description,
		pick("symbols", "symbol: EURUSD", "symbols: [A, B]", "list: ['007', null.x, NO]"),
		pick("dates", "history_required: 60", "start_date: 2020-01-01", "end_date: 2020-12-31",
			"date_range: {start: 2020-01-01, end: 2020-06-30T12:30:00+02:00}"),
		pick("id", "'true'", "\"15\"", "x-1", "_"), pick("type", "rsi", "sma, source: hl2", "vwap, use_typical_price: false", "ema"),
		rapid.IntRange(2, 40).Draw(rt, "period"),
		rapid.Float64Range(-1e18, 1e18).Draw(rt, "centre"), rapid.Float64Range(0, 1e6).Draw(rt, "peak"),
		pick("raw", "adx.minus_di", "adx"), pick("norm", "zscore", "minmax", "none"), pick("timeframes", "all", "[1h]", "[1h, 4h]"),
		pick("model", "type: mlp, architecture: {hidden_layers: []}", "type: mlp, architecture: {hidden_layers: [3], activation: tanh}",
			"type: lstm, architecture: {sequence_length: 5}",
			"type: gru, architecture: {sequence_length: 2, hidden_size: 3, num_layers: 1, dropout: 0}"),
		decisions,
		pick("deployment", "", "target_symbols: {mode: training_only}", "target_timeframes: {timeframe: 1h}",
			"target_symbols: {mode: group_restricted, restrictions: {excluded_symbols: [X]}}"),
		labels, loss,
		pick("schedule", "type: none", "type: step, step_size: 4", "type: exponential", "type: cosine, min_lr: 1e-12",
			"type: plateau, factor: 0.3, warmup_epochs: 2"),
		pick("stopping", "", "enabled: false", "patience: 3, monitor: val_accuracy"),
		pick("split", "", "train: 0.8, validation: 0.1", "train: 0.6, validation: 0.2, test: 0.2"),
		rapid.Float64Range(1e-12, 10).Draw(rt, "rate"), rapid.IntRange(0, 1<<52).Draw(rt, "seed"),
		pick("backtest", "", "stop_loss: 0.01, size_mode: risk, position_size: 0.02", "size_mode: units, position_size: 1000, lot_size: 100",
			"spread: 1e-4, flip: true"),
	)
}

func TestHash_DependsOnMeaningAlone(t *testing.T) {
	want := parse(t, source(t, base)).Hash()
	for name, change := range map[string][]string{
		"a comment":                  {"name: rsi_adx_demo", "name: rsi_adx_demo # the one"},
		"another description":        {"Mean reversion", "Reversion"},
		"a default spelled out":      {"loss: focal", "loss: focal\n  optimizer: adam"},
		"a number written otherwise": {"learning_rate: 1e-3", "learning_rate: 0.00100"},
		"an alias of the indicator":  {"type: rsi", "type: RSI"},
		"the first output by name":   {"[1h]", "all"},
		"indicators in other order": {
			"  rsi_14: {type: rsi, period: 14, source: close}\n  adx_14: {type: adx, period: 14}",
			"  adx_14: {type: adx}\n  rsi_14: {type: rsi}",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := parse(t, changed(t, change...)).Hash(); got != want {
				t.Errorf("the hash changed")
			}
		})
	}
	for name, change := range map[string][]string{
		"a parameter": {"period: 14, source", "period: 15, source"},
		"the order of the inputs": {
			"  - {fuzzy_set: rsi_zone, timeframes: all}\n  - {fuzzy_set: trend, timeframes: [1h]}",
			"  - {fuzzy_set: trend, timeframes: [1h]}\n  - {fuzzy_set: rsi_zone, timeframes: all}",
		},
		"the order of members": {
			"    low: [0, 25, 40]\n    mid: {type: gaussian, parameters: [50, 10]}",
			"    mid: {type: gaussian, parameters: [50, 10]}\n    low: [0, 25, 40]",
		},
		"a cost":  {"training:", "backtest: {commission: 0}\ntraining:"},
		"a label": {"vol_span: 50", "vol_span: 51"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := parse(t, changed(t, change...)).Hash(); got == want {
				t.Errorf("the hash is the same")
			}
		})
	}
}

// The hash is stored with models and checkpoints: it must not change with the
// program, unless what strategies mean does.
func TestHash_IsPinned(t *testing.T) {
	const want = "de5b017b1ee38bbd91a70989d4dc969418361e2795a037050f77307bfd1caab4"
	if got := fmt.Sprintf("%x", parse(t, source(t, base)).Hash()); got != want {
		t.Errorf("hash %s, want %s", got, want)
	}
}

func FuzzParse(f *testing.F) {
	for _, e := range strategy.Examples() {
		f.Add(string(e.Source))
	}
	for _, file := range []string{base, "testdata/bench_tb.yaml", "testdata/bench_zz.yaml"} {
		f.Add(source(f, file))
	}
	f.Add("a: [1, {b: 2}]\n? x\n: - - 3\n")
	f.Fuzz(func(t *testing.T, src string) {
		s, warnings, err := strategy.Parse([]byte(src), "fuzz.yaml")
		for _, w := range warnings {
			if w.Line < 1 || w.Column < 1 || w.Message == "" {
				t.Fatalf("warning without a place: %+v", w)
			}
		}
		if err == nil {
			roundTrip(t, s)
			return
		}
		problems := err.(strategy.Problems) //nolint:errorlint // the type is the promise
		for _, p := range problems {
			if p.Line < 1 || p.Column < 1 || p.Message == "" {
				t.Fatalf("problem without a place: %+v", p)
			}
		}
	})
}
