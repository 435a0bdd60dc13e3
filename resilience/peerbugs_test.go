package resilience_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/resilience"
)

// The faults that were found in a public fault-tolerance layer by running it,
// each with its number there, shown not to be here: of its circuit breaker,
// its degradation, its retries and its error handler. The faults of its
// fallback chain are shown absent where ours is.

func TestPeerBug_Breaker1_AHaltHoldsForEveryAsker(t *testing.T) {
	r := registry(t, resilience.RegistryConfig{})
	b := r.Breaker(ktrdr.ScopeAgent, "a")
	if _, err := r.Force(t.Context(), "agent:a", ktrdr.BreakerOpen, "ann", "halt"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Allow(t.Context()); err == nil {
		t.Error("Allow passes a halted breaker")
	}
	if err := resilience.Do(t.Context(), []*resilience.Breaker{b}, func(context.Context) error { return nil }); err == nil {
		t.Error("Do passes a halted breaker")
	}
}

func TestPeerBug_Breaker2And8_NoNumberAndNoMeasurementFailClosed(t *testing.T) {
	if _, err := resilience.NewRegistry(resilience.RegistryConfig{
		Enabled: true,
		Default: resilience.BreakerConfig{SlowRate: math.NaN()},
	}); err == nil {
		t.Error("a rate that is no number is accepted: it never opens")
	}
	b := registry(t, resilience.RegistryConfig{Default: resilience.BreakerConfig{MinCalls: 1}}).Breaker(ktrdr.ScopeAgent, "a")
	p, err := b.Allow(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p.Done(-1, nil) // it was not measured
	wantState(t, b, ktrdr.BreakerOpen)
}

func TestPeerBug_Breaker3_ADecisionNeedsAPerson(t *testing.T) {
	r := registry(t, resilience.RegistryConfig{})
	trip(t, r.Breaker(ktrdr.ScopeAgent, "a"))
	_, err := r.Reset(t.Context(), "agent:a", "", "because")
	wantCode(t, err, ktrdr.CodeInvalid)
	wantState(t, r.Breaker(ktrdr.ScopeAgent, "a"), ktrdr.BreakerOpen)
}

func TestPeerBug_Breaker4_ANewProcessDoesNotBeginClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore()
		r := restarted(t, store)
		stop := running(t, r)
		trip(t, r.Breaker(ktrdr.ScopeAgent, "a"))
		stop()
		if call(restarted(t, store).Breaker(ktrdr.ScopeAgent, "a"), nil) {
			t.Error("closed in the next process")
		}
	})
}

func TestPeerBug_Breaker5_AListenerThatPanicsLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore()
		r := registry(t, resilience.RegistryConfig{Store: store, OnChange: func(ktrdr.BreakerChange) { panic("boom") }})
		stop := running(t, r)
		trip(t, r.Breaker(ktrdr.ScopeAgent, "a"))
		stop()
		if len(store.history) != 1 {
			t.Errorf("%d lines of history, want 1", len(store.history))
		}
	})
}

func TestPeerBug_Breaker6_AResetForgetsTheCounts(t *testing.T) {
	r := registry(t, resilience.RegistryConfig{})
	b := r.Breaker(ktrdr.ScopeAgent, "a")
	trip(t, b)
	row, err := r.Reset(t.Context(), "agent:a", "ann", "looked into it")
	if err != nil || row.Trips != 0 || !row.RetryAt.IsZero() {
		t.Fatalf("%+v, %v; want nothing left of the trip", row, err)
	}
	call(b, timedOut)
	wantState(t, b, ktrdr.BreakerClosed)
}

func TestPeerBug_Breaker7_RecoversByItselfWithProbes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := registry(t, resilience.RegistryConfig{}).Breaker(ktrdr.ScopeAgent, "a")
		trip(t, b)
		time.Sleep(time.Minute)
		for range 3 {
			call(b, nil)
		}
		wantState(t, b, ktrdr.BreakerClosed)
	})
}

func TestPeerBug_Degradation6_OneDegradedServiceOfOneIsNotOffline(t *testing.T) {
	for _, critical := range []bool{false, true} {
		d := degradation(t,
			resilience.DegradationConfig{Services: []resilience.Service{{Name: "llm", Critical: critical, Start: resilience.HealthGood}}})
		report(t, d, "llm", resilience.HealthDegraded)
		if got := d.Level(); got != resilience.Degraded {
			t.Errorf("%s, want DEGRADED", got)
		}
	}
}

func TestPeerBug_Degradation6_AnUnknownServiceIsAnError(t *testing.T) {
	d := degradation(t, resilience.DegradationConfig{Services: product()})
	wantCode(t, d.Report("opneai", resilience.HealthDown), ktrdr.CodeInvalid)
	wantCode(t, d.Report("openai", "dwon"), ktrdr.CodeInvalid)
	if got := d.Level(); got != resilience.Full {
		t.Errorf("%s, want FULL", got)
	}
}

func TestPeerBug_Degradation7_AListenerMayAsk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d *resilience.Degradation
		var heard []resilience.Level
		d = degradation(t, resilience.DegradationConfig{Services: product(), OnChange: func(c resilience.LevelChange) {
			heard = append(heard, c.To)
			if c.To == resilience.Degraded { // asks and reports, which changes the level again
				_ = d.Status()
				report(t, d, "anthropic", resilience.HealthDown)
			}
		}})
		report(t, d, "openai", resilience.HealthDown)
		if len(heard) != 2 || heard[1] != resilience.Minimal || d.Level() != resilience.Minimal {
			t.Errorf("heard %v at %s, want DEGRADED and MINIMAL", heard, d.Level())
		}
	})
}

func TestPeerBug_Degradation7_HistoryIsBounded(t *testing.T) {
	d := degradation(t, resilience.DegradationConfig{Services: product(), Hold: -1})
	for range 500 {
		report(t, d, "openai", resilience.HealthDown)
		report(t, d, "openai", resilience.HealthGood)
	}
	if got := len(d.Status().History); got != 100 {
		t.Errorf("%d lines, want the newest 100", got)
	}
	if _, err := resilience.NewDegradation(resilience.DegradationConfig{}); err == nil {
		t.Error("an empty list became something else")
	}
}

func TestPeerBug_Degradation8_WhatIsShedIsRefused(t *testing.T) {
	d := degradation(t, resilience.DegradationConfig{Services: product()})
	report(t, d, "openai", resilience.HealthDown)
	report(t, d, "anthropic", resilience.HealthDown)
	if err := d.Allows(resilience.LLMDesign); err == nil {
		t.Error("llm_design is allowed at MINIMAL")
	}
}

func TestPeerBug_Retry_TheCapHoldsAfterTheJitter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		most := resilience.RetryPolicy{First: time.Minute, Jitter: 0.5, Rand: func() float64 { return 0.999 }, Retries: 1}
		at, _ := tries(t.Context(), most, timedOut)
		if got := at[1]; got != time.Minute {
			t.Errorf("waited %v, want the cap of a minute", got)
		}
	})
}

func TestPeerBug_Retry_WhatIsUnknownIsNotTriedAgain(t *testing.T) {
	if at, _ := tries(t.Context(), resilience.RetryPolicy{}, errors.New("timeout: connection temporarily unavailable, retry")); len(at) != 1 {
		t.Errorf("%d tries because of words, want 1", len(at))
	}
}

func TestPeerBug_Retry_LessThanNoRetriesMeansNoRetry(t *testing.T) {
	if at, err := tries(t.Context(), resilience.RetryPolicy{Retries: -3}, timedOut); len(at) != 1 || !errors.Is(err, timedOut) {
		t.Errorf("%d tries, %v; want one and its error", len(at), err)
	}
}

func TestPeerBug_Errors_WordsAreNoTaxonomy(t *testing.T) {
	for _, text := range []string{
		"KeyError: 'timeout'", "PermissionError: connection", "ZeroDivisionError", "no information",
		"invalid value: network memory overflow", "429 rate limit", "401 unauthorized",
	} {
		if got := resilience.KindOf(errors.New(text)); got != resilience.KindUnknown {
			t.Errorf("%q is %s because of its words", text, got)
		}
	}
}

func TestPeerBug_Errors_ABreakerCountsByItself(t *testing.T) {
	b := registry(t, resilience.RegistryConfig{}).Breaker(ktrdr.ScopeAgent, "a")
	for range 5 {
		_ = resilience.Do(t.Context(), []*resilience.Breaker{b}, func(context.Context) error { return errors.New("unexpected") })
	}
	wantState(t, b, ktrdr.BreakerOpen)
}

func TestPeerBug_Errors_AListenerMayReadTheStatus(t *testing.T) {
	var r *resilience.Registry
	var heard []string
	r = registry(t, resilience.RegistryConfig{OnChange: func(c ktrdr.BreakerChange) {
		heard = append(heard, string(c.To))
		_ = r.List()
		trip := r.Breaker(ktrdr.ScopeCluster, "c")
		for range 5 { // uses another breaker, which changes as well
			call(trip, timedOut)
		}
	}})
	trip(t, r.Breaker(ktrdr.ScopeAgent, "a"))
	if got := strings.Join(heard, " "); got != "OPEN OPEN" {
		t.Errorf("heard %q, want both breakers", got)
	}
}
