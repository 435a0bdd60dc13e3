package resilience_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/resilience"
)

// restarted is the registry of the next process on the same store.
func restarted(t *testing.T, store resilience.Store) *resilience.Registry {
	t.Helper()
	r := registry(t, resilience.RegistryConfig{Store: store})
	if err := r.Restore(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRegistry_OpenStaysOpenOverARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore()
		r := restarted(t, store)
		stop := running(t, r)
		trip(t, r.Breaker(ktrdr.ScopeProvider, "x"))
		stop()

		time.Sleep(20 * time.Second)
		b := restarted(t, store).Breaker(ktrdr.ScopeProvider, "x")
		wantState(t, b, ktrdr.BreakerOpen)
		time.Sleep(40*time.Second - 1)
		if call(b, nil) {
			t.Error("let through before the instant that was stored")
		}
		time.Sleep(time.Nanosecond)
		if !call(b, nil) {
			t.Error("not probed at the instant that was stored")
		}
		if got := b.Status().Trips; got != 1 {
			t.Errorf("%d trips, want the one of the earlier process", got)
		}
	})
}

func TestRegistry_HistoryTellsEveryStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore()
		r := restarted(t, store)
		stop := running(t, r)
		b := r.Breaker(ktrdr.ScopeProvider, "x")
		trip(t, b)
		time.Sleep(time.Minute)
		for range 3 {
			call(b, nil)
		}
		synctest.Wait()
		stop()
		var got []ktrdr.BreakerState
		for i, c := range store.history {
			if c.Version != int64(i+1) || c.Reason == "" || c.At.IsZero() {
				t.Errorf("line %d is %+v", i, c)
			}
			got = append(got, c.To)
		}
		want := []ktrdr.BreakerState{ktrdr.BreakerOpen, ktrdr.BreakerHalfOpen, ktrdr.BreakerClosed}
		if len(got) != 3 || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
			t.Errorf("history %v, want %v", got, want)
		}
		if detail := string(store.history[0].Detail); detail != `{"calls":5,"failures":5,"slow":0,"failure_rate":1,"slow_rate":0,"in_flight":0}` {
			t.Errorf("detail of the trip %s, want what led to it", detail)
		}
		if row := store.row("provider:x"); row.State != ktrdr.BreakerClosed || row.Version != 3 {
			t.Errorf("stored %+v, want version 3, closed", row)
		}
	})
}

func TestRegistry_RestoredInstantIsBounded(t *testing.T) {
	for name, c := range map[string]struct {
		row  ktrdr.Breaker
		want time.Duration // until a call passes
	}{
		"clock jumped ahead":        {ktrdr.Breaker{State: ktrdr.BreakerOpen, RetryAt: time.Now().Add(9000 * time.Hour)}, 15 * time.Minute},
		"instant is over":           {ktrdr.Breaker{State: ktrdr.BreakerOpen, RetryAt: time.Unix(0, 0)}, 0},
		"state of a newer version":  {ktrdr.Breaker{State: "SIDEWAYS"}, time.Minute},
		"probing when it was ended": {ktrdr.Breaker{State: ktrdr.BreakerHalfOpen}, 0},
		"closed":                    {ktrdr.Breaker{State: ktrdr.BreakerClosed}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := newStore()
				c.row.Name, c.row.Scope, c.row.Version = "provider:x", ktrdr.ScopeProvider, 7
				store.rows[c.row.Name] = c.row
				b := restarted(t, store).Breaker(ktrdr.ScopeProvider, "x")
				if c.want > 0 {
					time.Sleep(c.want - 1)
					if call(b, nil) {
						t.Fatalf("let through before %v", c.want)
					}
					time.Sleep(time.Nanosecond)
				}
				if !call(b, nil) {
					t.Errorf("still refused after %v", c.want)
				}
			})
		})
	}
}

func TestRegistry_CallsNeverWaitForTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore()
		store.gate = make(chan struct{}) // hangs
		r := restarted(t, store)
		stop := running(t, r)
		b := r.Breaker(ktrdr.ScopeProvider, "x")
		start := time.Now()
		trip(t, b)
		if took := time.Since(start); took != 0 {
			t.Errorf("tripping took %v while the store hung", took)
		}
		time.Sleep(10 * time.Minute) // time-outs and retries of the write
		close(store.gate)
		time.Sleep(time.Minute)
		if got := store.row("provider:x").State; got != ktrdr.BreakerOpen {
			t.Errorf("stored %q, want OPEN once the store is back", got)
		}
		stop()
	})
}

// owing trips a breaker whose store has no room to write it down.
func owing(t *testing.T) (*memoryStore, *resilience.Breaker) {
	t.Helper()
	store := newStore()
	r := restarted(t, store)
	store.fillWith(errors.New("disk full"))
	t.Cleanup(running(t, r))
	b := r.Breaker(ktrdr.ScopeProvider, "x")
	trip(t, b)
	return store, b
}

func TestRegistry_WritesWhatItOwesWhenTheStoreIsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, b := owing(t)
		time.Sleep(time.Minute)
		call(b, timedOut) // half open, then open again
		store.fillWith(nil)
		time.Sleep(time.Minute)
		lines, _ := store.BreakerHistory(t.Context(), "provider:x", 0)
		if len(lines) != 3 || store.row("provider:x").Trips != 2 {
			t.Errorf("%d lines and %+v, want all three steps and two trips", len(lines), store.row("provider:x"))
		}
	})
}

func TestRegistry_AdoptsWhatAnotherBackendChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore()
		one, two := restarted(t, store), restarted(t, store)
		stopOne, stopTwo := running(t, one), running(t, two)
		defer stopOne()
		defer stopTwo()
		trip(t, one.Breaker(ktrdr.ScopeProvider, "x"))
		time.Sleep(10 * time.Second)
		there := two.Breaker(ktrdr.ScopeProvider, "x")
		wantState(t, there, ktrdr.BreakerOpen)

		time.Sleep(time.Minute)
		for range 3 {
			call(there, nil)
		}
		time.Sleep(10 * time.Second)
		wantState(t, one.Breaker(ktrdr.ScopeProvider, "x"), ktrdr.BreakerClosed)
	})
}

func TestRegistry_GivesWayToWhoWasFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore()
		r := restarted(t, store)
		b := r.Breaker(ktrdr.ScopeProvider, "x")
		trip(t, b) // not written yet
		store.rows["provider:x"] = ktrdr.Breaker{
			Name: "provider:x", Scope: ktrdr.ScopeProvider, State: ktrdr.BreakerClosed,
			Forced: ktrdr.BreakerOpen, By: "ann", Version: 4,
		}
		stop := running(t, r)
		synctest.Wait()
		if got := b.Status(); got.Forced != ktrdr.BreakerOpen || got.By != "ann" || got.Version != 4 {
			t.Errorf("%+v, want what ann did on the other backend", got.Breaker)
		}
		stop()
		if got := store.row("provider:x").Version; got != 4 {
			t.Errorf("stored version %d, want 4: the loser writes nothing", got)
		}
	})
}

func TestRegistry_ReadingDoesNotOverwriteWhatIsNotWrittenYet(t *testing.T) {
	store := newStore()
	r := restarted(t, store)
	b := r.Breaker(ktrdr.ScopeProvider, "x")
	trip(t, b)
	store.rows["provider:x"] = ktrdr.Breaker{Name: "provider:x", Scope: ktrdr.ScopeProvider, State: ktrdr.BreakerClosed, Version: 4}
	if err := r.Restore(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantState(t, b, ktrdr.BreakerOpen)
}

func TestRegistry_OwesABoundedHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, b := owing(t)
		for range 200 {
			time.Sleep(15 * time.Minute)
			call(b, timedOut)
		}
		store.fillWith(nil)
		time.Sleep(time.Minute)
		lines, _ := store.BreakerHistory(t.Context(), "provider:x", 0)
		if len(lines) != 100 || lines[0].To != ktrdr.BreakerOpen || time.Since(lines[0].At) > 2*time.Minute {
			t.Errorf("%d lines, the newest %+v; want the newest 100", len(lines), lines[0])
		}
		if got := store.row("provider:x").Trips; got != 201 {
			t.Errorf("%d trips stored, want 201", got)
		}
	})
}
