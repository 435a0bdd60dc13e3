package resilience_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/resilience"
)

func TestForce_WinsOverTheAutomaticStateAndOverRestarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore()
		r := restarted(t, store)
		b := r.Breaker(ktrdr.ScopeProvider, "x")
		row, err := r.Force(t.Context(), "provider:x", ktrdr.BreakerOpen, "ann", "they asked us to stop")
		if err != nil || row.Forced != ktrdr.BreakerOpen || row.By != "ann" || row.Version != 1 {
			t.Fatalf("%+v, %v", row, err)
		}
		if call(b, nil) {
			t.Error("let through although forced open")
		}
		time.Sleep(24 * time.Hour)
		r = restarted(t, store)
		b = r.Breaker(ktrdr.ScopeProvider, "x")
		_, err = b.Allow(t.Context())
		if open, ok := errors.AsType[*resilience.OpenError](err); !ok || !open.Forced || !open.RetryAt.IsZero() {
			t.Errorf("err = %v after a restart, want forced, without an instant", err)
		}

		if _, err := r.Force(t.Context(), "provider:x", ktrdr.BreakerClosed, "bob", "they are back"); err != nil {
			t.Fatal(err)
		}
		for range 50 {
			if !call(b, timedOut) {
				t.Fatal("refused although forced closed")
			}
		}
		if _, err := r.Force(t.Context(), "provider:x", "", "bob", "let it decide"); err != nil {
			t.Fatal(err)
		}
		call(b, timedOut) // the failures of that time are forgiven
		wantState(t, b, ktrdr.BreakerClosed)
		trip(t, b)
		if len(store.history) != 3 || store.history[2].By != "bob" || store.history[2].Reason != "let it decide" {
			t.Errorf("history %+v, want three decisions with who and why", store.history)
		}
	})
}

func TestForce_RefusesWhatIsNoDecision(t *testing.T) {
	r := registry(t, resilience.RegistryConfig{})
	r.Breaker(ktrdr.ScopeProvider, "x")
	r.Breaker(ktrdr.ScopeAgent, "designer")
	for name, c := range map[string]struct {
		name    string
		to      ktrdr.BreakerState
		by, why string
		code    ktrdr.Code
		says    string
	}{
		"no person decides":         {"provider:x", ktrdr.BreakerOpen, " ", "because", ktrdr.CodeInvalid, "who"},
		"for no reason":             {"provider:x", ktrdr.BreakerOpen, "ann", "\t", ktrdr.CodeInvalid, "why"},
		"with too many words":       {"provider:x", ktrdr.BreakerOpen, "ann", strings.Repeat("a", 501), ktrdr.CodeInvalid, "500"},
		"to a state it cannot have": {"provider:x", ktrdr.BreakerHalfOpen, "ann", "because", ktrdr.CodeInvalid, "CLOSED"},
		"gives back what is free":   {"provider:x", "", "ann", "because", ktrdr.CodeConflict, "not forced"},
		"what is not there":         {"x", ktrdr.BreakerOpen, "ann", "because", ktrdr.CodeNotFound, "agent:designer, provider:x"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := r.Force(t.Context(), c.name, c.to, c.by, c.why)
			wantCode(t, err, c.code)
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("err = %v, want a word on %q", err, c.says)
			}
		})
	}
}

func TestReset_OnlyAPersonClosesWhatIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore()
		r := registry(t, resilience.RegistryConfig{
			Store:   store,
			Default: resilience.BreakerConfig{RequireHuman: true, HumanCooldown: 10 * time.Minute},
		})
		stop := running(t, r)
		defer stop()
		b := r.Breaker(ktrdr.ScopeProvider, "x")
		trip(t, b)
		may := time.Now().Add(10 * time.Minute)

		time.Sleep(9 * time.Minute) // the recovery is long over
		_, err := b.Allow(t.Context())
		if open, ok := errors.AsType[*resilience.OpenError](err); !ok || !open.Held {
			t.Errorf("err = %v, want held for a person", err)
		}
		_, err = r.Reset(t.Context(), "provider:x", "ann", "looked into it")
		wantCode(t, err, ktrdr.CodeConflict)
		if err == nil || !strings.Contains(err.Error(), may.UTC().Format(time.RFC3339)) {
			t.Errorf("err = %v, want the instant %v", err, may)
		}

		time.Sleep(time.Minute)
		row, err := r.Reset(t.Context(), "provider:x", "ann", "looked into it")
		if err != nil || row.Held || row.State != ktrdr.BreakerClosed || row.By != "ann" {
			t.Errorf("%+v, %v; want closed by ann", row, err)
		}
		if stored := store.row("provider:x"); stored.State != ktrdr.BreakerClosed || stored.Reason != "looked into it" {
			t.Errorf("stored %+v before Reset returned, want closed with the reason", stored)
		}
		if !call(b, nil) {
			t.Error("still refused")
		}
	})
}

func TestReset_HeldOutlivesARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore()
		r := registry(t, resilience.RegistryConfig{Store: store, Default: resilience.BreakerConfig{RequireHuman: true}})
		stop := running(t, r)
		trip(t, r.Breaker(ktrdr.ScopeProvider, "x"))
		stop()
		time.Sleep(time.Hour)
		again := restarted(t, store)
		if call(again.Breaker(ktrdr.ScopeProvider, "x"), nil) {
			t.Error("a restart closed what only a person may")
		}
		if _, err := again.Reset(t.Context(), "provider:x", "ann", "looked into it"); err != nil {
			t.Error(err)
		}
	})
}

func TestReset_IsNothingWhenItCannotBeStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore()
		r := restarted(t, store)
		stop := running(t, r)
		defer stop()
		b := r.Breaker(ktrdr.ScopeProvider, "x")
		trip(t, b)
		synctest.Wait()
		store.breakWith(ktrdr.Errorf(ktrdr.CodeUnavailable, "the store is away"))
		_, err := r.Reset(t.Context(), "provider:x", "ann", "looked into it")
		wantCode(t, err, ktrdr.CodeUnavailable)
		wantState(t, b, ktrdr.BreakerOpen)
		store.breakWith(nil)
	})
}

func TestReset_IsTakenOnWhatAnotherBackendLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore()
		one, two := restarted(t, store), restarted(t, store)
		one.Breaker(ktrdr.ScopeProvider, "x")
		two.Breaker(ktrdr.ScopeProvider, "x")
		if _, err := one.Force(t.Context(), "provider:x", ktrdr.BreakerOpen, "ann", "stop"); err != nil {
			t.Fatal(err)
		}
		// two has not heard of it, and learns it by the conflict.
		_, err := two.Reset(t.Context(), "provider:x", "bob", "resume")
		wantCode(t, err, ktrdr.CodeConflict)
		if err == nil || !strings.Contains(err.Error(), "forced OPEN by ann") {
			t.Errorf("err = %v, want what ann did", err)
		}
		if _, err := two.Force(t.Context(), "provider:x", "", "bob", "agreed with ann"); err != nil {
			t.Error(err)
		}
		if got := store.row("provider:x"); got.Forced != "" || got.Version != 2 {
			t.Errorf("stored %+v, want given back in version 2", got)
		}
	})
}

// What a person does to a breaker does not hide why it opened.
func TestDecisions_KeepTheReasonOfTheTrip(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore()
		r := registry(t, resilience.RegistryConfig{Store: store})
		stop := running(t, r)
		defer stop()
		b := r.Breaker(ktrdr.ScopeProvider, "x")
		trip(t, b)
		why := b.Status().Trip
		if why == "" || why != b.Status().Reason {
			t.Fatalf("tripped because of %q, and the change says %q", why, b.Status().Reason)
		}
		for _, d := range []struct {
			why    string
			decide func() (ktrdr.Breaker, error)
		}{
			{"they are back", func() (ktrdr.Breaker, error) {
				return r.Force(t.Context(), "provider:x", ktrdr.BreakerClosed, "ann", "they are back")
			}},
			{"let it decide", func() (ktrdr.Breaker, error) {
				return r.Force(t.Context(), "provider:x", "", "ann", "let it decide")
			}},
			{"looked into it", func() (ktrdr.Breaker, error) { return r.Reset(t.Context(), "provider:x", "ann", "looked into it") }},
		} {
			row, err := d.decide()
			if err != nil || row.Trip != why || row.Reason != d.why || row.By != "ann" {
				t.Errorf("after %q: %+v, %v; want ann's words, and that it tripped because of %q", d.why, row, err, why)
			}
		}
		if stored := store.row("provider:x"); stored.Trip != why {
			t.Errorf("stored: %+v, want that it tripped because of %q", stored, why)
		}
	})
}
