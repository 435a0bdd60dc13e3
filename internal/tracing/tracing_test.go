package tracing

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/ktrdr/ktrdr"
)

func TestWanted_OnlyWithAnEndpointThatCanBeUsed(t *testing.T) {
	for name, c := range map[string]struct {
		env   map[string]string
		on    bool
		wrong string
	}{
		"nothing":        {},
		"an endpoint":    {env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}, on: true},
		"one for traces": {env: map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "https://c.example/v1/traces"}, on: true},
		"disabled":       {env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_SDK_DISABLED": "true"}},
		"no exporter":    {env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_TRACES_EXPORTER": "none"}},
		"without scheme": {env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "127.0.0.1:4318"}, wrong: "OTEL_EXPORTER_OTLP_ENDPOINT"},
		"another way": {
			env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, wrong: "4318",
		},
	} {
		t.Run(name, func(t *testing.T) {
			on, err := wanted(func(name string) string { return c.env[name] })
			if on != c.on || (err != nil) != (c.wrong != "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("%v, %v; want %v and an error with %q", on, err, c.on, c.wrong)
			}
			if err != nil && ktrdr.CodeOf(err) != ktrdr.CodeInvalid {
				t.Errorf("a wrong setting has the code %s", ktrdr.CodeOf(err))
			}
		})
	}
}

// A tracing that is off is nil, and costs nothing.
func TestTracing_ThatIsOffDoesNothing(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "")
	off, err := Open(t.Context(), "backend", "dev", slog.New(slog.DiscardHandler))
	if off != nil || err != nil {
		t.Fatal(off, err)
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	task := ktrdr.Task{Trace: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
	cost := testing.AllocsPerRun(100, func() {
		ctx, request := off.StartRequest(r, "/", time.Time{})
		request.SetRoute("GET", "/")
		request.End(200)
		_, attempt := off.StartAttempt(ctx, task, "w")
		attempt.End("completed", "")
		Inject(ctx, r.Header)
		if Parent(ctx) != "" {
			t.Error("it made a span")
		}
		off.Close(ctx)
	})
	if err := off.Export(t.Context(), []Ended{{}}); err != nil || cost > 0 || len(r.Header) > 0 {
		t.Errorf("%v, %v allocations, headers %v", err, cost, r.Header)
	}
}

// Every process makes the same span of an operation, so that spans below it can
// name it and one that is sent twice is one.
func TestSpanOf_IsTheSameEverywhere(t *testing.T) {
	const want = "89584c0fbe93396f"
	if got := spanOf("op_training_20260101_000000_00000001").String(); got != want {
		t.Errorf("the span's id is %s, want %s: spans of work that is under way would lose what is above them", got, want)
	}
}

func TestExport_FailsAndIsLoggedOnceAMinute(t *testing.T) {
	refusing := httptest.NewServer(http.NotFoundHandler())
	defer refusing.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", refusing.URL)
	var log bytes.Buffer
	on, err := Open(t.Context(), "backend", "dev", slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer on.Close(context.WithoutCancel(t.Context()))
	now := time.Now()
	ended := func(flags string) []Ended {
		op := ktrdr.Operation{ID: "op_dummy_1", Type: ktrdr.Dummy, Trace: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-" + flags}
		op.CreatedAt, op.StartedAt = now, now
		return []Ended{{Operation: op, Outcome: ktrdr.Completed, At: now}}
	}
	for range 3 {
		if err := on.Export(t.Context(), ended("01")); err == nil {
			t.Error("a collector that takes nothing is a success")
		}
	}
	if n := strings.Count(log.String(), "traces were not sent"); n != 1 {
		t.Errorf("logged %d times: %s", n, log.String())
	}
	if err := on.Export(t.Context(), ended("00")); err != nil {
		t.Errorf("what is not sampled was sent: %v", err)
	}
}

func TestParent_IsReadAsItWasWritten(t *testing.T) {
	const written = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	sc, err := parse(written)
	if err != nil {
		t.Fatal(err)
	}
	if read := Parent(trace.ContextWithRemoteSpanContext(t.Context(), sc)); read != written {
		t.Errorf("%s became %s", written, read)
	}
	if _, err := parse("00-xyz"); err == nil {
		t.Error("what is no traceparent was read")
	}
}
