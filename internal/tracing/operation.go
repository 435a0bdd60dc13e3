package tracing

import (
	"cmp"
	"context"
	"crypto/sha256"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/ktrdr/ktrdr"
)

// spanOf is the id of an operation's span.
func spanOf(op ktrdr.OperationID) (id trace.SpanID) {
	sum := sha256.Sum256([]byte("span of " + op))
	copy(id[:], sum[:])
	return id
}

// Ended is an operation that ended, as its row and its event tell.
type Ended struct {
	ktrdr.Operation
	Outcome ktrdr.Status
	At      time.Time
}

// Export sends the spans of operations that ended. An error means that none of
// them may have been taken; sending them again sends the same spans.
func (t *Tracing) Export(ctx context.Context, ended []Ended) error {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = nil
	for _, e := range ended {
		t.makeSpan(ctx, e)
	}
	if len(t.ended) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, exportWithin)
	defer cancel()
	err := t.exporter.ExportSpans(ctx, t.ended)
	if err != nil {
		t.failed(ctx, err)
	}
	return err
}

// makeSpan makes the span of an operation that belongs to a sampled trace.
func (t *Tracing) makeSpan(ctx context.Context, e Ended) {
	above, err := parse(e.Trace) //nolint:contextcheck // the context of the format's interface, which holds nothing else
	if err != nil || !above.IsSampled() {
		return
	}
	if e.Parent != "" {
		above = above.WithSpanID(spanOf(e.Parent))
	}
	began := cmp.Or(e.StartedAt, e.CreatedAt) // one that was cancelled may not have started
	ctx = context.WithValue(trace.ContextWithRemoteSpanContext(ctx, above), spanKey{}, spanOf(e.ID))
	_, span := t.rows.Tracer(scope).Start(ctx, string(e.Type), trace.WithTimestamp(began), trace.WithAttributes(
		attribute.String("ktrdr.operation.id", string(e.ID)), attribute.String("ktrdr.operation.type", string(e.Type)),
		attribute.Int("ktrdr.operation.attempt", e.Attempts), attribute.String("ktrdr.operation.outcome", strings.ToLower(string(e.Outcome))),
		attribute.Float64("ktrdr.operation.waited_seconds", began.Sub(e.CreatedAt).Seconds())))
	if e.Run != "" {
		span.SetAttributes(attribute.String("ktrdr.run", e.Run))
	}
	if e.Outcome == ktrdr.Failed {
		code := ktrdr.CodeInternal
		if e.Error != nil {
			code = e.Error.Code
		}
		span.SetStatus(codes.Error, string(code))
	}
	span.End(trace.WithTimestamp(e.At))
}

// spanKey finds, in a context, the id that the next span gets.
type spanKey struct{}

// given is the source of ids that are known before. Each span of an operation is
// below another, so that no trace id is made.
type given struct{}

func (given) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	id, _ := ctx.Value(spanKey{}).(trace.SpanID)
	return id
}

func (g given) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	return trace.TraceID{}, g.NewSpanID(ctx, trace.TraceID{})
}

// collector keeps the spans that were made for one export.
type collector Tracing

func (*collector) OnStart(context.Context, sdktrace.ReadWriteSpan) {}

func (c *collector) OnEnd(s sdktrace.ReadOnlySpan) { c.ended = append(c.ended, s) }

func (*collector) Shutdown(context.Context) error { return nil }

func (*collector) ForceFlush(context.Context) error { return nil }
