package resilience

import (
	"cmp"
	"sync"
	"time"
)

// RetryBudget keeps retries a small part of all calls: when something is down
// for everybody, tries again of everybody would keep it down. It counts over a
// rolling window, of which the oldest tenth falls out at a time. The zero value is
// ready, a nil one allows everything, and all methods may be called at once.
type RetryBudget struct {
	Share  float64       // of the window's calls; 0 means 0.2
	Least  int           // retries that are always allowed in a window; 0 means 3
	Window time.Duration // 0 means a minute

	mu    sync.Mutex
	start time.Time
	slots [budgetSlots]struct {
		n              int64 // which slot of all time it counts
		calls, retries int
	}
}

const budgetSlots = 10

// call counts a first try.
func (b *RetryBudget) call() {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.slots[b.slot()].calls++
}

// retry takes a retry out of the budget, if there is one left.
func (b *RetryBudget) retry() bool {
	if b == nil {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.slot()
	newest := b.slots[now].n
	var calls, retries int
	for _, s := range b.slots {
		if newest-s.n < budgetSlots {
			calls += s.calls
			retries += s.retries
		}
	}
	allowed := max(float64(cmp.Or(b.Least, 3)), cmp.Or(b.Share, 0.2)*float64(calls))
	if !(float64(retries+1) <= allowed) { // a share that is no number allows nothing
		return false
	}
	b.slots[now].retries++
	return true
}

// slot returns the index of the present slot, emptied if it is a new one.
func (b *RetryBudget) slot() int {
	if b.start.IsZero() {
		b.start = time.Now()
	}
	n := int64(time.Since(b.start) / max(cmp.Or(b.Window, time.Minute)/budgetSlots, 1))
	i := int(n % budgetSlots)
	if s := &b.slots[i]; s.n != n {
		s.n, s.calls, s.retries = n, 0, 0
	}
	return i
}
