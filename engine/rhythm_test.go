package engine_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/engine"
)

// deaf is a store that sweeps, and for a while takes no beats.
type deaf struct {
	ktrdr.Store
	begun    time.Time
	from, to time.Duration

	mu     sync.Mutex
	judged map[time.Duration]bool // when a sweep began -> whether it judged
}

func (d *deaf) Leave(context.Context, ktrdr.Backend) error { return nil }

func (d *deaf) AskPlans(context.Context) (int, error) { return 0, nil }

func (d *deaf) Compact(context.Context) (int, []ktrdr.Hash, error) { return 0, nil, nil }

func (d *deaf) Beat(ctx context.Context, _ ktrdr.Backend) error {
	if now := time.Since(d.begun); now >= d.from && now < d.to {
		<-ctx.Done() // as behind a half-open connection
		return ctx.Err()
	}
	return nil
}

func (d *deaf) Sweep(_ context.Context, _ ktrdr.Backend, _ ktrdr.RecoveryPolicy, judge bool) (ktrdr.Recovered, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.judged[time.Since(d.begun)] = judge
	return ktrdr.Recovered{Complete: true, NextOrphan: time.Second}, nil
}

func TestDetector_WaitsAfterItsOwnBeatsWereNotStored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &deaf{begun: time.Now(), from: 100 * time.Second, to: 160 * time.Second, judged: map[time.Duration]bool{}}
		e, err := engine.New(engine.Config{Store: store})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		if err := e.Run(ctx); err != nil {
			t.Error(err)
		}
		// The last beat is stored at 90 s and the next at 160 s.
		for at, judged := range store.judged {
			if want := at >= 60*time.Second && at <= 110*time.Second || at >= 220*time.Second; judged != want {
				t.Errorf("a sweep at %v judges: %v, want %v", at, judged, want)
			}
		}
		if len(store.judged) < 100 {
			t.Errorf("%d sweeps in five minutes", len(store.judged))
		}
	})
}

func TestClaim_TypesAreASetAndTheCallersOwn(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	types := []ktrdr.Type{ktrdr.Training, ktrdr.Dummy, ktrdr.Training}
	if _, err := l.Claim(t.Context(), ktrdr.ClaimRequest{Worker: "w", Key: "k", Types: types, Free: 1}); err != nil {
		t.Fatal(err)
	}
	if want := []ktrdr.Type{ktrdr.Training, ktrdr.Dummy, ktrdr.Training}; !slices.Equal(types, want) {
		t.Errorf("a claim changed its caller's types to %v", types)
	}
	for n := range 50 {
		if _, err := l.Claim(t.Context(), ktrdr.ClaimRequest{
			Worker: "w", Key: strings.Repeat("k", n+2), Types: slices.Repeat(types, n+1), Free: 1,
		}); err != nil {
			t.Fatal(err)
		}
	}
	if n := l.KnownEmpty(); n != 1 {
		t.Errorf("%d sets of types are remembered as empty, want 1", n)
	}
}
