package resilience

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/backoff"
)

const (
	maxUnsaved   = 100 // lines of history kept while the store is away, per breaker
	writeTimeout = 10 * time.Second
	lastWrites   = 5 * time.Second // what a stop may take
)

var writeRetries = backoff.Policy{First: time.Second, Most: 30 * time.Second}

// Run writes changes as they happen and adopts what other backends changed,
// until ctx ends; then it writes what is left. A store that is away is tried
// again for as long as it takes: the breakers work without it.
func (r *Registry) Run(ctx context.Context) error {
	if r.config.Store == nil {
		<-ctx.Done()
		return nil
	}
	reload := time.NewTicker(r.config.Reload)
	defer reload.Stop()
	retry := time.NewTimer(0)
	defer retry.Stop()
	failed := 0 // writes in a row
	for {
		select {
		case <-ctx.Done():
			bye, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWrites)
			defer cancel()
			if err := r.write(bye); err != nil {
				r.log.WarnContext(bye, "breaker changes are lost with this process", "err", err)
			}
			return nil
		case <-reload.C:
			read, cancel := context.WithTimeout(ctx, writeTimeout)
			if err := r.adoptAll(read); err != nil && ctx.Err() == nil {
				r.log.WarnContext(ctx, "breakers of other backends could not be read", "err", err)
			}
			cancel()
			continue
		case <-r.dirty:
		case <-retry.C:
		}
		err := r.write(ctx)
		if err == nil {
			failed = 0
			continue
		}
		wait := writeRetries.Delay(failed)
		failed++
		if ctx.Err() == nil {
			r.log.WarnContext(ctx, "breaker changes could not be stored", "err", err, "retry_in", wait)
		}
		retry.Reset(wait)
	}
}

// turn lets one goroutine in at a time; one that waits may give up.
type turn chan struct{}

func (t turn) take(ctx context.Context, do func() error) error {
	select {
	case t <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-t }()
	return do()
}

// write stores every change that is not. One breaker's trouble does not keep
// the others'.
func (r *Registry) write(ctx context.Context) error {
	var errs []error
	for _, b := range r.all() {
		errs = append(errs, b.saving.take(ctx, func() error {
			if err := b.save(ctx); err != nil {
				return err
			}
			return b.handBack(ctx)
		}))
	}
	r.news.deliver()
	return errors.Join(errs...)
}

// save stores b's changes, oldest first. Each is stored with the state as it is
// now: the history tells the way, the row where it led. Its caller has saving.
func (b *Breaker) save(ctx context.Context) error {
	for conflicts := 0; ; {
		b.mu.Lock()
		if len(b.unsaved) == 0 {
			b.mu.Unlock()
			return nil
		}
		change, row := b.unsaved[0], b.state.Load().row
		b.mu.Unlock()

		stored, err := b.owner.put(ctx, row, change)
		if ktrdr.CodeOf(err) == ktrdr.CodeConflict && conflicts < maxConflicts {
			conflicts++
			if err = b.yield(ctx); err == nil {
				continue
			}
		}
		if err != nil {
			return fmt.Errorf("breaker %s: %w", b.name, err)
		}
		b.mu.Lock()
		b.unsaved = b.unsaved[1:]
		b.acknowledge(stored.Version)
		b.mu.Unlock()
	}
}

// put stores one change in bounded time; without a store it only counts it.
func (r *Registry) put(ctx context.Context, row ktrdr.Breaker, change ktrdr.BreakerChange) (ktrdr.Breaker, error) {
	if r.config.Store == nil {
		row.Version++
		return row, nil
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	return r.config.Store.SaveBreaker(ctx, row, change)
}

// acknowledge notes which version is stored, in the same era. Its caller holds
// mu.
func (b *Breaker) acknowledge(version int64) {
	s := *b.state.Load()
	s.row.Version = version
	b.state.Store(&s)
}

// yield gives way to another backend that changed the same breaker first.
func (b *Breaker) yield(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	rows, err := b.owner.config.Store.Breakers(ctx)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if row.Name == b.name {
			b.owner.adopt(row, true)
			return nil
		}
	}
	// The row was deleted: begin with a new one.
	b.mu.Lock()
	defer b.mu.Unlock()
	b.acknowledge(0)
	return nil
}

// adopt takes up a stored row that is newer than the one we know. Changes of
// our own that are not stored yet are not overwritten, unless they lost.
func (r *Registry) adopt(row ktrdr.Breaker, lost bool) {
	b := r.Breaker(row.Scope, strings.TrimPrefix(row.Name, string(row.Scope)+":"))
	b.mu.Lock()
	defer b.mu.Unlock()
	b.adopt(row, lost)
}

// adopt does so for b. Its caller holds mu.
func (b *Breaker) adopt(row ktrdr.Breaker, lost bool) {
	r := b.owner
	known := b.state.Load().row
	if !lost && (row.Version <= known.Version || len(b.unsaved) > 0) {
		return
	}
	if n := len(b.unsaved); n > 0 {
		r.log.Warn("breaker was changed by another backend first", "breaker", b.name, "dropped_changes", n)
		b.unsaved = nil
	}
	row, until := b.revive(row)
	change := b.changeTo(known, row)
	change.Version = row.Version
	b.install(row, until)
	if change.From != change.To {
		r.queue(change)
	}
}

// revive turns a stored row into one that works here and now. Its instant was
// written by a clock that may have jumped: nothing stays open for longer than it
// ever could. A state that we do not know is open, for once.
func (b *Breaker) revive(row ktrdr.Breaker) (ktrdr.Breaker, time.Time) {
	now := time.Now()
	switch row.State {
	case ktrdr.BreakerClosed, ktrdr.BreakerHalfOpen:
		return row, time.Time{}
	case ktrdr.BreakerOpen:
	default:
		row.State, row.RetryAt = ktrdr.BreakerOpen, now.Add(b.config.Recovery)
	}
	longest := b.config.MaxRecovery
	if row.Held {
		longest = max(b.config.HumanCooldown, 0)
	}
	until := now.Add(min(max(row.RetryAt.Sub(now), 0), longest))
	if until.Before(row.RetryAt) {
		row.RetryAt = until.UTC()
	}
	return row, until
}
