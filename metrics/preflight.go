package metrics

import (
	"fmt"
	"strings"

	"github.com/ktrdr/ktrdr/feature"
)

// Preflight is what can be known before an epoch is spent: what the network
// would see, and what is wrong with it.
type Preflight struct {
	Rows     int                 `json:"rows"`    // bars of the base timeframe, all symbols
	Samples  int                 `json:"samples"` // of those, with features and a label
	Parts    []PartReport        `json:"parts"`   // training, validation, test
	Inputs   feature.InputReport `json:"inputs"`  // what the training samples show of the features
	Leaks    []LeakReport        `json:"leaks"`   // what each feature alone knows of the label
	Findings []Finding           `json:"findings"`
}

// PartReport describes one part of the split.
type PartReport struct {
	Name    string  `json:"name"`
	Samples int     `json:"samples"`
	Purged  int     `json:"purged"` // left out since their label looks into the next part or the embargo
	From    int64   `json:"from"`   // opening instants of the first and last sample's bar; 0 without samples
	To      int64   `json:"to"`
	Classes []int   `json:"classes,omitempty"` // samples of each class
	Mean    float64 `json:"mean"`              // regression: of the values
	Up      float64 `json:"up"`                // regression: share above 0
}

// LeakReport is what one feature alone knows of the label.
type LeakReport struct {
	Feature string `json:"feature"`

	// Correlation is the largest correlation with the label, in size; with
	// several classes, with the label being one of them. Alone is how often the
	// label can be told from this feature alone; 0 for a regression.
	Correlation float64 `json:"correlation"`
	Alone       float64 `json:"alone"`
}

// Finding is something that is wrong, or probably not meant.
type Finding struct {
	Error   bool   `json:"error"` // training is refused
	Code    string `json:"code"`
	Message string `json:"message"`
}

// The codes of findings.
const (
	CodeFewSamples = "few_samples"
	CodeLabelMix   = "label_mix"
	CodeInputs     = "inputs"
	CodeLeakage    = "leakage"
	CodeOverfit    = "more_weights_than_samples"
	CodeTimeframe  = "timeframe" // longer bars that do not go with the base
)

// Err is the error that refuses the training, or nil.
func (p *Preflight) Err() error {
	var refused []string
	for _, f := range p.Findings {
		if f.Error {
			refused = append(refused, f.Message)
		}
	}
	if refused == nil {
		return nil
	}
	return fmt.Errorf("pre-flight: %s", strings.Join(refused, "; ")) // one line: it becomes the message of an operation
}

// Warnings are the messages of what is not an error.
func (p *Preflight) Warnings() []string {
	list := []string{}
	for _, f := range p.Findings {
		if !f.Error {
			list = append(list, f.Message)
		}
	}
	return list
}

// Refuse adds a finding that refuses the training.
func (p *Preflight) Refuse(code, format string, args ...any) {
	p.Findings = append(p.Findings, Finding{true, code, fmt.Sprintf(format, args...)})
}

// Warn adds a finding that does not.
func (p *Preflight) Warn(code, format string, args ...any) {
	p.Findings = append(p.Findings, Finding{false, code, fmt.Sprintf(format, args...)})
}
