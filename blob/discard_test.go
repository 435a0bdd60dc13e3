package blob

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
)

// discard puts blobs aside and purges them at once.
func discard(ctx context.Context, s Store, r *rows, blobs ...ktrdr.Hash) error {
	at := time.Now()
	if err := TrashAll(ctx, s, blobs, at); err != nil {
		return err
	}
	return PurgeAll(ctx, s, blobs, at, r.named)
}

// named is the question that PurgeAll asks.
func (r *rows) named(_ context.Context, asked []ktrdr.Hash) (map[ktrdr.Hash]bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	found := make(map[ktrdr.Hash]bool)
	for _, h := range asked {
		if r.refs[h] > 0 {
			found[h] = true
		}
	}
	return found, nil
}

func TestDiscard_DeletesAtOnceWhatNoRowNames(t *testing.T) {
	onEveryRoot(t, func(t *testing.T, r root) {
		s := r.open(t, 0)
		gone, kept := put(t, s, bytesOf(1, 100)), put(t, s, bytesOf(2, 100))
		if err := discard(t.Context(), s, rowsFor(kept), gone, kept, ktrdr.Hash{9}); err != nil {
			t.Fatal(err)
		}
		_, err := s.Stat(t.Context(), gone)
		wantCode(t, err, ktrdr.CodeNotFound)
		if _, err := s.Stat(t.Context(), kept); err != nil {
			t.Errorf("the blob that a row names: %v", err)
		}
	})
}

// A blob is discarded while two writers put the same bytes, name them in a row
// and look at them after that, as the engine does. However they meet, the blob is
// there in the end.
func TestDiscard_WritersThatLookAfterTheirRowLoseNothing(t *testing.T) {
	onEveryRoot(t, func(t *testing.T, r root) {
		s, table := r.open(t, 0), rowsFor()
		for i := range 150 {
			b := bytesOf(uint64(i), 1000)
			h := put(t, s, b) // its last user has just released it
			var all sync.WaitGroup
			all.Go(func() {
				if err := discard(t.Context(), s, table, h); err != nil {
					t.Error(err)
				}
			})
			for range 2 {
				all.Go(func() {
					if err := write(t.Context(), s, table, b); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			if _, err := s.Stat(t.Context(), h); err != nil {
				t.Fatalf("rows name the blob of round %d, and it is gone: %v", i, err)
			}
		}
	})
}

// write stores bytes and a row, and stores the bytes again if they are gone once
// the row is there.
func write(ctx context.Context, s Store, table *rows, b []byte) error {
	h := hashOf(b)
	for try := 0; ; try++ {
		if _, err := putBytes(ctx, s, b); err != nil {
			return err
		}
		if try == 0 {
			table.add(h, 1)
		}
		if _, err := s.Stat(ctx, h); ktrdr.CodeOf(err) != ktrdr.CodeNotFound {
			return err
		}
	}
}
