// Package bench measures the engine beside the rate at which the same store
// commits a single row at the same durability, in one run: absolute times
// wander from machine to machine and from minute to minute, ratios do not.
package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/dummy"
	"github.com/ktrdr/ktrdr/engine"
	"github.com/ktrdr/ktrdr/worker"
)

// Commits is how many durable commits a chain of four costs at the least:
// creating it with its first child, and a claim and a finish for each of the
// four; every finish creates the next child in its own commit.
const Commits = 9

// Config says what to measure.
type Config struct {
	Name  string // of the store, for the heading
	Store ktrdr.Store

	OneWriter bool // the store's commits are made by one writer for all

	Blobs   ktrdr.Blobs
	Raw     func(ctx context.Context, conns int, d time.Duration) (commits int, err error)
	Each    time.Duration // how long each rate is measured; 0 means 3 s
	Listing int           // operations in the listing; 0 means 100,000
	Out     io.Writer
}

// rig is an engine with workers of its own around the store.
type rig struct {
	Config
	eng  *engine.Engine
	ends *ends
}

// Run measures everything and prints as it goes.
func Run(ctx context.Context, c Config) error {
	if c.Each == 0 {
		c.Each = 3 * time.Second
	}
	if c.Listing == 0 {
		c.Listing = 100_000
	}
	eng, err := engine.New(engine.Config{
		Types: dummy.Types(), Store: c.Store, Blobs: c.Blobs,
		Backend:  ktrdr.Backend{ID: "bench", Incarnation: "bench-1"},
		Settings: engine.Settings{OrphanTimeout: time.Hour, HeartbeatInterval: 10 * time.Second},
	})
	if err != nil {
		return err
	}
	if err := eng.Start(ctx); err != nil {
		return err
	}
	r := &rig{Config: c, eng: eng, ends: newEnds(eng.Local())}
	ctx, stop := context.WithCancel(ctx)
	var crew sync.WaitGroup
	crew.Go(func() { _ = eng.Run(ctx) })
	defer crew.Wait()
	defer stop()

	r.printf("== %s\n", c.Name)
	for _, measure := range []func(context.Context) error{r.chains, r.starts, r.heartbeats, r.checkpoints, r.listing} {
		if err := measure(ctx); err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
	}
	return nil
}

func (r *rig) printf(format string, args ...any) { fmt.Fprintf(r.Out, format, args...) }

// crew starts n workers of one slot each inside this process, and returns how
// to end them.
func (r *rig) crew(ctx context.Context, n int) (stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	for range n {
		w, err := worker.New(worker.Config{Runners: map[ktrdr.Type]worker.Runner{ktrdr.Dummy: dummy.Runner()}, Slots: 1}, r.ends)
		if err != nil {
			cancel()
			return nil, err
		}
		wg.Go(func() { _ = w.Run(ctx) })
	}
	return func() { cancel(); wg.Wait() }, nil
}

// ends is the engine's contract for local workers, with an ear for when what
// was submitted has ended: the seed in a spec tells whose it is.
type ends struct {
	engine.Local
	seeds   atomic.Int64
	mu      sync.Mutex
	runs    map[int64]*run
	claimed map[ktrdr.OperationID]*run
}

// run is one submitted tree on its way.
type run struct {
	left    int // operations of it that have not finished
	started time.Time
	done    chan struct{}
}

func newEnds(l engine.Local) *ends {
	return &ends{Local: l, runs: map[int64]*run{}, claimed: map[ktrdr.OperationID]*run{}}
}

// Claim notes when the operation reached its worker.
func (e *ends) Claim(ctx context.Context, c ktrdr.ClaimRequest) (ktrdr.ClaimReply, error) {
	reply, err := e.Local.Claim(ctx, c)
	if reply.Task == nil {
		return reply, err
	}
	var spec dummy.Spec
	if err := json.Unmarshal(reply.Task.Spec, &spec); err != nil {
		return reply, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if r := e.runs[spec.Seed]; r != nil {
		e.claimed[reply.Task.Operation] = r
		if r.started.IsZero() {
			r.started = time.Now()
		}
	}
	return reply, err
}

// Finish wakes the waiting goroutine when the last operation of a run has ended.
func (e *ends) Finish(ctx context.Context, f ktrdr.Finished) error {
	err := e.Local.Finish(ctx, f)
	e.mu.Lock()
	defer e.mu.Unlock()
	if r := e.claimed[f.Operation]; r != nil {
		delete(e.claimed, f.Operation)
		if r.left--; r.left == 0 {
			close(r.done)
		}
	}
	return err
}

// finish submits a tree of n operations and returns when all have ended: how
// long it was until the first began.
func (r *rig) finish(ctx context.Context, n int, spec func(seed int64) dummy.Spec) (start time.Duration, err error) {
	seed := r.ends.seeds.Add(1)
	mine := &run{left: n, done: make(chan struct{})}
	r.ends.mu.Lock()
	r.ends.runs[seed] = mine
	r.ends.mu.Unlock()
	begun := time.Now()
	id, err := r.submit(ctx, spec(seed))
	if err != nil {
		return 0, err
	}
	select {
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-mine.done:
	}
	r.ends.mu.Lock()
	start = mine.started.Sub(begun)
	delete(r.ends.runs, seed)
	r.ends.mu.Unlock()
	op, err := r.Store.Operation(ctx, id)
	if err == nil && op.Status != ktrdr.Completed {
		err = fmt.Errorf("%s ended %s: %s", id, op.Status, op.ErrorMessage)
	}
	return start, err
}

func (r *rig) submit(ctx context.Context, spec dummy.Spec) (ktrdr.OperationID, error) {
	n, err := dummy.Operation(spec)
	if err != nil {
		return "", err
	}
	op, err := r.eng.Submit(ctx, n, ktrdr.IdempotencyKey{})
	return op.ID, err
}

// CPU is what this process has used so far.
func CPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// quantile returns the q-th part of sorted durations.
func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

func sorted(d []time.Duration) []time.Duration { slices.Sort(d); return d }
