package library

import (
	"slices"
	"sync"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/market"
)

// Bounds of what Markets holds in memory.
const (
	cacheBytes = 256 << 20
	closeBytes = 16 // what one close takes: its time and its logarithm
	cachePairs = 100_000
)

// priceCache holds decoded prices by the hash of their blob, and which of them
// contain each other. It drops the prices that were used least recently. It is
// safe for concurrent use.
type priceCache struct {
	mu     sync.Mutex
	limit  int // bytes
	bytes  int
	prices map[ktrdr.Hash]*market.Prices
	used   []ktrdr.Hash // of the prices, the most recently used last
	pairs  map[[2]ktrdr.Hash]bool
}

func newPriceCache() *priceCache {
	return &priceCache{limit: cacheBytes, prices: map[ktrdr.Hash]*market.Prices{}, pairs: map[[2]ktrdr.Hash]bool{}}
}

// get returns prices, or nil where they are not in memory.
func (c *priceCache) get(h ktrdr.Hash) *market.Prices {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.prices[h]
	if p != nil {
		i := slices.Index(c.used, h)
		c.used = append(slices.Delete(c.used, i, i+1), h)
	}
	return p
}

// put remembers prices, unless they alone are above the limit.
func (c *priceCache) put(h ktrdr.Hash, p *market.Prices) {
	c.mu.Lock()
	defer c.mu.Unlock()
	size := p.Len() * closeBytes
	if c.prices[h] != nil || size > c.limit {
		return
	}
	for c.bytes+size > c.limit {
		oldest := c.used[0]
		c.bytes -= c.prices[oldest].Len() * closeBytes
		delete(c.prices, oldest)
		c.used = slices.Delete(c.used, 0, 1)
	}
	c.prices[h], c.used, c.bytes = p, append(c.used, h), c.bytes+size
}

// pair tells whether the first prices contain the second, where that is known.
func (c *priceCache) pair(p [2]ktrdr.Hash) (contains, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	contains, known = c.pairs[p]
	return contains, known
}

// setPair remembers whether the first prices contain the second.
func (c *priceCache) setPair(p [2]ktrdr.Hash, contains bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.pairs) >= cachePairs {
		clear(c.pairs)
	}
	c.pairs[p] = contains
}
