package httpapi

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/llm"
	"github.com/ktrdr/ktrdr/resilience"
)

// fakeResilience has one breaker, and obeys every client that says its name.
type fakeResilience struct {
	level   resilience.Level // empty means DEGRADED
	decided []resilience.HumanDecision
	asked   []string
}

func (f *fakeResilience) Breakers() []resilience.Status {
	return []resilience.Status{
		{
			Breaker: ktrdr.Breaker{Name: "provider:x", Scope: ktrdr.ScopeProvider, State: ktrdr.BreakerOpen}, Enabled: true,
			CallStats: resilience.CallStats{Calls: 5},
		},
	}
}

func (f *fakeResilience) BreakerHistory(_ context.Context, name string, _ int) ([]ktrdr.BreakerChange, error) {
	f.asked = append(f.asked, name)
	return nil, nil
}

func (f *fakeResilience) ResetBreaker(_ context.Context, name string, d resilience.HumanDecision) (resilience.Decided, error) {
	if d.By == "" {
		return resilience.Decided{}, ktrdr.Errorf(ktrdr.CodeInvalid, "say who decides this")
	}
	f.decided, f.asked = append(f.decided, d), append(f.asked, name)
	return resilience.Decided{Breaker: ktrdr.Breaker{Name: name, State: ktrdr.BreakerClosed}, AlsoBlocking: []string{"cluster:x.example"}}, nil
}

func (f *fakeResilience) ForceBreaker(ctx context.Context, name string, d resilience.HumanDecision) (resilience.Decided, error) {
	return f.ResetBreaker(ctx, name, d)
}

func (f *fakeResilience) Degradation() resilience.DegradationStatus {
	return resilience.DegradationStatus{
		Level: cmp.Or(f.level, "DEGRADED"), Services: []resilience.ServiceStatus{}, Shed: []resilience.Feature{"llm_assessment"},
		History: []resilience.LevelChange{},
	}
}

func (f *fakeResilience) Models() []llm.ModelHealth {
	return []llm.ModelHealth{{Model: "x/y", Provider: "x"}}
}

func TestBreakers_ArePersonsDecisions(t *testing.T) {
	f := &fakeResilience{}
	st := serve(t, &fakeEngine{}, func(c *Config) { c.Resilience = f })
	for _, x := range []struct {
		name, method, path, body string
		status                   int
		says                     string
	}{
		{"listed", http.MethodGet, "/api/v1/breakers", "", 200, `"state":"OPEN"`},
		{"history of one", http.MethodGet, "/api/v1/breakers/history?name=provider:x", "", 200, `"data":[]`},
		{"reset without a name", http.MethodPost, "/api/v1/breakers/provider:x/reset", `{"why":"mended"}`, 422, "say who"},
		{
			"reset with a state", http.MethodPost, "/api/v1/breakers/provider:x/reset", `{"by":"ann","why":"mended","state":"OPEN"}`, 422,
			"use force",
		},
		{"reset", http.MethodPost, "/api/v1/breakers/provider:x/reset", `{"by":"ann","why":"mended"}`, 200, `"state":"CLOSED"`},
		{
			"reset, and another is open", http.MethodPost, "/api/v1/breakers/provider:x/reset", `{"by":"ann","why":"mended"}`, 200,
			`"also_blocking":["cluster:x.example"]`,
		},
		{"forced", http.MethodPost, "/api/v1/breakers/provider:x/force", `{"by":"ann","why":"maintenance","state":"OPEN"}`, 200, "provider:x"},
		{"what is shed", http.MethodGet, "/api/v1/degradation", "", 200, "llm_assessment"},
		{"a model without a price", http.MethodGet, "/api/v1/agent/models", "", 200, `"usd_per_million_input_tokens":null`},
	} {
		t.Run(x.name, func(t *testing.T) {
			a := st.send(t, x.method, x.path, x.body)
			if a.status != x.status || !strings.Contains(string(a.body), x.says) {
				t.Errorf("%d %s, want %d and %q", a.status, a.body, x.status, x.says)
			}
		})
	}
	if len(f.decided) != 3 || f.decided[2].State != ktrdr.BreakerOpen ||
		strings.Join(f.asked, " ") != "provider:x provider:x provider:x provider:x" {
		t.Errorf("decided %+v of %q", f.decided, f.asked)
	}
}
