package main

import (
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/resilience"
)

func TestBreakers_OneThatWaitsForAPersonHasNoProbe(t *testing.T) {
	soon, past := time.Now().Add(time.Hour), time.Now().Add(-time.Hour)
	at := soon.Local().Format(time.DateTime)
	for name, x := range map[string]struct {
		change       func(*resilience.Status)
		state, probe string
	}{
		"open":                       {func(*resilience.Status) {}, "OPEN", at},
		"held, in its cool-down":     {func(b *resilience.Status) { b.Held = true }, "OPEN (waits for a person, from " + at + " on)", "-"},
		"held, and free to be reset": {func(b *resilience.Status) { b.Held, b.RetryAt = true, past }, "OPEN (waits for a person)", "-"},
		"forced":                     {func(b *resilience.Status) { b.Forced = ktrdr.BreakerClosed }, "CLOSED (forced)", "-"},
		"disabled":                   {func(b *resilience.Status) { b.Enabled = false }, "OPEN (disabled)", "-"},
		"closed":                     {func(b *resilience.Status) { b.State = ktrdr.BreakerClosed }, "CLOSED", "-"},
	} {
		t.Run(name, func(t *testing.T) {
			b := resilience.Status{Enabled: true}
			b.State, b.RetryAt = ktrdr.BreakerOpen, soon
			x.change(&b)
			if state, probe := standing(b); state != x.state || probe != x.probe {
				t.Errorf("%q with a probe at %q, want %q and %q", state, probe, x.state, x.probe)
			}
		})
	}
}

func TestBreakers_NameTheOneThatMayBeMeant(t *testing.T) {
	err := noBreaker("provider:opena", []resilience.Status{{Breaker: ktrdr.Breaker{Name: "provider:openai"}}})
	if !strings.Contains(err.Error(), "did you mean provider:openai?") {
		t.Error(err)
	}
}
