package backend

import (
	"context"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/resilience"
)

// protected is a backend's breaker of a provider, and how it retries.
type protected struct {
	ctx context.Context //nolint:containedctx // of the test
	*resilience.Breaker
	retry resilience.RetryPolicy
}

// calls makes calls that end so and says how many were let through.
func (p protected) calls(n int, took time.Duration, err error) (passed int) {
	for range n {
		if permit, refused := p.Allow(p.ctx); refused == nil {
			permit.Done(took, err)
			passed++
		}
	}
	return passed
}

// A setting that is read and then not used is a promise that is broken
// unnoticed. Each of these is given a value, and the backend behaves by it; with
// the value that it has otherwise it does not.
var protections = map[string]struct {
	value string
	does  func(p protected) bool
}{
	"circuit_breaker.enabled":           {"false", func(p protected) bool { return p.calls(50, 0, outage) == 50 }},
	"circuit_breaker.failure_threshold": {"2", func(p protected) bool { return p.calls(50, 0, outage) == 2 }},
	"circuit_breaker.recovery_timeout_seconds": {"7", func(p protected) bool {
		p.calls(5, 0, outage)
		time.Sleep(8 * time.Second) // with jitter
		return p.calls(1, 0, nil) == 1
	}},
	"circuit_breaker.half_open_max_calls": {"1", func(p protected) bool {
		p.calls(5, 0, outage)
		time.Sleep(2 * time.Minute)
		p.calls(1, 0, nil)
		return p.Status().State == ktrdr.BreakerClosed
	}},
	"circuit_breaker.slow_call_seconds": {"3", func(p protected) bool { return p.calls(50, 4*time.Second, nil) == 10 }},
	"circuit_breaker.require_human_reset": {"true", func(p protected) bool {
		p.calls(5, 0, outage)
		time.Sleep(24 * time.Hour)
		return p.calls(1, 0, nil) == 0
	}},
	"retry.max_retries":         {"1", func(p protected) bool { return p.retry.Retries == 1 }},
	"retry.first_delay_seconds": {"3", func(p protected) bool { return p.retry.First == 3*time.Second }},
	"retry.max_delay_seconds":   {"9", func(p protected) bool { return p.retry.Most == 9*time.Second }},
}

func TestConfig_EverySettingThatProtectsIsObeyed(t *testing.T) {
	for _, s := range Settings() {
		section, _, _ := strings.Cut(s.Key, ".")
		if section != "circuit_breaker" && section != "retry" {
			continue
		}
		t.Run(s.Key, func(t *testing.T) {
			c, ok := protections[s.Key]
			if !ok {
				t.Fatal("say in the table what it does")
			}
			for value, want := range map[string]bool{c.value: true, s.Default: false} {
				synctest.Test(t, func(t *testing.T) {
					if got := c.does(protectedBy(t, env{s.Env: value})); got != want {
						t.Errorf("%s=%s: obeyed is %v, want %v", s.Env, value, got, want)
					}
				})
			}
		})
	}
}

// protectedBy makes a backend's protection of its environment.
func protectedBy(t *testing.T, e env) protected {
	t.Helper()
	maps.Copy(e, gateway)
	b := openedModels(t, e)
	return protected{t.Context(), b.models.registry.Breaker(ktrdr.ScopeProvider, "one"), b.chainConfig(b.models).Retry}
}
