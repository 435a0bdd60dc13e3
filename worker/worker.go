package worker

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/tracing"
)

// Config says what a worker is.
type Config struct {
	ID      ktrdr.WorkerID        // this life of the worker; empty makes one
	Name    string                // for people
	Runners map[ktrdr.Type]Runner // what it can run
	Slots   int                   // operations run at once; 0 means 1
	Dir     string                // holds the spool; empty for a worker inside a backend, which has none
	Blobs   Blobs                 // cache of blobs; nil reads each from the backend
	HeldBy  ktrdr.Incarnation     // the backend it lives in; empty for a process of its own
	Version string                // of the program
	Log     *slog.Logger          // nil discards
	Child   Child                 // runs what is to run in a child process; nil runs it here
	Traces  *tracing.Tracing      // nil: attempts are not traced

	CheckpointEvery time.Duration // a checkpoint is due after so long; 0 means as the backend says, negative never
	StopWithin      time.Duration // a graceful stop takes at most so long; 0 means 25 s
	Grace           time.Duration // a runner that ignores its context is warned about after so long; 0 means 60 s
	CallTimeout     time.Duration // for one call, beyond the time it asks the backend to wait; 0 means 10 s
}

// Worker runs operations of the types it offers. Make one with New.
type Worker struct {
	cfg     Config
	backend Backend
	types   []ktrdr.Type
	log     *slog.Logger
	link    *link
	own     *spool        // nil without a folder; set by Run
	added   chan struct{} // something was spooled

	running sync.WaitGroup // the jobs
	saveDue atomic.Int64   // the checkpoint interval in force, a time.Duration

	mu      sync.Mutex
	jobs    map[claim]*job
	adopted []*spool           // of dead workers, being delivered
	hangUp  context.CancelFunc // ends a poll that only listens; nil when no poll listens
	stats   Stats
}

// Stats counts what a worker has done since it was made.
type Stats struct {
	Running  int   // right now
	Claimed  int64 // operations taken
	Ended    int64 // finished or released, acknowledged or spooled
	Lost     int64 // claims that another worker held or that ended meanwhile; dropped without a write
	Panicked int64 // runners that panicked
	Spooled  int64 // writes that had to wait for the backend
}

// New checks the configuration and makes a worker. Run starts it.
func New(c Config, b Backend) (*Worker, error) {
	if len(c.Runners) == 0 {
		return nil, errors.New("worker: it has no runners, so there is nothing it could claim")
	}
	if c.Slots < 0 {
		return nil, fmt.Errorf("worker: %d slots; it needs at least one", c.Slots)
	}
	c.ID = cmp.Or(c.ID, ktrdr.WorkerID("w_"+rand.Text()))
	if !validName(c.ID) {
		return nil, fmt.Errorf("worker: id %q is not 1 to 64 letters, digits, - or _", c.ID)
	}
	c.Slots = cmp.Or(c.Slots, 1)
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	c.StopWithin = cmp.Or(c.StopWithin, 25*time.Second)
	c.Grace = cmp.Or(c.Grace, 60*time.Second)
	c.CallTimeout = cmp.Or(c.CallTimeout, 10*time.Second)
	return &Worker{
		cfg: c, backend: b, types: slices.Sorted(maps.Keys(c.Runners)), log: c.Log.With("worker", c.ID),
		link: newLink(), added: make(chan struct{}, 1), jobs: make(map[claim]*job),
	}, nil
}

// ID is the worker's id in this life.
func (w *Worker) ID() ktrdr.WorkerID { return w.cfg.ID }

// Stats tells what the worker has done so far.
func (w *Worker) Stats() Stats {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.stats
	s.Running = len(w.jobs)
	return s
}

// Run claims and runs operations until ctx ends, then stops gracefully: every runner gets
// ktrdr.ErrShutdown and may save a checkpoint, what it ran is released, and the worker unregisters,
// all within StopWithin. What the backend did not take stays in the spool. Run returns nil after
// such a stop, and the backend's refusal when the backend will never admit this worker. It can be
// called once.
func (w *Worker) Run(ctx context.Context) error {
	if w.cfg.Dir != "" {
		own, err := openSpool(ctx, filepath.Join(w.cfg.Dir, "spool"), w.cfg.ID, w.log)
		switch {
		case err == nil:
			w.own = own
		case ctx.Err() != nil:
			return nil // stopped before it began
		default:
			return err
		}
	}
	claiming, stopClaiming := context.WithCancel(ctx)
	defer stopClaiming()
	life, endLife := context.WithCancel(context.WithoutCancel(ctx)) // outlives ctx, so that a stop can be graceful
	defer endLife()

	var crew sync.WaitGroup
	var refusal error
	crew.Go(func() {
		refusal = w.maintainConnection(life)
		stopClaiming()
	})
	crew.Go(func() { w.beat(life) })
	w.poll(claiming, life)

	stopBy := time.Now().Add(w.cfg.StopWithin)
	w.stopJobs(endLife)
	endLife()
	crew.Wait()
	w.leave(ctx, stopBy)
	return refusal
}

// stopJobs ends every runner and waits for it, but not for ever: after most of
// the time is gone, writes under way are cut off and go to the spool.
func (w *Worker) stopJobs(endLife context.CancelFunc) {
	for _, j := range w.all() {
		j.cancel(ktrdr.ErrShutdown)
	}
	done := make(chan struct{})
	go func() {
		w.running.Wait()
		close(done)
	}()
	cut := time.AfterFunc(w.cfg.StopWithin*8/10, endLife)
	defer cut.Stop()
	giveUp := time.NewTimer(w.cfg.StopWithin * 9 / 10)
	defer giveUp.Stop()
	select {
	case <-done:
	case <-giveUp.C:
		for _, j := range w.all() {
			w.log.Error("operation does not stop; leaving it behind", "op", j.claim.op, "epoch", j.claim.epoch)
		}
	}
}

// leave says goodbye to a backend in reach, and gives the folders up.
func (w *Worker) leave(ctx context.Context, by time.Time) {
	if w.link.state().up {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), max(time.Until(by), w.cfg.StopWithin/10))
		defer cancel()
		w.drain(ctx)
		if err := w.backend.Unregister(ctx, w.cfg.ID); err != nil {
			w.log.Warn("worker cannot unregister", "err", err)
		}
	}
	for _, s := range w.spools() {
		if !s.empty() {
			w.log.Warn("spool is not empty; the next worker on this folder delivers it", "folder", s.dir)
		}
		s.close()
	}
	w.log.Info("worker stopped")
}

// all returns the jobs.
func (w *Worker) all() []*job {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Collect(maps.Values(w.jobs))
}

// claims lists the jobs that want is true of, as they are reported.
func (w *Worker) claims(want func(*job) bool) []ktrdr.Claimed {
	cs := []ktrdr.Claimed{}
	for _, j := range w.all() {
		if want(j) {
			cs = append(cs, j.claim.at(j.step.Load()))
		}
	}
	slices.SortFunc(cs, func(a, b ktrdr.Claimed) int { return cmp.Compare(a.Operation, b.Operation) })
	return cs
}

// spools lists the folders to deliver from: those of dead workers first.
func (w *Worker) spools() []*spool {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := slices.Clone(w.adopted)
	if w.own != nil {
		all = append(all, w.own)
	}
	return all
}

// count changes the statistics.
func (w *Worker) count(change func(*Stats)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change(&w.stats)
}
