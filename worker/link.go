package worker

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/backoff"
)

// verdict is what a worker makes of the backend's answer to a write.
type verdict int

const (
	accepted verdict = iota
	away             // no answer, or an unknown result: repeat it after registering again
	later            // it was heard and cannot be taken now: repeat it after a while
	stale            // the claim is no longer the live one: drop it and all that goes with it
	refused          // it will never be taken
)

func judge(err error) verdict {
	if err == nil {
		return accepted
	}
	switch ktrdr.CodeOf(err) {
	case ktrdr.CodeUnavailable, ktrdr.CodeUnknownResult:
		return away
	case ktrdr.CodeStaleEpoch, ktrdr.CodeNotFound:
		return stale
	case ktrdr.CodeNoSpace, ktrdr.CodeUnauthorized, ktrdr.CodeForbidden:
		return later
	case ktrdr.CodeInternal: // also the code of an error that has none
		if _, ok := errors.AsType[net.Error](err); ok || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return away
		}
		return later
	}
	return refused
}

// link is what the worker knows of its backend: connected, or not.
type link struct {
	mu sync.Mutex
	at linkState
}

// linkState is the link at one moment.
type linkState struct {
	up     bool
	life   int           // counts registrations: a late failure of an old one must not end a new one
	every  time.Duration // between heartbeats, as the backend asked
	turned chan struct{} // closed at the next change
}

func newLink() *link { return &link{at: linkState{turned: make(chan struct{})}} }

func (l *link) state() linkState {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.at
}

// raise notes a registration.
func (l *link) raise(every time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.at.turned)
	l.at = linkState{up: true, life: l.at.life + 1, every: every, turned: make(chan struct{})}
}

// drop ends the registration that was seen, if it is still the current one,
// and says whether it was.
func (l *link) drop(seen linkState) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.at.up || l.at.life != seen.life {
		return false
	}
	close(l.at.turned)
	l.at.up, l.at.turned = false, make(chan struct{})
	return true
}

// await waits until the worker is registered; false means that ctx ended.
func (l *link) await(ctx context.Context) (linkState, bool) {
	for {
		at := l.state()
		if ctx.Err() != nil || at.up {
			return at, ctx.Err() == nil
		}
		select {
		case <-ctx.Done():
		case <-at.turned:
		}
	}
}

const (
	firstDelay   = 100 * time.Millisecond
	longestDelay = 5 * time.Second
)

// retries has a large jitter, so that many workers do not return together.
func retries(longest time.Duration) backoff.Policy {
	return backoff.Policy{First: firstDelay, Most: longest, Jitter: 0.5}
}
