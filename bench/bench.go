// Package bench measures the engine beside the rate at which the same store
// commits a single row at the same durability, in one run: absolute times
// wander from machine to machine and from minute to minute, ratios do not.
package bench

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
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
	Name    string // of the store, for the heading
	Store   ktrdr.Store
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
		Store: c.Store, Blobs: c.Blobs,
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

// ends is the engine's contract for local workers, with an ear for when an
// operation's tree has come to its end.
type ends struct {
	engine.Local
	mu      sync.Mutex
	started map[ktrdr.OperationID]time.Time
	waiting map[ktrdr.OperationID]chan struct{}
}

func newEnds(l engine.Local) *ends {
	return &ends{Local: l, started: map[ktrdr.OperationID]time.Time{}, waiting: map[ktrdr.OperationID]chan struct{}{}}
}

// Claim notes when the operation reached its worker.
func (e *ends) Claim(ctx context.Context, c ktrdr.ClaimRequest) (ktrdr.ClaimReply, error) {
	reply, err := e.Local.Claim(ctx, c)
	if reply.Task != nil {
		e.mu.Lock()
		e.started[reply.Task.Operation] = time.Now()
		e.mu.Unlock()
	}
	return reply, err
}

// Finish wakes whoever waits for the tree to move.
func (e *ends) Finish(ctx context.Context, f ktrdr.Finished) error {
	err := e.Local.Finish(ctx, f)
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, ch := range e.waiting {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
	return err
}

// wait returns when the operation has ended.
func (r *rig) wait(ctx context.Context, id ktrdr.OperationID) error {
	ch := make(chan struct{}, 1)
	r.ends.mu.Lock()
	r.ends.waiting[id] = ch
	r.ends.mu.Unlock()
	defer func() {
		r.ends.mu.Lock()
		delete(r.ends.waiting, id)
		r.ends.mu.Unlock()
	}()
	for {
		op, err := r.Store.Operation(ctx, id)
		if err != nil {
			return err
		}
		if op.Status.Terminal() {
			if op.Status != ktrdr.Completed {
				return fmt.Errorf("%s ended %s: %s", id, op.Status, op.ErrorMessage)
			}
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ch:
		}
	}
}

func (r *rig) submit(ctx context.Context, spec dummy.Spec) (ktrdr.OperationID, error) {
	n, err := dummy.Operation(spec)
	if err != nil {
		return "", err
	}
	op, err := r.eng.Submit(ctx, n, ktrdr.IdempotencyKey{})
	return op.ID, err
}

// cpu is what this process has used so far.
func cpu() time.Duration {
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
