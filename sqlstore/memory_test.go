package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/savertest"
	"github.com/ktrdr/ktrdr/thread"
)

func openMemory(t *testing.T) *Store {
	t.Helper()
	s, err := Open(t.Context(), Config{Memory: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestMemory_Conforms(t *testing.T) {
	s := openMemory(t)
	savertest.Run(t, func(*testing.T) thread.Saver { return s.Saver() })
}

func TestMemory_IsPrivateAndExpiresThreads(t *testing.T) {
	one, two := openMemory(t), openMemory(t)
	putFor(t, one, "short", "1", "a", time.Millisecond)
	putFor(t, one, "kept", "1", "a", 0)
	if same, err := one.Same(t.Context(), two); err != nil || same {
		t.Errorf("two databases in memory are the same: %v, %v", same, err)
	}
	if _, err := two.Saver().GetTuple(t.Context(), thread.Ref{Thread: "kept"}); ktrdr.CodeOf(err) != ktrdr.CodeNotFound {
		t.Errorf("the other database: %v, want not_found", err)
	}
	eventually(t, "the thread expires", func() bool {
		if _, err := one.ExpireCheckpoints(t.Context(), time.Hour); err != nil {
			t.Fatal(err)
		}
		_, err := one.Saver().GetTuple(t.Context(), thread.Ref{Thread: "short"})
		return ktrdr.CodeOf(err) == ktrdr.CodeNotFound
	})
	if _, err := one.Saver().GetTuple(t.Context(), thread.Ref{Thread: "kept"}); err != nil {
		t.Errorf("a thread without a TTL: %v", err)
	}
	if info, err := one.Info(t.Context()); err != nil || info.Location != "memory" {
		t.Errorf("info = %+v, %v", info, err)
	}
}

// The connection is the database: a caller who gives up must not end it.
func TestMemory_OutlivesCancelledReadersBesideWriters(t *testing.T) {
	s := openMemory(t)
	putFor(t, s, "t", "1", "kept", 0)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := range 50 {
				if i%2 == 0 {
					if _, err := s.Saver().Put(t.Context(), threadPut(fmt.Sprint("w", i), fmt.Sprint(n), "v", 0)); err != nil {
						t.Error(err)
					}
					continue
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(n)*50*time.Microsecond)
				_, err := s.Saver().List(ctx, thread.Query{})
				cancel()
				if err != nil && !errors.Is(err, context.DeadlineExceeded) {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	got, err := s.Saver().List(t.Context(), thread.Query{})
	if err != nil || len(got) != 1+4*50 {
		t.Errorf("%d checkpoints, %v; want %d", len(got), err, 1+4*50)
	}
}
