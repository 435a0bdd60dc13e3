package resilience

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/text"
)

const (
	maxConflicts = 5 // with other backends, before a person is asked to try again
	maxName      = 255
	maxWords     = 500
)

// Force makes a breaker OPEN or CLOSED whatever it would do itself; "" gives it
// back to automatic. It is stored before it is so. By and why go into the
// history and must be given (CodeInvalid); CodeNotFound for a name that is not
// there.
func (r *Registry) Force(ctx context.Context, name string, to ktrdr.BreakerState, by, why string) (ktrdr.Breaker, error) {
	if to != "" && to != ktrdr.BreakerOpen && to != ktrdr.BreakerClosed {
		return ktrdr.Breaker{}, ktrdr.Errorf(ktrdr.CodeInvalid, "a breaker is forced %s or %s, or nothing to set it back to automatic; not %q",
			ktrdr.BreakerOpen, ktrdr.BreakerClosed, to)
	}
	return r.decide(ctx, name, by, why, func(s state) (ktrdr.Breaker, error) {
		row := s.row
		if to == "" && row.Forced == "" {
			return row, ktrdr.Errorf(ktrdr.CodeConflict, "breaker %s is not forced: it is automatic already", name)
		}
		row.Forced = to
		return row, nil
	})
}

// Reset closes a breaker. One that is held for a person is closed only after
// its cool-down, and one that is forced not at all: both are CodeConflict. By
// and why are as in Force.
func (r *Registry) Reset(ctx context.Context, name, by, why string) (ktrdr.Breaker, error) {
	return r.decide(ctx, name, by, why, func(s state) (ktrdr.Breaker, error) {
		row := s.row
		if row.Forced != "" {
			return row, ktrdr.Errorf(ktrdr.CodeConflict, "breaker %s is forced %s by %s: set it back to automatic first", name, row.Forced, row.By)
		}
		if row.Held && time.Now().Before(s.until) {
			return row, ktrdr.Errorf(ktrdr.CodeConflict, "breaker %s opened because of %s; look into that, and reset it from %s on",
				name, row.Trip, row.RetryAt.UTC().Format(time.RFC3339))
		}
		row.State, row.Held, row.Trips, row.RetryAt = ktrdr.BreakerClosed, false, 0, time.Time{}
		return row, nil
	})
}

// decide stores a person's decision and then makes it so. When another backend
// is faster, the decision is taken again on what that one left.
func (r *Registry) decide(ctx context.Context, name, by, why string, decision func(state) (ktrdr.Breaker, error)) (ktrdr.Breaker, error) {
	by, why, err := words(by, why)
	if err != nil {
		return ktrdr.Breaker{}, err
	}
	b := r.find(name)
	if b == nil {
		return ktrdr.Breaker{}, r.notFound(name)
	}
	defer r.news.deliver()
	var row ktrdr.Breaker
	err = b.saving.take(ctx, func() (err error) {
		row, err = b.decide(ctx, by, why, decision)
		return err
	})
	return row, err
}

// decide does so for b. Its caller has saving.
func (b *Breaker) decide(ctx context.Context, by, why string, decision func(state) (ktrdr.Breaker, error)) (ktrdr.Breaker, error) {
	for range maxConflicts {
		if err := b.save(ctx); err != nil {
			return ktrdr.Breaker{}, err
		}
		prev := *b.state.Load()
		next, err := decision(prev)
		if err != nil {
			return ktrdr.Breaker{}, err
		}
		next.Reason, next.By, next.Changed = why, by, time.Now().UTC()
		change := b.changeTo(prev.row, next)
		next, err = b.owner.put(ctx, next, change)
		if ktrdr.CodeOf(err) == ktrdr.CodeConflict {
			err = b.yield(ctx)
			if err == nil {
				continue
			}
		}
		if err != nil {
			return ktrdr.Breaker{}, fmt.Errorf("breaker %s: %w", b.name, err)
		}
		change.Version = next.Version
		b.obey(next, prev.until, change)
		return next, nil
	}
	return ktrdr.Breaker{}, ktrdr.Errorf(ktrdr.CodeConflict, "breaker %s is being changed by other backends all the time; try again", b.name)
}

// obey makes a stored decision the state. What the breaker did by itself
// meanwhile stays in its history, but a person's word is the last.
func (b *Breaker) obey(row ktrdr.Breaker, until time.Time, change ktrdr.BreakerChange) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.install(row, until)
	b.owner.queue(change)
}

// words checks who decided and why. A decision needs a person who answers for it.
func words(by, why string) (string, string, error) {
	by, why = strings.TrimSpace(ktrdr.CleanText(by)), strings.TrimSpace(ktrdr.CleanText(why))
	switch {
	case by == "":
		return "", "", ktrdr.Errorf(ktrdr.CodeInvalid, "say who decides this: by must not be empty, it goes into the breaker's history")
	case why == "":
		return "", "", ktrdr.Errorf(ktrdr.CodeInvalid, "say why: the reason must not be empty, it goes into the breaker's history")
	case len(by) > maxName || len(why) > maxWords:
		return "", "", ktrdr.Errorf(ktrdr.CodeInvalid, "say who in at most %d bytes, and why in at most %d", maxName, maxWords)
	}
	return by, why, nil
}

func (r *Registry) notFound(name string) error {
	names := text.Map(r.all(), (*Breaker).Name)
	if len(names) == 0 {
		return ktrdr.Errorf(ktrdr.CodeNotFound, "there is no breaker %q, and no other yet: each appears with its first call", name)
	}
	return ktrdr.Errorf(ktrdr.CodeNotFound, "there is no breaker %q; %s", name, text.Choices(name, names))
}

// HumanDecision is what a person decides about a breaker.
type HumanDecision struct {
	State ktrdr.BreakerState `json:"state,omitempty"` // of force: OPEN, CLOSED, or empty for automatic
	By    string             `json:"by"`
	Why   string             `json:"why"`
}

// Decided is a breaker as a person's decision left it.
type Decided struct {
	ktrdr.Breaker
	// AlsoBlocking names the other breakers of the same calls that are not closed:
	// of a provider the cluster of its host, and of a cluster its providers.
	AlsoBlocking []string `json:"also_blocking,omitempty"`
}
