package resilience_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/resilience"
)

// contested is a store in which another backend is always faster: every change
// meets a conflict, and no row says with what.
type contested struct {
	*memoryStore
	saves, conflicts int // how often it was asked, and how many of these conflict
}

func (c *contested) SaveBreaker(ctx context.Context, b ktrdr.Breaker, change ktrdr.BreakerChange) (ktrdr.Breaker, error) {
	c.mu.Lock()
	c.saves++
	lost := c.saves <= c.conflicts
	c.mu.Unlock()
	if lost {
		return ktrdr.Breaker{}, ktrdr.Errorf(ktrdr.CodeConflict, "breaker %s was changed", b.Name)
	}
	return c.memoryStore.SaveBreaker(ctx, b, change)
}

// A change is tried again at once after each of five conflicts. After the sixth
// the registry waits, so that two backends do not keep each other busy.
func TestRegistry_WaitsAfterSixConflicts(t *testing.T) {
	for _, c := range []struct {
		conflicts, saves int
		warned           bool
	}{
		{0, 1, false}, {4, 5, false}, {5, 6, false}, {6, 6, true}, {100, 6, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			store := &contested{memoryStore: newStore(), conflicts: c.conflicts}
			r := registry(t, resilience.RegistryConfig{Store: store, Log: slog.New(slog.NewTextHandler(&log, nil))})
			stop := running(t, r)
			synctest.Wait()
			trip(t, r.Breaker(ktrdr.ScopeProvider, "x"))
			synctest.Wait()
			store.mu.Lock()
			saves, stored := store.saves, store.rows["provider:x"].Trips
			store.conflicts = 0
			store.mu.Unlock()
			if warned := strings.Contains(log.String(), "breaker changes could not be stored"); saves != c.saves || warned != c.warned ||
				(stored == 1) == c.warned {
				t.Errorf("%d conflicts: tried %d times at once, warned %v, %d trips stored; want %d times, warned %v", c.conflicts, saves, warned,
					stored, c.saves, c.warned)
			}
			time.Sleep(time.Minute)
			stop()
			if got := store.row("provider:x").Trips; got != 1 {
				t.Errorf("%d conflicts: %d trips stored after a minute, want 1", c.conflicts, got)
			}
		})
	}
}

// A backend that takes over another's change says how many of its own it
// dropped, and says nothing when there were none.
func TestRegistry_SaysWhichChangesItDropped(t *testing.T) {
	for _, own := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			store := newStore()
			r := registry(t, resilience.RegistryConfig{Store: store, Log: slog.New(slog.NewTextHandler(&log, nil))})
			b := r.Breaker(ktrdr.ScopeProvider, "x")
			if own {
				trip(t, b)
			}
			store.rows["provider:x"] = ktrdr.Breaker{
				Name: "provider:x", Scope: ktrdr.ScopeProvider, State: ktrdr.BreakerClosed,
				Forced: ktrdr.BreakerOpen, By: "ann", Version: 4,
			}
			stop := running(t, r)
			time.Sleep(10 * time.Second)
			stop()
			if got := b.Status(); got.By != "ann" {
				t.Errorf("%+v, want what ann did on the other backend", got.Breaker)
			}
			if said := strings.Contains(log.String(), "dropped_changes=1"); said != own {
				t.Errorf("own changes %v: the log is %q", own, log.String())
			}
			if !own && log.Len() > 0 {
				t.Errorf("nothing was dropped, and the log says %q", log.String())
			}
		})
	}
}

// handing counts the rights to probe that are handed back, and can refuse some.
type handing struct {
	*memoryStore
	refuse int
	tokens []int64
}

func (h *handing) EndProbe(ctx context.Context, name string, token int64) error {
	h.mu.Lock()
	h.tokens = append(h.tokens, token)
	refused := h.refuse > 0
	h.refuse--
	h.mu.Unlock()
	if refused {
		return errors.New("connection reset")
	}
	return h.memoryStore.EndProbe(ctx, name, token)
}

// The right to probe is handed back once, and again only if the store refused.
func TestBreaker_HandsItsProbeBackUntilTheStoreHasIt(t *testing.T) {
	for _, c := range []struct {
		refuse int
		want   []int64
	}{
		{0, []int64{1}}, {1, []int64{1, 1}}, {2, []int64{1, 1, 1}},
	} {
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			store := &handing{memoryStore: newStore(), refuse: c.refuse}
			r := registry(t, resilience.RegistryConfig{Store: store, Owner: "one", Log: slog.New(slog.NewTextHandler(&log, nil))})
			defer running(t, r)()
			b := r.Breaker(ktrdr.ScopeProvider, "x")
			trip(t, b)
			time.Sleep(time.Minute)
			if !call(b, nil) {
				t.Fatal("no probe was let through")
			}
			time.Sleep(30 * time.Second)              // retries of the store
			trip(t, r.Breaker(ktrdr.ScopeAgent, "y")) // writes again
			synctest.Wait()
			store.mu.Lock()
			got := slices.Clone(store.tokens)
			store.mu.Unlock()
			if !slices.Equal(got, c.want) {
				t.Errorf("%d refusals: handed back %d, want %d", c.refuse, got, c.want)
			}
			if said := strings.Contains(log.String(), "end of a probe: connection reset"); said != (c.refuse > 0) {
				t.Errorf("%d refusals: the log is %q", c.refuse, log.String())
			}
			if _, err := store.TakeProbe(t.Context(), "provider:x", "two", time.Minute); err != nil {
				t.Errorf("%d refusals: another backend may not probe: %v", c.refuse, err)
			}
		})
	}
}
