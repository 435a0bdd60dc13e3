package resilience_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/resilience"
)

func TestBreaker_OpensAtTheRateOfSlowCalls(t *testing.T) {
	b := registry(t, resilience.RegistryConfig{}).Breaker(ktrdr.ScopeProvider, "x")
	slow := func() {
		p, err := b.Allow(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		p.Done(time.Minute, nil) // a minute is slow
	}
	call(b, nil)
	call(b, nil)
	for range 7 {
		slow()
	}
	wantState(t, b, ktrdr.BreakerClosed)
	slow() // 8 of 10 are the 0.8 at which it opens
	wantState(t, b, ktrdr.BreakerOpen)
}

// The largest and smallest values that are accepted.
func TestRegistry_AcceptsTheBounds(t *testing.T) {
	for name, c := range map[string]struct {
		config resilience.BreakerConfig
		ok     bool
	}{
		"an open time that never grows": {resilience.BreakerConfig{Recovery: time.Hour, MaxRecovery: time.Hour}, true},
		"one that would shrink":         {resilience.BreakerConfig{Recovery: time.Hour, MaxRecovery: time.Hour - 1}, false},
		"shares of 1":                   {resilience.BreakerConfig{FailureRate: 1, SlowRate: 1, Jitter: 1}, true},
		"a failure rate above 1":        {resilience.BreakerConfig{FailureRate: 1.01}, false},
		"a slow rate above 1":           {resilience.BreakerConfig{SlowRate: 1.01}, false},
		"a jitter above 1":              {resilience.BreakerConfig{Jitter: 1.01}, false},
	} {
		if _, err := resilience.NewRegistry(resilience.RegistryConfig{Default: c.config}); (err == nil) != c.ok {
			t.Errorf("%s: error is %v, want it accepted: %v", name, err, c.ok)
		}
	}
}

func TestDegradation_ThresholdsMayBeEqual(t *testing.T) {
	one := resilience.Thresholds{Degraded: 1, Minimal: 1}
	half := resilience.Thresholds{Degraded: 0.5, Minimal: 0.5}
	services := []resilience.Service{{Name: "store"}}
	for name, c := range map[string]struct {
		enter, leave resilience.Thresholds
		ok           bool
	}{
		"all of them 1":                     {one, one, true},
		"all of them a half":                {half, half, true},
		"above 1":                           {half, resilience.Thresholds{Degraded: 1.01, Minimal: 0.5}, false},
		"minimal above degraded":            {resilience.Thresholds{Degraded: 0.5, Minimal: 0.6}, one, false},
		"left minimal before it is entered": {half, resilience.Thresholds{Degraded: 1, Minimal: 0.4}, false},
		"below 0":                           {resilience.Thresholds{Degraded: 0.5, Minimal: -0.1}, one, false},
	} {
		if _, err := resilience.NewDegradation(resilience.DegradationConfig{
			Services: services, Enter: c.enter,
			Leave: c.leave,
		}); (err == nil) != c.ok {
			t.Errorf("%s: error is %v, want it accepted: %v", name, err, c.ok)
		}
	}
}

func TestDegradation_AListenersPanicIsLogged(t *testing.T) {
	var log bytes.Buffer
	d, err := resilience.NewDegradation(resilience.DegradationConfig{
		Services: []resilience.Service{{Name: "store", Critical: true, Start: resilience.HealthGood}},
		OnChange: func(resilience.LevelChange) { panic("no paper") },
		Log:      slog.New(slog.NewTextHandler(&log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Report("store", resilience.HealthDown); err != nil {
		t.Fatal(err)
	}
	if d.Level() != resilience.Offline || !strings.Contains(log.String(), "no paper") {
		t.Errorf("level %s, log %q; want OFFLINE and the panic", d.Level(), log.String())
	}
}

func TestForce_WordsOfTheGreatestLength(t *testing.T) {
	for _, c := range []struct {
		by, why int
		ok      bool
	}{{255, 500, true}, {256, 500, false}, {255, 501, false}} {
		r := registry(t, resilience.RegistryConfig{})
		r.Breaker(ktrdr.ScopeProvider, "x")
		_, err := r.Force(t.Context(), "provider:x", ktrdr.BreakerOpen, strings.Repeat("a", c.by), strings.Repeat("w", c.why))
		if (err == nil) != c.ok {
			t.Errorf("%d and %d bytes: error is %v, want it accepted: %v", c.by, c.why, err, c.ok)
		}
	}
}

func TestBreaker_VersionsCountWithoutAStore(t *testing.T) {
	r := registry(t, resilience.RegistryConfig{})
	b := r.Breaker(ktrdr.ScopeProvider, "x")
	trip(t, b)
	if got := b.Status().Version; got != 1 {
		t.Errorf("version %d after a trip, want 1", got)
	}
	for want, to := range map[int64]ktrdr.BreakerState{2: ktrdr.BreakerOpen} {
		if row, err := r.Force(t.Context(), "provider:x", to, "ann", "repair"); err != nil || row.Version != want {
			t.Errorf("version %d with %v after a decision, want %d", row.Version, err, want)
		}
	}
}

func TestErrors_SayWhatIsKnown(t *testing.T) {
	at := time.Date(2024, 1, 2, 3, 4, 5, 0, time.UTC)
	for want, err := range map[string]error{
		"timeout":             &resilience.Error{Kind: resilience.KindTimeout},
		"timeout: no answer":  timedOut,
		"server (status 500)": &resilience.Error{Kind: resilience.KindServer, Status: 500},
		"auth (status 401, invalid_api_key): no": &resilience.Error{
			Kind: resilience.KindAuth, Status: 401, ProviderCode: "invalid_api_key",
			Err: errors.New("no"),
		},
		"breaker x is being probed by another call":    &resilience.OpenError{Name: "x", State: ktrdr.BreakerHalfOpen},
		"breaker x is open until 2024-01-02T03:04:05Z": &resilience.OpenError{Name: "x", State: ktrdr.BreakerOpen, RetryAt: at},
		"breaker x is to be probed, and the store does not say by which backend: down": &resilience.OpenError{
			Name: "x", State: ktrdr.BreakerHalfOpen, Err: errors.New("down"),
		},
	} {
		if err.Error() != want {
			t.Errorf("says %q, want %q", err, want)
		}
	}
}

func TestParseRetryAfter_ResetsOfADayAndOfNothing(t *testing.T) {
	for text, want := range map[string]time.Duration{"24h0m0s": 24 * time.Hour, "24h0m1s": 0, "0s": 0, "1": time.Second} {
		h := http.Header{}
		h.Set("X-Ratelimit-Remaining-Tokens", "0")
		h.Set("X-Ratelimit-Reset-Tokens", text)
		if got, ok := resilience.ParseRetryAfter(h, time.Now()); got != want || ok != (want > 0) {
			t.Errorf("%s asks to wait %v (%v), want %v", text, got, ok, want)
		}
	}
}

func TestRetry_GivesUpAtItsLimitsExactly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := func(ctx context.Context, p resilience.RetryPolicy) int {
			n := 0
			_ = p.Do(ctx, func(context.Context, int) error { n++; return timedOut })
			return n
		}
		p := resilience.RetryPolicy{Retries: 1, First: 2 * time.Second, Jitter: -1}
		for total, want := range map[time.Duration]int{2 * time.Second: 1, 2*time.Second + 1: 2} {
			p.Total = total
			if got := tries(t.Context(), p); got != want {
				t.Errorf("%d tries within %v, want %d", got, total, want)
			}
		}
		p.Total = 0
		for left, want := range map[time.Duration]int{2 * time.Second: 1, 2*time.Second + 1: 2} {
			ctx, cancel := context.WithTimeout(t.Context(), left)
			if got := tries(ctx, p); got != want {
				t.Errorf("%d tries with a deadline in %v, want %d", got, left, want)
			}
			cancel()
		}
	})
}

func TestUndo_AStepHasHalfAMinute(t *testing.T) {
	var u resilience.Undo
	var left time.Duration
	u.Did("a thing", func(ctx context.Context) error {
		deadline, _ := ctx.Deadline()
		left = time.Until(deadline)
		return nil
	})
	synctest.Test(t, func(t *testing.T) {
		if err := u.Rollback(t.Context(), nil); err != nil || left != 30*time.Second {
			t.Errorf("%v left for a step (%v), want 30 s", left, err)
		}
	})
}

// Run says what it could not read, store or finish, and nothing when all is well.
func TestRegistry_RunLogsWhatTheStoreRefuses(t *testing.T) {
	complaints := []string{
		"breakers of other backends could not be read", "breaker changes could not be stored",
		"breaker changes are lost with this process",
	}
	for name, broken := range map[string]error{"all is well": nil, "the store is down": errors.New("down")} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				store := newStore()
				r := registry(t, resilience.RegistryConfig{Store: store, Log: slog.New(slog.NewTextHandler(&log, nil))})
				trip(t, r.Breaker(ktrdr.ScopeProvider, "x"))
				store.breakWith(broken)
				stop := running(t, r)
				time.Sleep(6 * time.Second)
				stop()
				for _, says := range complaints {
					if got := strings.Contains(log.String(), says); got != (broken != nil) {
						t.Errorf("the log says %q: %v, want %v", says, got, broken != nil)
					}
				}
			})
		})
	}
}

// A newer row of the same state is no news, one of another state is.
func TestRegistry_TellsOnlyOfStatesThatChanged(t *testing.T) {
	told := 0
	store := newStore()
	r := registry(t, resilience.RegistryConfig{Store: store, OnChange: func(ktrdr.BreakerChange) { told++ }})
	b := r.Breaker(ktrdr.ScopeProvider, "x")
	row := ktrdr.Breaker{Name: "provider:x", Scope: ktrdr.ScopeProvider, State: ktrdr.BreakerClosed, Version: 4}
	for _, c := range []struct {
		state   ktrdr.BreakerState
		version int64
		told    int
	}{
		{ktrdr.BreakerClosed, 4, 0},
		{ktrdr.BreakerOpen, 4, 0}, // not newer
		{ktrdr.BreakerOpen, 5, 1},
	} {
		row.State, row.Version, row.RetryAt = c.state, c.version, time.Now().Add(time.Hour)
		store.rows[row.Name] = row
		if err := r.Restore(t.Context()); err != nil {
			t.Fatal(err)
		}
		if told != c.told {
			t.Errorf("version %d, %s: told %d times, want %d", c.version, c.state, told, c.told)
		}
	}
	wantState(t, b, ktrdr.BreakerOpen)
}

func TestRegistry_ProbesUnderTheNameItWasGiven(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore()
		r := registry(t, resilience.RegistryConfig{Store: store, Owner: "backend-7"})
		b := r.Breaker(ktrdr.ScopeProvider, "x")
		trip(t, b)
		stop := running(t, r)
		time.Sleep(2 * time.Minute)
		if !call(b, nil) {
			t.Fatal("no probe was let through")
		}
		if got := store.probes["provider:x"].owner; got != "backend-7" {
			t.Errorf("%s probes, want backend-7", got)
		}
		stop()
	})
}
