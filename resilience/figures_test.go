package resilience_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/resilience"
)

// crowd calls from many goroutines that begin together, each long enough that
// they meet.
func crowd(call func(i int)) (calls int64) {
	const callers, each = 8, 40_000
	begin := make(chan struct{})
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			<-begin
			for i := range each {
				call(i)
			}
		})
	}
	close(begin)
	wg.Wait()
	return callers * each
}

// The window is so long that it does not turn meanwhile.
func TestBreaker_NoCountIsLostAmongManyCallers(t *testing.T) {
	// switched off: it counts all and refuses none
	config := resilience.RegistryConfig{Default: resilience.BreakerConfig{Window: 24 * time.Hour}}
	b := newRegistry(t, config).Breaker(ktrdr.ScopeAgent, "a")
	calls := crowd(func(i int) {
		if i%4 == 0 {
			call(b, timedOut)
		} else {
			call(b, nil)
		}
	})
	if f := b.Status().CallStats; f.Calls != calls || f.Failures != calls/4 || f.FailureRate != 0.25 || f.InFlight != 0 {
		t.Errorf("%+v, want %d calls of which a quarter failed, and none in flight", f, calls)
	}
}

// The promised waits are those of the defaults.
func TestRetry_AWaitIsAQuarterMoreOrLess(t *testing.T) {
	for name, c := range map[string]struct {
		rand float64
		want time.Duration
	}{
		"least":  {0, 1500 * time.Millisecond},
		"middle": {0.5, 2 * time.Second},
		"most":   {0.999999999, 2500 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				at, _ := tries(t.Context(), resilience.RetryPolicy{Rand: func() float64 { return c.rand }}, timedOut, nil)
				if got := at[1].Round(time.Millisecond); got != c.want {
					t.Errorf("the first wait is %v, want %v", got, c.want)
				}
			})
		})
	}
}

// blowUp is named so that it can be found in a stack.
func blowUp(ktrdr.BreakerChange) { panic("boom") }

func TestRegistry_AListenersPanicIsLoggedWithItsStack(t *testing.T) {
	var log bytes.Buffer
	r := registry(t, resilience.RegistryConfig{OnChange: blowUp, Log: slog.New(slog.NewTextHandler(&log, nil))})
	trip(t, r.Breaker(ktrdr.ScopeAgent, "a"))
	if text := log.String(); !strings.Contains(text, "boom") || !strings.Contains(text, "resilience_test.blowUp") {
		t.Errorf("the log does not tell where it was:\n%s", text)
	}
}
