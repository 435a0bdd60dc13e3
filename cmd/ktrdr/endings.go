package main

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/engine"
	"github.com/ktrdr/ktrdr/research"
)

// lookAgain is how often events are looked for when nothing says that there are
// any.
const lookAgain = 5 * time.Second

// endings follows the events and tells of every research that has ended: in the
// order of the events, each at least once.
type endings struct {
	engine *engine.Engine
	log    *slog.Logger
	tell   func(context.Context, ktrdr.Operation) error
	told   func(context.Context, ktrdr.Cursor) // everything up to here; nil where nobody asks
	idle   func(context.Context) error         // all that ended is told, a few seconds after at the latest; may be nil
}

// follow tells of what ended after a place in the events, or from now on when
// none is known, until ctx ends.
func (e endings) follow(ctx context.Context, after ktrdr.Cursor, known bool) error {
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	for {
		changed := e.engine.Changed()
		err := error(nil)
		if !known {
			if after, err = e.engine.LastEvent(ctx); err == nil {
				known = true
				if e.told != nil { // or what ends before the first is told of would be lost with this life
					e.told(ctx, after)
				}
			}
		}
		if err == nil {
			after, err = e.catchUp(ctx, after)
		}
		if err == nil && e.idle != nil {
			err = e.idle(ctx)
		}
		if err != nil && ctx.Err() == nil {
			e.log.WarnContext(ctx, "the ends of researches cannot be read", "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		case <-tick.C:
		}
	}
}

// catchUp tells of what ended since, and returns up to where that is.
func (e endings) catchUp(ctx context.Context, after ktrdr.Cursor) (ktrdr.Cursor, error) {
	for {
		events, err := e.engine.Events(ctx, ktrdr.EventQuery{After: after, Limit: 500})
		if err != nil || len(events) == 0 {
			return after, err
		}
		told := false
		for _, event := range events {
			if ended(event.Kind) && isResearch(event.Operation) {
				told = true
				if err := e.one(ctx, event.Operation); err != nil {
					return after, err
				}
			}
			after = event.Cursor
		}
		if told && e.told != nil { // whatever else happened may be looked at again
			e.told(ctx, after)
		}
	}
}

func (e endings) one(ctx context.Context, id ktrdr.OperationID) error {
	op, err := e.engine.Operation(ctx, id)
	switch {
	case ktrdr.CodeOf(err) == ktrdr.CodeNotFound:
		return nil
	case err != nil:
		return err
	}
	return e.tell(ctx, op)
}

// isResearch reads a type out of an id, where every id has it.
func isResearch(id ktrdr.OperationID) bool {
	return strings.HasPrefix(string(id), "op_"+string(ktrdr.AgentResearch)+"_")
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

// countOutcomes counts the ends of researches until ctx ends.
func (b *backend) countOutcomes(ctx context.Context) error {
	return endings{engine: b.engine, log: b.log, tell: func(_ context.Context, op ktrdr.Operation) error {
		if o := research.OutcomeOf(op); o != "" { // "" where it has been resumed since
			b.outcomes.WithLabelValues(string(o)).Inc()
		}
		return nil
	}}.follow(ctx, b.began, true)
}
