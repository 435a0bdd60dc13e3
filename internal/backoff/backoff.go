// Package backoff computes exponential delays with jitter and waits for them.
package backoff

import (
	"cmp"
	"context"
	"math/rand/v2"
	"time"
)

// Policy is an exponential back-off. The zero value has no delay.
type Policy struct {
	First  time.Duration  // the first delay; each further one is twice as long
	Most   time.Duration  // limit of a delay before jitter; 0 means no limit
	Jitter float64        // share by which a delay may be longer or shorter: 0.5 makes 1 s between 0.5 s and 1.5 s
	Rand   func() float64 // in [0, 1), for the jitter; nil means a random one
}

// Delay returns the delay after a number of failed retries: First for 0.
func (p Policy) Delay(retries int) time.Duration {
	most := cmp.Or(p.Most, 1<<62)
	d := most
	if shift := max(retries, 0); shift < 62 && p.First <= most>>shift {
		d = p.First << shift
	}
	if p.Jitter == 0 {
		return d
	}
	random := p.Rand
	if random == nil {
		random = rand.Float64
	}
	return time.Duration(float64(d) * (1 + p.Jitter*(2*random()-1)))
}

// Wait sleeps for the delay after a number of failed retries. It returns false
// if ctx ended first.
func (p Policy) Wait(ctx context.Context, retries int) bool { return Sleep(ctx, p.Delay(retries)) }

// Sleep waits for d. It returns false if ctx ended first.
func Sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
