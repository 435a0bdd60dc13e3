package e2e

import (
	"strings"
	"testing"

	"go.opentelemetry.io/otel/trace"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/labtest"
	"github.com/ktrdr/ktrdr/research"
)

const (
	callersTrace = "0af7651916cd43dd8448eb211c80319c"
	callersSpan  = "b7ad6b7169203331"
)

// triggerIn starts a research as a caller that is traced.
func (l *lab) triggerIn(traceID, spanID, brief string) ktrdr.OperationID {
	l.t.Helper()
	id, err := trace.TraceIDFromHex(traceID)
	if err != nil {
		l.t.Fatal(err)
	}
	span, err := trace.SpanIDFromHex(spanID)
	if err != nil {
		l.t.Fatal(err)
	}
	ctx := trace.ContextWithRemoteSpanContext(l.t.Context(),
		trace.NewSpanContext(trace.SpanContextConfig{TraceID: id, SpanID: span, TraceFlags: trace.FlagsSampled}))
	made, err := l.client.Trigger(ctx, research.Request{Brief: brief, BypassGates: true, Force: true}, "")
	if err != nil {
		l.t.Fatalf("trigger %q: %v", brief, err)
	}
	return made.Operation
}

// one waits for the only span with a name.
func (l *lab) one(c *collector, name string) span {
	l.t.Helper()
	l.eventually("a span "+name, func() bool { return len(c.named(callersTrace, name)) > 0 })
	all := c.named(callersTrace, name)
	if len(all) != 1 {
		l.t.Errorf("%d spans are named %q, want 1", len(all), name)
	}
	return all[0]
}

// A research is one trace from the request to its workers, although the backend
// is killed in the middle of it.
func TestTrace_LeadsFromTheRequestToTheWorkerThroughAKilledBackend(t *testing.T) {
	onBoth(t, labtest.Calm, func(t *testing.T, l *lab) {
		c := startCollector(t)
		env := append(c.env(), "KTRDR_INJECT=delay=3s:training:secret-goal")
		backend := l.Serve(env...)
		l.Researcher(c.env()...)
		id := l.triggerIn(callersTrace, callersSpan, "secret-goal of mine")
		l.held(id, ktrdr.Training)
		request := l.one(c, "POST /api/v1/agent/trigger") // it is the killed process's own, and sent by now
		design := l.one(c, "worker agent_design")
		backend.Kill()
		l.Serve(env...)
		l.completes(id, phases...)

		if request.parent != callersSpan || request.role != "backend" || request.attributes["http.route"] != "/api/v1/agent/trigger" {
			t.Errorf("the request's span: %+v", request)
		}
		top := l.one(c, "agent_research")
		if top.parent != request.id || top.attributes["ktrdr.operation.id"] != string(id) || top.failed ||
			top.attributes["ktrdr.operation.outcome"] != "completed" {
			t.Errorf("the research's span: %+v, want below %s", top, request.id)
		}
		op := l.Op(id)
		if top.began != uint64(op.StartedAt.UnixNano()) || top.end != uint64(op.CompletedAt.UnixNano()) {
			t.Errorf("the research's span lasts from %d to %d, the research from %v to %v", top.began, top.end, op.StartedAt, op.CompletedAt)
		}
		roles := map[ktrdr.Type]string{ktrdr.Training: "worker", ktrdr.Backtesting: "worker"}
		for _, phase := range phases {
			part := l.one(c, string(phase))
			if part.parent != top.id || part.attributes["ktrdr.operation.type"] != string(phase) {
				t.Errorf("the span of the %s: %+v, want below %s", phase, part, top.id)
			}
			attempt := l.one(c, "worker "+string(phase))
			if want := roles[phase]; attempt.parent != part.id || want != "" && attempt.role != want ||
				attempt.attributes["ktrdr.operation.attempt"] == "" {
				t.Errorf("the worker's span of the %s: %+v, want below %s", phase, attempt, part.id)
			}
		}
		if design.role != "backend" {
			t.Errorf("the design ran in a %s", design.role)
		}
		training, ended := l.one(c, "worker training"), false
		for _, s := range c.named(callersTrace, "POST /api/v1/workers/finish") {
			ended = ended || s.parent == training.id
		}
		if !ended {
			t.Error("no request that ends the training is below the worker's span")
		}
		if c.holds("secret-goal") {
			t.Error("a span names the goal")
		}
	})
}

// A collector that does not answer is no reason to wait or to fail, and is not
// logged with every span.
func TestTrace_ACollectorThatIsAwayDisturbsNothing(t *testing.T) {
	t.Parallel()
	l := newLab(t, labtest.SQLite, labtest.Calm)
	env := []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + labtest.Address(t), "OTEL_BSP_SCHEDULE_DELAY=10"}
	backend := l.ServeWith(1, env...)
	id := l.trigger("no collector listens")
	l.completes(id, phases...)
	l.logs(backend, "traces were not sent")
	if n := strings.Count(backend.Log(), "traces were not sent"); n > 1 {
		t.Errorf("it was logged %d times within a minute", n)
	}

	later := startCollector(t) // what ended meanwhile is told later
	backend.Kill()
	l.ServeWith(1, later.env()...)
	l.eventually("the span of the research", func() bool { return later.holds(string(id)) })
}
