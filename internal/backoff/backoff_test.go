package backoff_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ktrdr/ktrdr/internal/backoff"
)

func TestDelay_DoublesUpToTheLimit(t *testing.T) {
	for name, c := range map[string]struct {
		policy backoff.Policy
		want   map[int]time.Duration
	}{
		"with a limit": {
			backoff.Policy{First: 100 * time.Millisecond, Most: time.Second},
			map[int]time.Duration{
				-1: 100 * time.Millisecond, 0: 100 * time.Millisecond, 1: 200 * time.Millisecond, 3: 800 * time.Millisecond,
				4: time.Second, 1000: time.Second,
			},
		},
		"without a limit": {
			backoff.Policy{First: time.Second},
			map[int]time.Duration{0: time.Second, 4: 16 * time.Second, 1000: 1 << 62},
		},
		"a limit below the first delay": {
			backoff.Policy{First: time.Minute, Most: time.Second},
			map[int]time.Duration{0: time.Second, 1: time.Second},
		},
		"zero": {backoff.Policy{}, map[int]time.Duration{0: 0, 7: 0}},
	} {
		for retries, want := range c.want {
			if got := c.policy.Delay(retries); got != want {
				t.Errorf("%s: delay after %d retries is %v, want %v", name, retries, got, want)
			}
		}
	}
}

func TestDelay_JitterIsAShareBothWays(t *testing.T) {
	for random, want := range map[float64]time.Duration{0: 2 * time.Second, 0.5: 4 * time.Second, 0.75: 5 * time.Second} {
		p := backoff.Policy{First: 2 * time.Second, Most: 4 * time.Second, Jitter: 0.5, Rand: func() float64 { return random }}
		if got := p.Delay(5); got != want {
			t.Errorf("delay for a random number of %v is %v, want %v", random, got, want)
		}
	}
	p := backoff.Policy{First: time.Second, Jitter: 0.5}
	for range 1000 {
		if got := p.Delay(0); got < time.Second/2 || got > 3*time.Second/2 {
			t.Fatalf("delay %v, want 0.5 s to 1.5 s", got)
		}
	}
}

func TestWait_EndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := backoff.Policy{First: time.Minute, Most: time.Hour}
		start := time.Now()
		if !p.Wait(t.Context(), 1) || time.Since(start) != 2*time.Minute {
			t.Errorf("waited %v, want 2 minutes", time.Since(start))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start = time.Now()
		if p.Wait(ctx, 0) || time.Since(start) != time.Second {
			t.Errorf("a context that ended let it wait %v, want false after 1 second", time.Since(start))
		}
		if backoff.Sleep(ctx, 0) {
			t.Error("no wait in a context that has ended is true, want false")
		}
	})
}
