package resilience

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

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
