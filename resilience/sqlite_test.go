package resilience_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/resilience"
	"github.com/ktrdr/ktrdr/sqlstore"
)

// The whole life of a breaker over three processes, in the real store.
func TestRegistry_LivesInTheRealStore(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ktrdr.db")
	process := func(body func(r *resilience.Registry, store ktrdr.Store)) {
		t.Helper()
		store, err := sqlstore.Open(t.Context(), sqlstore.Config{URL: file})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		r := restarted(t, store)
		stop := running(t, r)
		defer stop()
		body(r, store)
	}
	var until time.Time
	process(func(r *resilience.Registry, _ ktrdr.Store) {
		b := r.Breaker(ktrdr.ScopeProvider, "x")
		trip(t, b)
		until = b.Status().RetryAt // written by the stop at the latest
	})
	process(func(r *resilience.Registry, _ ktrdr.Store) {
		b := r.Breaker(ktrdr.ScopeProvider, "x")
		wantState(t, b, ktrdr.BreakerOpen)
		if got := b.Status().RetryAt; got.Sub(until).Abs() > time.Millisecond {
			t.Errorf("open until %v, want %v as before", got, until)
		}
		if _, err := r.Force(t.Context(), "provider:x", ktrdr.BreakerClosed, "ann", "we need it tonight"); err != nil {
			t.Fatal(err)
		}
	})
	process(func(r *resilience.Registry, store ktrdr.Store) {
		if !call(r.Breaker(ktrdr.ScopeProvider, "x"), nil) {
			t.Error("what ann forced is forgotten")
		}
		if _, err := r.Force(t.Context(), "provider:x", "", "ann", "morning"); err != nil {
			t.Fatal(err)
		}
		row, err := r.Reset(t.Context(), "provider:x", "ann", "they are well")
		if err != nil || row.State != ktrdr.BreakerClosed || row.Version != 4 {
			t.Errorf("%+v, %v; want closed in version 4", row, err)
		}
		lines, err := store.BreakerHistory(t.Context(), "provider:x", 0)
		if err != nil || len(lines) != 4 || lines[0].By != "ann" || lines[3].By != "" {
			t.Errorf("history %+v, %v; want a trip and three decisions of ann's", lines, err)
		}
	})
}
