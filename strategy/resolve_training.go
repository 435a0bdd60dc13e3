package strategy

import (
	"cmp"
	"math"
	"slices"

	"github.com/ktrdr/ktrdr/internal/text"
)

func (s *Strategy) resolveLabels(r *reader) {
	l := &s.Training.Labels
	b := &l.TripleBarrier
	const path = "training.labels."
	if b.Events != nil {
		switch {
		case !r.given(path + "cusum_threshold"):
			r.problemOn(path+"cusum_multiplier", "it needs cusum_threshold: 0, which takes the threshold from the volatility")
		case b.Events.Threshold > 0:
			r.idle(path+"cusum_multiplier", "it is used only with cusum_threshold: 0")
			b.Events.Multiplier = 0
		case !r.given(path + "cusum_multiplier"):
			b.Events.Multiplier = 0.5
		case b.Events.Multiplier == 0:
			r.problemOn(path+"cusum_multiplier", "it must be above 0")
		}
	}
	if l.Source == Regime && l.Regime.Macro <= l.Regime.Micro {
		r.problemOn(path+"macro_atr_mult", "it is %s; it must be above micro_atr_mult, %s", format(l.Regime.Macro), format(l.Regime.Micro))
	}
}

// resolveDecisions makes the answer's format and the labels agree.
func (s *Strategy) resolveDecisions(r *reader) {
	d := &s.Decisions
	if s.Training.Labels.Source == "" {
		return // nothing can agree with labels that are not there
	}
	right := Classification
	if s.Training.Labels.Classes() == nil {
		right = Regression
	}
	if d.Output = cmp.Or(d.Output, right); d.Output != right {
		r.problemOn("decisions.output_format", "it is %s, and %s labels are a %s", d.Output, s.Training.Labels.Source, right)
		return
	}
	if right == Classification {
		r.idle("decisions.cost_model", "it is used only with output_format: regression")
		d.Cost = CostModel{}
		return
	}
	r.idle("decisions.confidence_threshold", "a regression acts on cost_model; it is used only with output_format: classification")
	d.Confidence = 0
	if !r.given("decisions.cost_model") {
		r.problemOn("decisions.cost_model",
			"it is missing; a regression needs it, as in cost_model: {round_trip_cost: 0.003, min_edge_multiplier: 1.5}")
	}
	if !r.given("decisions.allow_short_from_flat") {
		d.AllowShort = true
	}
}

func (s *Strategy) resolveTraining(r *reader) {
	t := &s.Training
	t.resolveLoss(r)
	t.resolveWeights(r)
	t.resolveSplit(r)
	if !t.EarlyStopping.Enabled {
		for _, key := range []string{"patience", "min_delta", "monitor"} {
			r.idle("training.early_stopping."+key, "early stopping is not enabled")
		}
		t.EarlyStopping = EarlyStopping{}
	}
	if t.Split.Validation == 0 && (t.EarlyStopping.Enabled || t.Scheduler.Type == Plateau) {
		r.problemOn("training.data_split.validation", "it is 0, and early stopping and a plateau schedule watch the validation samples")
	}
	if t.Scheduler.Warmup >= t.Epochs {
		r.problemOn("training.lr_scheduler.warmup_epochs", "it is %d, and there are only %d epochs", t.Scheduler.Warmup, t.Epochs)
	}
	if t.Scheduler.MinRate > t.LearningRate {
		r.problemOn("training.lr_scheduler.min_lr", "it is %s, above the learning rate %s", format(t.Scheduler.MinRate), format(t.LearningRate))
	}
}

func (t *Training) resolveLoss(r *reader) {
	regression := t.Labels.Classes() == nil
	right := []Loss{CrossEntropy, Focal}
	decay := 1e-4
	if regression {
		right, decay = []Loss{Huber, MSE}, 0
	}
	if t.Loss = cmp.Or(t.Loss, right[0]); !slices.Contains(right, t.Loss) {
		r.problemOn("training.loss", "%s does not fit %s labels; use %s", t.Loss, t.Labels.Source, text.Join(right))
	}
	if !r.given("training.weight_decay") {
		t.WeightDecay = decay
	}
	if t.Loss != Focal {
		r.idle("training.focal_gamma", "it is used only with loss: focal")
		t.FocalGamma = 0
	}
	if t.Loss != Huber {
		r.idle("training.huber_delta", "it is used only with loss: huber")
		t.HuberDelta = 0
	}
}

func (t *Training) resolveWeights(r *reader) {
	classes := t.Labels.Classes()
	switch {
	case classes == nil:
		r.idle("training.class_weights", "a regression has no classes")
		t.WeightMode, t.ClassWeights = NoWeights, nil
	case t.WeightMode == SetWeights && len(t.ClassWeights) != len(classes):
		r.problemOn("training.class_weights", "there are %d, and %d classes: %s", len(t.ClassWeights), len(classes), text.Join(classes))
	}
}

func (t *Training) resolveSplit(r *reader) {
	const path = "training.data_split"
	f := &t.Split
	if !r.given(path + ".test") {
		// Decimal fractions do not sum up exactly; what is left over is meant to be one.
		f.Test = math.Round((1-f.Train-f.Validation)*1e12)/1e12 + 0
	}
	if sum := f.Train + f.Validation + f.Test; f.Test < 0 || math.Abs(sum-1) > 1e-9 {
		r.problemOn(path, "train %s, validation %s and test %s do not sum to 1", format(f.Train), format(f.Validation), format(f.Test))
	}
}

func (s *Strategy) resolveBacktest(r *reader) {
	b := &s.Backtest
	b.Span.check(r, "backtest.date_range")
	const path = "backtest.position_size"
	switch {
	case b.SizeMode == SizeFraction:
		if b.PositionSize > b.Leverage {
			r.problemOn(path, "it is %s of the equity; at most the leverage, %s, is allowed", format(b.PositionSize), format(b.Leverage))
		}
	case !r.given(path):
		r.problemOn(path, "it is missing; size_mode: %s needs it", b.SizeMode)
	case b.SizeMode == SizeRisk && b.PositionSize > 1:
		r.problemOn(path, "it is %s; as a fraction of the equity at risk it must be at most 1", format(b.PositionSize))
	}
	if b.SizeMode == SizeRisk && b.StopLoss == 0 {
		r.problemOn("backtest.size_mode", "risk needs a stop_loss to know what is at risk")
	}
}
