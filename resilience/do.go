package resilience

import (
	"context"
	"errors"
	"time"
)

// errPanicked is what a call that panicked counts as. Its kind is unknown,
// which speaks against the one called.
var errPanicked = errors.New("the call panicked")

// Do calls fn if every breaker allows it, and tells each how it ended. When one
// refuses, those before it count no call. A panic counts as a
// failure and goes on.
func Do(ctx context.Context, breakers []*Breaker, fn func(context.Context) error) error {
	if ctx.Err() != nil {
		return &Error{Kind: KindCancelled, Err: context.Cause(ctx)}
	}
	permits := make([]Permit, 0, len(breakers))
	for _, b := range breakers {
		p, err := b.Allow(ctx)
		if err != nil {
			for _, taken := range permits {
				taken.giveBack()
			}
			return err
		}
		permits = append(permits, p)
	}
	err := errPanicked
	start := time.Now()
	defer func() {
		elapsed := time.Since(start)
		for _, p := range permits {
			p.Done(elapsed, err)
		}
	}()
	err = fn(ctx)
	return err
}
