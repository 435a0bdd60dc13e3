package train

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

func (p *Preflight) refuse(code, format string, args ...any) {
	p.Findings = append(p.Findings, Finding{true, code, fmt.Sprintf(format, args...)})
}

func (p *Preflight) warn(code, format string, args ...any) {
	p.Findings = append(p.Findings, Finding{false, code, fmt.Sprintf(format, args...)})
}

// What is too little.
const (
	LeastTraining = 100 // samples, to train at all
	leastJudging  = 30  // samples, for a figure that means something
)

var partNames = [...]string{"training", "validation", "test"}

func (p *Preflight) checkSamples(classes []string, weights int) {
	train := p.Parts[0]
	if train.Samples < LeastTraining {
		p.refuse(CodeFewSamples,
			"there are %d training samples (%d were purged) of %d bars, and at least %d are needed: use more data, or labels that end sooner",
			train.Samples, train.Purged, p.Rows, LeastTraining)
	}
	for _, part := range p.Parts[1:] {
		if part.Samples > 0 && part.Samples < leastJudging {
			p.warn(CodeFewSamples, "the %s part has only %d samples: its figures are mostly chance", part.Name, part.Samples)
		}
	}
	if weights > train.Samples {
		p.warn(CodeOverfit, "the network has %d weights and there are %d training samples: it can learn them by heart", weights, train.Samples)
	}
	if classes != nil && train.Samples > 0 {
		p.checkMix(classes)
	}
}

func (p *Preflight) checkMix(classes []string) {
	train := p.Parts[0]
	occurring := 0
	for _, n := range train.Classes {
		if n > 0 {
			occurring++
		}
	}
	if occurring < 2 {
		p.refuse(CodeLabelMix, "all %d training samples have one label (%s): there is nothing to learn; use other labels or their thresholds",
			train.Samples, mixOf(classes, train.Classes))
		return
	}
	for c, name := range classes {
		if later := p.Parts[1].Classes[c] + p.Parts[2].Classes[c]; train.Classes[c] == 0 && later > 0 {
			p.warn(CodeLabelMix, "no training sample is %s and %d later ones are: the network cannot know it", name, later)
		}
	}
}

// mixOf reads as "BUY 120, HOLD 0, SELL 98".
func mixOf(classes []string, counts []int) string {
	list := make([]string, len(classes))
	for i, name := range classes {
		list[i] = fmt.Sprintf("%s %d", name, counts[i])
	}
	return strings.Join(list, ", ")
}

// checkFeatures takes over what is known of the inputs.
func (p *Preflight) checkFeatures(r feature.InputReport) {
	p.Inputs = r
	constant := 0
	for _, f := range r.Features {
		if f.Constant {
			constant++
		}
	}
	if constant == len(r.Features) {
		p.refuse(CodeInputs, "all %d features are constant in the training samples: the network would see nothing", constant)
	}
	for _, message := range r.Warnings {
		p.warn(CodeInputs, "%s", message)
	}
}
