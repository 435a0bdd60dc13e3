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

	mu     sync.Mutex
	counts window // a retry counts as a call that failed
}

// call counts a first try.
func (b *RetryBudget) call() {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	w := b.window()
	w.add(&w.shards[0], false, false)
}

// window is ready to count. Its caller holds mu.
func (b *RetryBudget) window() *window {
	if b.counts.start.IsZero() {
		b.counts.init(cmp.Or(b.Window, time.Minute))
	}
	return &b.counts
}

// retry takes a retry out of the budget, if there is one left.
func (b *RetryBudget) retry() bool {
	if b == nil {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	w := b.window()
	sum := w.figures()
	allowed := max(float64(cmp.Or(b.Least, 3)), cmp.Or(b.Share, 0.2)*float64(sum.Calls-sum.Failures))
	if !(float64(sum.Failures+1) <= allowed) { // a share that is no number allows nothing
		return false
	}
	w.add(&w.shards[0], true, false)
	return true
}
