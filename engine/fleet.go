package engine

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ktrdr/ktrdr"
)

// fleet is what is known of the workers: a listing kept for a moment, because
// every listing of operations asks for it, and when each was last heard here.
type fleet struct {
	mu      sync.Mutex
	workers []ktrdr.Worker
	listed  time.Time
	heard   map[ktrdr.WorkerID]time.Time
}

// fleetAge is how old a listing may be; well below the 30 s within which missing workers must show.
const fleetAge = time.Second

// beat notes a heartbeat and returns how far past the interval it came.
func (f *fleet) beat(id ktrdr.WorkerID, interval time.Duration) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.heard == nil {
		f.heard = make(map[ktrdr.WorkerID]time.Time)
	}
	now := time.Now()
	last, known := f.heard[id]
	f.heard[id] = now
	if !known {
		return 0
	}
	return max(0, now.Sub(last)-interval)
}

// forget drops the listing: a worker came or went, or it must be no older than another answer.
func (f *fleet) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.listed = time.Time{}
}

// list returns the workers, from memory when it is fresh.
func (e *Engine) list(ctx context.Context) ([]ktrdr.Worker, error) {
	f := &e.fleet
	f.mu.Lock()
	if time.Since(f.listed) < fleetAge {
		defer f.mu.Unlock()
		return f.workers, nil
	}
	f.mu.Unlock()

	workers, err := e.Workers(ctx)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.workers, f.listed = workers, time.Now()
	for id, at := range f.heard {
		if time.Since(at) > day {
			delete(f.heard, id)
		}
	}
	return workers, nil
}

// Workers lists all workers. One that missed three heartbeats, or was silent
// for the timeout if that is shorter, is not live.
func (e *Engine) Workers(ctx context.Context) ([]ktrdr.Worker, error) {
	return e.store.Workers(ctx, min(e.settings.OrphanTimeout, minHeartbeats*e.settings.HeartbeatInterval))
}

// explain fills in why PENDING operations cannot start, and which live ones do not move.
func (e *Engine) explain(ctx context.Context, ops []ktrdr.Operation) error {
	if err := e.explainLive(ctx, ops); err != nil {
		return err
	}
	if !slices.ContainsFunc(ops, awaitsWorker) {
		return nil
	}
	workers, err := e.list(ctx)
	if err != nil {
		return err
	}
	paused, err := e.store.Paused(ctx)
	if err != nil {
		return err
	}
	unwritable := e.unwritable.Load() != nil
	for i := range ops {
		switch {
		case !awaitsWorker(ops[i]):
		case unwritable: // no heartbeat is stored either, so that every worker looks dead
			ops[i].Unschedulable = "the store does not take writes; `ktrdr doctor` says more"
		default:
			ops[i].Unschedulable = reason(ops[i], workers, paused)
		}
	}
	return nil
}

// awaitsWorker is true of what a worker would have to claim now; a parent that
// is PENDING waits for its turn, and what was released for later for its time.
func awaitsWorker(op ktrdr.Operation) bool {
	return op.Status == ktrdr.Pending && !op.HasPlan && op.NotBefore.IsZero()
}

func (e *Engine) explainLive(ctx context.Context, ops []ktrdr.Operation) error {
	if !slices.ContainsFunc(ops, func(op ktrdr.Operation) bool { return op.Status.Live() }) {
		return nil
	}
	stalls, err := e.stalls.get(ctx, e.askStalls)
	if err != nil {
		return err
	}
	for i := range ops {
		if ops[i].Status == ktrdr.Reconciling {
			ops[i].Deadline = e.deadline(ops[i])
		}
	}
	for _, stall := range stalls {
		for i := range ops {
			if ops[i].ID == stall.Operation && ops[i].Status.Live() {
				ops[i].StalledSeconds = stall.For.Round(time.Second).Seconds()
			}
		}
	}
	return nil
}

// deadline is when a worker that stays silent loses the operation. A backend that
// started later first listens for as long.
func (e *Engine) deadline(op ktrdr.Operation) time.Time {
	from := op.HeartbeatAt
	if e.started.After(from) {
		from = e.started
	}
	return from.Add(e.settings.OrphanTimeout).UTC().Truncate(time.Millisecond)
}

func reason(op ktrdr.Operation, workers []ktrdr.Worker, paused bool) string {
	if paused {
		return "claims are paused; run `ktrdr unpause`"
	}
	live := 0
	for _, w := range workers {
		if !w.Live {
			continue
		}
		live++
		if slices.Contains(w.Types, op.Type) && (!op.BackendLocal || w.HeldBy != "") {
			return ""
		}
	}
	others := "no worker of any type is live"
	switch {
	case live == 1:
		others = "the one live worker cannot run it"
	case live > 1:
		others = fmt.Sprintf("none of the %d live workers can run it", live)
	}
	if op.BackendLocal {
		return fmt.Sprintf("no backend runs %s operations itself (%s); start one with `ktrdr serve --workers 1`", op.Type, others)
	}
	return fmt.Sprintf("no live worker offers %s (%s); start one with `ktrdr worker --types %s`", op.Type, others, op.Type)
}

// slots counts live workers' slots by type.
func slots(workers []ktrdr.Worker) ktrdr.WorkerCounts {
	c := ktrdr.WorkerCounts{ByType: make(map[ktrdr.Type]ktrdr.WorkerSlots)}
	for _, w := range workers {
		if !w.Live {
			continue
		}
		c.Live++
		for _, t := range w.Types {
			s := c.ByType[t]
			s.Busy += w.Running
			s.Total += w.Slots
			c.ByType[t] = s
		}
	}
	return c
}
