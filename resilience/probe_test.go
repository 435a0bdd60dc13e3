package resilience_test

import (
	"errors"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/resilience"
	"github.com/ktrdr/ktrdr/sqlstore"
	"github.com/ktrdr/ktrdr/sqlstore/pgtest"
)

// onBoth gives body two backends' stores on one database, of either kind. A file
// has one store at a time, so there they share it.
func onBoth(t *testing.T, body func(t *testing.T, one, two resilience.Store)) {
	open := func(t *testing.T, url string) *sqlstore.Store {
		store, err := sqlstore.Open(t.Context(), sqlstore.Config{URL: url})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = store.Close() })
		return store
	}
	t.Run("SQLite", func(t *testing.T) {
		store := open(t, filepath.Join(t.TempDir(), "ktrdr.db"))
		body(t, store, store)
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		url := pgtest.URL(t)
		body(t, open(t, url), open(t, url))
	})
}

// ready is a backend whose breaker may be probed at once.
func ready(t *testing.T, store resilience.Store, c resilience.BreakerConfig) (*resilience.Registry, *resilience.Breaker) {
	t.Helper()
	c.Recovery = time.Nanosecond
	r := registry(t, resilience.RegistryConfig{Store: store, Default: c})
	b := r.Breaker(ktrdr.ScopeProvider, "x")
	trip(t, b)
	return r, b
}

func TestBreaker_OneProbeAtATimeOfAllBackends(t *testing.T) {
	onBoth(t, func(t *testing.T, one, two resilience.Store) {
		const callers, probes = 4, 50
		var inFlight, made atomic.Int64
		var under sync.WaitGroup
		end := time.Now().Add(time.Minute)
		for _, store := range []resilience.Store{one, two} {
			r, b := ready(t, store, resilience.BreakerConfig{Probes: 1_000_000})
			defer running(t, r)()
			for range callers {
				under.Go(func() {
					for made.Load() < probes && time.Now().Before(end) {
						p, err := b.Allow(t.Context())
						if err != nil {
							runtime.Gosched()
							continue
						}
						if n := inFlight.Add(1); n != 1 {
							t.Errorf("%d probes at once", n)
						}
						if _, err := store.Breakers(t.Context()); err != nil { // takes a while
							t.Error(err)
						}
						inFlight.Add(-1)
						made.Add(1)
						p.Done(time.Millisecond, nil)
					}
				})
			}
		}
		under.Wait()
		if made.Load() < probes {
			t.Errorf("%d probes were made, want %d", made.Load(), probes)
		}
	})
}

func TestBreaker_ADeadBackendsProbeEndsByItself(t *testing.T) {
	onBoth(t, func(t *testing.T, one, two resilience.Store) {
		const lease = 500 * time.Millisecond
		_, dead := ready(t, one, resilience.BreakerConfig{ProbeTimeout: lease})
		_, alive := ready(t, two, resilience.BreakerConfig{ProbeTimeout: lease})
		start := time.Now()
		if _, err := dead.Allow(t.Context()); err != nil {
			t.Fatal(err)
		}
		refused := 0
		pace := time.NewTicker(5 * time.Millisecond)
		defer pace.Stop()
		for ; !call(alive, nil); <-pace.C {
			if refused++; time.Since(start) > 30*time.Second {
				t.Fatal("never probed again")
			}
		}
		if took := time.Since(start); refused == 0 || took < lease-5*time.Millisecond { // the store counts milliseconds
			t.Errorf("probed after %v and %d refusals, while the other had %v", took, refused, lease)
		}
	})
}

func TestBreaker_WhatOneBackendsProbeFoundIsKnownToTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore()
		one, two := restarted(t, store), restarted(t, store)
		defer running(t, one)()
		here, there := one.Breaker(ktrdr.ScopeProvider, "x"), two.Breaker(ktrdr.ScopeProvider, "x")
		trip(t, here)
		trip(t, there)
		time.Sleep(time.Minute)
		call(here, timedOut)
		synctest.Wait()
		_, err := there.Allow(t.Context())
		open, ok := errors.AsType[*resilience.OpenError](err)
		if !ok || time.Until(open.RetryAt) != 2*time.Minute {
			t.Errorf("%v; want it open for as long as the failed probe of the other backend says", err)
		}
		defer running(t, two)()
		time.Sleep(2 * time.Minute)
		if !call(here, nil) {
			t.Error("who was refused keeps the right to probe")
		}
	})
}

func TestBreaker_WithoutTheStoreNoCallProbesUntilItIsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore()
		r := restarted(t, store)
		defer running(t, r)()
		b := r.Breaker(ktrdr.ScopeProvider, "x")
		trip(t, b)
		time.Sleep(time.Minute)
		away := errors.New("connection refused")
		store.breakWith(away)
		for range 3 {
			_, err := b.Allow(t.Context())
			if open, ok := errors.AsType[*resilience.OpenError](err); !ok || open.Err != away { //nolint:errorlint // the very one
				t.Errorf("%v, want it to say that the store does not answer", err)
			}
		}
		wantState(t, b, ktrdr.BreakerOpen)
		store.breakWith(nil)
		for range 3 {
			call(b, nil)
		}
		wantState(t, b, ktrdr.BreakerClosed)
	})
}

func TestBreaker_AProbeOfAnEarlierEraIsStillAProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := restarted(t, newStore())
		b := r.Breaker(ktrdr.ScopeProvider, "x")
		trip(t, b)
		time.Sleep(time.Minute)
		first, err := b.Allow(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Reset(t.Context(), "provider:x", "ann", "they say that they are well"); err != nil {
			t.Fatal(err)
		}
		trip(t, b)
		time.Sleep(time.Minute)
		if call(b, nil) {
			t.Error("a second probe while the first is under way")
		}
		first.Done(time.Second, nil)
		if !call(b, nil) {
			t.Error("no probe after the first has ended")
		}
	})
}
