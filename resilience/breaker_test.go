package resilience_test

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/resilience"
)

func TestBreaker_OpensAfterFiveFailuresInARow(t *testing.T) {
	b := registry(t, resilience.RegistryConfig{}).Breaker(ktrdr.ScopeProvider, "x")
	for range 4 {
		call(b, timedOut)
	}
	call(b, nil) // breaks the row
	for range 4 {
		call(b, timedOut)
	}
	wantState(t, b, ktrdr.BreakerClosed)
	call(b, timedOut)
	wantState(t, b, ktrdr.BreakerOpen)
	_, err := b.Allow(t.Context())
	open, ok := errors.AsType[*resilience.OpenError](err)
	if !ok || open.Name != "provider:x" || open.State != ktrdr.BreakerOpen || open.RetryAt.IsZero() {
		t.Errorf("refused with %#v, want an OpenError that names the breaker and the instant", err)
	}
	if got := b.Status().Refused; got != 1 {
		t.Errorf("%d refused, want 1", got)
	}
}

func TestBreaker_OneIsNotTheOther(t *testing.T) {
	r := registry(t, resilience.RegistryConfig{})
	trip(t, r.Breaker(ktrdr.ScopeProvider, "x"))
	for _, other := range []*resilience.Breaker{r.Breaker(ktrdr.ScopeAgent, "x"), r.Breaker(ktrdr.ScopeProvider, "y")} {
		if !call(other, nil) {
			t.Errorf("%s is closed too", other.Name())
		}
	}
}

func TestBreaker_CallersOwnTroubleCountsAsNothing(t *testing.T) {
	b := registry(t, resilience.RegistryConfig{}).Breaker(ktrdr.ScopeProvider, "x")
	for _, kind := range []resilience.ErrorKind{
		resilience.KindCancelled, resilience.KindInvalid, resilience.KindRefused, resilience.KindBudget,
		resilience.KindOpen,
	} {
		for range 20 {
			call(b, &resilience.Error{Kind: kind})
		}
	}
	wantState(t, b, ktrdr.BreakerClosed)
	if got := b.Status().Calls; got != 0 {
		t.Errorf("%d calls counted, want 0", got)
	}
	for range 4 { // nor does it break a row
		call(b, timedOut)
	}
	call(b, context.Canceled)
	call(b, timedOut)
	wantState(t, b, ktrdr.BreakerOpen)
}

func TestBreaker_OpensByRates(t *testing.T) {
	noRow := resilience.BreakerConfig{FailureThreshold: -1}
	for name, c := range map[string]struct {
		config  resilience.BreakerConfig
		elapsed time.Duration
		err     func(i int) error
		want    int // calls it takes; 0 for never
	}{
		"half of the calls fail": {noRow, 0, func(i int) error { return every(2, i) }, 10},
		"a third of them":        {noRow, 0, func(i int) error { return every(3, i) }, 0},
		"all are slow":           {noRow, time.Minute, func(int) error { return nil }, 10},
		"none is quite slow":     {noRow, time.Minute - 1, func(int) error { return nil }, 0},
		"none was measured":      {noRow, -1, func(int) error { return nil }, 10},
		"rates do not matter": {
			resilience.BreakerConfig{FailureThreshold: -1, FailureRate: -1, SlowRate: -1},
			time.Hour,
			func(int) error { return timedOut }, 0,
		},
		"fewer calls matter": {resilience.BreakerConfig{FailureThreshold: -1, MinCalls: 3}, 0, func(int) error { return timedOut }, 3},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := registry(t, resilience.RegistryConfig{Default: c.config}).Breaker(ktrdr.ScopeProvider, "x")
				for i := 1; i <= 60; i++ {
					p, err := b.Allow(t.Context())
					if err != nil {
						t.Fatalf("open after %d calls, want %d: %s", i-1, c.want, b.Status().Reason)
					}
					p.Done(c.elapsed, c.err(i))
					if i == c.want {
						wantState(t, b, ktrdr.BreakerOpen)
						return
					}
				}
				wantState(t, b, ktrdr.BreakerClosed)
			})
		})
	}
}

func every(n, i int) error {
	if i%n == 0 {
		return timedOut
	}
	return nil
}

func TestBreaker_ForgetsWhatIsOlderThanItsWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := registry(t, resilience.RegistryConfig{Default: resilience.BreakerConfig{
			FailureThreshold: -1,
			Window:           time.Minute,
		}}).Breaker(ktrdr.ScopeProvider, "x")
		for range 9 {
			call(b, timedOut)
		}
		time.Sleep(30 * time.Second)
		if got := b.Status().Failures; got != 9 {
			t.Errorf("%d failures within the window, want 9", got)
		}
		time.Sleep(30 * time.Second)
		if got := b.Status().CallStats; got != (resilience.CallStats{}) {
			t.Errorf("figures %+v after the window, want none", got)
		}
		call(b, timedOut)
		wantState(t, b, ktrdr.BreakerClosed)
	})
}

func TestBreaker_ProbedOneAtATimeThenClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := registry(t, resilience.RegistryConfig{}).Breaker(ktrdr.ScopeProvider, "x")
		trip(t, b)
		time.Sleep(60*time.Second - 1)
		if call(b, nil) {
			t.Fatal("let through before its time")
		}
		time.Sleep(time.Nanosecond)
		for n := range 3 {
			wantProbing(t, b, n)
			var passed atomic.Int64
			var wg sync.WaitGroup
			release := make(chan struct{})
			for range 100 { // all at once
				wg.Go(func() {
					p, err := b.Allow(t.Context())
					if err != nil {
						return
					}
					passed.Add(1)
					<-release
					p.Done(time.Second, nil)
				})
			}
			synctest.Wait()
			if got := passed.Load(); got != 1 {
				t.Fatalf("probe %d: %d calls at once, want 1", n, got)
			}
			close(release)
			wg.Wait()
		}
		wantState(t, b, ktrdr.BreakerClosed)
		if !call(b, nil) || b.Status().Trips != 0 {
			t.Errorf("not as new after its recovery: %+v", b.Status())
		}
	})
}

func wantProbing(t *testing.T, b *resilience.Breaker, probes int) {
	t.Helper()
	want := ktrdr.BreakerHalfOpen
	if probes == 0 {
		want = ktrdr.BreakerOpen // until the first call comes
	}
	wantState(t, b, want)
}

func TestBreaker_OpenTimeDoublesWhileProbesFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := registry(t, resilience.RegistryConfig{Default: resilience.BreakerConfig{MaxRecovery: 5 * time.Minute}}).Breaker(ktrdr.ScopeProvider,
			"x")
		trip(t, b)
		for _, want := range []time.Duration{60, 120, 240, 300, 300} {
			want *= time.Second
			if got := time.Until(b.Status().RetryAt); got != want {
				t.Errorf("open for %v, want %v", got, want)
			}
			time.Sleep(want)
			call(b, timedOut)
			if call(b, nil) {
				t.Fatal("a second call got through after the probe had failed")
			}
		}
	})
}

// A provider that answers, slowly, is better than none: after an outage its good
// answers close the breaker.
func TestBreaker_SlowGoodAnswersEndAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := registry(t, resilience.RegistryConfig{}).Breaker(ktrdr.ScopeProvider, "x")
		trip(t, b)
		time.Sleep(time.Minute)
		for range 3 {
			p, err := b.Allow(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			p.Done(2*time.Minute, nil)
		}
		wantState(t, b, ktrdr.BreakerClosed)
	})
}

func TestBreaker_HealthIsWhatACallWouldMeet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := registry(t, resilience.RegistryConfig{})
		b := r.Breaker(ktrdr.ScopeProvider, "x")
		check := func(when string, want resilience.Health) {
			t.Helper()
			if got := b.Health(); got != want {
				t.Errorf("%s: %s, want %s", when, got, want)
			}
		}
		check("new", resilience.HealthGood)
		trip(t, b)
		check("open", resilience.HealthDown)
		time.Sleep(time.Minute)
		check("open, and its time is over", resilience.HealthDegraded)
		p, err := b.Allow(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		check("probed", resilience.HealthDegraded)
		p.Done(0, nil)
		if _, err := r.Force(t.Context(), b.Name(), ktrdr.BreakerOpen, "me", "test"); err != nil {
			t.Fatal(err)
		}
		check("forced open", resilience.HealthDown)
		if _, err := r.Force(t.Context(), b.Name(), ktrdr.BreakerClosed, "me", "test"); err != nil {
			t.Fatal(err)
		}
		check("forced closed", resilience.HealthGood)
		held := registry(t, resilience.RegistryConfig{Default: resilience.BreakerConfig{RequireHuman: true}}).Breaker(ktrdr.ScopeProvider, "x")
		trip(t, held)
		time.Sleep(24 * time.Hour)
		b = held
		check("held for a person", resilience.HealthDown)
	})
}

func TestBreaker_ProbeThatSaysNothingLeavesRoomForTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := registry(t, resilience.RegistryConfig{}).Breaker(ktrdr.ScopeProvider, "x")
		trip(t, b)
		time.Sleep(time.Minute)
		call(b, context.Canceled)
		wantState(t, b, ktrdr.BreakerHalfOpen)
		for range 3 {
			if !call(b, nil) {
				t.Fatal("the place of a cancelled probe was not given on")
			}
		}
		wantState(t, b, ktrdr.BreakerClosed)
	})
}

func TestBreaker_LostProbeDoesNotHoldItForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := registry(t, resilience.RegistryConfig{}).Breaker(ktrdr.ScopeProvider, "x")
		trip(t, b)
		time.Sleep(time.Minute)
		lost, err := b.Allow(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(5*time.Minute - 1)
		if call(b, nil) {
			t.Fatal("a second probe beside one that may still come back")
		}
		time.Sleep(time.Nanosecond)
		next, err := b.Allow(t.Context())
		if err != nil {
			t.Fatalf("the lost probe holds it: %v", err)
		}
		lost.Done(time.Second, timedOut) // comes back after all, and is no longer asked
		wantState(t, b, ktrdr.BreakerHalfOpen)
		next.Done(time.Second, nil)
		wantState(t, b, ktrdr.BreakerHalfOpen)
	})
}

func TestBreaker_LateResultsDecideNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := registry(t, resilience.RegistryConfig{}).Breaker(ktrdr.ScopeProvider, "x")
		var before []resilience.Permit
		for range 10 {
			p, err := b.Allow(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			before = append(before, p)
		}
		trip(t, b)
		time.Sleep(time.Minute)
		probe, err := b.Allow(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range before {
			p.Done(time.Second, every(2, i))
		}
		wantState(t, b, ktrdr.BreakerHalfOpen)
		probe.Done(time.Second, nil)
		if got := b.Status(); got.InFlight != 0 || got.Calls != 1 {
			t.Errorf("%d in flight and %d counted, want 0 and the probe", got.InFlight, got.Calls)
		}
	})
}

func TestPermit_CountsOnce(t *testing.T) {
	b := registry(t, resilience.RegistryConfig{}).Breaker(ktrdr.ScopeProvider, "x")
	p, err := b.Allow(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	copied := p
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() { p.Done(0, timedOut) })
		wg.Go(func() { copied.Done(0, timedOut) })
	}
	wg.Wait()
	if got := b.Status(); got.Calls != 1 || got.Streak != 1 || got.InFlight != 0 {
		t.Errorf("%+v, want one failure", got.CallStats)
	}
	resilience.Permit{}.Done(0, timedOut) // of a call that was refused
}

func TestBreaker_RetryAfterLengthensTheOpenTime(t *testing.T) {
	for name, c := range map[string]struct{ asked, want time.Duration }{
		"shorter than ours":            {10 * time.Second, time.Minute},
		"longer":                       {4 * time.Minute, 4 * time.Minute},
		"longer than it is ever open":  {76 * time.Hour, 15 * time.Minute},
		"nothing was asked of anybody": {0, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := registry(t, resilience.RegistryConfig{}).Breaker(ktrdr.ScopeProvider, "x")
				for range 5 {
					call(b, &resilience.Error{Kind: resilience.KindRateLimited, RetryAfter: c.asked})
				}
				if got := time.Until(b.Status().RetryAt); got != c.want {
					t.Errorf("open for %v, want %v", got, c.want)
				}
			})
		})
	}
}

func TestBreaker_JitterOnlyLengthens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRegistry(t, resilience.RegistryConfig{Enabled: true, Rand: func() float64 { return 0.5 }})
		b := r.Breaker(ktrdr.ScopeProvider, "x")
		trip(t, b)
		if got, want := time.Until(b.Status().RetryAt), 63*time.Second; got != want {
			t.Errorf("open for %v, want %v", got, want)
		}
	})
}

func TestRegistry_DisabledLetsEverythingThroughAndCounts(t *testing.T) {
	r := newRegistry(t, resilience.RegistryConfig{Enabled: false})
	b := r.Breaker(ktrdr.ScopeProvider, "x")
	for range 50 {
		if !call(b, timedOut) {
			t.Fatal("refused although breakers are disabled")
		}
	}
	list := r.List()
	if len(list) != 1 || list[0].Enabled || list[0].Failures != 50 || list[0].State != ktrdr.BreakerClosed {
		t.Errorf("%+v, want one that is disabled and has counted 50 failures", list)
	}
}

func TestRegistry_ScopesHaveTheirOwnLimits(t *testing.T) {
	r := registry(t, resilience.RegistryConfig{
		Default: resilience.BreakerConfig{FailureThreshold: 3, Recovery: time.Second},
		Scopes:  map[ktrdr.BreakerScope]resilience.BreakerConfig{ktrdr.ScopeAgent: {FailureThreshold: 2}},
	})
	for scope, want := range map[ktrdr.BreakerScope]int{ktrdr.ScopeAgent: 2, ktrdr.ScopeProvider: 3} {
		b := r.Breaker(scope, "x")
		n := 0
		for call(b, timedOut) {
			n++
		}
		if n != want {
			t.Errorf("%s: %d calls, want %d", scope, n, want)
		}
		if until := time.Until(b.Status().RetryAt); until > time.Second {
			t.Errorf("%s: open for %v, want the default's second", scope, until)
		}
	}
}

func TestRegistry_RefusesWhatIsNoLimit(t *testing.T) {
	for name, c := range map[string]resilience.BreakerConfig{
		"failure rate that is no number": {FailureRate: math.NaN()},
		"slow rate over the whole":       {SlowRate: 1.1},
		"jitter that is no number":       {Jitter: math.NaN()},
		"recovery before the past":       {Recovery: -time.Second},
		"longest below the first":        {Recovery: time.Minute, MaxRecovery: time.Second},
		"fewer probes than none":         {Probes: -1},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := resilience.NewRegistry(resilience.RegistryConfig{Enabled: true, Default: c})
			wantCode(t, err, ktrdr.CodeInvalid)
			_, err = resilience.NewRegistry(resilience.RegistryConfig{
				Enabled: true,
				Scopes:  map[ktrdr.BreakerScope]resilience.BreakerConfig{ktrdr.ScopeAgent: c},
			})
			wantCode(t, err, ktrdr.CodeInvalid)
		})
	}
}
