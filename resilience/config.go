package resilience

import (
	"cmp"
	"time"

	"github.com/ktrdr/ktrdr"
)

// BreakerConfig says when a breaker opens and how it closes again. Zero means
// the default given beside each; a negative threshold or rate means never, a
// negative jitter none.
type BreakerConfig struct {
	FailureThreshold int           // failures in a row that open it; 5
	Recovery         time.Duration // before the first probe; 60 s
	Probes           int           // that must succeed, one at a time, to close it; 3
	ProbeTimeout     time.Duration // after which a probe that never came back is given up; 5 min

	Window      time.Duration // over which rates are taken; 2 min
	MinCalls    int           // in the window, before a rate says anything; 10
	FailureRate float64       // of failures that opens it; 0.5
	SlowCall    time.Duration // a call that takes so long is slow; 60 s
	SlowRate    float64       // of slow calls that opens it; 0.8

	MaxRecovery time.Duration // the open time doubles with every trip in a row up to this; 15 min, or Recovery if that is longer
	Jitter      float64       // the share by which an open time may be longer; 0.1

	RequireHuman  bool          // once open, only a person closes it
	HumanCooldown time.Duration // after a trip, before a person may; 30 min, negative none
}

// or fills what is zero in c from d.
func (c BreakerConfig) or(d BreakerConfig) BreakerConfig {
	return BreakerConfig{
		FailureThreshold: cmp.Or(c.FailureThreshold, d.FailureThreshold),
		Recovery:         cmp.Or(c.Recovery, d.Recovery),
		Probes:           cmp.Or(c.Probes, d.Probes),
		ProbeTimeout:     cmp.Or(c.ProbeTimeout, d.ProbeTimeout),
		Window:           cmp.Or(c.Window, d.Window),
		MinCalls:         cmp.Or(c.MinCalls, d.MinCalls),
		FailureRate:      cmp.Or(c.FailureRate, d.FailureRate),
		SlowCall:         cmp.Or(c.SlowCall, d.SlowCall),
		SlowRate:         cmp.Or(c.SlowRate, d.SlowRate),
		MaxRecovery:      cmp.Or(c.MaxRecovery, d.MaxRecovery),
		Jitter:           cmp.Or(c.Jitter, d.Jitter),
		RequireHuman:     c.RequireHuman || d.RequireHuman,
		HumanCooldown:    cmp.Or(c.HumanCooldown, d.HumanCooldown),
	}
}

var defaults = BreakerConfig{
	FailureThreshold: 5,
	Recovery:         60 * time.Second,
	Probes:           3,
	ProbeTimeout:     5 * time.Minute,
	Window:           2 * time.Minute,
	MinCalls:         10,
	FailureRate:      0.5,
	SlowCall:         60 * time.Second,
	SlowRate:         0.8,
	Jitter:           0.1,
	HumanCooldown:    30 * time.Minute,
}

// withDefaults fills what is zero.
func (c BreakerConfig) withDefaults() BreakerConfig {
	c = c.or(defaults)
	c.MaxRecovery = cmp.Or(c.MaxRecovery, max(15*time.Minute, c.Recovery))
	return c
}

// validate refuses what a safety device cannot work with: a rate that is no
// number compares with nothing, and would never open.
func (c BreakerConfig) validate(of string) error {
	bad := func(format string, args ...any) error {
		return ktrdr.Errorf(ktrdr.CodeInvalid, "circuit breaker "+of+": "+format, args...)
	}
	switch {
	case c.Recovery < 0 || c.MaxRecovery < 0 || c.Window < 0 || c.SlowCall < 0 || c.ProbeTimeout < 0:
		return bad("recovery %v, max_recovery %v, window %v, slow_call %v and probe_timeout %v must be positive; leave them out for the defaults",
			c.Recovery, c.MaxRecovery, c.Window, c.SlowCall, c.ProbeTimeout)
	case c.Probes < 0 || c.MinCalls < 0:
		return bad("probes %d and min_calls %d must be positive; leave them out for the defaults", c.Probes, c.MinCalls)
	case c.MaxRecovery < c.Recovery:
		return bad("max_recovery %v is shorter than recovery %v: raise it", c.MaxRecovery, c.Recovery)
	case !(c.FailureRate <= 1) || !(c.SlowRate <= 1) || !(c.Jitter <= 1):
		return bad("failure_rate %v, slow_rate %v and jitter %v must be shares of at most 1", c.FailureRate, c.SlowRate, c.Jitter)
	}
	return nil
}
