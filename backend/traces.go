package backend

import (
	"context"
	"log/slog"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/tracing"
)

const (
	// tracesLook is how often the ends of operations are looked for, at most.
	tracesLook = time.Second

	// tracesLease is for how long one backend alone exports. It is longer than an
	// export takes.
	tracesLease = 30 * time.Second

	// tracesPatience is the age of an end from which its span is not sent: traces
	// were off for long, or the collector was.
	tracesPatience = 24 * time.Hour
)

func (b *Backend) openTraces(ctx context.Context) (err error) {
	if b.traces, err = tracing.Open(ctx, "backend", b.Version, b.Log); err == nil && b.traces != nil {
		b.opened.Did("traces", func(ctx context.Context) error { b.traces.Close(ctx); return nil })
	}
	return err
}

// exportTraces sends the spans of operations that ended, until ctx ends.
func (b *Backend) exportTraces(ctx context.Context) error {
	if b.traces == nil {
		return nil
	}
	t := &operationTraces{store: b.store, export: b.traces.Export, who: b.self.ID, log: b.Log}
	tick := time.NewTicker(tracesLook)
	defer tick.Stop()
	for {
		if err := t.catchUp(ctx); err != nil && ctx.Err() == nil && t.log.Enabled(ctx, slog.LevelDebug) {
			t.log.DebugContext(ctx, "the ends of operations were not traced yet", "err", err) // a failed export is logged by who failed
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// tracedStore is what the export needs of the store.
type tracedStore interface {
	LeaseTraces(ctx context.Context, who string, lease time.Duration) (ktrdr.Cursor, bool, error)
	MoveTraces(ctx context.Context, who string, to ktrdr.Cursor) (bool, error)
	Events(ctx context.Context, q ktrdr.EventQuery) ([]ktrdr.Event, error)
	Operation(ctx context.Context, id ktrdr.OperationID) (ktrdr.Operation, error)
}

// operationTraces sends the span of each operation that ended, from the events.
//
//	events ──lease──▶ one backend reads and exports them ──cursor──▶ never again
//	                     │ killed: it or another backend exports them again
//	                     └ refused: it tries again
//
// So of N backends one exports, no end is left out, and a span that is sent twice
// is the same span.
type operationTraces struct {
	store  tracedStore
	export func(context.Context, []tracing.Ended) error
	who    string
	log    *slog.Logger

	until time.Time    // we hold the lease at least so long
	after ktrdr.Cursor // all events up to here are exported
}

func (o *operationTraces) catchUp(ctx context.Context) error {
	for {
		if held, err := o.lease(ctx); err != nil || !held {
			return err
		}
		events, err := o.store.Events(ctx, ktrdr.EventQuery{After: o.after, Limit: 500})
		if err != nil || len(events) == 0 {
			return err
		}
		if err := o.send(ctx, events); err != nil {
			return err
		}
		o.after = events[len(events)-1].Cursor
		moved, err := o.store.MoveTraces(ctx, o.who, o.after)
		if err != nil || !moved {
			o.until = time.Time{} // what is stored decides
			return err
		}
	}
}

// lease takes the lease, or renews it in time.
func (o *operationTraces) lease(ctx context.Context) (held bool, err error) {
	now := time.Now()
	if now.Before(o.until) {
		return true, nil
	}
	o.after, held, err = o.store.LeaseTraces(ctx, o.who, tracesLease)
	if held {
		o.until = now.Add(tracesLease / 2)
	}
	return held, err
}

// send exports the ends among some events.
func (o *operationTraces) send(ctx context.Context, events []ktrdr.Event) error {
	var ended []tracing.Ended
	for _, e := range events {
		if !e.Kind.Terminal() || time.Since(e.At) > tracesPatience {
			continue
		}
		op, err := o.store.Operation(ctx, e.Operation)
		if ktrdr.CodeOf(err) == ktrdr.CodeNotFound {
			continue
		}
		if err != nil {
			return err
		}
		if op.Trace != "" {
			ended = append(ended, tracing.Ended{Operation: op, Outcome: endings[e.Kind], At: e.At})
		}
	}
	return o.export(ctx, ended)
}

// endings are the statuses that end an operation, by their events.
var endings = map[ktrdr.EventKind]ktrdr.Status{
	ktrdr.EventCompleted: ktrdr.Completed, ktrdr.EventFailed: ktrdr.Failed, ktrdr.EventCancelled: ktrdr.Cancelled,
}
