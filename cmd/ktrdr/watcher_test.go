package main

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ktrdr/ktrdr"
)

func TestWatch_EndsWhenTheStreamOrARowSaysSo(t *testing.T) {
	never := func(int) (bool, error) { return false, nil }
	for name, c := range map[string]struct {
		hear func(int) (bool, error)
		look func(looks int) (bool, error)
		want time.Duration
	}{
		"the stream":  {func(n int) (bool, error) { return n == 3, nil }, never, 3 * time.Second},
		"a row":       {never, func(looks int) (bool, error) { return looks == 5, nil }, 50 * time.Second},
		"the context": {never, never, time.Hour},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeoutCause(t.Context(), time.Hour, errStopped)
			defer cancel()
			start, looks := time.Now(), 0
			everySecond := func(ctx context.Context) iter.Seq[int] {
				return func(yield func(int) bool) {
					for n := 1; ctx.Err() == nil && yield(n); n++ {
						select {
						case <-time.After(time.Second):
						case <-ctx.Done():
						}
					}
				}
			}
			err := watch(ctx, 10*time.Second, everySecond, func(n int) (bool, error) { return c.hear(n - 1) }, func() (bool, error) {
				looks++
				return c.look(looks)
			})
			if got := time.Since(start); got != c.want || (err != nil) != (name == "the context") || err != nil && !errors.Is(err, errStopped) {
				t.Errorf("%s: ended after %v with %v, want %v", name, got, err, c.want)
			}
		})
	}
}

func TestWatcher_WaitsForAServerThatIsOutOfReach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said bytes.Buffer
		w := watcher{a: &app{err: &said}}
		away := ktrdr.Errorf(ktrdr.CodeUnavailable, "away")
		if err := w.reached(t.Context(), away); err != nil {
			t.Errorf("at once: %v", err)
		}
		time.Sleep(patience)
		if err := w.reached(t.Context(), away); err != nil {
			t.Errorf("after %v: %v", patience, err)
		}
		time.Sleep(time.Nanosecond)
		if err := w.reached(t.Context(), away); !errors.Is(err, away) {
			t.Errorf("after more than %v: %v, want the error", patience, err)
		}
		if err := errors.Join(w.reached(t.Context(), nil), w.reached(t.Context(), away)); err != nil {
			t.Errorf("away again after it was back: %v", err)
		}
		if n := bytes.Count(said.Bytes(), []byte("out of reach")); n != 2 {
			t.Errorf("it was said %d times, want once for each time it was away", n)
		}
		other := errors.New("other")
		if err := w.reached(t.Context(), other); !errors.Is(err, other) {
			t.Errorf("another error became %v", err)
		}
	})
}
