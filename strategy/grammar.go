package strategy

import "regexp"

var (
	namePattern   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$`)
	idPattern     = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$`)
	symbolPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,31}$`)
)

const idRule = "a name of letters, digits, _ and -, at most 64 of them"

func (s *Strategy) grammar() fields {
	return fields{
		{
			name: "name", required: true, shape: phrase{&s.Name, namePattern, "a name of letters, digits, _ and -, at most 100 of them", 100},
			doc: "name of the strategy and of its models",
		},
		{name: "version", shape: version{}, doc: "version of the grammar"},
		{name: "description", shape: phrase{into: &s.Description, max: 8192}, doc: "what the strategy is about; nothing reads it"},
		{name: "training_data", required: true, shape: s.Data.grammar()},
		{name: "context_data", shape: noContext{}},
		{name: "deployment", shape: s.Deployment.grammar()},
		{name: "indicators", required: true, shape: indicators{&s.Indicators}, doc: "indicators by a name of your own"},
		{name: "fuzzy_sets", required: true, shape: fuzzySets{&s.FuzzySets}, doc: "fuzzy sets by a name of your own"},
		{name: "nn_inputs", required: true, shape: inputs{&s.Inputs}, doc: "what the network sees, in this order"},
		{name: "model", required: true, shape: s.Model.grammar()},
		{name: "decisions", required: true, shape: s.Decisions.grammar()},
		{name: "training", required: true, shape: s.Training.grammar()},
		{name: "backtest", shape: s.Backtest.grammar()},
	}
}

// setDefaults fills in what holds when a key is not given. Defaults that
// depend on other keys are filled in by resolve.
func (s *Strategy) setDefaults() {
	s.Data.History = 200
	s.Deployment.Symbols = Universal
	s.Decisions = Decisions{Confidence: 0.5, Separation: hour * 4}
	s.Training = Training{
		Epochs: 100, BatchSize: 32, LearningRate: 0.001, FocalGamma: 2, HuberDelta: 0.01,
		Optimizer: Adam, GradientClip: 1, WeightMode: AutoWeights, Scheduler: Scheduler{Type: Constant},
		Split: Fractions{Train: 0.7, Validation: 0.15}, Embargo: 0.01,
	}
	s.Backtest = Backtest{
		InitialCapital: 100_000, Commission: 0.001, Slippage: 0.0005,
		SizeMode: SizeFraction, PositionSize: 0.25, Leverage: 1,
	}
}

// version reads the version, which people write with and without quotes.
type version struct{}

func (version) read(r *reader, n node) {
	v, isText := plainText(n.ast)
	if !isText {
		v = kindOf(n.ast)
	}
	if v != Version && v != "3" {
		r.problem(n, "version %s is not known; this is version %q of the grammar", v, Version)
	}
}

func (version) tree() any       { return Version }
func (version) schema() *schema { return &schema{Enum: []string{Version, "3"}} }

// noContext refuses data from elsewhere: there is no provider.
type noContext struct{}

func (noContext) read(r *reader, n node) {
	if items, ok := r.sequence(n); ok && len(items) > 0 {
		r.problem(n,
			"context data (fred, ib, cftc_cot) cannot be used: only bars of the training symbols are read; "+
				"remove it and the indicators that name it")
	}
}

func (noContext) tree() any       { return nil }
func (noContext) schema() *schema { return &schema{Type: "array", MaxItems: 0} }

// section is a mapping whose defaults hold only when it is there.
type section struct {
	fields
	begin func()
}

func (s section) read(r *reader, n node) {
	s.begin()
	s.fields.read(r, n)
}

func (s section) schema() *schema {
	s.begin()
	return s.fields.schema()
}
