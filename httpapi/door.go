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
	strangerIdle    = 5 * time.Second // without a request, until it is closed
	strangerGrace   = time.Second     // nothing is closed sooner: its request may be on its way
	strangersPer    = 32              // idle ones of one address that were answered already
	silentShare     = 2               // 1 of 2 places may go to silent connections of one address
	doorLogPause    = 10 * time.Second
	reservedShare   = 4 // 1 of 4 places is kept for workers
	smallestReserve = 1
)

// door gives connections their places.
//
//	accepted ──▶ stranger ──valid token──▶ client | worker
//	               │   ▲                      │
//	               │   └──token refused───────┘
//	               ▼ idle for strangerIdle, or idle the longest when a place is needed
//	             closed
//
// A newcomer at the cap takes the place of the stranger that is idle the
// longest. If there is no such stranger it waits. A share of the places is kept for
// workers: while only those are left, strangers make room for each newcomer and
// everybody else is answered once and then disconnected.
type door struct {
	most, reserved int
	log            *slog.Logger

	mu       sync.Mutex
	changed  chan struct{} // closed and replaced when a place may have become free
	closed   bool
	count    [holders]int
	idle     *list.List     // of *visitor: idle strangers, the longest idle first
	perAddr  map[origin]int // idle strangers
	lastFull time.Time      // when a newcomer last found no free place
	dropped  map[string]int64
	logged   time.Time
}

// Why a connection was closed.
const (
	droppedCap     = "cap"
	droppedAddress = "address"
	droppedIdle    = "idle"
)

// origin is where idle strangers come from. Those that have not asked anything
// yet are counted apart: their request may be slow, and many workers that start
// at once on one machine, or behind one router, are such strangers for a moment.
type origin struct {
	addr     netip.Addr
	answered bool
}

// visitor is one connection at its place.
type visitor struct {
	conn net.Conn
	origin
	holder  holder
	busy    int           // requests that are being answered
	since   time.Time     // idle since then
	element *list.Element // in door.idle; nil while busy or with a token
	timer   *time.Timer   // closes an idle stranger
	gone    bool
}

func newDoor(most int, log *slog.Logger) *door {
	return &door{
		most: most, reserved: max(smallestReserve, most/reservedShare), log: log,
		changed: make(chan struct{}), idle: list.New(), perAddr: make(map[origin]int),
		dropped: map[string]int64{droppedCap: 0, droppedAddress: 0, droppedIdle: 0},
	}
}

// enter finds a place for a connection, and waits for one when none is free
// and no stranger can be sent away. net.ErrClosed after shut.
func (d *door) enter(c net.Conn) (*visitor, error) {
	v := &visitor{conn: c, origin: origin{addr: remoteIP(c)}}
	d.mu.Lock()
	defer d.mu.Unlock()
	for !d.closed && d.total() >= d.most {
		now := time.Now()
		d.lastFull = now
		oldest := d.oldest(anybody)
		if oldest != nil && now.Sub(oldest.since) >= strangerGrace {
			d.drop(oldest, droppedCap)
			break
		}
		if d.sayNow() {
			d.log.Warn("every connection is taken, and the next one waits", d.facts()...)
		}
		wait := strangerGrace
		if oldest != nil {
			wait -= now.Sub(oldest.since)
		}
		d.wait(wait)
	}
	if d.closed {
		return nil, net.ErrClosed
	}
	if d.count[tokenNone]+d.count[tokenClient] > d.most-d.reserved { // the newcomer may be a worker; strangers make room
		if oldest := d.oldest(anybody); oldest != nil && time.Since(oldest.since) >= strangerGrace {
			d.drop(oldest, droppedCap)
		}
	}
	d.count[tokenNone]++
	d.rest(v)
	return v, nil
}

// wait lets go of the lock until a place may be free, at most for so long.
func (d *door) wait(most time.Duration) {
	changed := d.changed
	d.mu.Unlock()
	defer d.mu.Lock()
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-changed:
	case <-timer.C:
	}
}

// begin notes that a request is being answered.
func (d *door) begin(v *visitor) {
	d.mu.Lock()
	defer d.mu.Unlock()
	v.busy++
	d.rouse(v)
	v.answered = true
}

// end notes that its answer was written.
func (d *door) end(v *visitor) {
	d.mu.Lock()
	defer d.mu.Unlock()
	v.busy--
	d.rest(v)
	d.notify()
}

// shown notes whose connection it is and says whether it may stay: false when
// it is not a worker's and only the places of workers are left. Strangers do
// not count against a client: they make room.
func (d *door) shown(v *visitor, is holder) (stays bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if v.gone {
		return false
	}
	if is == unchanged || is == tokenClient && v.holder == tokenWorker { // workers also call what everybody calls
		is = v.holder
	}
	d.count[v.holder]--
	d.count[is]++
	v.holder = is
	switch is {
	case tokenWorker:
		return true
	case tokenClient:
		return d.count[tokenClient] <= d.most-d.reserved
	default:
		return d.count[tokenNone]+d.count[tokenClient] <= d.most-d.reserved
	}
}

// leave gives the place back; again changes nothing.
func (d *door) leave(v *visitor) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.remove(v)
}

func (d *door) shut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	d.notify()
}

// full is when a newcomer last found every place taken; zero means never.
func (d *door) full() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.lastFull
}

// doorCounts is what the metrics show.
type doorCounts struct {
	most    int
	held    [holders]int
	dropped map[string]int64
}

func (d *door) counts() doorCounts {
	d.mu.Lock()
	defer d.mu.Unlock()
	return doorCounts{most: d.most, held: d.count, dropped: maps.Clone(d.dropped)}
}

func (d *door) total() int { return d.count[tokenNone] + d.count[tokenClient] + d.count[tokenWorker] }

// rest lets a stranger without a request be sent away, and sends away the
// oldest where there are too many of its origin.
func (d *door) rest(v *visitor) {
	if v.gone || v.busy > 0 || v.holder != tokenNone {
		return
	}
	v.since = time.Now()
	v.element = d.idle.PushBack(v)
	d.perAddr[v.origin]++
	v.timer = time.AfterFunc(strangerIdle, func() { d.expire(v) })
	limit := strangersPer
	if !v.answered {
		limit = max(1, d.most/silentShare)
	}
	if d.perAddr[v.origin] <= limit {
		return
	}
	oldest := d.oldest(func(o *visitor) bool { return o.origin == v.origin })
	if time.Since(oldest.since) >= strangerGrace {
		d.drop(oldest, droppedAddress)
	}
}

// rouse takes that back.
func (d *door) rouse(v *visitor) {
	if v.element == nil {
		return
	}
	v.timer.Stop()
	d.idle.Remove(v.element)
	v.element = nil
	if d.perAddr[v.origin]--; d.perAddr[v.origin] == 0 {
		delete(d.perAddr, v.origin)
	}
}

func (d *door) expire(v *visitor) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if v.element != nil && time.Since(v.since) >= strangerIdle { // else it has moved meanwhile
		d.drop(v, droppedIdle)
	}
}

func anybody(*visitor) bool { return true }

// oldest is the matching stranger that is idle the longest; nil when there is no such stranger.
func (d *door) oldest(match func(*visitor) bool) *visitor {
	for e := d.idle.Front(); e != nil; e = e.Next() {
		if v := e.Value.(*visitor); match(v) {
			return v
		}
	}
	return nil
}

// drop closes a connection and frees its place.
func (d *door) drop(v *visitor, why string) {
	d.dropped[why]++
	if why != droppedIdle && d.sayNow() {
		d.log.Warn("closed the oldest idle connection without a token", append(d.facts(), "reason", why, "addr", v.addr)...)
	}
	d.remove(v)
	_ = v.conn.Close() // a close does not wait: nothing was set to linger
}

func (d *door) remove(v *visitor) {
	if v.gone {
		return
	}
	d.rouse(v)
	v.gone = true
	d.count[v.holder]--
	d.notify()
}

func (d *door) notify() {
	close(d.changed)
	d.changed = make(chan struct{})
}

// sayNow is true once in a while: a flood of connections must not become one of
// log lines.
func (d *door) sayNow() bool {
	now := time.Now()
	if now.Sub(d.logged) < doorLogPause {
		return false
	}
	d.logged = now
	return true
}

// facts are what a log line tells beside its event.
func (d *door) facts() []any {
	return []any{
		"cap", d.most, "without_token", d.count[tokenNone], "clients", d.count[tokenClient], "workers", d.count[tokenWorker],
		"closed_total", d.dropped[droppedCap] + d.dropped[droppedAddress],
	}
}

// remoteIP is the address of a connection's other end; zero when it has none.
func remoteIP(c net.Conn) netip.Addr {
	if tcp, ok := c.RemoteAddr().(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr().Unmap()
	}
	return netip.Addr{}
}
