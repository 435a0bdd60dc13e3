package worker

import (
	"encoding/json"
	"math"
	"sync"
	"time"

	"github.com/ktrdr/ktrdr"
)

const (
	// progressEvery bounds how often progress is sent.
	progressEvery = 500 * time.Millisecond
	// spooledProgressEvery bounds how often it is written to the spool, where
	// each report costs an fsync and only the last one counts.
	spooledProgressEvery = 5 * time.Second
)

// latest keeps the newest progress until it is sent.
type latest struct {
	mu    sync.Mutex
	value *ktrdr.Progress // nil when it is sent
	news  chan struct{}
}

func newLatest() latest { return latest{news: make(chan struct{}, 1)} }

func (l *latest) set(p ktrdr.Progress) {
	l.mu.Lock()
	l.value = &p
	l.mu.Unlock()
	l.ring()
}

func (l *latest) ring() {
	select {
	case l.news <- struct{}{}:
	default:
	}
}

func (l *latest) take() *ktrdr.Progress {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.value
	l.value = nil
	return p
}

// putBack returns what could not be sent, unless something newer came.
func (l *latest) putBack(p *ktrdr.Progress) {
	l.mu.Lock()
	if l.value == nil {
		l.value = p
	}
	l.mu.Unlock()
	l.ring()
}

// reportProgress sends the newest progress now and then until stop is closed.
// It waits before it sends: work that ends at once costs no report.
func (j *job) reportProgress(stop <-chan struct{}) {
	wait := progressEvery
	for {
		select {
		case <-stop:
			return
		case <-j.progress.news:
		}
		t := time.NewTimer(wait)
		select {
		case <-stop:
			t.Stop()
			return
		case <-t.C:
		}
		wait = progressEvery
		if spooled := j.sendProgress(); spooled {
			wait = spooledProgressEvery
		}
	}
}

// sendProgress sends the newest progress once, or spools it. Unlike other
// writes it is not repeated: a newer one will come.
func (j *job) sendProgress() (spooled bool) {
	p := j.progress.take()
	if p == nil || j.isLost() {
		return false
	}
	w, at := j.w, j.w.link.state()
	e := &entry{Progress: &ktrdr.ProgressReport{Operation: j.claim.op, Epoch: j.claim.epoch, Progress: *p}}
	if at.up && (w.own == nil || !w.own.holds(j.claim)) {
		err := w.send(j.writes, e)
		switch judge(err) {
		case accepted:
			return false
		case stale:
			j.dropClaim()
			return false
		case refused:
			j.log.Warn("backend refuses progress", "err", err)
			return false
		case away:
			w.connectionLost(j.writes, at, err)
		case later:
		}
	}
	if w.own == nil {
		j.progress.putBack(p)
		return false
	}
	if err := w.toSpool(e); err != nil {
		j.log.Warn("progress is not spooled", "err", err)
	}
	return true
}

// sane keeps numbers and JSON out that no store would take.
func sane(p ktrdr.Progress) ktrdr.Progress {
	if math.IsNaN(p.Percentage) {
		p.Percentage = 0
	}
	p.Percentage = min(max(p.Percentage, 0), 100)
	p.CurrentStep = shorten(p.CurrentStep)
	if !json.Valid(p.Context) {
		p.Context = nil
	}
	return p
}
