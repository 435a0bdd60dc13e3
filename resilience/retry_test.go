package resilience_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/resilience"
)

// middle makes jitter add nothing.
func middle() float64 { return 0.5 }

// tries calls through p something that ends as told, each time, and returns
// when it was called, since the start, and with what Do ended.
func tries(ctx context.Context, p resilience.RetryPolicy, ends ...error) ([]time.Duration, error) {
	start := time.Now()
	var at []time.Duration
	err := p.Do(ctx, func(_ context.Context, attempt int) error {
		at = append(at, time.Since(start))
		return ends[min(attempt, len(ends))-1]
	})
	return at, err
}

func seconds(n ...int) []time.Duration {
	var ds []time.Duration
	for _, s := range n {
		ds = append(ds, time.Duration(s)*time.Second)
	}
	return ds
}

func TestRetry_WaitsTwoFourEightSixteenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at, err := tries(t.Context(), resilience.RetryPolicy{Rand: middle}, timedOut)
		if want := seconds(0, 2, 6, 14, 30); !slices.Equal(at, want) {
			t.Errorf("tried at %v, want %v", at, want)
		}
		if !errors.Is(err, timedOut) || !strings.Contains(err.Error(), "gave up after 5 tries") {
			t.Errorf("err = %v, want the last one with the number of tries", err)
		}
	})
}

func TestRetry_EndsWithTheFirstSuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at, err := tries(t.Context(), resilience.RetryPolicy{Rand: middle}, timedOut, timedOut, nil)
		if want := seconds(0, 2, 6); err != nil || !slices.Equal(at, want) {
			t.Errorf("tried at %v, %v; want %v", at, err, want)
		}
	})
}

func TestRetry_ProviderWaitIsTheLeast(t *testing.T) {
	limited := &resilience.Error{Kind: resilience.KindRateLimited, RetryAfter: 50 * time.Second}
	synctest.Test(t, func(t *testing.T) {
		at, err := tries(t.Context(), resilience.RetryPolicy{Rand: middle, Most: 10 * time.Second}, limited, nil)
		if want := seconds(0, 50); err != nil || !slices.Equal(at, want) {
			t.Errorf("tried at %v, %v; want %v", at, err, want)
		}
	})
}

func TestRetry_LongWaitIsNotSlept(t *testing.T) {
	limited := &resilience.Error{Kind: resilience.KindRateLimited, RetryAfter: 274579 * time.Second}
	synctest.Test(t, func(t *testing.T) {
		at, err := tries(t.Context(), resilience.RetryPolicy{Total: time.Minute}, limited)
		we, ok := errors.AsType[*resilience.WaitError](err)
		if !ok || we.After != limited.RetryAfter || !errors.Is(err, limited) {
			t.Fatalf("err = %v, want to wait durably for %v", err, limited.RetryAfter)
		}
		if len(at) != 1 {
			t.Errorf("%d tries, want 1", len(at))
		}
		// An outer policy does not try that again either.
		wait := &resilience.WaitError{After: time.Hour, Err: timedOut}
		if at, _ := tries(t.Context(), resilience.RetryPolicy{}, wait); len(at) != 1 {
			t.Errorf("%d tries of a durable wait, want 1", len(at))
		}
	})
}

func TestRetry_OnlyWhatIsWorthIt(t *testing.T) {
	for kind, want := range map[resilience.ErrorKind]int{
		resilience.KindOverloaded: 5, resilience.KindServer: 5, resilience.KindUnreachable: 5,
		resilience.KindUnknown: 1, resilience.KindAuth: 1, resilience.KindInvalid: 1, resilience.KindRefused: 1, resilience.KindBudget: 1,
		resilience.KindCancelled: 1, resilience.KindOpen: 1,
	} {
		synctest.Test(t, func(t *testing.T) {
			if at, _ := tries(t.Context(), resilience.RetryPolicy{}, &resilience.Error{Kind: kind}); len(at) != want {
				t.Errorf("%s: %d tries, want %d", kind, len(at), want)
			}
		})
	}
}

func TestRetry_CallerChoosesTheKinds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		onlyUnknown := resilience.RetryPolicy{On: func(k resilience.ErrorKind) bool { return k == resilience.KindUnknown }, Retries: 1}
		if at, _ := tries(t.Context(), onlyUnknown, errors.New("boom")); len(at) != 2 {
			t.Errorf("%d tries of what was chosen, want 2", len(at))
		}
		if at, _ := tries(t.Context(), onlyUnknown, timedOut); len(at) != 1 {
			t.Errorf("%d tries of what was not, want 1", len(at))
		}
		all := resilience.RetryPolicy{On: func(resilience.ErrorKind) bool { return true }}
		if at, _ := tries(t.Context(), all, &resilience.OpenError{Name: "provider:x"}); len(at) != 1 {
			t.Errorf("%d tries at an open breaker, want 1 whatever was chosen", len(at))
		}
	})
}

func TestRetry_GivesUpBeforeATimeThatCannotBeKept(t *testing.T) {
	for name, c := range map[string]struct {
		policy resilience.RetryPolicy
		within time.Duration
		why    string
	}{
		"total":                   {resilience.RetryPolicy{Rand: middle, Total: 7 * time.Second}, 0, "within 7s"},
		"deadline of the context": {resilience.RetryPolicy{Rand: middle}, 7 * time.Second, "deadline"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if c.within > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, c.within)
					defer cancel()
				}
				start := time.Now()
				at, err := tries(ctx, c.policy, timedOut)
				if want := seconds(0, 2, 6); !slices.Equal(at, want) {
					t.Errorf("tried at %v, want %v", at, want)
				}
				if took := time.Since(start); took != 6*time.Second {
					t.Errorf("gave up after %v, want at once after the last try at 6 s", took)
				}
				if err == nil || !strings.Contains(err.Error(), c.why) {
					t.Errorf("err = %v, want a word on %s", err, c.why)
				}
			})
		})
	}
}

func TestRetry_CancelEndsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(3*time.Second, func() { cancel(ktrdr.ErrCancelled) })
		start := time.Now()
		at, err := tries(ctx, resilience.RetryPolicy{Rand: middle}, timedOut)
		if took := time.Since(start); took != 3*time.Second || len(at) != 2 {
			t.Errorf("%d tries in %v, want 2 in 3 s", len(at), took)
		}
		if resilience.KindOf(err) != resilience.KindCancelled || !errors.Is(err, ktrdr.ErrCancelled) || !errors.Is(err, timedOut) {
			t.Errorf("err = %v, want the cause of the cancel and the last try's", err)
		}
	})
}

func TestRetry_SuccessCountsThoughTheContextEnded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	err := resilience.RetryPolicy{}.Do(ctx, func(context.Context, int) error {
		cancel()
		return nil
	})
	if err != nil {
		t.Errorf("err = %v: an answer that was paid for is lost", err)
	}
}

func TestRetry_RefusesWhatIsNoPolicy(t *testing.T) {
	for name, p := range map[string]resilience.RetryPolicy{
		"jitter that is no number": {Jitter: math.NaN()},
		"jitter over the whole":    {Jitter: 1.5},
		"wait before the past":     {First: -time.Second},
		"total that is over":       {Total: -time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			at, err := tries(t.Context(), p, nil)
			wantCode(t, err, ktrdr.CodeInvalid)
			if len(at) != 0 {
				t.Error("called nevertheless")
			}
		})
	}
}

func TestRetry_BudgetKeepsRetriesAFifthOfCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget := &resilience.RetryBudget{}
		var mu sync.Mutex
		var calls, attempts int
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				err := resilience.RetryPolicy{Budget: budget}.Do(t.Context(), func(context.Context, int) error {
					mu.Lock()
					defer mu.Unlock()
					attempts++
					return timedOut
				})
				mu.Lock()
				defer mu.Unlock()
				calls++
				if !errors.Is(err, timedOut) {
					t.Errorf("err = %v, want the call's", err)
				}
			})
		}
		wg.Wait()
		if retries := attempts - calls; retries != 20 {
			t.Errorf("%d retries of %d calls, want 20", retries, calls)
		}
		// There was no call for longer than the window: three are always allowed.
		time.Sleep(90 * time.Second)
		if at, err := tries(t.Context(), resilience.RetryPolicy{Budget: budget, First: time.Millisecond}, timedOut); len(at) != 4 ||
			!strings.Contains(err.Error(), "budget") {
			t.Errorf("%d tries (%v), want 4 and a word on the budget", len(at), err)
		}
	})
}

// No wait is shorter or longer than promised, whatever is drawn; the cap holds
// after the jitter.
func TestRetry_EveryWaitIsWithinItsBounds(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		first := time.Duration(rapid.Int64Range(1, int64(time.Minute)).Draw(rt, "first"))
		most := time.Duration(rapid.Int64Range(1, int64(time.Minute)).Draw(rt, "most"))
		jitter := rapid.Float64Range(0.01, 1).Draw(rt, "jitter")
		retries := rapid.IntRange(1, 70).Draw(rt, "retries")
		random := rapid.Float64Range(0, 0.999).Draw(rt, "random")
		synctest.Test(t, func(t *testing.T) {
			at, _ := tries(t.Context(), resilience.RetryPolicy{
				Retries: retries, First: first, Most: most, Jitter: jitter, Rand: func() float64 { return random },
			}, timedOut)
			if len(at) != retries+1 {
				rt.Fatalf("%d tries, want %d", len(at), retries+1)
			}
			for i := range retries {
				wait := at[i+1] - at[i]
				plain := math.Min(float64(first)*math.Pow(2, float64(i)), float64(most))
				if least := time.Duration(plain * (1 - jitter)); wait < least-1 || wait > most {
					rt.Fatalf("wait %d is %v, want between %v and %v", i, wait, least, most)
				}
			}
		})
	})
}
