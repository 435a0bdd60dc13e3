package blob

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ktrdr/ktrdr"
)

// origin is where blobs come from, with a count of how often each was asked.
type origin struct {
	mu    sync.Mutex
	blobs map[ktrdr.Hash][]byte
	asked map[ktrdr.Hash]int
	fail  error
}

func originOf(all ...[]byte) *origin {
	o := &origin{blobs: make(map[ktrdr.Hash][]byte), asked: make(map[ktrdr.Hash]int)}
	for _, b := range all {
		o.blobs[hashOf(b)] = b
	}
	return o
}

func (o *origin) fetch(_ context.Context, h ktrdr.Hash) (io.ReadCloser, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.asked[h]++
	b, ok := o.blobs[h]
	switch {
	case o.fail != nil:
		return nil, o.fail
	case !ok:
		return nil, notFound(h)
	}
	return io.NopCloser(bytes.NewReader(b)), nil
}

func newCache(t *testing.T, dir string, fetch Fetch, maxBytes int64) *Cache {
	t.Helper()
	c, err := NewCache(t.Context(), dir, fetch, CacheConfig{MaxBytes: maxBytes})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func get(t *testing.T, c *Cache, want []byte) {
	t.Helper()
	r, err := c.Get(t.Context(), hashOf(want))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, want) {
		t.Fatalf("got %d bytes, %v, want the %d that were put", len(got), err, len(want))
	}
}

func TestCache_FetchesOnce(t *testing.T) {
	b := bytesOf(1, 100<<10)
	o, dir := originOf(b), t.TempDir()
	c := newCache(t, dir, o.fetch, 0)
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() { get(t, c, b) })
	}
	wg.Wait()
	get(t, newCache(t, dir, o.fetch, 0), b)
	if got := o.asked[hashOf(b)]; got != 1 {
		t.Errorf("fetched %d times, want once", got)
	}
}

func TestCache_PutSparesTheFetch(t *testing.T) {
	b, o := bytesOf(1, 1000), originOf()
	c := newCache(t, t.TempDir(), o.fetch, 0)
	if err := c.Put(t.Context(), hashOf(b), bytes.NewReader(b)); err != nil {
		t.Fatal(err)
	}
	get(t, c, b)
	wantCode(t, c.Put(t.Context(), hashOf(nil), bytes.NewReader(b)), ktrdr.CodeCorrupt)
}

func TestCache_FetchesARottenBlobAgain(t *testing.T) {
	b := bytesOf(1, 1000)
	o, dir := originOf(b), t.TempDir()
	c := newCache(t, dir, o.fetch, 0)
	get(t, c, b)
	writeFile(t, dir, blobName(hashOf(b)), bytesOf(2, 1000))
	get(t, c, b)
	if got := o.asked[hashOf(b)]; got != 2 {
		t.Errorf("fetched %d times, want twice", got)
	}
}

func TestCache_KeepsNothingThatIsWrong(t *testing.T) {
	b := bytesOf(1, 1000)
	o := originOf()
	c := newCache(t, t.TempDir(), o.fetch, 0)

	_, err := c.Get(t.Context(), hashOf(b))
	wantCode(t, err, ktrdr.CodeNotFound)

	o.blobs[hashOf(b)] = bytesOf(2, 1000)
	_, err = c.Get(t.Context(), hashOf(b))
	wantCode(t, err, ktrdr.CodeCorrupt)

	o.fail = ktrdr.Errorf(ktrdr.CodeUnavailable, "backend is away")
	_, err = c.Get(t.Context(), hashOf(b))
	wantCode(t, err, ktrdr.CodeUnavailable)

	o.fail, o.blobs[hashOf(b)] = nil, b
	get(t, c, b)
}

// age makes a cached blob look as if it was last used so long ago.
func age(t *testing.T, dir string, b []byte, by time.Duration) {
	t.Helper()
	then := time.Now().Add(-by)
	if err := os.Chtimes(filepath.Join(dir, blobName(hashOf(b))), then, then); err != nil {
		t.Fatal(err)
	}
}

func TestCache_EvictsTheLeastRecentlyUsed(t *testing.T) {
	a, b, c, d := bytesOf(1, 400), bytesOf(2, 400), bytesOf(3, 400), bytesOf(4, 100)
	o, dir := originOf(a, b, c, d), t.TempDir()
	cache := newCache(t, dir, o.fetch, 1000)
	get(t, cache, a)
	get(t, cache, b)
	age(t, dir, a, 2*time.Hour)
	age(t, dir, b, time.Hour)
	get(t, cache, a) // used now: b is the oldest
	get(t, cache, c)
	get(t, cache, d)
	for _, x := range []struct {
		name string
		blob []byte
		want int
	}{{"a, used again", a, 1}, {"c", c, 1}, {"d", d, 1}, {"b, evicted", b, 2}} {
		get(t, cache, x.blob)
		if got := o.asked[hashOf(x.blob)]; got != x.want {
			t.Errorf("%s: fetched %d times, want %d", x.name, got, x.want)
		}
	}
}

func TestCache_CountsWhatAnEarlierProcessLeft(t *testing.T) {
	a, b := bytesOf(1, 600), bytesOf(2, 600)
	o, dir := originOf(a, b), t.TempDir()
	large := newCache(t, dir, o.fetch, 0)
	get(t, large, a)
	get(t, large, b)
	age(t, dir, a, time.Hour)
	small := newCache(t, dir, o.fetch, 1000)
	get(t, small, b)
	get(t, small, a)
	if o.asked[hashOf(a)] != 2 || o.asked[hashOf(b)] != 1 {
		t.Errorf("fetched a %d times and b %d times, want 2 and 1", o.asked[hashOf(a)], o.asked[hashOf(b)])
	}
}

func TestCache_EvictionDoesNotDisturbAReader(t *testing.T) {
	huge, next := bytesOf(1, 10_000), bytesOf(2, 900)
	o, dir := originOf(huge, next), t.TempDir()
	c := newCache(t, dir, o.fetch, 1000)
	r, err := c.Get(t.Context(), hashOf(huge))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	get(t, c, next)
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, huge) {
		t.Errorf("read %d bytes, %v", len(got), err)
	}
	if _, err := os.Stat(filepath.Join(dir, blobName(hashOf(huge)))); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a blob larger than the cache was kept: %v", err)
	}
}

func TestCache_WaiterTakesOverFromOneThatWasCancelled(t *testing.T) {
	b := bytesOf(1, 1000)
	o := originOf(b)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		fetches := 0
		c := newCache(t, t.TempDir(), func(ctx context.Context, h ktrdr.Hash) (io.ReadCloser, error) {
			if fetches++; fetches == 1 {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return o.fetch(ctx, h)
		}, 0)
		var first, third error
		var wg sync.WaitGroup
		wg.Go(func() { _, first = c.Get(ctx, hashOf(b)) })
		synctest.Wait()
		wg.Go(func() { get(t, c, b) })
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, third = c.Get(ctx, hashOf(b))
		})
		time.Sleep(2 * time.Second) // in the bubble: until the third has waited long enough
		cancel()
		wg.Wait()
		if !errors.Is(first, context.Canceled) || !errors.Is(third, context.DeadlineExceeded) {
			t.Errorf("first: %v, third: %v, want cancelled and out of time", first, third)
		}
		if fetches != 2 {
			t.Errorf("fetched %d times, want 2", fetches)
		}
	})
}
