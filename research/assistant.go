package research

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/instrument"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/strategy"
)

// A research whose strategy an AI assistant designs:
//
//	agent_design PENDING, not claimed before its deadline ──Answer──▶ COMPLETED ─▶ training
//	      └── the deadline passes ─▶ an agent claims it: the built-in designer designs, and the result says so
//
// While it waits it is a row: it occupies no agent, and a restart changes nothing.

// ByAssistant names an AI assistant as the designer, and AnAssistant is how people
// read it.
const (
	ByAssistant = "assistant"
	AnAssistant = "an assistant"
)

// The bounds of how long a research waits for an assistant.
const (
	usualDesignWait   = 30 * time.Minute
	longestDesignWait = 7 * 24 * time.Hour
)

// Designs is what the desk needs to give waiting designs a strategy: *engine.Engine.
type Designs interface {
	List(ctx context.Context, q ktrdr.OperationQuery) (ktrdr.OperationPage, error)
	Operation(ctx context.Context, id ktrdr.OperationID) (ktrdr.Operation, error)
	Answer(ctx context.Context, id ktrdr.OperationID, result json.RawMessage) (ktrdr.Operation, error)
}

// checkDesigner checks what a request says about its designer.
func (t Request) checkDesigner() error {
	switch {
	case t.Designer == "" && t.DesignWait == 0:
		return nil
	case t.Designer != ByAssistant && t.Designer != "":
		return wrong("there is no designer %.60q: %s is one; leave designer out and give a model to choose that", t.Designer, ByAssistant)
	case t.Designer == "":
		return wrong("design_wait_seconds is for designer %s", ByAssistant)
	case t.Strategy != "" || t.StrategyYAML != "":
		return wrong("a strategy is given, so there is nothing to design: leave out designer or the strategy")
	case t.DesignWait != 0 && (t.DesignWait < 1 || t.DesignWait > longestDesignWait.Seconds()):
		return wrong("design_wait_seconds must be 1 to %.0f", longestDesignWait.Seconds())
	}
	return nil
}

// assistantWait is how many seconds a research waits for an assistant; 0 if none
// designs.
func (t Request) assistantWait() float64 {
	switch {
	case t.Designer != ByAssistant:
		return 0
	case t.DesignWait == 0:
		return usualDesignWait.Seconds()
	}
	return t.DesignWait
}

// designer is who was asked to design.
func (s *Spec) designer() string {
	if s.AssistantWait > 0 {
		return AnAssistant
	}
	return s.Model
}

// awaitAssistant lets no agent claim a design that an assistant may still give.
func (r *research) awaitAssistant(d ktrdr.Decision) ktrdr.Decision {
	if r.spec.AssistantWait > 0 && len(d.Create) > 0 {
		d.Create[0].Delay = time.Duration(r.spec.AssistantWait * float64(time.Second))
		d.Progress.CurrentStep = "waiting for a strategy of an assistant"
	}
	return d
}

// WaitingDesign is a research that waits for a strategy of an assistant.
type WaitingDesign struct {
	Operation ktrdr.OperationID `json:"operation_id"` // the design: it takes the strategy
	Research  ktrdr.OperationID `json:"research_operation_id"`
	RunPosition
	Brief      string           `json:"brief"`
	Seed       uint64           `json:"seed"`
	Symbols    []string         `json:"symbols"` // traded together: a strategy names all of them
	Timeframes []string         `json:"timeframes"`
	Costs      instrument.Costs `json:"least_costs"`
	Until      time.Time        `json:"until"` // then the built-in designer takes over
}

// mostDesigns bounds a list of them.
const mostDesigns = 1000

// WaitingDesigns lists what waits for an assistant, oldest first.
func (d *Desk) WaitingDesigns(ctx context.Context) ([]WaitingDesign, error) {
	page, err := d.cfg.Designs.List(ctx, ktrdr.OperationQuery{
		Type: []ktrdr.Type{ktrdr.AgentDesign}, Status: []ktrdr.Status{ktrdr.Pending}, Sort: ktrdr.Oldest, Limit: mostDesigns,
	})
	if err != nil {
		return nil, err
	}
	var waiting []WaitingDesign
	for _, op := range page.Operations {
		spec, err := ktrdr.ParseSpec[DesignSpec](op.Spec)
		if err != nil || spec.AssistantWait == 0 || op.NotBefore.IsZero() {
			continue // an agent designs it
		}
		waiting = append(waiting, WaitingDesign{
			Operation: op.ID, Research: op.Parent, RunPosition: spec.RunPosition, Brief: spec.Brief, Seed: spec.Seed,
			Symbols: symbolsOf(spec.Bars), Timeframes: timeframesOf(spec.Bars), Costs: spec.Costs, Until: op.NotBefore,
		})
	}
	return waiting, nil
}

func timeframesOf(bars []jobs.Bars) (names []string) {
	for _, b := range bars {
		if name := string(b.Timeframe); !strings.Contains(" "+strings.Join(names, " ")+" ", " "+name+" ") {
			names = append(names, name)
		}
	}
	return names
}

// DesignRequest gives a research the strategy that it waits for.
type DesignRequest struct {
	ID         ktrdr.OperationID `path:"id" json:"-"`
	Strategy   string            `json:"strategy_yaml"`
	Hypothesis string            `json:"hypothesis"`      // what the strategy tests, in one sentence
	Notes      string            `json:"notes,omitempty"` // why
}

// SubmittedDesign says that a research has its strategy.
type SubmittedDesign struct {
	Operation ktrdr.OperationID `json:"operation_id"`
	Research  ktrdr.OperationID `json:"research_operation_id"`
	Name      string            `json:"strategy_name"`
	Warnings  []string          `json:"warnings,omitempty"`
}

// The bounds of an assistant's own words, in bytes: those of a model.
const (
	maxHypothesis = 500
	maxNotes      = 2000
)

// SubmitDesign gives a waiting research its strategy, after it is checked as strictly as
// any. The same strategy again is answered as the first time. CodeInvalid says what to
// change, CodeConflict that it waits no longer.
func (d *Desk) SubmitDesign(ctx context.Context, r DesignRequest) (SubmittedDesign, error) {
	if d.cfg.HoldsAKey != nil && d.cfg.HoldsAKey(r.Strategy, r.Hypothesis, r.Notes) {
		return SubmittedDesign{}, wrong("the strategy holds the key of a provider of models: take it out")
	}
	switch {
	case strings.TrimSpace(r.Hypothesis) == "" || len(r.Hypothesis) > maxHypothesis:
		return SubmittedDesign{}, wrong("hypothesis is what the strategy tests, in one sentence of at most %d bytes", maxHypothesis)
	case len(r.Notes) > maxNotes:
		return SubmittedDesign{}, wrong("notes have %d bytes; at most %d are allowed", len(r.Notes), maxNotes)
	}
	op, err := d.cfg.Designs.Operation(ctx, r.ID)
	if err != nil {
		return SubmittedDesign{}, err
	}
	spec, err := ktrdr.ParseSpec[DesignSpec](op.Spec)
	if op.Type != ktrdr.AgentDesign || err != nil || spec.AssistantWait == 0 {
		return SubmittedDesign{}, wrong("%s waits for no strategy of an assistant: list those that do", r.ID)
	}
	s, warnings, err := CheckDesign(r.Strategy, spec.Bars)
	if err != nil {
		return SubmittedDesign{}, wrong("%w", err)
	}
	out := SubmittedDesign{Operation: op.ID, Research: op.Parent, Name: s.Name, Warnings: text.Map(warnings, strategy.Warning.String)}
	if overruled := Overruled(s, spec.Costs); overruled != "" {
		out.Warnings = append(out.Warnings, overruled)
	}
	result, err := encode(Design{
		Summary: fmt.Sprintf("%s, by an assistant: %s", s.Name, clip(r.Hypothesis, maxHypothesis)), Name: s.Name, Strategy: r.Strategy,
		Hypothesis: r.Hypothesis, Notes: r.Notes, Designer: ByAssistant,
	})
	if err != nil {
		return out, err
	}
	_, err = d.cfg.Designs.Answer(ctx, op.ID, result)
	if ktrdr.CodeOf(err) == ktrdr.CodeConflict {
		return out, d.answeredBefore(ctx, r, err)
	}
	return out, err
}

// answeredBefore is nil if a design already has the strategy of the request.
func (d *Desk) answeredBefore(ctx context.Context, r DesignRequest, refused error) error {
	op, err := d.cfg.Designs.Operation(ctx, r.ID)
	if err != nil {
		return err
	}
	if known, err := resultOf[Design](&op); op.Status == ktrdr.Completed && err == nil && known.Designer == ByAssistant &&
		known.Strategy == r.Strategy {
		return nil
	}
	return refused
}
