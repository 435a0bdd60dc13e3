package local

import (
	"errors"
	"fmt"
	"io"

	"github.com/ktrdr/ktrdr/backend"
	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/strategy"
)

// StrategyFacts is what is worth knowing about a valid strategy.
type StrategyFacts struct {
	Name        string             `json:"name"`
	Description string             `json:"description,omitempty"`
	Hash        string             `json:"hash"`
	Symbols     []string           `json:"symbols"`
	Timeframes  []market.Timeframe `json:"timeframes"`
	Base        market.Timeframe   `json:"base_timeframe"`
	Model       strategy.ModelType `json:"model"`
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
func FactsOf(s *strategy.Strategy) *StrategyFacts {
	cost := s.Cost(CostBars)
	return &StrategyFacts{
		Name: s.Name, Description: s.Description, Hash: fmt.Sprintf("%x", s.Hash()),
		Symbols: s.Data.Symbols, Timeframes: s.Data.Timeframes, Base: s.Data.Base,
		Model: s.Model.Type, Labels: string(s.Training.Labels.Source), Output: string(s.Decisions.Output),
		Features: text.Strings(s.Features()),
		Weights:  cost.Weights, WarmUp: s.WarmUp(), Memory: cost.Memory, CPU: cost.CPU.Seconds(),
	}
}

// Validated is what there is to say about one strategy file.
type Validated struct {
	File     string             `json:"file"`
	Valid    bool               `json:"valid"`
	Error    string             `json:"error,omitempty"` // why the file could not be read
	Problems []strategy.Problem `json:"problems"`
	Warnings []strategy.Warning `json:"warnings"`
	Strategy *StrategyFacts     `json:"strategy,omitempty"`

	Unread bool `json:"-"` // there is no such file, or it cannot be read
}

// ValidateFile checks a strategy file, or standard input.
func ValidateFile(file string, stdin io.Reader) Validated {
	text, err := []byte(nil), error(nil)
	if file == "-" {
		file = "stdin"
		text, err = readBounded(stdin)
	} else {
		f, open := backend.UserFile{What: "strategy file", Name: file, Next: "name one that exists, or - for standard input"}.Open()
		if err = open; err == nil {
			text, err = readBounded(f)
			_ = f.Close() // it was only read
		}
	}
	if err != nil {
		return Validated{File: file, Error: err.Error(), Problems: []strategy.Problem{}, Warnings: []strategy.Warning{}, Unread: true}
	}
	return Validate(text, file)
}

// Validate checks the text of a strategy.
func Validate(text []byte, name string) Validated {
	r := Validated{File: name, Problems: []strategy.Problem{}, Warnings: []strategy.Warning{}}
	s, warnings, err := strategy.Parse(text, name)
	r.Warnings = append(r.Warnings, warnings...)
	problems, ok := errors.AsType[strategy.Problems](err)
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

// Print prints the result for people.
func (r Validated) Print(w io.Writer, p term.Palette) {
	for _, x := range r.Problems {
		fmt.Fprintln(w, term.Plain(x.String()))
	}
	for _, x := range r.Warnings {
		fmt.Fprintln(w, "warning:", term.Plain(x.String()))
	}
	said := r.Error
	switch {
	case r.Error != "":
	case !r.Valid && len(r.Problems) == strategy.MaxProblems:
		said = fmt.Sprintf("not valid: the first %d problems are listed", len(r.Problems))
	case !r.Valid:
		said = "not valid: " + text.Counted(len(r.Problems), "problem")
	default:
		f := r.Strategy
		said = fmt.Sprintf("%s is valid: %s, %d features, %d weights", f.Name, f.Model, len(f.Features), f.Weights)
	}
	fmt.Fprintf(w, "%s %s: %s\n", p.Mark(r.Valid), term.Plain(r.File), term.Plain(said))
}
