package engine

import (
	"sync"
	"time"
)

// leastPause keeps a busy moment from looking like an outage where intervals
// are short.
const leastPause = time.Second

// pulse is the rhythm of a backend's own beats in the store.
type pulse struct {
	limit time.Duration // beats further apart are a gap

	mu    sync.Mutex
	last  time.Time // of the last beat that was stored
	since time.Time // no gap since then
}

// beat notes that a beat was stored.
func (p *pulse) beat(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if gap(p.last, now) > p.limit {
		p.since = now
	}
	p.last = now
}

// steady says since when there was no gap: since now in the midst of one.
func (p *pulse) steady(now time.Time) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if gap(p.last, now) > p.limit {
		return now
	}
	return p.since
}

// peakTime is how long a peak is told at least: a client that looks once a minute
// sees each.
const peakTime = time.Minute

// peak is the highest value of the last minute or two. It does not depend on
// who looks, or how often.
type peak struct {
	mu            sync.Mutex
	begun         time.Time
	current, past time.Duration
}

func (p *peak) add(now time.Time, d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.turn(now)
	p.current = max(p.current, d)
}

func (p *peak) of(now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.turn(now)
	return max(p.current, p.past)
}

// turn begins a new minute when the old one is over.
func (p *peak) turn(now time.Time) {
	switch age := now.Sub(p.begun); {
	case age >= 2*peakTime:
		p.begun, p.past, p.current = now, 0, 0
	case age >= peakTime:
		p.begun, p.past, p.current = p.begun.Add(peakTime), p.current, 0
	}
}
