package resilience

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/backoff"
)

// state is what a breaker is in one era.
type state struct {
	row    ktrdr.Breaker
	until  time.Time // of OPEN, on the monotonic clock; row.RetryAt is for others
	era    uint64
	passes bool // every call
}

// effective is what callers meet.
func effective(b ktrdr.Breaker) ktrdr.BreakerState { return cmp.Or(b.Forced, b.State) }

// trip opens the breaker. Its caller holds mu.
func (b *Breaker) trip(why string, err error) {
	next := b.state.Load().row
	next.State = ktrdr.BreakerOpen
	next.Trips++
	next.Held = b.config.RequireHuman
	until := time.Now().Add(b.openTime(next.Trips, err))
	if next.Held {
		until = time.Now().Add(max(b.config.HumanCooldown, 0))
	}
	next.RetryAt, next.Trip = until.UTC(), why
	b.move(next, until, why)
}

// move begins a new era, with nothing of the old one's counts: they would open
// a breaker again at once that was just closed. Its caller holds mu.
func (b *Breaker) move(next ktrdr.Breaker, until time.Time, why string) {
	prev := b.state.Load()
	next.Reason, next.By, next.Changed = why, "", time.Now().UTC()
	change := b.changeTo(prev.row, next)
	if b.owner.config.Store == nil {
		next.Version++
		change.Version = next.Version
	} else {
		b.unsaved = append(b.unsaved[max(0, len(b.unsaved)+1-maxUnsaved):], change)
	}
	b.install(next, until)
	b.owner.queue(change)
}

// changeTo describes the step from prev to next, with the counts that led to it.
func (b *Breaker) changeTo(prev, next ktrdr.Breaker) ktrdr.BreakerChange {
	detail, _ := json.Marshal(b.window.figures()) // finite numbers: it cannot fail
	return ktrdr.BreakerChange{
		Name: b.name, From: effective(prev), To: effective(next),
		Reason: next.Reason, By: next.By, Detail: detail, At: next.Changed,
	}
}

// install makes row the state of a new era. Its caller holds mu.
func (b *Breaker) install(row ktrdr.Breaker, until time.Time) {
	b.state.Store(&state{
		row: row, until: until, era: b.state.Load().era + 1,
		passes: effective(row) == ktrdr.BreakerClosed || !b.owner.config.Enabled,
	})
	b.streak.Store(0)
	b.window.forget()
	b.succeeded = 0
}

// openTime is how long the nth trip in a row keeps the breaker open: doubled
// each time, spread upwards, and at least what the provider asked for.
func (b *Breaker) openTime(trips int, err error) time.Duration {
	c := b.config
	d := backoff.Policy{First: c.Recovery, Most: c.MaxRecovery}.Delay(trips - 1)
	d = time.Duration(float64(d) * (1 + max(c.Jitter, 0)*b.owner.config.Rand()))
	return min(max(d, retryAfter(err)), c.MaxRecovery)
}
