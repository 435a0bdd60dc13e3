package strategy

import (
	"time"

	"github.com/ktrdr/ktrdr/fuzzy"
	"github.com/ktrdr/ktrdr/indicator"
	"github.com/ktrdr/ktrdr/market"
)

// Version is the version of the grammar.
const Version = "3.0"

// Strategy is a strategy with every name resolved and every default filled in.
//
//	bars ─▶ Indicators ─▶ FuzzySets ─┐
//	             └────── raw ────────┴▶ Inputs ─▶ Model ─▶ Decisions ─▶ Backtest
//	bars ─▶ Training.Labels ──────────────────────▲
//
// It is plain data: two strategies that mean the same are deeply equal and
// have one Hash. Parse makes them; nothing changes them afterwards.
type Strategy struct {
	Name        string
	Description string
	Data        Data
	Deployment  Deployment
	Indicators  []Indicator // by ID
	FuzzySets   []FuzzySet  // by ID
	Inputs      []Input     // in the order of the features
	Model       Model
	Decisions   Decisions
	Training    Training
	Backtest    Backtest
}

// Data says what a strategy is trained on.
type Data struct {
	Symbols    []string
	Context    []string // symbols that are read and not traded
	Timeframes []market.Timeframe
	Base       market.Timeframe // the shortest: decisions are made at its bars
	History    int              // base bars that must have passed before a decision
	Span       Span
}

// Span is a stretch of time, end excluded. A zero bound is open.
type Span struct {
	Start, End time.Time
}

// SymbolMode says on which symbols a strategy may be used.
type SymbolMode string

// The modes.
const (
	Universal       SymbolMode = "universal"
	GroupRestricted SymbolMode = "group_restricted"
	TrainingOnly    SymbolMode = "training_only"
)

// Deployment says where a strategy may be used.
type Deployment struct {
	Symbols    SymbolMode
	Excluded   []string // with GroupRestricted
	Timeframes []market.Timeframe
}

// Indicator is an indicator with its parameters.
type Indicator struct {
	ID       string
	Type     string              // the registry's name, never an alias
	Symbol   string              // the context symbol that it reads; empty: the symbol that is traded
	Settings []indicator.Setting // every parameter, in the order of the definition
}

// New makes the indicator. Parse has checked that it can be made.
func (i Indicator) New() indicator.Indicator {
	x, err := indicator.New(i.Type, i.Settings)
	if err != nil {
		panic("strategy: an indicator that Parse did not check: " + err.Error())
	}
	return x
}

// Ref names one output of an indicator.
type Ref struct {
	Name      string // as in adx_14.plus_di; without the output where there is only one
	Indicator int    // index in Strategy.Indicators
	Output    int    // index in the indicator's outputs
}

// FuzzySet is what several memberships say about one indicator.
type FuzzySet struct {
	ID      string
	Ref     Ref
	Members []Member // in the order of the features
}

// Member is a membership and its name.
type Member struct {
	Name       string
	Membership fuzzy.Membership
}

// Normalization is how a raw input is scaled, by what training rows showed.
type Normalization string

// The normalizations.
const (
	NoNorm Normalization = "none"
	MinMax Normalization = "minmax"
	ZScore Normalization = "zscore"
)

// Input is an entry of nn_inputs: a fuzzy set or a raw indicator, on some timeframes.
type Input struct {
	Fuzzy         string // ID of the fuzzy set; empty for a raw input
	Set           int    // index in Strategy.FuzzySets
	Raw           Ref
	Normalization Normalization // raw only
	Timeframes    []market.Timeframe
}

// IsRaw tells a raw input from a fuzzy one.
func (i Input) IsRaw() bool { return i.Fuzzy == "" }
