// Package tracing sends OpenTelemetry traces to a collector: a span for each
// request, one for each operation and one for each attempt of a worker.
//
//	request ──▶ operation ──▶ operations below it ──▶ attempt ──▶ request of the worker
//	  server's     its own row's                        worker's
//
// Spans of requests and attempts are of the process that made them and are lost
// with it. The span of an operation is made from its row after it has ended. Its
// id follows from the operation's id, so that spans below it can name it before
// it exists, and every process makes the same one.
//
// It is off unless the environment names an endpoint. A *Tracing that is nil is
// off: its methods do nothing.
package tracing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/ktrdr/ktrdr"
)

const (
	scope = "github.com/ktrdr/ktrdr"

	// closeWithin is how long a stop waits for a collector that does not answer.
	closeWithin = 3 * time.Second
	// exportWithin is how long one export of operations may take.
	exportWithin = 10 * time.Second
	// complainEvery is how often a collector that takes nothing is logged.
	complainEvery = time.Minute
)

// Tracing makes spans and sends them.
type Tracing struct {
	provider *sdktrace.TracerProvider // of requests and attempts
	rows     *sdktrace.TracerProvider // of operations
	tracer   trace.Tracer
	exporter sdktrace.SpanExporter // of operations
	log      *slog.Logger

	mu       sync.Mutex // one export of operations at a time
	ended    []sdktrace.ReadOnlySpan
	complain sometimes
}

// Open starts tracing as the standard variables of OpenTelemetry say; nil when
// they name no endpoint. The role is what the process is: backend or worker.
func Open(ctx context.Context, role, version string, log *slog.Logger) (*Tracing, error) {
	on, err := wanted(os.Getenv)
	if !on || err != nil {
		return nil, err
	}
	from, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", "ktrdr"), attribute.String("service.version", version),
			attribute.String("ktrdr.role", role), attribute.Int("process.pid", os.Getpid())),
		resource.WithHost(), resource.WithTelemetrySDK(), resource.WithFromEnv()) // the environment wins
	if err != nil {
		return nil, ktrdr.Errorf(ktrdr.CodeInvalid, "OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	batches, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, ktrdr.Errorf(ktrdr.CodeInvalid, "OpenTelemetry: %w", err)
	}
	// An exporter is called by one at a time: operations have their own.
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, errors.Join(ktrdr.Errorf(ktrdr.CodeInvalid, "OpenTelemetry: %w", err), batches.Shutdown(ctx))
	}
	t := &Tracing{exporter: exporter, log: log}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { t.failed(context.WithoutCancel(ctx), err) }))
	t.provider = sdktrace.NewTracerProvider(sdktrace.WithResource(from), sdktrace.WithBatcher(batches))
	t.rows = sdktrace.NewTracerProvider(sdktrace.WithResource(from), sdktrace.WithIDGenerator(given{}),
		sdktrace.WithSampler(sdktrace.AlwaysSample()), sdktrace.WithSpanProcessor((*collector)(t)))
	t.tracer = t.provider.Tracer(scope)
	return t, nil
}

// wanted says whether the environment asks for traces that this program can send.
func wanted(getenv func(string) string) (bool, error) {
	name := "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	if getenv(name) == "" {
		name = "OTEL_EXPORTER_OTLP_ENDPOINT"
	}
	endpoint := getenv(name)
	if endpoint == "" || strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") || getenv("OTEL_TRACES_EXPORTER") == "none" {
		return false, nil
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return false, ktrdr.Errorf(ktrdr.CodeInvalid, "%s must be the address of a collector, like http://127.0.0.1:4318", name)
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"} {
		if p := getenv(name); p != "" && p != "http/protobuf" {
			return false, ktrdr.Errorf(ktrdr.CodeInvalid, "%s is %q: only http/protobuf is supported, for which collectors listen on port 4318",
				name, p)
		}
	}
	return true, nil
}

// Close sends what is left, for a few seconds at most.
func (t *Tracing) Close(ctx context.Context) {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeWithin)
	defer cancel()
	if err := errors.Join(t.provider.Shutdown(ctx), t.rows.Shutdown(ctx), t.exporter.Shutdown(ctx)); err != nil {
		t.failed(ctx, err)
	}
}

// failed logs that a collector took nothing, once a minute at most.
func (t *Tracing) failed(ctx context.Context, err error) {
	if t.complain.now() {
		t.log.WarnContext(ctx, "traces were not sent", "err", err)
	}
}

// sometimes is true once within complainEvery.
type sometimes struct {
	mu   sync.Mutex
	last time.Time
}

func (s *sometimes) now() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.last.IsZero() && time.Since(s.last) < complainEvery {
		return false
	}
	s.last = time.Now()
	return true
}

// format reads and writes traceparent. Baggage is not carried: it may hold what
// its sender would not give to our collector.
var format = propagation.TraceContext{}

// Parent is the traceparent of the span that ctx is in; "" when it is in none.
func Parent(ctx context.Context) string {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return ""
	}
	carrier := propagation.MapCarrier{}
	format.Inject(ctx, carrier)
	return carrier["traceparent"]
}

// parse reads a traceparent.
func parse(traceparent string) (trace.SpanContext, error) {
	ctx := format.Extract(context.Background(), propagation.MapCarrier{"traceparent": traceparent})
	if sc := trace.SpanContextFromContext(ctx); sc.IsValid() {
		return sc, nil
	}
	return trace.SpanContext{}, fmt.Errorf("%q is not a traceparent", traceparent)
}
