package resilience_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/resilience"
)

func TestDo_AllMustAllow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := registry(t, resilience.RegistryConfig{})
		agent, cluster, provider := r.Breaker(ktrdr.ScopeAgent, "a"), r.Breaker(ktrdr.ScopeCluster, "c"), r.Breaker(ktrdr.ScopeProvider, "p")
		trip(t, agent)
		time.Sleep(time.Minute)
		trip(t, provider) // and is not ready yet, while agent is

		err := resilience.Do(t.Context(), []*resilience.Breaker{agent, cluster, provider}, func(context.Context) error {
			t.Error("called although the provider's breaker is open")
			return nil
		})
		if open, ok := errors.AsType[*resilience.OpenError](err); !ok || open.Name != "provider:p" {
			t.Errorf("err = %v, want the provider's breaker", err)
		}
		if s := cluster.Status(); s.Calls != 0 || s.InFlight != 0 {
			t.Errorf("%+v: a call that was never made was counted", s.CallStats)
		}
		if !call(agent, nil) {
			t.Error("the probe that was given back is still taken")
		}
	})
}

func TestDo_TellsEveryBreakerHowItEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := registry(t, resilience.RegistryConfig{})
		all := []*resilience.Breaker{r.Breaker(ktrdr.ScopeAgent, "a"), r.Breaker(ktrdr.ScopeProvider, "p")}
		err := resilience.Do(t.Context(), all, func(context.Context) error {
			time.Sleep(2 * time.Minute)
			return timedOut
		})
		if !errors.Is(err, timedOut) {
			t.Errorf("err = %v, want the call's own", err)
		}
		for _, b := range all {
			if s := b.Status(); s.Failures != 1 || s.Slow != 1 || s.InFlight != 0 {
				t.Errorf("%s counts %+v, want one slow failure", b.Name(), s.CallStats)
			}
		}
	})
}

func TestDo_PanicIsAFailureAndIsRaisedAgain(t *testing.T) {
	b := registry(t, resilience.RegistryConfig{}).Breaker(ktrdr.ScopeAgent, "a")
	func() {
		defer func() {
			if p := recover(); p != "boom" {
				t.Errorf("recovered %v, want the call's own panic", p)
			}
		}()
		_ = resilience.Do(t.Context(), []*resilience.Breaker{b}, func(context.Context) error { panic("boom") })
	}()
	if s := b.Status(); s.Failures != 1 || s.InFlight != 0 {
		t.Errorf("%+v, want one failure and nothing in flight", s.CallStats)
	}
}

func TestDo_NotEvenAskedWhenTheContextHasEnded(t *testing.T) {
	b := registry(t, resilience.RegistryConfig{}).Breaker(ktrdr.ScopeAgent, "a")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(ktrdr.ErrLost)
	err := resilience.Do(ctx, []*resilience.Breaker{b}, func(context.Context) error { t.Error("called"); return nil })
	if resilience.KindOf(err) != resilience.KindCancelled || !errors.Is(err, ktrdr.ErrLost) {
		t.Errorf("err = %v, want the cause", err)
	}
}
