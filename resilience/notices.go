package resilience

import (
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
)

// notices tells a listener what happened, one thing after the other, in order,
// and while no lock is held: a listener may use what it listens to. Who adds
// does so under the lock that orders the events, and delivers when it is
// released.
type notices[T any] struct {
	listen func(T) // nil for none
	log    *slog.Logger

	mu      sync.Mutex
	waiting []T
	busy    bool // a goroutine is delivering
}

func (n *notices[T]) add(event T) {
	if n.listen == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.waiting = append(n.waiting, event)
}

// deliver tells what waits. Who comes while another delivers leaves it to that
// one: also the listener itself.
func (n *notices[T]) deliver() {
	if n.listen == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.busy {
		return
	}
	n.busy = true
	for len(n.waiting) > 0 {
		event := n.waiting[0]
		n.waiting = n.waiting[1:]
		n.mu.Unlock()
		n.tell(event)
		n.mu.Lock()
	}
	n.busy = false
}

// tell keeps a listener's panic away from the call that happened to cause the
// event, and from the events that follow.
func (n *notices[T]) tell(event T) {
	defer func() {
		if p := recover(); p != nil {
			n.log.Error("listener panicked", "event", fmt.Sprintf("%T", event), "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		}
	}()
	n.listen(event)
}
