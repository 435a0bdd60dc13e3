package engine

import (
	"context"
	"sync"
	"time"
)

const (
	memoAge    = time.Second     // an answer may be so old
	askTimeout = 3 * time.Second // a store that hangs is an answer too
)

// memo keeps an answer, or its error, for a moment. Callers at the same time share
// one question.
type memo[T any] struct {
	mu   sync.Mutex
	at   time.Time // when it was answered
	last T
	err  error
}

// get returns the answer, asking when no fresh one is kept. The question is
// for all callers, so the end of one caller's context does not end it.
func (m *memo[T]) get(ctx context.Context, ask func(context.Context) (T, error)) (T, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.at.IsZero() || time.Since(m.at) >= memoAge {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTimeout)
		defer cancel()
		m.last, m.err = ask(ctx)
		m.at = time.Now()
	}
	return m.last, m.err
}

// forget drops the answer: it has changed, or is to be no older than another.
func (m *memo[T]) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at = time.Time{}
}
