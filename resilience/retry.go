package resilience

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/backoff"
)

// RetryPolicy says which calls are made again, how often and after how long.
// Its zero value is the one that users were promised: 2, 4, 8 and 16 seconds,
// a quarter more or less.
type RetryPolicy struct {
	Retries int           // after the first try; 0 means 4, negative none
	First   time.Duration // the first wait, doubled each time; 0 means 2 s
	Most    time.Duration // of any wait of ours, jitter included; 0 means 60 s
	Jitter  float64       // the share that a wait may be longer or shorter; 0 means 0.25, negative none
	Total   time.Duration // of all tries and waits; 0 means no bound but the context's

	// DurableOver is the longest wait that is slept through: a longer one, as a
	// provider may ask for, is returned as a *WaitError. 0 means a minute.
	DurableOver time.Duration

	Budget *RetryBudget         // shared by all callers of one service; nil means none
	On     func(ErrorKind) bool // which kinds to try again; nil means Kind.Retryable
	Rand   func() float64       // in [0, 1), for the jitter; nil means a random one
}

// WaitError says that a call is worth another try, but only after a wait that is too
// long to sleep through: release the operation for that time instead.
type WaitError struct {
	After time.Duration
	Err   error // of the last try
}

// Error says how long, and why.
func (e *WaitError) Error() string {
	return fmt.Sprintf("try again in %v: %v", e.After.Round(time.Second), e.Err)
}

func (e *WaitError) Unwrap() error { return e.Err }

func (p RetryPolicy) withDefaults() RetryPolicy {
	p.Retries = cmp.Or(p.Retries, 4)
	p.First = cmp.Or(p.First, 2*time.Second)
	p.Most = cmp.Or(p.Most, 60*time.Second)
	p.Jitter = max(cmp.Or(p.Jitter, 0.25), 0)
	p.DurableOver = cmp.Or(p.DurableOver, time.Minute)
	if p.On == nil {
		p.On = ErrorKind.Retryable
	}
	return p
}

// Validate says in a sentence what of p cannot be used.
func (p RetryPolicy) Validate() error {
	switch {
	case p.First < 0 || p.Most < 0 || p.Total < 0 || p.DurableOver < 0:
		return ktrdr.Errorf(ktrdr.CodeInvalid,
			"retry: first %v, most %v, total %v and durable_over %v must not be negative; leave them out for the defaults",
			p.First, p.Most, p.Total, p.DurableOver)
	case !(p.Jitter <= 1): // NaN is neither
		return ktrdr.Errorf(ktrdr.CodeInvalid, "retry: jitter must be a share of at most 1, not %v", p.Jitter)
	}
	return nil
}

// Do calls fn until it succeeds, ends in a way that is not worth another try,
// or the tries, the time, the budget or the context are used up. The first
// attempt is 1. A success counts even when the context ended meanwhile: what
// was paid for is not thrown away.
//
// The error is fn's last one, with a word on why there was no further try, or
// a *WaitError.
func (p RetryPolicy) Do(ctx context.Context, fn func(ctx context.Context, attempt int) error) error {
	if err := p.Validate(); err != nil {
		return err
	}
	p = p.withDefaults()
	p.Budget.call()
	start := time.Now()
	for attempt := 1; ; attempt++ {
		err := fn(ctx, attempt)
		if err == nil {
			return nil
		}
		wait, stop := p.next(ctx, attempt, time.Since(start), err)
		if stop != nil {
			return stop
		}
		if !backoff.Sleep(ctx, wait) {
			return interrupted(ctx, err)
		}
	}
}

// next returns how long to wait before the next try, or the error to end with.
func (p RetryPolicy) next(ctx context.Context, attempt int, elapsed time.Duration, err error) (time.Duration, error) {
	kind := KindOf(err)
	if _, ok := errors.AsType[*WaitError](err); ok || kind == KindCancelled || kind == KindOpen || !p.On(kind) {
		return 0, err
	}
	if ctx.Err() != nil {
		return 0, interrupted(ctx, err)
	}
	if attempt > p.Retries {
		return 0, gaveUp(attempt, "no retries are left", err)
	}
	wait := p.wait(attempt, err)
	if wait > p.DurableOver {
		return 0, &WaitError{After: wait, Err: err}
	}
	if p.Total > 0 && elapsed+wait >= p.Total {
		return 0, gaveUp(attempt, fmt.Sprintf("another would not end within %v", p.Total), err)
	}
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= wait {
		return 0, gaveUp(attempt, "the deadline would pass before another", err)
	}
	if !p.Budget.retry() {
		return 0, gaveUp(attempt, "the retry budget is used up", err)
	}
	return wait, nil
}

// wait is the time before the try that follows attempt: doubled each time,
// spread, and only then cut, so that the cap is one. What the provider asks
// for is the least.
func (p RetryPolicy) wait(attempt int, err error) time.Duration {
	d := backoff.Policy{First: p.First, Most: p.Most, Jitter: p.Jitter, Rand: p.Rand}.Delay(attempt - 1)
	return max(min(d, p.Most), retryAfter(err))
}

// retryAfter is how long the one called asked us to wait; 0 for nothing said.
func retryAfter(err error) time.Duration {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.RetryAfter
	}
	return 0
}

func gaveUp(attempts int, why string, err error) error {
	if attempts == 1 {
		return fmt.Errorf("gave up after one try, %s: %w", why, err)
	}
	return fmt.Errorf("gave up after %d tries, %s: %w", attempts, why, err)
}

// interrupted tells that the context ended between two tries; err is of the
// last one. Its kind is the context's, so that it is not retried.
func interrupted(ctx context.Context, err error) error {
	kind := KindCancelled
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		kind = KindTimeout
	}
	return &Error{Kind: kind, Err: fmt.Errorf("%w, before another try after: %w", context.Cause(ctx), err)}
}

// RetryBudget keeps retries a small part of all calls: when a server is down
// for all clients, the retries of all would keep it down. It counts over a
// rolling window, of which the oldest tenth falls out at a time. The zero value is
// ready, a nil one allows everything, and all methods may be called at once.
type RetryBudget struct {
	Share  float64       // of the window's calls; 0 means 0.2
	Least  int           // retries that are always allowed in a window; 0 means 3
	Window time.Duration // 0 means a minute

	mu     sync.Mutex
	counts window // a retry counts as a call that failed
}

// call counts a first try.
func (b *RetryBudget) call() {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	w := b.window()
	w.add(&w.shards[0], false, false)
}

// window is ready to count. Its caller holds mu.
func (b *RetryBudget) window() *window {
	if b.counts.start.IsZero() {
		b.counts.init(cmp.Or(b.Window, time.Minute))
	}
	return &b.counts
}

// retry takes a retry out of the budget, if there is one left.
func (b *RetryBudget) retry() bool {
	if b == nil {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	w := b.window()
	sum := w.figures()
	allowed := max(float64(cmp.Or(b.Least, 3)), cmp.Or(b.Share, 0.2)*float64(sum.Calls-sum.Failures))
	if !(float64(sum.Failures+1) <= allowed) { // a share that is no number allows nothing
		return false
	}
	w.add(&w.shards[0], true, false)
	return true
}

// MaxRetryAfter is the longest wait that a provider can ask for: what is
// longer is cut. It is also the longest wait of a released operation.
const MaxRetryAfter = 30 * 24 * time.Hour

// ParseRetryAfter returns how long an answer asks to wait, and whether it asks
// at all. It reads retry-after-ms, Retry-After in seconds or as a date, and,
// where there is neither, the x-ratelimit-reset headers of those limits that
// are used up. A date is compared with the answer's own Date, so that a clock
// that is wrong here or there does not matter; without one, with now.
func ParseRetryAfter(h http.Header, now time.Time) (time.Duration, bool) {
	if d, ok := amount(h.Get("Retry-After-Ms"), time.Millisecond); ok {
		return d, true
	}
	after := h.Get("Retry-After")
	if d, ok := amount(after, time.Second); ok {
		return d, true
	}
	if at, err := http.ParseTime(after); err == nil {
		if sent, err := http.ParseTime(h.Get("Date")); err == nil {
			now = sent
		}
		return bounded(at.Sub(now)), true
	}
	return resetOf(h)
}

// amount reads a number of units that is neither negative nor out of sense.
func amount(s string, unit time.Duration) (time.Duration, bool) {
	n, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || math.IsNaN(n) || n < 0 {
		return 0, false
	}
	if n >= float64(MaxRetryAfter/unit) {
		return MaxRetryAfter, true
	}
	return time.Duration(n * float64(unit)), true
}

func bounded(d time.Duration) time.Duration { return min(max(d, 0), MaxRetryAfter) }

// resetOf reads when the limits that are used up are reset. Providers write it as a
// duration (6m0s) or as seconds. Instants mean something else with each of them and
// are ignored.
func resetOf(h http.Header) (time.Duration, bool) {
	var longest time.Duration
	var found bool
	for _, what := range []string{"Requests", "Tokens"} {
		if strings.TrimSpace(h.Get("X-Ratelimit-Remaining-"+what)) != "0" {
			continue
		}
		text := strings.TrimSpace(h.Get("X-Ratelimit-Reset-" + what))
		d, err := time.ParseDuration(text)
		if err != nil {
			d, _ = amount(text, time.Second)
		}
		if d > 0 && d <= 24*time.Hour {
			longest, found = max(longest, d), true
		}
	}
	return longest, found
}
