package compute

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/backtest"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/library"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/metrics"
	"github.com/ktrdr/ktrdr/neural"
	"github.com/ktrdr/ktrdr/strategy"
	"github.com/ktrdr/ktrdr/train"
	"github.com/ktrdr/ktrdr/worker"
)

// cut stops the first attempts, each after some more steps, and wants every
// attempt to begin where the one before it was stopped: an attempt that
// restarted would end with the same result, too.
func cut(t *testing.T, steps []int64, by int64, run func(watch func(int64)) worker.Runner) attempts {
	last := int64(0)
	return func(n int, stop func(error)) worker.Runner {
		seen := int64(0)
		return run(func(step int64) {
			if seen++; seen == 1 && n > 1 && step > last+by || step <= last {
				t.Errorf("attempt %d is at step %d, the one before it was stopped at %d", n, step, last)
			}
			last = step
			if n <= len(steps) && seen == steps[n-1] {
				stop(ktrdr.ErrShutdown)
			}
		})
	}
}

func draw(rng *rand.Rand, most int64) []int64 {
	steps := make([]int64, 1+rng.IntN(4))
	for i := range steps {
		steps[i] = 1 + rng.Int64N(most)
	}
	return steps
}

func TestTraining_InterruptedAnywhereEqualsUninterrupted(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a seeded test, not a secret
	for name, text := range map[string]string{
		"mlp": small(),
		"gru": small("type: mlp", "type: gru", "{hidden_layers: [12, 6], activation: tanh, dropout: 0.2}",
			"{sequence_length: 6, hidden_size: 8, num_layers: 1, dropout: 0.2}", "epochs: 24", "epochs: 8"),
	} {
		t.Run(name, func(t *testing.T) {
			o := newOffice(t, 2500, "EURUSD")
			order := o.train(jobs.TrainingRequest{StrategyYAML: text})
			undisturbed := o.run(order, once(TrainingRunner(best)))
			want := resultOf[jobs.TrainingResult](t, undisturbed)
			for range 6 {
				steps := draw(rng, 60)
				op := o.run(order, cut(t, steps, 1, func(watch func(int64)) worker.Runner { return trainingRunner{best, watch} }))
				if op.Attempts == 1 {
					t.Fatalf("stopped after %v batches, but it never began again", steps)
				}
				if got := resultOf[jobs.TrainingResult](t, op); got.ResultHash != want.ResultHash || !bytes.Equal(op.Result, undisturbed.Result) {
					t.Errorf("stopped after %v batches: result hash %s, undisturbed %s", steps, got.ResultHash, want.ResultHash)
				}
			}
		})
	}
}

func TestTraining_AnyKernelResumesWithTheSameBits(t *testing.T) {
	o := newOffice(t, 1500, "EURUSD")
	order := o.train(jobs.TrainingRequest{StrategyYAML: small("epochs: 24", "epochs: 6")})
	spec, err := ktrdr.ParseSpec[jobs.TrainingSpec](order.Operation.Spec)
	if err != nil || spec.KernelClass != best.Class() {
		t.Fatalf("spec asks for %q (%v), want the class of this machine, %s", spec.KernelClass, err, best.Class())
	}
	want := resultOf[jobs.TrainingResult](t, o.run(order, once(TrainingRunner(best))))
	kernels := neural.Kernels()
	op := o.run(order, func(n int, stop func(error)) worker.Runner {
		left := 12
		r := trainingRunner{kernel: kernels[len(kernels)-1-(n-1)%len(kernels)]}
		r.watch = func(int64) {
			if left--; left == 0 && n <= len(kernels) {
				stop(ktrdr.ErrShutdown)
			}
		}
		return r
	})
	got := resultOf[jobs.TrainingResult](t, op)
	if op.Attempts <= len(kernels) {
		t.Errorf("%d attempts, want one for each of %d kernels and another", op.Attempts, len(kernels))
	}
	if got.ResultHash != want.ResultHash {
		t.Errorf("over the kernels %v: result hash %s, with the best alone %s", kernels, got.ResultHash, want.ResultHash)
	}
}

func TestRunners_StoppedBeforeTheyBeginCanResume(t *testing.T) {
	o := newOffice(t, 1500, "EURUSD")
	late := func(r worker.Runner) attempts {
		return func(n int, stop func(error)) worker.Runner {
			if n == 1 {
				stop(ktrdr.ErrShutdown)
			}
			return r
		}
	}
	order := o.train(jobs.TrainingRequest{StrategyYAML: small("epochs: 24", "epochs: 2")})
	one, two := o.run(order, once(TrainingRunner(best))), o.run(order, late(TrainingRunner(best)))
	if two.Attempts != 2 || resultOf[jobs.TrainingResult](t, one).ResultHash != resultOf[jobs.TrainingResult](t, two).ResultHash {
		t.Errorf("a training stopped at once ended after %d attempts with %s", two.Attempts, two.Result)
	}
	order = o.backtest(jobs.BacktestRequest{Model: string(one.ID)})
	one, two = o.run(order, once(BacktestRunner(best))), o.run(order, late(BacktestRunner(best)))
	if two.Attempts != 2 || resultOf[jobs.BacktestResult](t, one).ResultHash != resultOf[jobs.BacktestResult](t, two).ResultHash {
		t.Errorf("a backtest stopped at once ended after %d attempts with %s", two.Attempts, two.Result)
	}
}

func TestTraining_TheResultSaysWhatItIsMadeOf(t *testing.T) {
	o := newOffice(t, 2500, "EURUSD")
	seed := uint64(9)
	one := o.run(o.train(jobs.TrainingRequest{StrategyYAML: small()}), once(TrainingRunner(best)))
	other := o.run(o.train(jobs.TrainingRequest{StrategyYAML: small(), Seed: &seed}), once(TrainingRunner(best)))
	r := resultOf[jobs.TrainingResult](t, one)
	if resultOf[jobs.TrainingResult](t, other).ResultHash == r.ResultHash {
		t.Error("another seed has the same result hash")
	}
	if r.Test == nil || r.Training.EpochsTrained == 0 || len(r.Data.Sources) != 1 || r.Seed != defaultSeed || r.Summary == "" {
		t.Errorf("result %s lacks figures, data, seed or summary", one.Result)
	}
	history := o.b.History(one.ID)
	final := history[len(history)-1]
	if final.Type != ktrdr.CheckpointFinal || len(final.Artifacts) != 1 || final.Artifacts[0] != r.Model || r.Model.Name != jobs.ModelFile {
		t.Errorf("final checkpoint %+v, want the model %+v", final, r.Model)
	}
	m, err := train.Decode(bytes.NewReader(o.b.Blobs()[r.Model.SHA256]))
	if err != nil || m.Strategy.Name != "small" {
		t.Errorf("the model file: %v", err)
	}
	for _, word := range []string{string(one.ID), "attempt", "worker"} {
		if strings.Contains(string(one.Result), word) {
			t.Errorf("the result tells %q, which another run would not", word)
		}
	}
}

func TestTraining_TellsLossRateAndWhenItWillBeDone(t *testing.T) {
	o := newOffice(t, 2500, "EURUSD")
	var told []ktrdr.Progress
	op := o.run(o.train(jobs.TrainingRequest{StrategyYAML: small()}), once(TrainingRunner(best)))
	for _, c := range o.b.Calls("Progress") {
		told = append(told, c.Arg.(ktrdr.ProgressReport).Progress)
	}
	told = append(told, op.Progress)
	last := told[len(told)-1]
	var f jobs.ProgressContext
	if err := json.Unmarshal(last.Context, &f); err != nil {
		t.Fatalf("context %s: %v", last.Context, err)
	}
	if f.Loss == nil || f.ValLoss == nil || f.RowsPerSecond <= 0 || f.Epoch == 0 || !strings.HasPrefix(last.CurrentStep, "epoch ") ||
		last.StepsTotal == 0 {
		t.Errorf("progress %+v with %s, want epoch, losses and rate", last, last.Context)
	}
}

func TestTraining_ACheckpointOfAnotherSpecIsRefused(t *testing.T) {
	o := newOffice(t, 1500, "EURUSD")
	order := o.train(jobs.TrainingRequest{StrategyYAML: small()})
	seed := uint64(5)
	other := o.train(jobs.TrainingRequest{StrategyYAML: small(), Seed: &seed})
	op := o.run(order, func(n int, stop func(error)) worker.Runner {
		if n > 1 {
			return trainingRunner{kernel: best}
		}
		return trainingRunner{best, func(s int64) {
			if s == 40 {
				o.b.SetSpec(o.now, other.Operation.Spec)
				stop(ktrdr.ErrShutdown)
			}
		}}
	})
	if op.Status != ktrdr.Failed || op.Error.Code != ktrdr.CodeMismatch || !strings.Contains(op.ErrorMessage, "another seed") {
		t.Errorf("ended %s: %s, want a mismatch that names the seed", op.Status, op.ErrorMessage)
	}
}

func TestTraining_WhatIsImportedLaterChangesNothing(t *testing.T) {
	o := newOffice(t, 1500, "EURUSD")
	order := o.train(jobs.TrainingRequest{StrategyYAML: small("epochs: 24", "epochs: 3")})
	want := resultOf[jobs.TrainingResult](t, o.run(order, once(TrainingRunner(best))))
	o.synth("EURUSD", market.H1, 1800, 77)
	if got := resultOf[jobs.TrainingResult](t, o.run(order, once(TrainingRunner(best)))); got.ResultHash != want.ResultHash {
		t.Errorf("result hash %s after an import, %s before", got.ResultHash, want.ResultHash)
	}
}

// trained orders and runs a training, and returns its id.
func (o *office) trained(text string) ktrdr.OperationID {
	o.t.Helper()
	op := o.run(o.train(jobs.TrainingRequest{StrategyYAML: text}), once(TrainingRunner(best)))
	resultOf[jobs.TrainingResult](o.t, op)
	return op.ID
}

func (o *office) backtest(r jobs.BacktestRequest) jobs.Accepted {
	o.t.Helper()
	order, err := o.desk.Backtest(o.t.Context(), r)
	if err != nil {
		o.t.Fatal(err)
	}
	return order
}

func TestBacktest_InterruptedAnywhereEqualsUninterrupted(t *testing.T) {
	o := newOffice(t, 4000, "EURUSD")
	order := o.backtest(jobs.BacktestRequest{Model: string(o.trained(small("epochs: 24", "epochs: 5"))), Scope: "all"})
	undisturbed := o.run(order, once(BacktestRunner(best)))
	want := resultOf[jobs.BacktestResult](t, undisturbed)
	if want.Trades == 0 {
		t.Fatal("the model trades nothing: an interruption could not matter")
	}
	rng := rand.New(rand.NewPCG(3, 4)) //nolint:gosec // a seeded test, not a secret
	open := 0
	for range 8 {
		steps := draw(rng, 300)
		op := o.run(order, cut(t, steps, 7, func(watch func(int64)) worker.Runner { return backtestRunner{best, 7, watch} }))
		if got := resultOf[jobs.BacktestResult](t, op); got.ResultHash != want.ResultHash || !bytes.Equal(op.Result, undisturbed.Result) {
			t.Errorf("stopped after %v chunks: result hash %s, undisturbed %s", steps, got.ResultHash, want.ResultHash)
		}
		for _, c := range o.b.History(op.ID) {
			for _, a := range c.Artifacts {
				var st backtest.RunState
				if a.Name == backtestState && st.UnmarshalBinary(o.b.Blobs()[a.SHA256]) == nil && st.Holding.Units != 0 {
					open++
				}
			}
		}
	}
	if open == 0 {
		t.Error("no interruption found a position open")
	}
}

func TestBacktest_AnyKernelResumesWithTheSameBits(t *testing.T) {
	o := newOffice(t, 1500, "EURUSD")
	order := o.backtest(jobs.BacktestRequest{Model: string(o.trained(small("epochs: 24", "epochs: 3"))), Scope: "all"})
	want := resultOf[jobs.BacktestResult](t, o.run(order, once(BacktestRunner(best))))
	kernels := neural.Kernels()
	op := o.run(order, func(n int, stop func(error)) worker.Runner {
		left := 20
		return backtestRunner{kernels[(n-1)%len(kernels)], 10, func(int64) {
			if left--; left == 0 && n <= len(kernels) {
				stop(ktrdr.ErrShutdown)
			}
		}}
	})
	if got := resultOf[jobs.BacktestResult](t, op); op.Attempts <= len(kernels) || got.ResultHash != want.ResultHash {
		t.Errorf("over the kernels %v in %d attempts: result hash %s, with the best alone %s", kernels, op.Attempts,
			got.ResultHash, want.ResultHash)
	}
}

func TestRunners_DamagedInputsAreFound(t *testing.T) {
	o := newOffice(t, 1500, "EURUSD")
	training := o.train(jobs.TrainingRequest{StrategyYAML: small("epochs: 24", "epochs: 2")})
	o.run(training, once(TrainingRunner(best)))
	testing := o.backtest(jobs.BacktestRequest{StrategyName: "small"})
	bars, err := ktrdr.ParseSpec[jobs.TrainingSpec](training.Operation.Spec)
	if err != nil {
		t.Fatal(err)
	}
	model, err := ktrdr.ParseSpec[jobs.BacktestSpec](testing.Operation.Spec)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		blob  ktrdr.Hash
		order jobs.Accepted
		run   worker.Runner
	}{
		"bars":  {bars.Bars[0].SHA256, training, TrainingRunner(best)},
		"model": {model.Model.SHA256, testing, BacktestRunner(best)},
	} {
		good := o.b.Blobs()[c.blob]
		bad := bytes.Clone(good)
		bad[len(bad)-9] ^= 1 // in the last numbers, which no header vouches for
		o.b.SetBlob(c.blob, bad)
		if op := o.run(c.order, once(c.run)); op.Status != ktrdr.Failed || op.Error.Code != ktrdr.CodeCorrupt {
			t.Errorf("%s: ended %s (%s), want CodeCorrupt", name, op.Status, op.ErrorMessage)
		}
		if _, err := o.desk.Backtest(t.Context(), jobs.BacktestRequest{StrategyName: "small"}); name == "model" &&
			ktrdr.CodeOf(err) != ktrdr.CodeCorrupt {
			t.Errorf("the desk says %v of a damaged model, want CodeCorrupt", err)
		}
		o.b.SetBlob(c.blob, good)
	}
}

func TestBacktest_IsOutOfSampleUnlessAskedOtherwise(t *testing.T) {
	o := newOffice(t, 3000, "EURUSD")
	model := string(o.trained(small("epochs: 24", "epochs: 3")))
	test := resultOf[jobs.BacktestResult](t, o.run(o.backtest(jobs.BacktestRequest{Model: model}), once(BacktestRunner(best))))
	order := o.backtest(jobs.BacktestRequest{Model: model, Scope: "all"})
	all := resultOf[jobs.BacktestResult](t, o.run(order, once(BacktestRunner(best))))
	if !test.Sample.OutOfSample || test.Sample.Seen != 0 || test.Start.Before(test.Sample.UnseenFrom) || len(test.Warnings) != 0 {
		t.Errorf("by default: %+v from %s, want nothing that the model has seen", test.Sample, test.Start)
	}
	if all.Sample.OutOfSample || all.Sample.Seen == 0 || all.Sample.Unseen != test.Sample.Unseen || len(all.Warnings) == 0 ||
		!strings.Contains(all.Summary, "NOT after the bars it was trained on") || len(order.Warnings) == 0 {
		t.Errorf("scope all: %+v, %q, want it to say that training is in it", all.Sample, all.Summary)
	}
	if test.Curve != test.Sample.Unseen || all.Curve != all.Sample.Seen+all.Sample.Unseen {
		t.Errorf("curves of %d and %d bars, want those that were traded", test.Curve, all.Curve)
	}
}

func TestUnseen_WithoutATestPartIsAfterAllThatWasGiven(t *testing.T) {
	m := &train.TrainedModel{Strategy: &strategy.Strategy{}, Info: train.Info{
		Split: metrics.Split{Validation: 50, Test: 101, End: 101}, Sources: []metrics.Source{{Timeframe: market.H1, Last: 36000}},
	}}
	if got := unseen(m).Unix(); got != 39600 {
		t.Errorf("unseen from %d, want 39600, where the last bar closes", got)
	}
	m.Info.Split.Test = 90
	if got := unseen(m).Unix(); got != 90 {
		t.Errorf("unseen from %d, want 90, where the test part begins", got)
	}
}

func TestBacktest_CountsTheBarsThatItTrades(t *testing.T) {
	o := newOffice(t, 1500, "EURUSD")
	model := o.trained(small("epochs: 24", "epochs: 1"))
	r := resultOf[jobs.BacktestResult](t, o.run(o.backtest(jobs.BacktestRequest{Model: string(model)}), once(BacktestRunner(best))))
	if got := r.Holds.Undefined + r.Holds.Unsure + r.Holds.Answered; got > r.Curve || r.Curve >= 1000 {
		t.Errorf("%d bars were held of %d that were traded: those of the training count", got, r.Curve)
	}
}

func TestBacktestSpec_SpanIsTheRequestsThenTheStrategys(t *testing.T) {
	at := func(day int) time.Time { return time.Date(2020, 1, day, 0, 0, 0, 0, time.UTC) }
	m := &train.TrainedModel{Strategy: &strategy.Strategy{}, Info: train.Info{Split: metrics.Split{Test: at(10).Unix(), End: at(30).Unix()}}}
	for name, c := range map[string]struct{ own, asked, want strategy.Span }{
		"nothing is said":        {want: strategy.Span{Start: at(10)}},
		"the strategy says both": {own: strategy.Span{Start: at(12), End: at(20)}, want: strategy.Span{Start: at(12), End: at(20)}},
		"the request says both": {
			own: strategy.Span{Start: at(12), End: at(20)}, asked: strategy.Span{Start: at(11), End: at(25)},
			want: strategy.Span{Start: at(11), End: at(25)},
		},
		"a start that was trained": {own: strategy.Span{Start: at(2)}, want: strategy.Span{Start: at(10)}},
	} {
		t.Run(name, func(t *testing.T) {
			m.Strategy.Backtest.Span = c.own
			if got := tradedSpan(jobs.BacktestSpec{Scope: jobs.ScopeTest, Start: c.asked.Start, End: c.asked.End}, m); got != c.want {
				t.Errorf("span %v, want %v", got, c.want)
			}
		})
	}
}

func TestBacktest_SaysWhyItDidNotTrade(t *testing.T) {
	o := newOffice(t, 3000, "EURUSD")
	model := o.trained(small("epochs: 24", "epochs: 2", "confidence_threshold: 0.34", "confidence_threshold: 0.99"))
	r := resultOf[jobs.BacktestResult](t, o.run(o.backtest(jobs.BacktestRequest{Model: string(model)}), once(BacktestRunner(best))))
	if r.Trades != 0 || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "there is no trade") || r.Holds.Unsure == 0 {
		t.Errorf("%d trades, warnings %q, holds %+v; want none, and why", r.Trades, r.Warnings, r.Holds)
	}
}

func TestBacktest_CostsOfTheRequestWin(t *testing.T) {
	o := newOffice(t, 3000, "EURUSD")
	model := string(o.trained(small("epochs: 24", "epochs: 3")))
	dear := 0.01
	cheap := resultOf[jobs.BacktestResult](t, o.run(o.backtest(jobs.BacktestRequest{Model: model}), once(BacktestRunner(best))))
	costly := resultOf[jobs.BacktestResult](
		t,
		o.run(o.backtest(jobs.BacktestRequest{Model: model, Commission: &dear}), once(BacktestRunner(best))),
	)
	if costly.Config.Commission != dear || costly.ResultHash == cheap.ResultHash || costly.Metrics.CostTotal <= cheap.Metrics.CostTotal {
		t.Errorf("commission %v, costs %v against %v, want the request's", costly.Config.Commission, costly.Metrics.CostTotal,
			cheap.Metrics.CostTotal)
	}
}

func TestColumns_ShowTheSameCurveOfTheSameResult(t *testing.T) {
	o := newOffice(t, 3000, "EURUSD")
	order := o.backtest(jobs.BacktestRequest{Model: string(o.trained(small("epochs: 24", "epochs: 3")))})
	var lows []float64
	for range 2 {
		op := o.run(order, once(BacktestRunner(best)))
		r := resultOf[jobs.BacktestResult](t, op)
		c, err := o.desk.Columns(t.Context(), op, jobs.Page{Curve: true, Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		if c.Equity != nil || c.More {
			t.Errorf("%d bars, more: %v; want the curve alone, whole", len(c.Equity), c.More)
		}
		if got, want := *c.Curve.Sharpe.Estimate, *r.Metrics.Sharpe; math.Abs(got-want) > 1e-9 {
			t.Errorf("ratio %v, want the result's, %v", got, want)
		}
		lows = append(lows, *c.Curve.Sharpe.Low)
	}
	if lows[0] != lows[1] {
		t.Errorf("the interval begins at %v, and at %v in another run of the same request", lows[0], lows[1])
	}
}

func TestColumns_PagesAddUpToWhatWasStored(t *testing.T) {
	o := newOffice(t, 3000, "EURUSD")
	op := o.run(o.backtest(jobs.BacktestRequest{Model: string(o.trained(small("epochs: 24", "epochs: 3")))}), once(BacktestRunner(best)))
	r := resultOf[jobs.BacktestResult](t, op)
	var got jobs.Columns
	for p := (jobs.Page{Trades: true, Equity: true, Positions: true, Limit: 100}); ; p.From += p.Limit {
		c, err := o.desk.Columns(t.Context(), op, p)
		if err != nil {
			t.Fatal(err)
		}
		got.Trades = append(got.Trades, c.Trades...)
		got.Equity, got.Positions = append(got.Equity, c.Equity...), append(got.Positions, c.Positions...)
		if !c.More {
			break
		}
	}
	if len(got.Trades) != r.Trades || len(got.Equity) != r.Curve || len(got.Positions) != r.Curve {
		t.Errorf("%d trades and %d bars, want %d and %d", len(got.Trades), len(got.Equity), r.Trades, r.Curve)
	}
	if first, last := got.Equity[0], got.Equity[len(got.Equity)-1]; !first.Time.Equal(r.Start) || last.Value != r.Metrics.FinalEquity {
		t.Errorf("the curve goes from %s to %v, want %s to %v", first.Time, last.Value, r.Start, r.Metrics.FinalEquity)
	}
	if got.Curve != nil {
		t.Error("what the curve shows was computed although the page does not ask for it")
	}
	if _, err := o.desk.Columns(t.Context(), o.ended[1], jobs.Page{Trades: true, Limit: 1}); ktrdr.CodeOf(err) != ktrdr.CodeInvalid {
		t.Errorf("columns of a training: %v, want CodeInvalid", err)
	}
}

func TestLoad_ImportsAndTwiceIsOnce(t *testing.T) {
	o := newOffice(t, 0)
	o.file("imports/eur.csv", "time,open,high,low,close,volume\n2024-01-01T00:00:00Z,1,2,0.5,1.5,10\n2024-01-01T01:00:00Z,1.5,2,1,1.2,10\n"+
		"2024-01-01T02:00:00Z,1.2,2,1,1.2,10\n")
	order, err := o.desk.DataLoad(t.Context(), jobs.DataLoadRequest{Path: "imports/eur.csv", Symbol: "EURUSD", Timeframe: "1h"})
	if err != nil {
		t.Fatalf("order %+v, %v, want one for a backend's own worker", order.Operation, err)
	}
	markets := library.NewMarkets(o.store, o.blobs)
	one := o.run(order, once(LoadRunner(o.library, markets, 0, nil)))
	two := o.run(order, once(LoadRunner(o.library, markets, 0, nil)))
	r := resultOf[jobs.LoadResult](t, one)
	if r.Entry.Bars != 3 || !r.Entry.Current || r.Hash == (ktrdr.Hash{}) || !bytes.Equal(one.Result, two.Result) {
		t.Errorf("results %s and %s, want three bars both times", one.Result, two.Result)
	}
	if _, err := o.library.Get(t.Context(), "EURUSD", market.H1); err != nil {
		t.Error(err)
	}
	o.file("imports/bad.csv", "time,open,high,low,close,volume\n2024-01-01T00:00:00Z,1,2,0.5,-1,10\n")
	if order, err = o.desk.DataLoad(
		t.Context(),
		jobs.DataLoadRequest{Path: "imports/bad.csv", Symbol: "EURUSD", Timeframe: "1h"},
	); err != nil {
		t.Fatal(err)
	}
	op := o.run(order, once(LoadRunner(o.library, markets, 0, nil)))
	if op.Status != ktrdr.Failed || !strings.Contains(op.ErrorMessage, "bad.csv:2") {
		t.Errorf("a broken file ended %s: %s, want it refused with file and line", op.Status, op.ErrorMessage)
	}
}

// twice is an import that is run again after its file was lost.
type twice struct {
	worker.Runner
	first *json.RawMessage
}

func (r twice) Run(ctx context.Context, t *worker.Task) (json.RawMessage, error) {
	result, err := r.Runner.Run(ctx, t)
	if err != nil {
		return nil, err
	}
	*r.first = result
	spec, err := ktrdr.ParseSpec[jobs.LoadSpec](t.Spec)
	if err != nil {
		return nil, err
	}
	lost := *t
	lost.Spec = bytes.ReplaceAll(t.Spec, []byte(spec.Source.SHA256.String()), []byte(ktrdr.Hash{1}.String()))
	return r.Runner.Run(ctx, &lost)
}

func TestLoad_NeedsItsFileOnlyUntilItsBarsAreStored(t *testing.T) {
	o := newOffice(t, 0)
	o.file("imports/eur.csv", "time,open,high,low,close,volume\n2024-01-01T00:00:00Z,1,2,0.5,1.5,10\n2024-01-01T01:00:00Z,1.5,2,1,1.2,10\n")
	order, err := o.desk.DataLoad(t.Context(), jobs.DataLoadRequest{Path: "imports/eur.csv", Symbol: "EURUSD", Timeframe: "1h"})
	if err != nil {
		t.Fatal(err)
	}
	var first json.RawMessage
	op := o.run(order, once(twice{LoadRunner(o.library, library.NewMarkets(o.store, o.blobs), 0, nil), &first}))
	if op.Status != ktrdr.Completed || !bytes.Equal(op.Result, first) || len(first) == 0 {
		t.Errorf("ended %s with %s (%s), want COMPLETED with the first result %s", op.Status, op.Result, op.ErrorMessage, first)
	}
}
