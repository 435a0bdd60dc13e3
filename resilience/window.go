package resilience

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

const (
	windowSlots = 10 // the oldest tenth of a window falls out at a time
	shards      = 16 // a power of two: calls that end at the same time seldom meet
)

// window counts calls over a rolling time without a lock in the way of those
// who call: each count goes to a shard chosen at random, and only who judges
// adds them up. A count at the very turn of a slot may be lost or fall into its
// neighbour; rates are not that exact.
type window struct {
	start  time.Time
	slot   time.Duration
	shards [shards]shard
}

// shard ends with a cache line of nothing, so that two shards share none.
type shard struct {
	inFlight atomic.Int64
	turn     sync.Mutex // held to begin a new slot
	slots    [windowSlots]slot
	_        [64]byte
}

type slot struct {
	n                     atomic.Int64 // which slot of all time it counts
	calls, failures, slow atomic.Int64
}

// CallStats are what a breaker has counted in its window, and at this moment.
type CallStats struct {
	Calls       int64   `json:"calls"`
	Failures    int64   `json:"failures"`
	Slow        int64   `json:"slow"`
	FailureRate float64 `json:"failure_rate"`
	SlowRate    float64 `json:"slow_rate"`
	InFlight    int64   `json:"in_flight"`
}

func (w *window) init(length time.Duration) {
	w.start = time.Now()
	w.slot = max(length/windowSlots, 1)
}

func (w *window) pick() *shard {
	return &w.shards[rand.Uint32()&(shards-1)] //nolint:gosec // spreads load; no secret
}

// add counts one call in s.
func (w *window) add(s *shard, failed, slow bool) {
	n := int64(time.Since(w.start) / w.slot)
	c := &s.slots[n%windowSlots]
	if c.n.Load() != n {
		s.begin(c, n)
	}
	c.calls.Add(1)
	if failed {
		c.failures.Add(1)
	}
	if slow {
		c.slow.Add(1)
	}
}

// begin empties c for slot n. Its number is written last: who sees it sees
// empty counters.
func (s *shard) begin(c *slot, n int64) {
	s.turn.Lock()
	defer s.turn.Unlock()
	if c.n.Load() >= n {
		return
	}
	c.calls.Store(0)
	c.failures.Store(0)
	c.slow.Store(0)
	c.n.Store(n)
}

// forget empties the window; calls in flight stay so.
func (w *window) forget() {
	for i := range w.shards {
		for j := range w.shards[i].slots {
			c := &w.shards[i].slots[j]
			c.calls.Store(0)
			c.failures.Store(0)
			c.slow.Store(0)
		}
	}
}

// figures adds up what is not older than the window.
func (w *window) figures() CallStats {
	var f CallStats
	oldest := int64(time.Since(w.start)/w.slot) - windowSlots
	for i := range w.shards {
		s := &w.shards[i]
		f.InFlight += s.inFlight.Load()
		for j := range s.slots {
			c := &s.slots[j]
			if c.n.Load() <= oldest {
				continue
			}
			f.Calls += c.calls.Load()
			f.Failures += c.failures.Load()
			f.Slow += c.slow.Load()
		}
	}
	if f.Calls > 0 { // a rate of nothing is 0, never NaN
		f.FailureRate = float64(f.Failures) / float64(f.Calls)
		f.SlowRate = float64(f.Slow) / float64(f.Calls)
	}
	return f
}
