package train_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/metrics"
	"github.com/ktrdr/ktrdr/neural"
	"github.com/ktrdr/ktrdr/strategy"
	"github.com/ktrdr/ktrdr/train"
)

// lab describes a strategy; empty fields have a small default.
type lab struct {
	symbols    string // flow mapping
	timeframes string
	history    int
	span       string // start_date and end_date, as lines
	deployment string // flow mapping
	indicators string // further lines
	fuzzySets  string // further lines
	inputs     string // further lines
	model      string
	decisions  string
	labels     string
	training   string // further keys, as lines
	epochs     int
	batch      int
	backtest   string
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

func (l lab) yaml() string {
	return fmt.Sprintf(`
name: lab
version: "3.0"
training_data:
  symbols: %s
  timeframes: %s
  history_required: %d
%s
deployment: %s
indicators:
  rsi: {type: rsi, period: 7}
  roc: {type: roc, period: 5}
  adx: {type: adx, period: 7}
%s
fuzzy_sets:
  zone:
    indicator: rsi
    low: {type: sigmoid, parameters: [40, -0.2]}
    mid: {type: gaussian, parameters: [50, 10]}
    high: {type: sigmoid, parameters: [60, 0.2]}
%s
nn_inputs:
  - {fuzzy_set: zone, timeframes: all}
  - {raw_indicator: roc, timeframes: all, normalization: zscore}
  - {raw_indicator: adx.plus_di, timeframes: all, normalization: minmax}
%s
model: %s
decisions: %s
training:
  labels: %s
  epochs: %d
  batch_size: %d
  learning_rate: 0.01
%s
backtest: %s
`,
		or(l.symbols, "{mode: single, symbol: AAA}"), or(l.timeframes, `{mode: single, timeframe: "1h"}`),
		max(l.history, 50), l.span, or(l.deployment, "{target_symbols: {mode: universal}}"),
		l.indicators, l.fuzzySets, l.inputs,
		or(l.model, "{type: mlp, architecture: {hidden_layers: [8], dropout: 0.2}}"),
		or(l.decisions, "{output_format: classification, confidence_threshold: 0.4, filters: {min_signal_separation: 2}}"),
		or(l.labels, "{source: triple_barrier, max_holding_period: 10, compute_weights: true}"),
		max(l.epochs, 1), max(l.batch, 32), l.training, or(l.backtest, "{commission: 0.0001}"))
}

func (l lab) parse(t testing.TB) *strategy.Strategy {
	t.Helper()
	s, _, err := strategy.Parse([]byte(l.yaml()), "lab.yaml")
	if err != nil {
		t.Fatalf("the strategy of the test is not valid: %v\n%s", err, l.yaml())
	}
	return s
}

// synth is a symbol with a number of hourly bars, with the timeframes that it is asked
// for made from them.
func synth(t testing.TB, symbol string, bars int, seed uint64, edge float64, higher ...market.Timeframe) train.Series {
	t.Helper()
	b := market.Synth(market.SynthConfig{Symbol: symbol, Timeframe: market.H1, Bars: bars, Seed: seed, Edge: edge})
	d := train.Series{Symbol: symbol, Bars: []*market.Bars{b}}
	for _, tf := range higher {
		h, err := market.Resample(b, tf)
		if err != nil {
			t.Fatal(err)
		}
		d.Bars = append(d.Bars, h)
	}
	return d
}

func prepare(t testing.TB, s *strategy.Strategy, data ...train.Series) *train.Dataset {
	t.Helper()
	ds, _, err := train.Prepare(s, data, train.Options{})
	if err != nil {
		t.Fatalf("Prepare: %v", err)
	}
	return ds
}

func start(t testing.TB, ds *train.Dataset, s *strategy.Strategy, seed uint64) *train.Run {
	t.Helper()
	r, err := train.Start(ds, s, seed, neural.Best())
	if err != nil {
		t.Fatalf("Start: %v", err)
	}
	return r
}

var errStop = errors.New("stopped by the test")

// carry continues a run until it ends, or until a number of batches is done; a
// negative number is no limit. It says whether the run is done.
func carry(t testing.TB, r *train.Run, batches int) bool {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	if batches == 0 {
		cancel(errStop)
	}
	done := 0
	tick := func(train.Progress) {
		if done++; done == batches {
			cancel(errStop)
		}
	}
	for !r.Done() {
		err := r.Epoch(ctx, tick)
		if errors.Is(err, errStop) {
			return r.Done()
		}
		if err != nil {
			t.Fatalf("Epoch: %v", err)
		}
	}
	return true
}

func finish(t testing.TB, r *train.Run) (*train.TrainedModel, metrics.Metrics) {
	t.Helper()
	m, metrics, err := r.Finish()
	if err != nil {
		t.Fatalf("Finish: %v", err)
	}
	return m, metrics
}

func store(t testing.TB, r *train.Run) []byte {
	t.Helper()
	b, err := r.MarshalBinary()
	if err != nil {
		t.Fatalf("MarshalBinary: %v", err)
	}
	return b
}

func encode(t testing.TB, m *train.TrainedModel) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := m.Encode(&b); err != nil {
		t.Fatalf("Encode: %v", err)
	}
	return b.Bytes()
}

// model trains a small model on a market with an edge.
func model(t testing.TB, l lab, data ...train.Series) *train.TrainedModel {
	t.Helper()
	s := l.parse(t)
	r := start(t, prepare(t, s, data...), s, 1)
	carry(t, r, -1)
	m, _ := finish(t, r)
	return m
}

func contains(list []string, part string) bool {
	for _, s := range list {
		if strings.Contains(s, part) {
			return true
		}
	}
	return false
}
