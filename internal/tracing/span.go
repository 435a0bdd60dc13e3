package tracing

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/ktrdr/ktrdr"
)

// Request is the span of an HTTP request that is being answered. A nil one does
// nothing.
type Request struct{ span trace.Span }

// Called says whether a request is part of a trace: its caller named one, or it
// comes from this process.
func Called(r *http.Request) bool {
	return r.Header.Get("traceparent") != "" || trace.SpanContextFromContext(r.Context()).IsValid()
}

// StartRequest starts the span of a request that came at an instant, below the
// span of its caller. The route is the pattern of the path, never the path.
func (t *Tracing) StartRequest(r *http.Request, route string, came time.Time) (context.Context, *Request) {
	ctx := r.Context()
	if t == nil {
		return ctx, nil
	}
	if !trace.SpanContextFromContext(ctx).IsValid() {
		ctx = format.Extract(ctx, propagation.HeaderCarrier(r.Header))
	}
	ctx, span := t.tracer.Start(ctx, r.Method+" "+route, trace.WithSpanKind(trace.SpanKindServer), trace.WithTimestamp(came),
		trace.WithAttributes(attribute.String("http.request.method", r.Method), attribute.String("http.route", route)))
	return ctx, &Request{span}
}

// SetRoute names the span by a route that is known only now.
func (q *Request) SetRoute(method, route string) {
	if q != nil && route != "" {
		q.span.SetName(method + " " + route)
		q.span.SetAttributes(attribute.String("http.route", route))
	}
}

// End ends the span with the status of the answer; 0 means that there was none.
func (q *Request) End(status int) {
	if q == nil {
		return
	}
	q.span.SetAttributes(attribute.Int("http.response.status_code", status))
	if status == 0 || status >= http.StatusInternalServerError {
		q.span.SetStatus(codes.Error, strconv.Itoa(status))
	}
	q.span.End()
}

// Inject tells the server of a request which span it comes from.
func Inject(ctx context.Context, h http.Header) {
	if trace.SpanContextFromContext(ctx).IsValid() {
		format.Inject(ctx, propagation.HeaderCarrier(h))
	}
}

// Attempt is the span of a worker that runs an operation. A nil one does nothing.
type Attempt struct{ span trace.Span }

// StartAttempt starts the span of a claimed operation, below the operation's own.
// The context that it returns carries it.
func (t *Tracing) StartAttempt(ctx context.Context, task ktrdr.Task, worker ktrdr.WorkerID) (context.Context, *Attempt) {
	if t == nil || task.Trace == "" {
		return ctx, nil
	}
	above, err := parse(task.Trace)
	if err != nil {
		return ctx, nil
	}
	ctx = trace.ContextWithRemoteSpanContext(ctx, above.WithSpanID(spanOf(task.Operation)))
	ctx, span := t.tracer.Start(ctx, "worker "+string(task.Type), trace.WithSpanKind(trace.SpanKindConsumer), trace.WithAttributes(
		attribute.String("ktrdr.operation.id", string(task.Operation)), attribute.String("ktrdr.operation.type", string(task.Type)),
		attribute.Int("ktrdr.operation.attempt", task.Attempts), attribute.String("ktrdr.worker.id", string(worker)),
		attribute.Bool("ktrdr.worker.child_process", task.InChild)))
	return ctx, &Attempt{span}
}

// End ends the span with how the attempt ended. A failure has a code: its text
// may quote what only the lab may know.
func (a *Attempt) End(outcome string, failure ktrdr.Code) {
	if a == nil {
		return
	}
	a.span.SetAttributes(attribute.String("ktrdr.operation.outcome", outcome))
	if failure != "" {
		a.span.SetStatus(codes.Error, string(failure))
	}
	a.span.End()
}
