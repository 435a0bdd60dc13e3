package blob

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/ktrdr/ktrdr"
)

// DefaultCacheSize is how much a cache keeps unless its config says otherwise.
const DefaultCacheSize = 10 << 30

// Fetch gets a blob from where it really lives. The cache verifies what it returns.
type Fetch func(ctx context.Context, h ktrdr.Hash) (io.ReadCloser, error)

// CacheConfig is how a cache is kept.
type CacheConfig struct {
	MaxBytes int64 // kept at most, the least recently used going first; 0 means DefaultCacheSize
	MaxSize  int64 // largest blob accepted; 0 means DefaultMaxSize
}

// Cache keeps blobs near a worker, in a directory that several processes may share. It may drop any
// of them at any time: it must not be the only place where something is.
type Cache struct {
	dir      *Dir
	fetch    Fetch
	maxBytes int64

	mu   sync.Mutex
	used int64                        // bytes in dir, as far as this process knows
	busy map[ktrdr.Hash]chan struct{} // being got; closed when that is over
}

// NewCache opens the cache in a directory, which is made if it is missing.
func NewCache(ctx context.Context, dir string, fetch Fetch, c CacheConfig) (*Cache, error) {
	d, err := OpenDir(dir, Config{MaxSize: c.MaxSize})
	if err != nil {
		return nil, fmt.Errorf("blob cache: %w", err)
	}
	cache := &Cache{
		dir: d, fetch: fetch,
		maxBytes: cmp.Or(c.MaxBytes, DefaultCacheSize),
		busy:     make(map[ktrdr.Hash]chan struct{}),
	}
	if err := cache.evict(ctx); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return cache, nil
}

// Put adds a blob that the caller has. CodeCorrupt when its bytes are others.
func (c *Cache) Put(ctx context.Context, h ktrdr.Hash, r io.Reader) error {
	if err := c.add(ctx, h, r); err != nil {
		return fmt.Errorf("blob cache: %w", err)
	}
	return c.evictIfFull(ctx)
}

// Get returns a blob, verified, from the cache or by fetching it; a cached one
// that has rotted is fetched again. Concurrent calls fetch a blob once. Errors
// are those of Fetch, and CodeCorrupt when it brought other bytes.
func (c *Cache) Get(ctx context.Context, h ktrdr.Hash) (io.ReadCloser, error) {
	done, err := c.reserve(ctx, h)
	if err != nil {
		return nil, fmt.Errorf("blob cache: %w", err)
	}
	defer done()
	r, err := c.cached(ctx, h)
	switch ktrdr.CodeOf(err) {
	case "":
		return r, nil
	case ktrdr.CodeNotFound, ktrdr.CodeCorrupt:
	default:
		return nil, fmt.Errorf("blob cache: %w", err)
	}
	if err := c.download(ctx, h); err != nil {
		return nil, fmt.Errorf("blob cache: %w", err)
	}
	// Opened before anything is evicted: an open file outlives its name.
	if r, err = c.dir.Open(ctx, h); err != nil {
		return nil, fmt.Errorf("blob cache: %w", err)
	}
	if err := c.evictIfFull(ctx); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// reserve waits until no other call of this process is getting the blob. The waiter
// then looks for itself: the other call may have failed or been cancelled.
func (c *Cache) reserve(ctx context.Context, h ktrdr.Hash) (done func(), err error) {
	for {
		c.mu.Lock()
		other, busy := c.busy[h]
		if !busy {
			mine := make(chan struct{})
			c.busy[h] = mine
			c.mu.Unlock()
			return func() {
				c.mu.Lock()
				defer c.mu.Unlock()
				delete(c.busy, h)
				close(mine)
			}, nil
		}
		c.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// cached opens a cached blob, reads it to its end, and goes back to the
// beginning: what is read from it afterwards is what was verified.
func (c *Cache) cached(ctx context.Context, h ktrdr.Hash) (ktrdr.BlobReader, error) {
	r, err := c.dir.Open(ctx, h)
	if err != nil {
		return nil, err
	}
	err = verify(ctx, h, io.Discard, r)
	if err == nil {
		_, err = r.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	// Used now. If that cannot be noted it is evicted sooner, which is no harm.
	_ = c.dir.disk.Touch(blobName(h), time.Now())
	return r, nil
}

func (c *Cache) download(ctx context.Context, h ktrdr.Hash) error {
	body, err := c.fetch(ctx, h)
	if err != nil {
		return fmt.Errorf("fetch blob %s: %w", h, err)
	}
	defer body.Close()
	return c.add(ctx, h, body)
}

func (c *Cache) add(ctx context.Context, h ktrdr.Hash, r io.Reader) error {
	size, err := c.dir.Put(ctx, h, r)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.used += size
	return nil
}

func (c *Cache) evictIfFull(ctx context.Context) error {
	c.mu.Lock()
	full := c.used > c.maxBytes
	c.mu.Unlock()
	if !full {
		return nil
	}
	return c.evict(ctx)
}

// evict counts what is really there and deletes the least recently used until the rest fits.
func (c *Cache) evict(ctx context.Context) error {
	var all []ktrdr.BlobInfo
	var used int64
	for info, err := range c.dir.List(ctx) {
		if err != nil {
			return fmt.Errorf("blob cache: evict: %w", err)
		}
		all = append(all, info)
		used += info.Size
	}
	slices.SortFunc(all, func(a, b ktrdr.BlobInfo) int { return a.ModTime.Compare(b.ModTime) })
	for _, info := range all {
		if used <= c.maxBytes {
			break
		}
		if err := c.dir.Delete(ctx, info.Hash); err != nil {
			return fmt.Errorf("blob cache: evict: %w", err)
		}
		used -= info.Size
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.used = used
	return nil
}

// Close releases the directory; what was got stays readable.
func (c *Cache) Close() error { return c.dir.Close() }
