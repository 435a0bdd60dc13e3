package engine

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ktrdr/ktrdr"
)

// detector is the orphan detector: it sweeps at every interval and as soon as
// the oldest heartbeat reaches the timeout, whichever comes first.
//
// It trusts its own judgement only while it has been watching. After a gap in its sweeps (the
// database away, the machine asleep, the process stopped) every worker looks silent although it was
// the detector that did not listen, so it waits one full timeout before it judges again. A start is
// such a gap, and so is a time in which this backend could not store its own beats: then it could
// not store its workers' either. While the listener is full, a worker may not get through to it;
// the detector then waits too, but for one timeout only, and not again before another has passed:
// strangers must not keep it from judging.
type detector struct {
	e        *Engine
	orphaned atomic.Int64

	mu        sync.Mutex
	running   bool
	lastCheck time.Time
	potential int
}

func newDetector(e *Engine) *detector { return &detector{e: e} }

// watch is how much of the recent past the detector has seen.
type watch struct {
	interval, timeout time.Duration
	last              time.Time // of the last sweep that worked
	judgeFrom         time.Time
	crowded           time.Time // until then it waits because the listener was full
	missed            int       // sweeps in a row that left something that was due
}

// begin notes that a sweep begins now and says whether it may judge. Since steady, this backend's
// own beats have been stored; full is when the listener last had no place for a connection.
func (w *watch) begin(now, steady, full time.Time) bool {
	if full.After(w.last) && !now.Before(w.crowded.Add(w.timeout)) {
		w.crowded = now.Add(w.timeout)
	}
	if w.crowded.After(w.judgeFrom) {
		w.judgeFrom = w.crowded
	}
	if gap(w.last, now) > 2*w.interval {
		steady = now
	}
	if from := steady.Add(w.timeout); from.After(w.judgeFrom) {
		w.judgeFrom = from
	}
	return !now.Before(w.judgeFrom)
}

// gap is the longer of what the monotonic and the wall clock say: only the
// latter moves while a machine sleeps.
func gap(from, to time.Time) time.Duration {
	return max(to.Sub(from), to.Round(0).Sub(from.Round(0)))
}

// The pauses after a sweep that could not get at a row that was due: doubled each time.
const (
	minPause  = 5 * time.Millisecond
	maxMisses = 8 // 1.3 s
)

// pause is how long to wait after a sweep that found the next orphan to be
// due after next (0: none in sight).
func (w *watch) pause(now time.Time, next time.Duration) time.Duration {
	if due := w.judgeFrom.Sub(now); due > 0 { // until then nothing is judged, however late
		return max(min(w.interval, due), minPause)
	}
	if next == 0 || next > minPause {
		w.missed = 0
		return min(w.interval, cmp.Or(next, w.interval))
	}
	wait := minPause << w.missed
	w.missed = min(w.missed+1, maxMisses)
	return min(wait, max(w.interval, minPause))
}

func (d *detector) run(ctx context.Context) {
	s := d.e.settings
	w := watch{interval: s.CheckInterval, timeout: s.OrphanTimeout, last: time.Now(), judgeFrom: time.Now().Add(s.OrphanTimeout)}
	d.setRunning(true)
	d.e.log.InfoContext(ctx, "Orphan detector started", "timeout", s.OrphanTimeout, "interval", s.CheckInterval)
	defer func() {
		d.setRunning(false)
		d.e.log.InfoContext(ctx, "Orphan detector stopped")
	}()

	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		now := time.Now()
		judge := w.begin(now, d.e.pulse.steady(now), d.e.full())
		rec, err := d.e.store.Sweep(ctx, d.e.backend, s.policy(), judge)
		d.e.note(ctx, rec) // what a sweep did before it failed was done
		d.saw(rec)
		if rec.Complete {
			w.last = now // else it stands still, and a long outage becomes a gap
		}
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			d.e.log.WarnContext(ctx, "orphan sweep", "err", err)
			timer.Reset(min(w.interval, time.Second))
		default:
			timer.Reset(w.pause(time.Now(), rec.NextOrphan))
		}
	}
}

// full is when the listener last had no place for a connection.
func (e *Engine) full() time.Time {
	if e.config.Full == nil {
		return time.Time{}
	}
	return e.config.Full()
}

func (d *detector) saw(rec ktrdr.Recovered) {
	d.orphaned.Add(int64(len(rec.Orphaned)))
	if !rec.Complete {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lastCheck, d.potential = time.Now().UTC().Truncate(time.Microsecond), rec.Potential
}

// overdue says how long ago the detector should have finished a sweep; not
// positive when it is in its rhythm.
func (d *detector) overdue() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	last := d.lastCheck
	if last.IsZero() {
		last = d.e.started
	}
	return time.Since(last) - max(2*d.e.settings.CheckInterval, overdueAtLeast)
}

// overdueAtLeast keeps a busy moment from looking like a dead detector where intervals are short.
const overdueAtLeast = 5 * time.Second

func (d *detector) setRunning(running bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.running = running
}

// status is the detector's own account of itself.
func (d *detector) status() ktrdr.OrphanDetector {
	d.mu.Lock()
	defer d.mu.Unlock()
	return ktrdr.OrphanDetector{
		Running:              d.running,
		LastCheck:            d.lastCheck,
		PotentialOrphans:     d.potential,
		OrphanedTotal:        d.orphaned.Load(),
		OrphanTimeoutSeconds: d.e.settings.OrphanTimeout.Seconds(),
		CheckIntervalSeconds: d.e.settings.CheckInterval.Seconds(),
	}
}
