package e2e

import (
	"bytes"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	collectortrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// span is what a collector learned of one.
type span struct {
	id, parent string
	name       string
	role       string // of the process that sent it
	began, end uint64
	attributes map[string]string
	failed     bool
}

// collector receives traces as an OpenTelemetry collector does: OTLP as protobuf
// over HTTP.
type collector struct {
	t   *testing.T
	url string

	mu    sync.Mutex
	raw   bytes.Buffer
	spans map[string][]span // by trace
}

func startCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{t: t, spans: map[string][]span{}}
	server := httptest.NewServer(http.HandlerFunc(c.take))
	t.Cleanup(server.Close)
	c.url = server.URL
	return c
}

// env has a process send its traces here, soon.
func (c *collector) env() []string {
	return []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.url, "OTEL_BSP_SCHEDULE_DELAY=50"}
}

func (c *collector) take(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var sent collectortrace.ExportTraceServiceRequest
	if err == nil {
		err = proto.Unmarshal(body, &sent)
	}
	if err != nil || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" {
		c.t.Errorf("%s %s of %s: %v", r.Method, r.URL.Path, r.Header.Get("Content-Type"), err)
		http.Error(w, "not OTLP", http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.raw.Write(body)
	for _, from := range sent.ResourceSpans {
		role := ""
		for _, a := range from.Resource.Attributes {
			if a.Key == "ktrdr.role" {
				role = a.Value.GetStringValue()
			}
		}
		for _, scope := range from.ScopeSpans {
			for _, s := range scope.Spans {
				trace := hex.EncodeToString(s.TraceId)
				c.spans[trace] = append(c.spans[trace], spanOf(s, role))
			}
		}
	}
}

func spanOf(s *tracepb.Span, role string) span {
	out := span{
		id: hex.EncodeToString(s.SpanId), parent: hex.EncodeToString(s.ParentSpanId), name: s.Name, role: role,
		began: s.StartTimeUnixNano, end: s.EndTimeUnixNano, attributes: map[string]string{},
		failed: s.Status.GetCode() == tracepb.Status_STATUS_CODE_ERROR,
	}
	for _, a := range s.Attributes {
		out.attributes[a.Key] = strings.Trim(a.Value.String(), `"`)
		if text := a.Value.GetStringValue(); text != "" {
			out.attributes[a.Key] = text
		}
	}
	return out
}

// named returns the spans of a trace with a name; a span that came twice is one.
func (c *collector) named(trace, name string) (found []span) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.spans[trace] {
		if s.name == name && !slices.ContainsFunc(found, func(o span) bool { return o.id == s.id }) {
			found = append(found, s)
		}
	}
	return found
}

// holds says whether a text is anywhere in what was received.
func (c *collector) holds(text string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return bytes.Contains(c.raw.Bytes(), []byte(text))
}
