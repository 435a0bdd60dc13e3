package strategy

import (
	"slices"

	"github.com/goccy/go-yaml/ast"

	"github.com/ktrdr/ktrdr/label"
)

func (t *Training) grammar() fields {
	return fields{
		{name: "labels", required: true, shape: t.Labels.grammar(), doc: "what the network should have answered"},
		{name: "epochs", shape: integer{&t.Epochs, 1, 100_000}},
		{name: "batch_size", shape: integer{&t.BatchSize, 1, 65_536}},
		{name: "learning_rate", shape: number{&t.LearningRate, 0, 10, true}},
		{
			name: "loss", shape: oneOf[Loss]{&t.Loss, []Loss{CrossEntropy, Focal, Huber, MSE}},
			doc: "cross_entropy or focal of a classification (cross_entropy if not given), huber or mse of a regression (huber)",
		},
		{name: "focal_gamma", shape: number{&t.FocalGamma, 0, 20, false}, when: func() bool { return t.Loss == Focal }, doc: "with loss: focal"},
		{name: "huber_delta", shape: number{&t.HuberDelta, 0, 100, true}, when: func() bool { return t.Loss == Huber }, doc: "with loss: huber"},
		{name: "optimizer", shape: oneOf[Optimizer]{&t.Optimizer, []Optimizer{Adam, AdamW}}},
		{
			name: "weight_decay", shape: number{&t.WeightDecay, 0, 10, false},
			doc: "0.0001 for a classification and 0 for a regression if not given",
		},
		{name: "gradient_clip", shape: number{&t.GradientClip, 0, 1e6, false}, doc: "longest gradient; 0 for any"},
		{
			name: "class_weights", shape: classWeights{t}, when: func() bool { return t.Labels.Classes() != nil },
			doc: "auto (by inverse frequency), none, or a list with one for each class",
		},
		{name: "lr_scheduler", shape: t.Scheduler.grammar()},
		{name: "early_stopping", shape: t.EarlyStopping.grammar()},
		{name: "data_split", shape: fields{
			{name: "train", shape: number{&t.Split.Train, 0, 1, true}},
			{name: "validation", shape: number{&t.Split.Validation, 0, 1, false}},
			{name: "test", shape: number{&t.Split.Test, 0, 1, false}, doc: "the rest if not given"},
		}, doc: "parts of the samples, by time"},
		{name: "embargo", shape: number{&t.Embargo, 0, 0.5, false}, doc: "fraction of the bars that is left out before each part of the split"},
		{name: "seed", shape: integer{&t.Seed, 0, 1 << 52}, doc: "0 for the seed of the operation"},
	}
}

func (l *Labels) grammar() shape {
	z, f, c := &l.Zigzag, &l.ForwardReturn, &l.Context
	return variant[LabelSource]{tag: "source", into: &l.Source, cases: []alternative[LabelSource]{
		{Zigzag, func() { z.Threshold = 0.02 }, fields{
			{name: "zigzag_threshold", shape: number{&z.Threshold, 0, 1, true}, doc: "move that makes a turning point, as a fraction"},
			{name: "label_lookahead", shape: unused{"a leg of a zigzag ends where the price turns"}},
		}},
		{ForwardReturn, func() { f.Horizon = 20 }, fields{
			{name: "horizon", shape: integer{&f.Horizon, 1, 10_000}, doc: "bars"},
		}},
		{TripleBarrier, l.beginBarrier, barrierGrammar(&l.TripleBarrier)},
		{Regime, l.beginRegime, regimeGrammar(&l.Regime)},
		{Context, func() { *c = label.Context{Horizon: 5, Bullish: 0.005, Bearish: -0.005} }, fields{
			{name: "horizon", shape: integer{&c.Horizon, 1, 10_000}, doc: "bars"},
			{name: "bullish_threshold", shape: number{&c.Bullish, 0, 10, true}, doc: "return above which the context is bullish"},
			{name: "bearish_threshold", shape: number{&c.Bearish, -1, -1e-9, false}, doc: "return below which it is bearish"},
		}},
	}}
}

func (l *Labels) beginBarrier() {
	l.TripleBarrier = label.TripleBarrier{Target: 2, Stop: 1.5, Holding: 50, Span: 50}
}

func barrierGrammar(b *label.TripleBarrier) fields {
	events := func() bool { return b.Events != nil }
	return fields{
		{name: "pt_multiplier", shape: number{&b.Target, 0, 1000, true}, doc: "distance of the upper barrier in volatilities"},
		{name: "sl_multiplier", shape: number{&b.Stop, 0, 1000, true}, doc: "distance of the lower barrier in volatilities"},
		{name: "max_holding_period", shape: integer{&b.Holding, 1, 10_000}, doc: "bars until expiry"},
		{name: "vol_span", shape: integer{&b.Span, 2, 10_000}, doc: "span of the volatility's exponential mean"},
		{name: "vol_method", shape: volatility{&b.Volatility}, doc: "atr: mean of (high-low)/close; ewm: deviation of log returns"},
		{name: "compute_weights", shape: flag{&b.Weights}, doc: "weigh samples by how little they overlap"},
		{
			name: "cusum_threshold", shape: cusum{b, func(c *label.CUSUM) *float64 { return &c.Threshold }}, when: events,
			doc: "label only bars at which log returns have summed up to this; 0: cusum_multiplier times their volatility",
		},
		{
			name: "cusum_multiplier", shape: cusum{b, func(c *label.CUSUM) *float64 { return &c.Multiplier }},
			when: func() bool { return events() && b.Events.Threshold == 0 }, doc: "with cusum_threshold: 0",
		},
	}
}

func (l *Labels) beginRegime() {
	l.Regime = label.Regime{Macro: 3, Micro: 1, ATRPeriod: 14, Lookback: 120, Crisis: 2, Tolerance: 0.5}
}

func regimeGrammar(g *label.Regime) fields {
	return fields{
		{name: "macro_atr_mult", shape: number{&g.Macro, 0, 1000, true}, doc: "threshold of the large zigzag in average true ranges"},
		{name: "micro_atr_mult", shape: number{&g.Micro, 0, 1000, true}, doc: "threshold of the small zigzag in average true ranges"},
		{name: "atr_period", shape: integer{&g.ATRPeriod, 2, 1000}},
		{name: "vol_lookback", shape: integer{&g.Lookback, 2, 100_000}, doc: "bars over which the deviation of returns is averaged"},
		{name: "vol_crisis_threshold", shape: number{&g.Crisis, 0, 1000, true}, doc: "times that average at which a bar is volatile"},
		{
			name: "progression_tolerance", shape: number{&g.Tolerance, 0, 1, false},
			doc: "share of small pivots that must advance for a leg to be a trend",
		},
	}
}

func (s *Scheduler) grammar() shape {
	begin := func(x Scheduler) func() { return func() { *s = x } }
	warmup := field{name: "warmup_epochs", shape: integer{&s.Warmup, 0, 100_000}, doc: "epochs of linear growth at the start"}
	gamma := field{name: "gamma", shape: number{&s.Gamma, 0, 1, true}, doc: "factor of a fall"}
	least := field{name: "min_lr", shape: number{&s.MinRate, 0, 10, false}, doc: "least learning rate"}
	return variant[Schedule]{tag: "type", into: &s.Type, cases: []alternative[Schedule]{
		{Constant, begin(Scheduler{Type: Constant}), fields{warmup}},
		{Step, begin(Scheduler{Type: Step, StepSize: 30, Gamma: 0.1}), fields{
			{name: "step_size", shape: integer{&s.StepSize, 1, 100_000}, doc: "epochs between falls"}, gamma, warmup,
		}},
		{Exponential, begin(Scheduler{Type: Exponential, Gamma: 0.95}), fields{gamma, warmup}},
		{Cosine, begin(Scheduler{Type: Cosine}), fields{least, warmup}},
		{Plateau, begin(Scheduler{Type: Plateau, Gamma: 0.1, Patience: 10, Threshold: 1e-4}), fields{
			{name: "factor", shape: gamma.shape, doc: gamma.doc},
			{name: "patience", shape: integer{&s.Patience, 1, 100_000}, doc: "epochs without improvement before a fall"},
			{name: "threshold", shape: number{&s.Threshold, 0, 0.99, true}, doc: "relative improvement of the validation loss that counts"},
			least, warmup,
		}},
	}}
}

func (e *EarlyStopping) grammar() shape {
	on := func() bool { return e.Enabled }
	return section{begin: func() { *e = EarlyStopping{true, 10, 0.001, ValidationLoss} }, fields: fields{
		{name: "enabled", shape: flag{&e.Enabled}},
		{name: "patience", shape: integer{&e.Patience, 1, 100_000}, when: on, doc: "epochs without improvement before training ends"},
		{name: "min_delta", shape: number{&e.MinDelta, 0, 10, false}, when: on, doc: "improvement that counts"},
		{name: "monitor", shape: oneOf[Monitor]{&e.Monitor, []Monitor{ValidationLoss, ValidationAccuracy}}, when: on},
	}}
}

type volatility struct{ into *label.Volatility }

var volatilityNames = []string{label.RangeVolatility: "atr", label.ReturnVolatility: "ewm"}

func (s volatility) read(r *reader, n node) {
	name := volatilityNames[*s.into]
	oneOf[string]{&name, volatilityNames}.read(r, n)
	*s.into = label.Volatility(slices.Index(volatilityNames, name))
}

func (s volatility) tree() any       { return volatilityNames[*s.into] }
func (s volatility) schema() *schema { return &schema{Enum: volatilityNames} }

// cusum is one of the two numbers of the event filter, which is there once either is given.
type cusum struct {
	barrier *label.TripleBarrier
	part    func(*label.CUSUM) *float64
}

func (s cusum) read(r *reader, n node) {
	if s.barrier.Events == nil {
		s.barrier.Events = &label.CUSUM{}
	}
	s.number(s.barrier.Events).read(r, n)
}

func (s cusum) number(c *label.CUSUM) number { return number{s.part(c), 0, 100, false} }

func (s cusum) tree() any {
	if s.barrier.Events == nil {
		return nil
	}
	return *s.part(s.barrier.Events)
}

func (s cusum) schema() *schema { return s.number(&label.CUSUM{}).schema() }

type classWeights struct{ t *Training }

func (s classWeights) list() list[float64] {
	return list[float64]{into: &s.t.ClassWeights, min: 2, max: 4, item: func(x *float64) shape { return number{x, 0, 1000, true} }}
}

func (s classWeights) word() oneOf[WeightMode] {
	return oneOf[WeightMode]{&s.t.WeightMode, []WeightMode{AutoWeights, NoWeights}}
}

func (s classWeights) read(r *reader, n node) {
	if _, isList := n.ast.(*ast.SequenceNode); !isList {
		s.word().read(r, n)
		return
	}
	s.t.WeightMode = SetWeights
	s.list().read(r, n)
}

func (s classWeights) tree() any {
	if s.t.WeightMode == SetWeights {
		return s.list().tree()
	}
	return s.word().tree()
}

func (s classWeights) schema() *schema {
	return &schema{AnyOf: []*schema{s.word().schema(), s.list().schema()}}
}
