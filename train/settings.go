package train

import (
	"github.com/ktrdr/ktrdr/neural"
	"github.com/ktrdr/ktrdr/strategy"
)

func network(s *strategy.Strategy, inputs int) neural.Spec {
	m := s.Model
	return neural.Spec{
		Type: string(m.Type), Inputs: inputs, Outputs: max(len(s.Training.Labels.Classes()), 1),
		Hidden: m.Hidden, Activation: string(m.Activation), Dropout: m.Dropout,
		SequenceLength: m.SequenceLength, HiddenSize: m.HiddenSize, Layers: m.Layers,
	}
}

// loss is what the strategy makes small. Its delta is a return, and is counted
// in the unit of the targets as they are.
func loss(s *strategy.Strategy, ds *Dataset) neural.LossSpec {
	t := s.Training
	l := neural.LossSpec{Name: string(t.Loss), Gamma: t.FocalGamma, Delta: t.HuberDelta, ClassWeights: ds.ClassWeights}
	if ds.Unit != 0 {
		l.Delta /= float64(ds.Unit)
	}
	return l
}

func training(s *strategy.Strategy, ds *Dataset, seed uint64) neural.TrainSpec {
	t := s.Training
	schedule := neural.ScheduleSpec{
		Name: string(t.Scheduler.Type), Gamma: t.Scheduler.Gamma, StepSize: t.Scheduler.StepSize,
		MinRate: t.Scheduler.MinRate, Patience: t.Scheduler.Patience, Threshold: t.Scheduler.Threshold,
		Warmup: t.Scheduler.Warmup,
	}
	if t.Scheduler.Type == strategy.Cosine {
		schedule.Epochs = max(t.Epochs-t.Scheduler.Warmup, 1)
	}
	return neural.TrainSpec{
		Loss: loss(s, ds),
		Optim: neural.OptimSpec{
			Name: string(t.Optimizer), LearningRate: t.LearningRate, WeightDecay: t.WeightDecay,
			Clip: t.GradientClip, Schedule: schedule,
		},
		Batch: t.BatchSize,
		Seed:  seed,
	}
}

// classWeights are those that the strategy asks for: none, its own, or the
// inverse of how often each class occurs in training. The latter sum to the
// number of classes; a class that does not occur has none.
func classWeights(t strategy.Training, counts []int) []float32 {
	switch t.WeightMode {
	case strategy.NoWeights:
		return nil
	case strategy.SetWeights:
		w := make([]float32, len(t.ClassWeights))
		for i, x := range t.ClassWeights {
			w[i] = float32(x)
		}
		return w
	case strategy.AutoWeights:
	}
	sum := 0.0
	for _, n := range counts {
		if n > 0 {
			sum += 1 / float64(n)
		}
	}
	w := make([]float32, len(counts))
	for i, n := range counts {
		if n > 0 {
			w[i] = float32(float64(len(counts)) / (float64(n) * sum))
		}
	}
	return w
}
