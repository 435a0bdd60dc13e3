package train

import (
	"fmt"

	"github.com/ktrdr/ktrdr/metrics"
	"github.com/ktrdr/ktrdr/neural"
)

// Finish makes the model of a run that is done and judges it on the test part. The
// model has the weights of the epoch that did best on the validation part; without
// one, those of the last epoch, and the metrics warn of it. The run stays as it is.
func (r *Run) Finish() (*TrainedModel, metrics.Metrics, error) {
	if !r.Done() {
		return nil, metrics.Metrics{}, fmt.Errorf("the training has %d of %d epochs: finish it when it is done",
			r.epoch, r.strategy.Training.Epochs)
	}
	net, err := r.chosen()
	if err != nil {
		return nil, metrics.Metrics{}, err
	}
	m := metrics.Metrics{Training: r.trainingMetrics(), Model: modelInfo(net), Data: r.ds.summary(), Warnings: []string{}}
	if err := r.judgeValidation(net, &m); err != nil {
		return nil, metrics.Metrics{}, err
	}
	if err := r.judgeTest(net, &m); err != nil {
		return nil, metrics.Metrics{}, err
	}
	model := &TrainedModel{
		Net: net, Strategy: r.strategy,
		Info: Info{
			Numerics: versions(), KernelClass: r.Kernel().Class(), Seed: r.seed,
			Features: r.ds.Features, Norm: r.ds.Norm, Unit: r.ds.Unit, Sources: r.ds.Sources(), Context: r.ds.context, Split: r.ds.Split, Metrics: m,
		},
	}
	return model, m, nil
}

// chosen is a network of its own with the weights that the model gets.
func (r *Run) chosen() (*neural.Net, error) {
	trained := r.trainer.Net()
	weights := r.best.weights
	if weights == nil {
		weights = trained.Params()
	}
	net, err := neural.New(trained.Spec(), 0, trained.Kernel())
	if err != nil {
		return nil, err
	}
	return net, net.SetParams(weights)
}

func (r *Run) trainingMetrics() metrics.TrainingMetrics {
	h := clone(r.history)
	for _, column := range columns(&h) {
		if *column == nil {
			*column = []float64{} // an empty list, not null, on the wire
		}
	}
	t := metrics.TrainingMetrics{
		EpochsTrained: r.epoch, FinalTrainLoss: *lastOf(h.TrainLoss),
		FinalTrainAccuracy: *lastOf(h.TrainAccuracy), BestTrainAccuracy: *bestOf(h.TrainAccuracy),
		FinalValLoss: lastOf(h.ValLoss), FinalValAccuracy: lastOf(h.ValAccuracy),
		BestValAccuracy: bestOf(h.ValAccuracy), BestEpoch: r.epoch, StoppedEarly: r.stopped, History: h,
	}
	if r.best.epoch > 0 {
		t.BestEpoch = r.best.epoch
		t.RestoredBest = r.best.epoch < r.epoch
		t.Monitor = string(monitor(r.strategy.Training))
	}
	return t
}

func modelInfo(net *neural.Net) metrics.ModelInfo {
	return metrics.ModelInfo{
		Architecture: net.Spec().String(), ParametersCount: net.ParamCount(), TrainableParameters: net.ParamCount(),
		KernelClass: net.Kernel().Class(),
	}
}

func (r *Run) answers(net *neural.Net, rows []int32) ([]float32, error) {
	out := make([]float32, len(rows)*net.Spec().Outputs)
	return out, neural.NewPredictor(net, 0).Predict(&r.ds.Table, rows, out)
}

func (r *Run) judgeValidation(net *neural.Net, m *metrics.Metrics) error {
	if len(r.ds.Validation) == 0 {
		m.Warnings = append(m.Warnings,
			"the split has no validation part: the model has the weights of the last epoch, whether or not they are the best")
		return nil
	}
	outputs, err := r.answers(net, r.ds.Validation)
	if err != nil {
		return fmt.Errorf("judge the validation part: %w", err)
	}
	shares := answerShares(outputs, len(r.ds.Classes))
	m.Training.ValPredicted, m.Training.ValCollapsed = shares, collapsed(shares)
	r.warnCollapsed(m, "validation", shares)
	return nil
}

func (r *Run) judgeTest(net *neural.Net, m *metrics.Metrics) error {
	if len(r.ds.Test) == 0 {
		m.Warnings = append(m.Warnings, "the split has no test part: nothing is known about how the model does on bars it has not seen")
		return nil
	}
	outputs, err := r.answers(net, r.ds.Test)
	if err != nil {
		return fmt.Errorf("judge the test part: %w", err)
	}
	if r.ds.Classes != nil {
		m.Test = scoreClasses(r.ds, r.ds.Test, outputs)
	} else {
		m.Test = scoreRegression(r.ds, r.ds.Test, outputs, loss(r.strategy, r.ds))
	}
	r.warnCollapsed(m, "test", answerShares(outputs, len(r.ds.Classes)))
	if m.Test.Accuracy <= m.Test.BaselineAccuracy {
		m.Warnings = append(m.Warnings,
			fmt.Sprintf("the test accuracy %.4f is not above the %.4f that always giving the most frequent answer of training reaches",
				m.Test.Accuracy, m.Test.BaselineAccuracy))
	} else if most := majority(m.Test); m.Test.Accuracy <= most {
		m.Warnings = append(m.Warnings,
			fmt.Sprintf("the test accuracy %.4f is not above the %.4f that always giving the most frequent answer of the test part itself would "+
				"reach", m.Test.Accuracy, most))
	}
	return nil
}

// warnCollapsed says so when almost all answers are one.
func (r *Run) warnCollapsed(m *metrics.Metrics, part string, shares []float64) {
	if !collapsed(shares) {
		return
	}
	names := r.ds.Classes
	if names == nil {
		names = []string{"above 0", "not above 0"}
	}
	for i, share := range shares {
		if share > collapsedAt {
			m.Warnings = append(m.Warnings, fmt.Sprintf("the model has collapsed: on the %s part %.1f %% of its answers are %s", part,
				100*share, names[i]))
		}
	}
}
