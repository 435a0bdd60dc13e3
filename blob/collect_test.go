package blob

import (
	"context"
	"errors"
	"io"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
)

// rows is a table of references, as a database would keep it.
type rows struct {
	mu   sync.Mutex
	refs map[ktrdr.Hash]int
}

func rowsFor(hashes ...ktrdr.Hash) *rows {
	r := &rows{refs: make(map[ktrdr.Hash]int)}
	for _, h := range hashes {
		r.add(h, 1)
	}
	return r
}

func (r *rows) add(h ktrdr.Hash, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.refs[h] += n; r.refs[h] == 0 {
		delete(r.refs, h)
	}
}

func (r *rows) all() iter.Seq2[ktrdr.BlobRef, error] {
	return func(yield func(ktrdr.BlobRef, error) bool) {
		r.mu.Lock()
		hashes := slices.Collect(maps.Keys(r.refs))
		r.mu.Unlock()
		for _, h := range hashes {
			if !yield(ktrdr.BlobRef{Artifact: ktrdr.Artifact{SHA256: h}}, nil) {
				return
			}
		}
	}
}

const grace = 24 * time.Hour

func collect(t *testing.T, s Store, r *rows, now time.Time) Collected {
	t.Helper()
	done, err := Collect(t.Context(), s, r.all(), grace, now)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

func TestCollect_DeletesInTwoStepsAGraceApart(t *testing.T) {
	onEveryRoot(t, func(t *testing.T, r root) {
		s := r.open(t, 0)
		named, unnamed := bytesOf(1, 100), bytesOf(2, 200)
		table := rowsFor(put(t, s, named))
		put(t, s, unnamed)
		start := time.Now()
		for _, pass := range []struct {
			when string
			now  time.Time
			want Collected
		}{
			{"while it is young", start.Add(grace - time.Hour), Collected{}},
			{"when it is old", start.Add(grace + time.Hour), Collected{Trashed: 1}},
			{"before a second grace is over", start.Add(2 * grace), Collected{}},
			{"after a second grace", start.Add(2*grace + 2*time.Hour), Collected{Deleted: 1, Bytes: 200}},
			{"when nothing is left to do", start.Add(9 * grace), Collected{}},
		} {
			if got := collect(t, s, table, pass.now); got != pass.want {
				t.Errorf("%s: %+v, want %+v", pass.when, got, pass.want)
			}
		}
		mustRead(t, s, named)
		_, err := s.Stat(t.Context(), hashOf(unnamed))
		wantCode(t, err, ktrdr.CodeNotFound)
	})
}

func TestCollect_RowBringsItsBlobBackFromTheTrash(t *testing.T) {
	onEveryRoot(t, func(t *testing.T, r root) {
		s, b, table := r.open(t, 0), bytesOf(1, 100), rowsFor()
		h := put(t, s, b)
		later := time.Now().Add(grace + time.Hour)
		if got := collect(t, s, table, later); got.Trashed != 1 {
			t.Fatalf("%+v, want one trashed", got)
		}
		table.add(h, 1)
		if got, want := collect(t, s, table, later.Add(9*grace)), (Collected{Restored: 1}); got != want {
			t.Fatalf("%+v, want %+v", got, want)
		}
		if got := listed(t, s); len(got) != 1 {
			t.Fatalf("listed %v, want the restored blob", got)
		}
		collect(t, s, table, later.Add(20*grace))
		if left := trashed(t, s); len(left) != 0 {
			t.Errorf("left in the trash: %v", left)
		}
		mustRead(t, s, b)
	})
}

func TestCollect_BlobPutAgainIsYoungAgain(t *testing.T) {
	onEveryRoot(t, func(t *testing.T, r root) {
		s, b, table := r.open(t, 0), bytesOf(1, 100), rowsFor()
		put(t, s, b)
		later := time.Now().Add(grace + time.Hour)
		collect(t, s, table, later)
		put(t, s, b)
		collect(t, s, table, time.Now().Add(grace-time.Hour))
		if got := listed(t, s); len(got) != 1 {
			t.Errorf("listed %v, want the blob that was put again", got)
		}
	})
}

func TestCollect_UnreadableRowsChangeNothing(t *testing.T) {
	onEveryRoot(t, func(t *testing.T, r root) {
		s := r.open(t, 0)
		put(t, s, []byte("a"))
		h := put(t, s, []byte("b"))
		if err := s.Trash(t.Context(), h, time.Now()); err != nil {
			t.Fatal(err)
		}
		away := errors.New("database is away")
		refs := func(yield func(ktrdr.BlobRef, error) bool) { yield(ktrdr.BlobRef{}, away) }
		done, err := Collect(t.Context(), s, refs, grace, time.Now().Add(9*grace))
		if !errors.Is(err, away) || done != (Collected{}) {
			t.Errorf("Collect = %+v, %v", done, err)
		}
		if len(listed(t, s)) != 1 || len(trashed(t, s)) != 1 {
			t.Error("something was moved or deleted")
		}
	})
}

// watched is a store that tells when it has been listed.
type watched struct {
	Store
	listed func()
}

func (s watched) List(ctx context.Context) iter.Seq2[ktrdr.BlobInfo, error] {
	return func(yield func(ktrdr.BlobInfo, error) bool) {
		s.Store.List(ctx)(yield)
		s.listed()
	}
}

func TestCollect_RowWrittenMeanwhileSavesItsBlob(t *testing.T) {
	onEveryRoot(t, func(t *testing.T, r root) {
		s, table := r.open(t, 0), rowsFor()
		h := put(t, s, []byte("about to be named"))
		busy := watched{Store: s, listed: func() { table.add(h, 1) }}
		if got := collect(t, busy, table, time.Now().Add(2*grace)); got != (Collected{}) {
			t.Errorf("%+v, want nothing done", got)
		}
	})
}

// stubborn is a store that cannot trash some of its blobs.
type stubborn struct {
	Store
	refuse func(h ktrdr.Hash) bool
	asked  atomic.Int64
}

func (s *stubborn) Trash(ctx context.Context, h ktrdr.Hash, at time.Time) error {
	s.asked.Add(1)
	if s.refuse(h) {
		return errors.New("input/output error")
	}
	return s.Store.Trash(ctx, h, at)
}

func TestCollect_OneBadBlobDoesNotStopTheRest(t *testing.T) {
	s := dirRoot(t).open(t, 0)
	bad := put(t, s, bytesOf(0, 10))
	for i := range 20 {
		put(t, s, bytesOf(uint64(i+1), 10))
	}
	one := &stubborn{Store: s, refuse: func(h ktrdr.Hash) bool { return h == bad }}
	done, err := Collect(t.Context(), one, rowsFor().all(), grace, time.Now().Add(2*grace))
	if err == nil || done.Trashed != 20 {
		t.Errorf("Collect = %+v, %v, want 20 trashed and an error", done, err)
	}
}

func TestCollect_GivesUpOnADeadStore(t *testing.T) {
	s := dirRoot(t).open(t, 0)
	for i := range 3 * maxFailures {
		put(t, s, bytesOf(uint64(i), 10))
	}
	dead := &stubborn{Store: s, refuse: func(ktrdr.Hash) bool { return true }}
	if _, err := Collect(t.Context(), dead, rowsFor().all(), grace, time.Now().Add(2*grace)); err == nil {
		t.Error("no error")
	}
	if got := dead.asked.Load(); got != maxFailures {
		t.Errorf("asked %d times, want %d", got, maxFailures)
	}
}

func TestCollect_StopsWhenCancelled(t *testing.T) {
	s := dirRoot(t).open(t, 0)
	for i := range 10 {
		put(t, s, bytesOf(uint64(i), 10))
	}
	ctx, cancel := context.WithCancel(t.Context())
	slow := &stubborn{Store: s, refuse: func(ktrdr.Hash) bool { cancel(); return false }}
	done, err := Collect(ctx, slow, rowsFor().all(), grace, time.Now().Add(2*grace))
	if !errors.Is(err, context.Canceled) || done.Trashed != 1 {
		t.Errorf("Collect = %+v, %v, want cancelled after one", done, err)
	}
}

// Two collectors with a tiny grace run against writers that put or find a blob
// and then name it in a row, as the engine does. As long as a row follows its
// blob within the grace, the blob of a row can be read at every moment.
func TestCollect_NeverTakesABlobFromARow(t *testing.T) {
	const (
		grace     = 200 * time.Millisecond
		rowsMin   = 100
		deletions = 10
	)
	onEveryRoot(t, func(t *testing.T, r root) {
		s, table := r.open(t, 0), rowsFor()
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		var deleted, named atomic.Int64
		var wg sync.WaitGroup
		begun := time.Now()
		// What the writers use moves on, so that on any machine blobs fall out of
		// use while others just fallen out are found again.
		next := func() uint64 { return 10*uint64(time.Since(begun)/grace) + rand.Uint64N(60) }
		for range 2 {
			wg.Go(func() {
				for ctx.Err() == nil {
					done, err := Collect(ctx, s, table.all(), grace, time.Now())
					if err != nil && ctx.Err() == nil {
						t.Error(err)
					}
					deleted.Add(int64(done.Deleted))
				}
			})
		}
		for range 4 {
			wg.Go(func() {
				for ctx.Err() == nil {
					if nameOne(ctx, t, s, table, bytesOf(next(), 2000), grace) {
						named.Add(1)
					}
					if t.Failed() || named.Load() >= rowsMin && deleted.Load() >= deletions {
						stop()
					}
				}
			})
		}
		wg.Wait()
		if named.Load() < rowsMin || deleted.Load() < deletions {
			t.Errorf("only %d rows and %d deletions: the race was not run", named.Load(), deleted.Load())
		}
	})
}

// nameOne stores or finds a blob, names it, reads it as its row promises, and
// takes the row away. It says whether the row came in time.
func nameOne(ctx context.Context, t *testing.T, s Store, table *rows, b []byte, grace time.Duration) bool {
	h, begun := hashOf(b), time.Now()
	_, err := s.Stat(ctx, h)
	if ktrdr.CodeOf(err) == ktrdr.CodeNotFound {
		_, err = putBytes(ctx, s, b)
	}
	if err != nil {
		if ctx.Err() == nil {
			t.Error(err)
		}
		return false
	}
	table.add(h, 1)
	defer table.add(h, -1)
	if time.Since(begun) > grace/2 {
		return false
	}
	for range 3 {
		if err := readBlob(ctx, s, h, io.Discard); err != nil && ctx.Err() == nil {
			t.Errorf("a row names it, but: %v", err)
		}
	}
	return true
}
