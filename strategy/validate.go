package strategy

import (
	"errors"
	"fmt"

	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/market"
)

// Facts is what is worth knowing about a valid strategy.
type Facts struct {
	Name        string             `json:"name"`
	Description string             `json:"description,omitempty"`
	Hash        string             `json:"hash"`
	Symbols     []string           `json:"symbols"`
	Context     []string           `json:"context_symbols,omitempty"` // read and not traded
	Timeframes  []market.Timeframe `json:"timeframes"`
	Base        market.Timeframe   `json:"base_timeframe"`
	Model       ModelType          `json:"model"`
	Labels      string             `json:"labels"`
	Output      string             `json:"output"`
	Features    []string           `json:"features"`
	Weights     int                `json:"weights"`
	WarmUp      int                `json:"warm_up"` // base bars before every input has a value

	// What a training on CostBars base bars of each symbol takes, about.
	Memory int64   `json:"memory_bytes"`
	CPU    float64 `json:"cpu_seconds"`
}

// CostBars is how many bars the cost of a strategy is told for: eight years of
// hours.
const CostBars = 50_000

// FactsOf are the facts of a strategy.
func FactsOf(s *Strategy) *Facts {
	cost := s.Cost(CostBars)
	return &Facts{
		Name: s.Name, Description: s.Description, Hash: fmt.Sprintf("%x", s.Hash()),
		Symbols: s.Data.Symbols, Context: s.Data.Context, Timeframes: s.Data.Timeframes, Base: s.Data.Base,
		Model: s.Model.Type, Labels: string(s.Training.Labels.Source), Output: string(s.Decisions.Output),
		Features: text.Strings(s.Features()),
		Weights:  cost.Weights, WarmUp: s.WarmUp(), Memory: cost.Memory, CPU: cost.CPU.Seconds(),
	}
}

// Validation is what there is to say about the text of a strategy.
type Validation struct {
	File     string    `json:"file"` // as given to Validate
	Valid    bool      `json:"valid"`
	Error    string    `json:"error,omitempty"` // why the text could not be read
	Problems []Problem `json:"problems"`
	Warnings []Warning `json:"warnings"`
	Strategy *Facts    `json:"strategy,omitempty"`
}

// Validate checks the text of a strategy.
func Validate(text []byte, name string) Validation {
	r := Validation{File: name, Problems: []Problem{}, Warnings: []Warning{}}
	s, warnings, err := Parse(text, name)
	r.Warnings = append(r.Warnings, warnings...)
	problems, ok := errors.AsType[Problems](err)
	switch {
	case ok:
		r.Problems = problems
	case err != nil:
		r.Error = err.Error()
	default:
		r.Valid, r.Strategy = true, FactsOf(s)
	}
	return r
}
