// Package cache keeps in memory what was used last, up to a total size.
package cache

import (
	"container/list"
	"sync"
)

// Cache keeps values by their keys. When the sizes exceed the limit, the values
// that were used least recently are dropped. It is safe for concurrent use.
type Cache[K comparable, V any] struct {
	mu     sync.Mutex
	limit  int
	size   int
	values map[K]*list.Element
	used   *list.List // of item[K, V], the most recently used first
}

type item[K comparable, V any] struct {
	key   K
	value V
	size  int
}

// New makes a cache with a limit for the sum of the sizes.
func New[K comparable, V any](limit int) *Cache[K, V] {
	return &Cache[K, V]{limit: limit, values: map[K]*list.Element{}, used: list.New()}
}

// Get returns a value that is kept.
func (c *Cache[K, V]) Get(k K) (v V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.values[k]
	if !ok {
		return v, false
	}
	c.used.MoveToFront(e)
	return e.Value.(item[K, V]).value, true
}

// Put keeps a value, unless its key is kept or it alone is above the limit.
func (c *Cache[K, V]) Put(k K, v V, size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.values[k] != nil || size > c.limit {
		return
	}
	c.values[k], c.size = c.used.PushFront(item[K, V]{k, v, size}), c.size+size
	for c.size > c.limit {
		last := c.used.Remove(c.used.Back()).(item[K, V])
		delete(c.values, last.key)
		c.size -= last.size
	}
}

// Len is how many values are kept.
func (c *Cache[K, V]) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.values)
}
