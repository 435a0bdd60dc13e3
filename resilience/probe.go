package resilience

import (
	"fmt"
	"time"

	"github.com/ktrdr/ktrdr"
)

// allowProbe lets one call through a breaker that is ready to be probed.
func (b *Breaker) allowProbe() (Permit, error) {
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
	if s.row.State == ktrdr.BreakerOpen {
		next := s.row
		next.State, next.RetryAt = ktrdr.BreakerHalfOpen, time.Time{}
		b.move(next, time.Time{}, "its open time is over")
	}
	b.probes++
	b.probe = b.probes
	b.probeUntil = time.Now().Add(b.config.ProbeTimeout)
	return b.permit(b.state.Load().era, b.probe), nil
}

// refusal says why no call passes at now, or nil when a probe may. A probe
// that has been away for the whole of its time-out is given up: its caller may
// have died without a word, and nobody would ever be let through again.
func (b *Breaker) refusal(s *state, now time.Time) error {
	refused := &OpenError{Name: b.name, State: effective(s.row), Held: s.row.Held}
	switch {
	case s.row.Forced != "":
		refused.Forced, refused.Held = true, false
	case s.row.Held:
	case s.row.State == ktrdr.BreakerHalfOpen && b.probe != 0 && now.Before(b.probeUntil):
	case s.row.State == ktrdr.BreakerOpen && now.Before(s.until):
		refused.RetryAt = s.until
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
	if s.era != c.era || b.probe != c.probe {
		return
	}
	b.probe = 0
	if err != nil && !failed {
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
