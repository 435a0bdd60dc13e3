package resilience

import (
	"context"
	"fmt"
	"time"

	"github.com/ktrdr/ktrdr"
)

// probeWait is how long a call waits for the store to say that it may probe.
const probeWait = 5 * time.Second

// allowProbe lets one call through a breaker that is ready to be probed. The
// place is taken here first, and then in the store, which is asked while mu is
// free. A store that does not answer allows no probe, because other backends may be
// probing; the next call asks it again.
func (b *Breaker) allowProbe(ctx context.Context) (Permit, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.state.Load()
	if s.passes { // meanwhile
		return b.permit(s.era, 0), nil
	}
	if err := b.refusal(s, time.Now()); err != nil {
		b.refused.Add(1)
		return Permit{}, err
	}
	b.probes++
	number := b.probes
	b.probe, b.probeUntil, b.lease = number, time.Now().Add(b.config.ProbeTimeout), 0
	if b.owner.config.Store != nil {
		b.mu.Unlock()
		err := b.takeRight(ctx, number)
		b.mu.Lock()
		if err != nil {
			b.refused.Add(1)
			return Permit{}, err
		}
	}
	s = b.state.Load()
	if s.passes { // another backend has closed it
		b.freeProbe(number)
		return b.permit(s.era, 0), nil
	}
	if s.row.State == ktrdr.BreakerOpen {
		next := s.row
		next.State, next.RetryAt = ktrdr.BreakerHalfOpen, time.Time{}
		b.move(next, time.Time{}, "its open time is over")
	}
	return b.permit(b.state.Load().era, number), nil
}

// takeRight asks the store for the right to a probe. The error is an *OpenError.
func (b *Breaker) takeRight(ctx context.Context, number uint64) error {
	c := b.owner.config
	ctx, cancel := context.WithTimeout(ctx, probeWait)
	defer cancel()
	entered := false
	err := b.saving.take(ctx, func() error { // so that what is adopted is not being overwritten
		right, err := c.Store.TakeProbe(ctx, b.name, c.Owner, b.config.ProbeTimeout)
		if err != nil {
			return err
		}
		entered = true
		return b.enter(number, right)
	})
	if err == nil || entered {
		return err
	}
	refused := &OpenError{Name: b.name, State: ktrdr.BreakerHalfOpen}
	if ktrdr.CodeOf(err) != ktrdr.CodeConflict { // not another backend that probes
		refused.Err = err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.freeProbe(number)
	return refused
}

// enter begins a probe that the store has allowed, unless another backend
// has found out meanwhile that it is too early.
func (b *Breaker) enter(number uint64, right ktrdr.Probe) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.probe != number { // the store took longer than a probe may
		return &OpenError{Name: b.name, State: ktrdr.BreakerHalfOpen}
	}
	b.lease = right.Token
	if right.Breaker.Version > b.state.Load().row.Version {
		b.adopt(right.Breaker, true)
	}
	s := b.state.Load()
	if s.passes {
		return nil
	}
	b.probe = 0 // its own does not count against it
	refused := b.refusal(s, time.Now())
	b.probe = number
	if refused != nil {
		b.freeProbe(number)
	}
	return refused
}

// refusal says why no call passes at now, or nil when a probe may. A probe that
// takes longer than its time-out is given up: its caller may have died, and no call
// would ever be let through again.
func (b *Breaker) refusal(s *state, now time.Time) error {
	refused := &OpenError{Name: b.name, State: effective(s.row), Held: s.row.Held}
	switch {
	case s.row.Forced != "":
		refused.Forced, refused.Held = true, false
	case s.row.Held:
	case s.row.State == ktrdr.BreakerOpen && now.Before(s.until):
		refused.RetryAt = s.until
	case b.probe != 0 && now.Before(b.probeUntil):
		refused.State = ktrdr.BreakerHalfOpen
	default:
		return nil
	}
	return refused
}

// endProbe draws the conclusion from a probe, if it is still the one in flight.
// A slow answer is an answer: only many of them say that a service is too slow,
// and there would never be many if one kept the breaker open.
func (b *Breaker) endProbe(c *call, err error, failed, slow bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.state.Load()
	if !b.freeProbe(c.probe) || s.era != c.era || err != nil && !failed {
		return
	}
	b.window.add(c.shard, failed, slow)
	if failed {
		b.trip(fmt.Sprintf("a probe failed, %s", KindOf(err)), err)
		return
	}
	b.succeeded++
	if b.succeeded >= b.config.Probes {
		next := s.row
		next.State, next.Trips, next.RetryAt = ktrdr.BreakerClosed, 0, time.Time{}
		b.move(next, time.Time{}, fmt.Sprintf("%d probes succeeded", b.succeeded))
	}
}

// freeProbe makes room for the next probe, and has Run give the right to this
// one back; false when it is no longer the one in flight. Its caller holds mu.
func (b *Breaker) freeProbe(number uint64) bool {
	if b.probe != number {
		return false
	}
	b.probe = 0
	if b.lease != 0 {
		b.owed, b.lease = b.lease, 0
		b.owner.wake()
	}
	return true
}

// handBack ends the right to a probe that has ended, once what it found is
// stored. Its caller has saving.
func (b *Breaker) handBack(ctx context.Context) error {
	b.mu.Lock()
	token, stored := b.owed, len(b.unsaved) == 0
	b.mu.Unlock()
	if token == 0 || !stored {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	if err := b.owner.config.Store.EndProbe(ctx, b.name, token); err != nil {
		return fmt.Errorf("breaker %s: end of a probe: %w", b.name, err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.owed == token {
		b.owed = 0
	}
	return nil
}
