package llm

import (
	"errors"
	"fmt"
	"time"

	"github.com/ktrdr/ktrdr/resilience"
)

// health is what a chain remembers of a model.
//
//	well ──failure──▶ cooling ──time──▶ on trial ──success──▶ well
//	                     ▲                  │
//	                     └──────failure─────┘  (twice as long)
type health struct {
	failures  int       // calls in a row; 0 means well
	coolUntil time.Time // of a model that is not well
	stated    bool      // its server named that instant
	trying    bool      // a call tries it after its cool-down

	calls     int64
	success   float64       // moving sum over tries, of which weight is the whole
	weight    float64       // below 1 while there were few: nothing is made up for those before the first
	latency   time.Duration // moving average over answers
	lastError string
}

// The weight of the newest try in the moving averages.
const newest = 0.1

// place says whether a model is asked in its place (""), after the others, or
// not at all, and why. When the others have been asked, last is set. One that
// is asked on trial is marked so until release.
func (c *ModelFallbackChain) place(name string, left time.Duration, last bool) (d StepResult, why string, trial bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.health[name]
	cooling := time.Until(h.coolUntil)
	switch {
	case cooling > 0 && h.stated:
		return Skipped, fmt.Sprintf("it is rate-limited for another %v", cooling.Round(time.Second)), false
	case last:
		return "", "", false
	case cooling > 0:
		return Postponed, fmt.Sprintf("it failed, and cools down for %v", cooling.Round(time.Second)), false
	case h.trying:
		return Postponed, "it failed, and another call is trying it again", false
	case left > 0 && h.latency > left:
		return Postponed, fmt.Sprintf("it takes %v, and %v are left", h.latency.Round(time.Second), left.Round(time.Second)), false
	}
	h.trying = h.failures > 0
	return "", "", h.trying
}

// tried counts one try.
func (c *ModelFallbackChain) tried(name string, took time.Duration, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.health[name]
	h.calls++
	h.success *= 1 - newest
	h.weight += newest * (1 - h.weight)
	if err != nil {
		h.lastError = err.Error()
		return
	}
	h.success += newest
	if h.latency == 0 {
		h.latency = took
	}
	h.latency += time.Duration(newest * float64(took-h.latency))
}

// judge draws the conclusion from a call that was made. Only an outcome that
// speaks for or against the model changes its health.
func (c *ModelFallbackChain) judge(name string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.health[name]
	switch {
	case err == nil:
		h.failures, h.stated, h.coolUntil = 0, false, time.Time{}
	case resilience.KindOf(err).Trips():
		ours, theirs := c.cooldown(h.failures), time.Duration(0)
		if e, ok := errors.AsType[*resilience.Error](err); ok {
			theirs = e.RetryAfter
		}
		h.stated = theirs >= ours
		h.coolUntil = time.Now().Add(max(ours, theirs))
		h.failures++
	}
}

// release ends a trial.
func (c *ModelFallbackChain) release(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.health[name].trying = false
}

// earliest is when the first of those servers that named an instant wants to be
// asked again; zero when none did.
func (c *ModelFallbackChain) earliest() (at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, h := range c.health {
		if h.stated && h.coolUntil.After(time.Now()) && (at.IsZero() || h.coolUntil.Before(at)) {
			at = h.coolUntil
		}
	}
	return at
}

func (c *ModelFallbackChain) cooldown(failures int) time.Duration {
	if failures < 32 && c.cfg.Cooldown <= c.cfg.MaxCooldown>>failures {
		return c.cfg.Cooldown << failures
	}
	return c.cfg.MaxCooldown
}

// ModelHealth is how a model stands.
type ModelHealth struct {
	Model       string    `json:"name"`
	Provider    string    `json:"provider"`
	Input       *float64  `json:"usd_per_million_input_tokens"` // null where the price is unknown: such a model is never called
	Output      *float64  `json:"usd_per_million_output_tokens"`
	Well        bool      `json:"well"` // it is asked in its place
	Failures    int       `json:"failures_in_a_row"`
	CoolUntil   time.Time `json:"cool_until,omitzero"`
	Calls       int64     `json:"calls"`
	SuccessRate *float64  `json:"success_rate"` // of its tries, the newest counting most; null before the first
	Seconds     float64   `json:"latency_seconds"`
	LastError   string    `json:"last_error,omitempty"`
}

// Health returns how the models stand, in the order of the chain.
func (c *ModelFallbackChain) Health() []ModelHealth {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := []ModelHealth{}
	for _, m := range c.cfg.Models {
		h := c.health[m.Name]
		one := ModelHealth{
			Model: m.Name, Provider: m.Provider.Name(), Well: h.failures == 0, Failures: h.failures,
			CoolUntil: h.coolUntil, Calls: h.calls, Seconds: h.latency.Seconds(), LastError: h.lastError,
		}
		if m.Price != nil {
			one.Input, one.Output = &m.Price.Input, &m.Price.Output
		}
		if h.calls > 0 {
			one.SuccessRate = new(h.success / h.weight)
		}
		list = append(list, one)
	}
	return list
}

// Reset forgets what is known of every model, as after its cause was removed.
func (c *ModelFallbackChain) Reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, h := range c.health {
		*h = health{trying: h.trying}
	}
}
