package storetest

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ktrdr/ktrdr"
)

const anthropic = "provider:anthropic"

// trip is a breaker that opens, made from a version, and its line of history.
func trip(name string, version int64) (ktrdr.Breaker, ktrdr.BreakerChange) {
	scope, _, _ := strings.Cut(name, ":")
	b := ktrdr.Breaker{
		Name: name, Scope: ktrdr.BreakerScope(scope), State: ktrdr.BreakerOpen,
		RetryAt: time.Date(2031, 5, 6, 7, 8, 9, 123_456_000, time.UTC), Trips: 2, Trip: "5 failures in a row", Reason: "5 failures",
		Version: version,
	}
	return b, ktrdr.BreakerChange{
		From: ktrdr.BreakerClosed, To: ktrdr.BreakerOpen, Reason: "5 failures",
		Detail: json.RawMessage(`{"failures": 5}`),
	}
}

// saved stores a trip.
func (l *lab) saved(name string, version int64) ktrdr.Breaker {
	l.Helper()
	b, change := trip(name, version)
	stored, err := l.SaveBreaker(l.ctx(), b, change)
	l.must(err)
	return stored
}

// breakerEvents waits until the log has n changes and returns them.
func (l *lab) breakerEvents(n int) (told []ktrdr.Event) {
	l.Helper()
	l.eventually(fmt.Sprintf("the log has %d changes", n), func() bool {
		events, err := l.Events(l.ctx(), ktrdr.EventQuery{Limit: 1000})
		l.must(err)
		told = nil
		for _, e := range events {
			if e.Kind == ktrdr.EventBreaker {
				told = append(told, e)
			}
		}
		return len(told) >= n
	})
	return told
}

var breakers = map[string]func(*lab){
	"ABreakerIsStoredWithItsHistoryAndOneEvent": func(l *lab) {
		first := l.saved(anthropic, 0)
		want, change := trip(anthropic, 1)
		want.Changed = first.Changed
		same(l, "stored", first, want)
		if first.Changed.IsZero() {
			l.Error("it has no time of change")
		}
		closed := ktrdr.Breaker{
			Name: anthropic, Scope: ktrdr.ScopeProvider, State: ktrdr.BreakerClosed, Forced: ktrdr.BreakerClosed,
			Held: true, Reason: "the bill is paid", By: "Ada", Version: 1,
		}
		second, err := l.SaveBreaker(l.ctx(), closed,
			ktrdr.BreakerChange{From: ktrdr.BreakerOpen, To: ktrdr.BreakerClosed, Reason: "the bill is paid", By: "Ada"})
		l.must(err)
		closed.Version, closed.Changed = 2, second.Changed
		same(l, "stored again", second, closed)
		all, err := l.Breakers(l.ctx())
		l.must(err)
		same(l, "breakers", all, []ktrdr.Breaker{second})

		change.Name, change.Version, change.At = anthropic, 1, first.Changed
		history, err := l.BreakerHistory(l.ctx(), anthropic, 0)
		l.must(err)
		same(l, "history", history, []ktrdr.BreakerChange{
			{
				Name: anthropic, From: ktrdr.BreakerOpen, To: ktrdr.BreakerClosed, Reason: "the bill is paid", By: "Ada", At: second.Changed,
				Version: 2,
			},
			change,
		})
		told := l.breakerEvents(2)
		same(l, "events", len(told), 2)
		if data := string(told[1].Data); told[1].Operation != "" || !strings.Contains(data, "Ada") || !strings.Contains(data, anthropic) {
			l.Errorf("the event says %s of %q", data, told[1].Operation)
		}
	},

	"ABreakerChangedMeanwhileIsAConflict": func(l *lab) {
		now := l.saved(anthropic, 0)
		for _, version := range []int64{0, 2, 7} {
			b, change := trip(anthropic, version)
			_, err := l.SaveBreaker(l.ctx(), b, change)
			l.refused(err, ktrdr.CodeConflict)
		}
		b, change := trip("agent:unknown", 3)
		_, err := l.SaveBreaker(l.ctx(), b, change)
		l.refused(err, ktrdr.CodeConflict)
		all, err := l.Breakers(l.ctx())
		l.must(err)
		same(l, "breakers", all, []ktrdr.Breaker{now})
		history, err := l.BreakerHistory(l.ctx(), "", 0)
		l.must(err)
		same(l, "changes", len(history), 1)
		same(l, "events", len(l.breakerEvents(1)), 1)
	},

	"ConcurrentChangesOfAVersionHaveOneWinner": func(l *lab) {
		for version := range int64(3) {
			var won atomic.Int64
			each(8, 8, func(int) {
				b, change := trip(anthropic, version)
				stored, err := l.SaveBreaker(l.ctx(), b, change)
				switch {
				case err == nil:
					won.Add(1)
					same(l, "version", stored.Version, version+1)
				case ktrdr.CodeOf(err) != ktrdr.CodeConflict:
					l.Error(err)
				}
			})
			same(l, fmt.Sprintf("winners at version %d", version), won.Load(), 1)
		}
	},

	"BreakersComeByNameAndChangesNewestFirst": func(l *lab) {
		for _, name := range []string{"provider:b", "agent:z", "cluster:a", "provider:a"} {
			l.saved(name, 0)
		}
		l.saved("agent:z", 1)
		all, err := l.Breakers(l.ctx())
		l.must(err)
		names := make([]string, len(all))
		for i, b := range all {
			names[i] = b.Name
		}
		same(l, "names", names, []string{"agent:z", "cluster:a", "provider:a", "provider:b"})
		history, err := l.BreakerHistory(l.ctx(), "", 2)
		l.must(err)
		if len(history) != 2 || history[0].At.Before(history[1].At) {
			l.Errorf("the newest changes: %+v", history)
		}
	},

	"ABreakerThatMakesNoSenseIsRefused": func(l *lab) {
		for what, spoil := range map[string]func(b *ktrdr.Breaker, c *ktrdr.BreakerChange){
			"no scope":           func(b *ktrdr.Breaker, _ *ktrdr.BreakerChange) { b.Scope = "planet" },
			"name without scope": func(b *ktrdr.Breaker, _ *ktrdr.BreakerChange) { b.Name = "anthropic" },
			"scope without name": func(b *ktrdr.Breaker, _ *ktrdr.BreakerChange) { b.Name = "provider:" },
			"name too long":      func(b *ktrdr.Breaker, _ *ktrdr.BreakerChange) { b.Name += strings.Repeat("x", 255) },
			"NUL in the name":    func(b *ktrdr.Breaker, _ *ktrdr.BreakerChange) { b.Name += "\x00" },
			"no state":           func(b *ktrdr.Breaker, _ *ktrdr.BreakerChange) { b.State = "" },
			"another state":      func(b *ktrdr.Breaker, _ *ktrdr.BreakerChange) { b.State = "AJAR" },
			"forced otherwise":   func(b *ktrdr.Breaker, _ *ktrdr.BreakerChange) { b.Forced = "AJAR" },
			"changed to nothing": func(_ *ktrdr.Breaker, c *ktrdr.BreakerChange) { c.To = "" },
			"negative trips":     func(b *ktrdr.Breaker, _ *ktrdr.BreakerChange) { b.Trips = -1 },
			"negative version":   func(b *ktrdr.Breaker, _ *ktrdr.BreakerChange) { b.Version = -1 },
			"year ten thousand":  func(b *ktrdr.Breaker, _ *ktrdr.BreakerChange) { b.RetryAt = b.RetryAt.AddDate(9000, 0, 0) },
			"before the clock":   func(b *ktrdr.Breaker, _ *ktrdr.BreakerChange) { b.RetryAt = time.Unix(0, 0) },
			"name of who, NUL":   func(_ *ktrdr.Breaker, c *ktrdr.BreakerChange) { c.By = "A\x00" },
			"detail is no JSON":  func(_ *ktrdr.Breaker, c *ktrdr.BreakerChange) { c.Detail = json.RawMessage(`{`) },
			"detail is too large": func(_ *ktrdr.Breaker, c *ktrdr.BreakerChange) {
				c.Detail = json.RawMessage(`"` + strings.Repeat("x", ktrdr.InlineState) + `"`)
			},
		} {
			b, change := trip(anthropic, 0)
			spoil(&b, &change)
			if _, err := l.SaveBreaker(l.ctx(), b, change); ktrdr.CodeOf(err) != ktrdr.CodeInvalid {
				l.Errorf("%s: %v, want CodeInvalid", what, err)
			}
		}
		all, err := l.Breakers(l.ctx())
		l.must(err)
		same(l, "breakers", all, nil)
		for _, limit := range []int{-1, 1001} {
			_, err := l.BreakerHistory(l.ctx(), "", limit)
			l.refused(err, ktrdr.CodeInvalid)
		}
	},

	"AReasonIsCutAndCleanedNotRefused": func(l *lab) {
		b, change := trip(anthropic, 0)
		b.Reason = "a\x00b\xff" + strings.Repeat("é", 9000)
		change.Reason = b.Reason
		stored, err := l.SaveBreaker(l.ctx(), b, change)
		l.must(err)
		if !clean(stored.Reason) || len(stored.Reason) > 4096 || !strings.HasPrefix(stored.Reason, "a\uFFFDb\uFFFD") {
			l.Errorf("stored %d bytes: %.20q", len(stored.Reason), stored.Reason)
		}
	},
}
