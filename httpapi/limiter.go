package httpapi

import (
	"container/list"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"sync"
	"time"
)

// holder is whose connection it is, by the last request that showed a token or
// should have.
type holder int

const (
	tokenNone   holder = iota // no valid token yet
	tokenClient               // a valid token
	tokenWorker               // a valid token, on a route for workers
	holders

	unchanged holder = -1 // nothing was asked
)

var holderNames = [holders]string{"none", "client", "worker"}

// The rules for connections without a valid token.
const (
	anonymousIdle       = 5 * time.Second // without a request, until it is closed
	anonymousGrace      = time.Second     // nothing is closed sooner: its request may be on its way
	anonymousPerAddress = 32              // idle ones of one address that were answered already
	silentShare         = 2               // 1 of 2 places may go to silent connections of one address
	limiterLogPause     = 10 * time.Second
	reservedShare       = 4 // 1 of 4 places is kept for workers
	smallestReserve     = 1
)

// limiter bounds the open connections. A connection is anonymous until one of
// its requests has shown a valid token.
//
//	accepted ──▶ anonymous ──valid token──▶ client | worker
//	               │   ▲                       │
//	               │   └──token refused────────┘
//	               ▼ idle for anonymousIdle, or idle the longest when a place is needed
//	             closed
//
// A new connection at the cap takes the place of the anonymous one that is idle
// the longest, or waits if no connection is idle. A share of the places is kept for
// workers. While only those are left, each new connection closes the oldest idle
// anonymous one, and other clients are answered once and then disconnected.
type limiter struct {
	most, reserved int
	log            *slog.Logger

	mu       sync.Mutex
	changed  chan struct{} // closed and replaced when a place may have become free
	closed   bool
	count    [holders]int
	idle     *list.List     // of *place: idle anonymous connections, the longest idle first
	perAddr  map[origin]int // idle anonymous connections
	lastFull time.Time      // when a new connection last found no free place
	dropped  map[string]int64
	logged   time.Time
}

// Why a connection was closed.
const (
	droppedCap     = "cap"
	droppedAddress = "address"
	droppedIdle    = "idle"
)

// origin is where idle anonymous connections come from. Those without a request
// so far are counted apart: their request may be slow, and many workers that start
// at once on one machine, or behind one router, are such connections for a moment.
type origin struct {
	addr     netip.Addr
	answered bool
}

// place is one open connection.
type place struct {
	conn net.Conn
	origin
	holder  holder
	busy    int           // requests that are being answered
	since   time.Time     // idle since then
	element *list.Element // in limiter.idle; nil while busy or with a token
	timer   *time.Timer   // closes it when it was idle for too long
	gone    bool
}

func newLimiter(most int, log *slog.Logger) *limiter {
	return &limiter{
		most: most, reserved: max(smallestReserve, most/reservedShare), log: log,
		changed: make(chan struct{}), idle: list.New(), perAddr: make(map[origin]int),
		dropped: map[string]int64{droppedCap: 0, droppedAddress: 0, droppedIdle: 0},
	}
}

// enter finds a place for a connection, and waits for one when none is free
// and no anonymous connection can be closed. net.ErrClosed after close.
func (l *limiter) enter(c net.Conn) (*place, error) {
	p := &place{conn: c, origin: origin{addr: remoteIP(c)}}
	l.mu.Lock()
	defer l.mu.Unlock()
	for !l.closed && l.total() >= l.most {
		now := time.Now()
		l.lastFull = now
		oldest := l.oldest(anyPlace)
		if oldest != nil && now.Sub(oldest.since) >= anonymousGrace {
			l.drop(oldest, droppedCap)
			break
		}
		if l.logNow() {
			l.log.Warn("every connection is taken, and the next one waits", l.facts()...)
		}
		wait := anonymousGrace
		if oldest != nil {
			wait -= now.Sub(oldest.since)
		}
		l.wait(wait)
	}
	if l.closed {
		return nil, net.ErrClosed
	}
	if l.count[tokenNone]+l.count[tokenClient] > l.most-l.reserved { // the new one may be a worker
		if oldest := l.oldest(anyPlace); oldest != nil && time.Since(oldest.since) >= anonymousGrace {
			l.drop(oldest, droppedCap)
		}
	}
	l.count[tokenNone]++
	l.setIdle(p)
	return p, nil
}

// wait releases the lock until a place may be free or the time most has passed.
func (l *limiter) wait(most time.Duration) {
	changed := l.changed
	l.mu.Unlock()
	defer l.mu.Lock()
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-changed:
	case <-timer.C:
	}
}

// begin notes that a request is being answered.
func (l *limiter) begin(p *place) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p.busy++
	l.setBusy(p)
	p.answered = true
}

// end notes that its answer was written.
func (l *limiter) end(p *place) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p.busy--
	l.setIdle(p)
	l.notify()
}

// identify notes whose connection it is and says whether it may stay: false when
// it is not a worker's and only the places of workers are left. Anonymous
// connections do not count against a client.
func (l *limiter) identify(p *place, is holder) (stays bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.gone {
		return false
	}
	if is == unchanged || is == tokenClient && p.holder == tokenWorker { // workers also make the calls of clients
		is = p.holder
	}
	l.count[p.holder]--
	l.count[is]++
	p.holder = is
	switch is {
	case tokenWorker:
		return true
	case tokenClient:
		return l.count[tokenClient] <= l.most-l.reserved
	default:
		return l.count[tokenNone]+l.count[tokenClient] <= l.most-l.reserved
	}
}

// leave gives the place back; again changes nothing.
func (l *limiter) leave(p *place) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.remove(p)
}

func (l *limiter) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.notify()
}

// full is when a new connection last found every place taken; zero means never.
func (l *limiter) full() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lastFull
}

// limiterCounts is what the metrics show.
type limiterCounts struct {
	most    int
	held    [holders]int
	dropped map[string]int64
}

func (l *limiter) counts() limiterCounts {
	l.mu.Lock()
	defer l.mu.Unlock()
	return limiterCounts{most: l.most, held: l.count, dropped: maps.Clone(l.dropped)}
}

func (l *limiter) total() int {
	return l.count[tokenNone] + l.count[tokenClient] + l.count[tokenWorker]
}

// setIdle lets an anonymous connection without a request be closed, and closes
// the oldest if there are too many of its origin.
func (l *limiter) setIdle(p *place) {
	if p.gone || p.busy > 0 || p.holder != tokenNone {
		return
	}
	p.since = time.Now()
	p.element = l.idle.PushBack(p)
	l.perAddr[p.origin]++
	p.timer = time.AfterFunc(anonymousIdle, func() { l.expire(p) })
	limit := anonymousPerAddress
	if !p.answered {
		limit = max(1, l.most/silentShare)
	}
	if l.perAddr[p.origin] <= limit {
		return
	}
	oldest := l.oldest(func(o *place) bool { return o.origin == p.origin })
	if time.Since(oldest.since) >= anonymousGrace {
		l.drop(oldest, droppedAddress)
	}
}

// setBusy removes p from the idle list.
func (l *limiter) setBusy(p *place) {
	if p.element == nil {
		return
	}
	p.timer.Stop()
	l.idle.Remove(p.element)
	p.element = nil
	if l.perAddr[p.origin]--; l.perAddr[p.origin] == 0 {
		delete(l.perAddr, p.origin)
	}
}

func (l *limiter) expire(p *place) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.element != nil && time.Since(p.since) >= anonymousIdle { // else it has moved meanwhile
		l.drop(p, droppedIdle)
	}
}

func anyPlace(*place) bool { return true }

// oldest is the matching anonymous connection that is idle the longest; nil if no connection matches.
func (l *limiter) oldest(match func(*place) bool) *place {
	for e := l.idle.Front(); e != nil; e = e.Next() {
		if p := e.Value.(*place); match(p) {
			return p
		}
	}
	return nil
}

// drop closes a connection and frees its place.
func (l *limiter) drop(p *place, why string) {
	l.dropped[why]++
	if why != droppedIdle && l.logNow() {
		l.log.Warn("closed the oldest idle connection without a token", append(l.facts(), "reason", why, "addr", p.addr)...)
	}
	l.remove(p)
	_ = p.conn.Close() // a close does not wait: nothing was set to linger
}

func (l *limiter) remove(p *place) {
	if p.gone {
		return
	}
	l.setBusy(p)
	p.gone = true
	l.count[p.holder]--
	l.notify()
}

func (l *limiter) notify() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// logNow is true once in a while: a flood of connections must not become one of
// log lines.
func (l *limiter) logNow() bool {
	now := time.Now()
	if now.Sub(l.logged) < limiterLogPause {
		return false
	}
	l.logged = now
	return true
}

// facts are what a log line tells beside its event.
func (l *limiter) facts() []any {
	return []any{
		"cap", l.most, "without_token", l.count[tokenNone], "clients", l.count[tokenClient], "workers", l.count[tokenWorker],
		"closed_total", l.dropped[droppedCap] + l.dropped[droppedAddress],
	}
}

// remoteIP is the address of a connection's other end; zero when it has none.
func remoteIP(c net.Conn) netip.Addr {
	if tcp, ok := c.RemoteAddr().(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr().Unmap()
	}
	return netip.Addr{}
}
