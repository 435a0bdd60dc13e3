package train_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/neural"
	"github.com/ktrdr/ktrdr/train"
)

// TestFinish_RestoresTheTrueBestWeights trains until the validation gets worse,
// and again for just as many epochs as the best one: the weights must be those.
func TestFinish_RestoresTheTrueBestWeights(t *testing.T) {
	for name, stopping := range map[string]string{
		"with early stopping":    "  early_stopping: {patience: 3, min_delta: 0.0}",
		"without early stopping": "",
		"watching the accuracy":  "  early_stopping: {patience: 4, min_delta: 0.0, monitor: val_accuracy}",
	} {
		t.Run(name, func(t *testing.T) {
			l := lab{epochs: 12, training: stopping, model: "{type: mlp, architecture: {hidden_layers: [32], dropout: 0}}"}
			data := synth(t, "AAA", 700, 3, 0)
			s := l.parse(t)
			r := start(t, prepare(t, s, data), s, 4)
			carry(t, r, -1)
			m, metrics := finish(t, r)
			tm := metrics.Training
			if !tm.RestoredBest || tm.BestEpoch >= tm.EpochsTrained {
				t.Fatalf("best epoch %d of %d: the test needs a run that gets worse", tm.BestEpoch, tm.EpochsTrained)
			}
			if name != "watching the accuracy" && tm.History.ValLoss[tm.BestEpoch-1] != slices.Min(tm.History.ValLoss) {
				t.Errorf("epoch %d is called best; validation losses are %v", tm.BestEpoch, tm.History.ValLoss)
			}
			if name == "with early stopping" && (!tm.StoppedEarly || tm.EpochsTrained != tm.BestEpoch+3) {
				t.Errorf("stopped early: %v after %d epochs, best %d, patience 3", tm.StoppedEarly, tm.EpochsTrained, tm.BestEpoch)
			}

			shorter := l
			shorter.epochs, shorter.training = tm.BestEpoch, ""
			s = shorter.parse(t)
			r = start(t, prepare(t, s, data), s, 4)
			carry(t, r, -1)
			if tail := r.History(); len(tail.ValLoss) != tm.BestEpoch {
				t.Fatalf("%d epochs, want %d", len(tail.ValLoss), tm.BestEpoch)
			}
			state, err := train.Restore(prepare(t, s, data), s, 4, neural.Best(), store(t, r))
			if err != nil {
				t.Fatal(err)
			}
			want := weightsOfLastEpoch(t, state)
			for i, p := range m.Net.Params() {
				if !slices.Equal(p.Data, want[i].Data) {
					t.Fatalf("parameter %s is not that of epoch %d", p.Name, tm.BestEpoch)
				}
			}
		})
	}
}

// weightsOfLastEpoch are those of a run whose last epoch was its best.
func weightsOfLastEpoch(t *testing.T, r *train.Run) []neural.Param {
	t.Helper()
	m, metrics := finish(t, r)
	if metrics.Training.RestoredBest {
		t.Fatalf("the best epoch is %d of %d, want the last", metrics.Training.BestEpoch, metrics.Training.EpochsTrained)
	}
	return m.Net.Params()
}

func TestFinish_WithoutValidationSaysSo(t *testing.T) {
	s := lab{epochs: 2, training: "  data_split: {train: 0.8, validation: 0, test: 0.2}"}.parse(t)
	r := start(t, prepare(t, s, synth(t, "AAA", 700, 3, 0)), s, 1)
	carry(t, r, -1)
	_, m := finish(t, r)
	if !contains(m.Warnings, "no validation part") || m.Training.RestoredBest || m.Training.BestEpoch != 2 {
		t.Errorf("warnings %v, best epoch %d", m.Warnings, m.Training.BestEpoch)
	}
	if m.Training.FinalValLoss != nil || len(m.Training.History.ValLoss) != 0 {
		t.Error("there are validation figures without validation samples")
	}
}

// TestFinish_ReportsACollapsedModel lets a network without a hint learn labels
// of which nine in ten are one.
func TestFinish_ReportsACollapsedModel(t *testing.T) {
	s := lab{
		epochs: 3, labels: "{source: context, horizon: 5, bullish_threshold: 0.008, bearish_threshold: -0.008}",
		training: "  class_weights: none",
	}.parse(t)
	r := start(t, prepare(t, s, synth(t, "AAA", 2000, 3, 0)), s, 1)
	carry(t, r, -1)
	_, m := finish(t, r)
	if !m.Test.Collapsed || !m.Training.ValCollapsed {
		t.Fatalf("not reported: answers on the validation part %v", m.Training.ValPredicted)
	}
	if !contains(m.Warnings, "the model has collapsed: on the test part") || !contains(m.Warnings, "is not above the") {
		t.Errorf("warnings %v", m.Warnings)
	}
	if got, want := m.Test.Accuracy, m.Test.BaselineAccuracy; got != want {
		t.Errorf("accuracy %v of a model that always says NEUTRAL, baseline %v", got, want)
	}
}

// TestFinish_FindsThePlantedEdge demands more than chance where there is more,
// and no value where there is no answer.
func TestFinish_FindsThePlantedEdge(t *testing.T) {
	l := lab{
		epochs: 8, batch: 64, labels: "{source: forward_return, horizon: 1}",
		decisions:  "{output_format: regression, cost_model: {round_trip_cost: 0.001, min_edge_multiplier: 1}}",
		training:   "  loss: huber\n  huber_delta: 0.001",
		indicators: "  stretch: {type: distancefromma, period: 48}",
		inputs:     "  - {raw_indicator: stretch, timeframes: all, normalization: zscore}",
	}
	if got := signAbove(t, l, 1); got < 0.03 {
		t.Errorf("with an edge the sign is right only %.3f above the baseline", got)
	}
	if got := signAbove(t, l, 0); math.Abs(got) > 0.02 {
		t.Errorf("without an edge the sign is right %.3f off the baseline", got)
	}
}

func TestEpoch_NamesWhereTheLossIsNoNumber(t *testing.T) {
	s := lab{epochs: 2, batch: 50}.parse(t)
	ds := prepare(t, s, synth(t, "AAA", 700, 3, 0))
	r := start(t, ds, s, 1)
	carry(t, r, 3)
	for i := range ds.Table.X {
		ds.Table.X[i] = float32(math.NaN())
	}
	err := r.Epoch(t.Context(), nil)
	if _, ok := errors.AsType[*neural.DivergedError](err); !ok || !strings.Contains(err.Error(), "epoch 1, batch 4 of ") {
		t.Fatalf("err = %v, want a DivergedError in epoch 1, batch 4", err)
	}
}

func TestEpoch_ReturnsTheCauseBetweenBatches(t *testing.T) {
	s := lab{epochs: 2}.parse(t)
	r := start(t, prepare(t, s, synth(t, "AAA", 700, 3, 0)), s, 1)
	ctx, cancel := context.WithCancelCause(t.Context())
	var last train.Progress
	err := r.Epoch(ctx, func(p train.Progress) {
		if last = p; p.Batch == 5 {
			cancel(errStop)
		}
	})
	if !errors.Is(err, errStop) || last.Batch != 5 || r.Progress().Batch != 5 || r.Epochs() != 0 {
		t.Errorf("err = %v at batch %d, the run stands at %+v", err, last.Batch, r.Progress())
	}
}

func TestStart_RefusesEarlyStoppingWithoutValidation(t *testing.T) {
	s := lab{}.parse(t)
	ds := prepare(t, s, synth(t, "AAA", 700, 3, 0))
	if _, err := train.Start(ds, lab{epochs: 7}.parse(t), 1, neural.Best()); err == nil || !strings.Contains(err.Error(), "another strategy") {
		t.Errorf("err = %v, want one about another strategy", err)
	}
	ds.Validation = nil
	s.Training.EarlyStopping.Enabled = true
	if _, err := train.Start(ds, s, 1, neural.Best()); err == nil || !strings.Contains(err.Error(), "no validation samples") {
		t.Errorf("err = %v, want one about validation", err)
	}
}

func TestMetrics_AreJSON(t *testing.T) {
	s := lab{epochs: 2}.parse(t)
	r := start(t, prepare(t, s, synth(t, "AAA", 700, 3, 0)), s, 1)
	carry(t, r, -1)
	_, m := finish(t, r)
	b, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"epochs_trained", "final_train_loss", "final_train_accuracy", "best_train_accuracy", "final_val_loss",
		"final_val_accuracy", "best_val_accuracy", "train_loss", "val_accuracy", "test_accuracy", "test_loss",
		"precision", "recall", "f1_score", "parameters_count", "trainable_parameters", "architecture", "data_summary",
	} {
		if !strings.Contains(string(b), `"`+name+`":`) {
			t.Errorf("no %s in %s", name, b)
		}
	}
}

// signAbove is how far the share of right signs on the test part is above the
// baseline.
func signAbove(t *testing.T, l lab, edge float64) float64 {
	t.Helper()
	const seeds = 8 // one start may be unlucky
	s := l.parse(t)
	ds := prepare(t, s, synth(t, "AAA", 20_000, 3, edge))
	above := 0.0
	for seed := range uint64(seeds) {
		r := start(t, ds, s, 1+seed)
		carry(t, r, -1)
		_, m := finish(t, r)
		above += (m.Test.Accuracy - m.Test.BaselineAccuracy) / seeds
	}
	t.Logf("edge %v: the sign is right %.4f above the baseline, mean of %d seeds", edge, above, seeds)
	return above
}

// TestFinish_LearnsSmallAndLargeReturns has a market that swings regularly, so
// that the next return is known, by a little and by a lot.
func TestFinish_LearnsSmallAndLargeReturns(t *testing.T) {
	s := lab{
		epochs: 30, batch: 32, labels: "{source: forward_return, horizon: 1}",
		model:     "{type: mlp, architecture: {hidden_layers: [8], dropout: 0}}",
		decisions: "{output_format: regression, cost_model: {round_trip_cost: 0.001, min_edge_multiplier: 1}}",
		training:  "  loss: mse\n  weight_decay: 0.0001\n  early_stopping: {enabled: true, patience: 10, min_delta: 0.001}",
	}.parse(t)
	for _, swing := range []float64{1e-6, 0.3} {
		b := market.Synth(market.SynthConfig{Symbol: "AAA", Timeframe: market.H1, Bars: 900})
		for i := range b.Close {
			price := 100 * (1 + swing*math.Sin(float64(i)*0.7))
			b.Open[i], b.High[i], b.Low[i], b.Close[i] = price, price*(1+swing/10), price*(1-swing/10), price
		}
		r := start(t, prepare(t, s, train.Series{Symbol: "AAA", Bars: []*market.Bars{b}}), s, 1)
		carry(t, r, -1)
		_, m := finish(t, r)
		if m.Test.R2 == nil {
			t.Fatalf("with swings of %v there is no R2", swing)
		}
		if *m.Test.R2 < 0.8 {
			t.Errorf("with swings of %v R2 is %v, want above 0.8", swing, *m.Test.R2)
		}
	}
}
