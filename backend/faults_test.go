package backend

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/report"
)

// No person has to count failures: a burst of them is in the
// breaker's history and in the morning's report by itself.
func TestModels_ABurstOfFailuresIsToldUnasked(t *testing.T) {
	b := openedModels(t, gateway)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- b.models.registry.Run(ctx) }()
	breaker := b.models.registry.Breaker(ktrdr.ScopeProvider, "one")
	for i := range 40 { // never five in a row, and more than half
		if p, err := breaker.Allow(t.Context()); err == nil && i%3 == 0 {
			p.Done(time.Second, nil)
		} else if err == nil {
			p.Done(time.Second, outage)
		}
	}
	cancel()
	if err := <-done; err != nil { // what was owed is written
		t.Fatal(err)
	}
	counts, err := b.store.MachineSince(t.Context(), time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	if changes := report.MachineOf(counts, time.Unix(0, 0)).BreakerChanges; changes != 1 {
		t.Errorf("the report counts %d breakers that changed, want 1", changes)
	}
	history, err := b.store.BreakerHistory(t.Context(), "provider:one", 0)
	if err != nil || len(history) != 1 || history[0].To != ktrdr.BreakerOpen || !strings.Contains(history[0].Reason, "failed") {
		t.Errorf("history %+v, %v, want one that says how many failed", history, err)
	}
}
