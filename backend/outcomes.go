package backend

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/research"
)

// lookAgain is how often events are looked for when nothing says that there are
// any.
const lookAgain = 5 * time.Second

// eventSource is what counting and logging outcomes needs of the engine.
type eventSource interface {
	Operation(ctx context.Context, id ktrdr.OperationID) (ktrdr.Operation, error)
	Events(ctx context.Context, q ktrdr.EventQuery) ([]ktrdr.Event, error)
	Changed() <-chan struct{}
}

// newOutcomes makes the counter of how researches ended. Every backend counts
// all of them, from its start on.
func newOutcomes() *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "ktrdr_research_total", Help: "Researches that ended, by outcome. One that is resumed ends again.",
	}, []string{"outcome"})
	for _, o := range research.Outcomes {
		c.WithLabelValues(string(o)) // there from the first scrape, so that the first end is an increase
	}
	return c
}

// outcomeCounter counts and logs the ends of researches, from the events. Every backend logs all of them: a plan
// ends a research in whichever backend ended its last child.
type outcomeCounter struct {
	events eventSource
	counts *prometheus.CounterVec
	log    *slog.Logger
	after  ktrdr.Cursor // all events up to here are counted
}

func (o *outcomeCounter) run(ctx context.Context) error {
	return onChange(ctx, o.events.Changed, lookAgain, func() {
		if err := o.catchUp(ctx); err != nil && ctx.Err() == nil {
			o.log.WarnContext(ctx, "the ends of researches cannot be read", "err", err)
		}
	})
}

// onChange looks when something has changed, and after a time at the latest, until ctx ends.
func onChange(ctx context.Context, changed func() <-chan struct{}, latest time.Duration, look func()) error {
	tick := time.NewTicker(latest)
	defer tick.Stop()
	for {
		change := changed()
		look()
		select {
		case <-ctx.Done():
			return nil
		case <-change:
		case <-tick.C:
		}
	}
}

// catchUp counts what ended since the last call.
func (o *outcomeCounter) catchUp(ctx context.Context) error {
	for {
		events, err := o.events.Events(ctx, ktrdr.EventQuery{After: o.after, Limit: 500})
		if err != nil || len(events) == 0 {
			return err
		}
		for _, e := range events {
			if outcome := outcomeOf(e); outcome != "" {
				o.counts.WithLabelValues(string(outcome)).Inc()
				o.report(ctx, e, outcome)
			}
			o.after = e.Cursor
		}
	}
}

func (o *outcomeCounter) report(ctx context.Context, e ktrdr.Event, outcome research.Outcome) {
	switch e.Kind {
	case ktrdr.EventCompleted:
		o.log.InfoContext(ctx, "Research completed", "op", e.Operation, "outcome", outcome)
		return
	case ktrdr.EventCancelled:
		o.log.InfoContext(ctx, "Research cancelled", "op", e.Operation)
		return
	}
	op, err := o.events.Operation(ctx, e.Operation)
	if err != nil { // the failure is told all the same
		o.log.WarnContext(ctx, "Research failed", "op", e.Operation, "err", "its row cannot be read: "+err.Error())
		return
	}
	var code ktrdr.Code
	if op.Error != nil {
		code = op.Error.Code
	}
	o.log.WarnContext(ctx, "Research failed", "op", e.Operation, "phase", op.Phase, "code", code, "err", op.ErrorMessage)
}

// outcomeOf is how the research of an event ended; "" for any other event.
func outcomeOf(e ktrdr.Event) research.Outcome {
	if !e.Kind.Terminal() {
		return ""
	}
	var d struct {
		Type ktrdr.Type   `json:"operation_type"`
		To   ktrdr.Status `json:"to"`
		Rung string       `json:"rung"`
	}
	if json.Unmarshal(e.Data, &d) != nil || d.Type != ktrdr.AgentResearch {
		return ""
	}
	return research.OutcomeBy(d.To, d.Rung)
}
