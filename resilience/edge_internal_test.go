package resilience

import (
	"errors"
	"testing"
	"time"
)

// The defaults are those beside the fields of BreakerConfig.
func TestBreakerConfig_Defaults(t *testing.T) {
	want := BreakerConfig{
		FailureThreshold: 5, Recovery: time.Minute, Probes: 3, ProbeTimeout: 300 * time.Second,
		Window: 120 * time.Second, MinCalls: 10, FailureRate: 0.5, SlowCall: 60 * time.Second, SlowRate: 0.8,
		MaxRecovery: 900 * time.Second, Jitter: 0.1, HumanCooldown: 1800 * time.Second,
	}
	if got := (BreakerConfig{}).withDefaults(); got != want {
		t.Errorf("defaults %+v, want %+v", got, want)
	}
	if got := (BreakerConfig{Recovery: time.Hour}).withDefaults().MaxRecovery; got != time.Hour {
		t.Errorf("an open time of an hour is bounded by %v, want an hour", got)
	}
}

func TestWindow_Rates(t *testing.T) {
	var w window
	w.init(time.Minute)
	for _, c := range []struct{ failed, slow bool }{{true, true}, {true, false}, {false, false}, {true, false}} {
		w.add(w.pick(), c.failed, c.slow)
	}
	f := w.figures()
	if f.Calls != 4 || f.FailureRate != 0.75 || f.SlowRate != 0.25 {
		t.Errorf("%+v, want 4 calls, 3/4 of them failed and 1/4 slow", f)
	}
}

// A wait that is doubled up to just below its bound is not the bound.
func TestWaits_DoubleUpToTheBound(t *testing.T) {
	most := 8*time.Second + 1
	p := RetryPolicy{First: 2 * time.Second, Most: most, Jitter: -1}.withDefaults()
	r, err := NewRegistry(RegistryConfig{
		Default: BreakerConfig{Recovery: 2 * time.Second, MaxRecovery: most, Jitter: -1}, Rand: func() float64 { return 0 },
	})
	if err != nil {
		t.Fatal(err)
	}
	b := r.Breaker("provider", "x")
	for n, want := range map[int]time.Duration{1: 2 * time.Second, 2: 4 * time.Second, 3: 8 * time.Second, 4: most, 100: most} {
		if got := p.wait(n, errors.New("no")); got != want {
			t.Errorf("wait %d is %v, want %v", n, got, want)
		}
		if got := b.openTime(n, errors.New("no")); got != want {
			t.Errorf("trip %d opens for %v, want %v", n, got, want)
		}
	}
}
