package resilience

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ktrdr/ktrdr"
)

// Breaker stands before something that can fail, and stops the calls to it
// while it does.
//
//	         too many failures in a row,
//	         too high a rate of failed or slow calls
//	CLOSED ─────────────────────────────────────────▶ OPEN ◀─────┐
//	  ▲                                                │         │ a probe fails:
//	  │                              after the open time, at the │ the open time doubles
//	  │                                       next call│         │
//	  └──── enough probes succeed ──── HALF_OPEN ◀─────┘         │
//	                                       └─────────────────────┘
//
// In HALF_OPEN one call at a time goes through, of all processes on one store:
// each takes the right to it there before, and gives it back when what it found
// is stored. A breaker that
// requires a person does not leave OPEN by itself. One that a person forced
// OPEN or CLOSED is that, whatever it would do itself.
//
// A call through a closed breaker takes no lock. The state is an immutable
// value behind a pointer. A change is made under mu and begins a new era.
// Calls that were let through in an older era decide nothing when they end:
// what a provider did before it was closed again is no news.
type Breaker struct {
	name   string // scope:name
	config BreakerConfig
	owner  *Registry

	window  window
	state   atomic.Pointer[state]
	streak  atomic.Int64 // failures in a row
	refused atomic.Int64 // calls, ever

	saving turn // of who writes to the store; taken before mu

	mu         sync.Mutex
	probe      uint64 // the number of the probe in flight, in whatever era it began; 0 for none
	probes     uint64 // numbers given so far
	probeUntil time.Time
	lease      int64                 // the token of the right to that probe; 0 for none
	owed       int64                 // the token of a right that is to be given back; 0 for none
	succeeded  int                   // probes in this era
	unsaved    []ktrdr.BreakerChange // oldest first
}

// Permit is the right to one call. Done must be called when it has ended.
type Permit struct{ call *call }

type call struct {
	breaker *Breaker
	shard   *shard
	era     uint64
	probe   uint64 // its number; 0 for an ordinary call
	ended   atomic.Bool
}

// Name is the breaker's full name, scope:name.
func (b *Breaker) Name() string { return b.name }

// Allow asks for one call. The error is an *OpenError. Only a probe waits for
// the store, and not for long.
func (b *Breaker) Allow(ctx context.Context) (Permit, error) {
	if s := b.state.Load(); s.passes {
		return b.permit(s.era, 0), nil
	}
	p, err := b.allowProbe(ctx)
	b.owner.news.deliver()
	return p, err
}

func (b *Breaker) permit(era, probe uint64) Permit {
	s := b.window.pick()
	s.inFlight.Add(1)
	return Permit{&call{breaker: b, shard: s, era: era, probe: probe}}
}

// Done tells how the call ended and how long it took. Only the first Done of a
// permit counts. An error whose kind does not speak against the one called
// counts as nothing; a time that was not measured (negative) counts as slow.
func (p Permit) Done(elapsed time.Duration, err error) {
	c := p.call
	if c == nil || !c.ended.CompareAndSwap(false, true) {
		return
	}
	b := c.breaker
	c.shard.inFlight.Add(-1)
	failed := err != nil && KindOf(err).Trips()
	slow := elapsed < 0 || elapsed >= b.config.SlowCall
	switch {
	case c.probe != 0:
		b.endProbe(c, err, failed, slow)
	case err != nil && !failed:
		return
	case failed || slow:
		b.judge(c, err, failed, slow)
	case b.state.Load().era == c.era:
		b.window.add(c.shard, false, false)
		if b.streak.Load() != 0 {
			b.streak.Store(0)
		}
		return
	}
	b.owner.news.deliver()
}

// giveBack ends a permit whose call was never made.
func (p Permit) giveBack() {
	c := p.call
	if !c.ended.CompareAndSwap(false, true) {
		return
	}
	c.shard.inFlight.Add(-1)
	if c.probe == 0 {
		return
	}
	c.breaker.mu.Lock()
	defer c.breaker.mu.Unlock()
	c.breaker.freeProbe(c.probe)
}

// judge counts a call that failed or was slow, and opens the breaker if that
// was one too many.
func (b *Breaker) judge(c *call, err error, failed, slow bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.state.Load()
	if s.era != c.era {
		return
	}
	b.window.add(c.shard, failed, slow)
	if failed {
		b.streak.Add(1)
	} else {
		b.streak.Store(0)
	}
	if s.row.Forced != "" || !b.owner.config.Enabled {
		return
	}
	if why := b.reasonToOpen(KindOf(err)); why != "" {
		b.trip(why, err)
	}
}

// reasonToOpen says why a closed breaker opens now, or "".
func (b *Breaker) reasonToOpen(last ErrorKind) string {
	c := b.config
	if n := b.streak.Load(); c.FailureThreshold > 0 && n >= int64(c.FailureThreshold) {
		return fmt.Sprintf("%d failures in a row, the last one %s", n, last)
	}
	f := b.window.figures()
	switch {
	case f.Calls < int64(c.MinCalls):
	case c.FailureRate > 0 && f.FailureRate >= c.FailureRate:
		return fmt.Sprintf("%d of %d calls within %v failed", f.Failures, f.Calls, c.Window)
	case c.SlowRate > 0 && f.SlowRate >= c.SlowRate:
		return fmt.Sprintf("%d of %d calls within %v took %v or longer", f.Slow, f.Calls, c.Window, c.SlowCall)
	}
	return ""
}

// OpenError says that a breaker did not let a call through. It is never tried
// again by a RetryPolicy: the breaker knows when.
type OpenError struct {
	Name    string // scope:name
	State   ktrdr.BreakerState
	Forced  bool      // by a person
	Held    bool      // until a person resets it
	Err     error     // of the store, when it did not say who may probe
	RetryAt time.Time // when a call may pass again; zero when a probe or a person must say first
}

// Error says which breaker, why, and until when or what to do.
func (e *OpenError) Error() string {
	switch {
	case e.Forced:
		return fmt.Sprintf("breaker %s was forced open by a person: set it back to automatic with ktrdr breakers force", e.Name)
	case e.Held:
		return fmt.Sprintf("breaker %s is open until a person closes it with ktrdr breakers reset", e.Name)
	case e.Err != nil:
		return fmt.Sprintf("breaker %s is to be probed, and the store does not say by which backend: %v", e.Name, e.Err)
	case e.State == ktrdr.BreakerHalfOpen:
		return fmt.Sprintf("breaker %s is being probed by another call", e.Name)
	}
	return fmt.Sprintf("breaker %s is open until %s", e.Name, e.RetryAt.UTC().Format(time.RFC3339))
}

// errPanicked is what a call that panicked counts as. Its kind is unknown,
// which speaks against the one called.
var errPanicked = errors.New("the call panicked")

// Do calls fn if every breaker allows it, and tells each how it ended. When one
// refuses, those before it count no call. A panic counts as a
// failure and is not recovered.
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
