package llm

import (
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/resilience"
)

// Trace is how an answer was obtained, or why not.
type Trace struct {
	Key   ktrdr.Hash  `json:"key"`
	Steps []TraceStep `json:"steps"`
}

// TraceStep is one decision about one model.
type TraceStep struct {
	Model    string               `json:"model"`
	Decision StepResult           `json:"decision"`
	Reason   string               `json:"reason,omitempty"`
	Kind     resilience.ErrorKind `json:"kind,omitempty"` // of what went wrong
	Attempt  int                  `json:"attempt,omitempty"`
	Latency  time.Duration        `json:"latency_ns,omitempty"`
	Cost     ktrdr.MicroUSD       `json:"cost_micro_usd,omitempty"`
}

// StepResult is how a step of a call ended for its model.
type StepResult string

// The decisions.
const (
	Skipped   StepResult = "skipped"   // it was not asked
	Postponed StepResult = "postponed" // it is asked after the others
	Failed    StepResult = "failed"    // it was asked, and gave nothing
	Answered  StepResult = "answered"  // it was asked, and its answer bought
	Recalled  StepResult = "recalled"  // the journal had the answer
)

// Exhausted says that no model is left to ask. What a caller can do without one
// it does now.
type Exhausted struct {
	Trace Trace
	Errs  []error // of the models, in the order in which they were asked
}

// Error says of each model why it has not answered.
func (e *Exhausted) Error() string {
	if len(e.Trace.Steps) == 0 {
		return "no model can answer: none is configured"
	}
	last := make(map[string]int) // what was said last of a model counts
	for i, s := range e.Trace.Steps {
		last[s.Model] = i
	}
	var why []string
	for i, s := range e.Trace.Steps {
		if last[s.Model] == i {
			why = append(why, s.Model+": "+s.Reason)
		}
	}
	return "no model can answer: " + strings.Join(why, "; ")
}

// Unwrap returns the errors of the models.
func (e *Exhausted) Unwrap() []error { return e.Errs }
