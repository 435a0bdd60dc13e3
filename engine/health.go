package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/ktrdr/ktrdr"
)

// Health tells how things stand. It always answers: a store that cannot be
// reached is part of the answer.
func (e *Engine) Health(ctx context.Context) ktrdr.Health {
	h := ktrdr.Health{
		Status:         "ok",
		Version:        e.backend.Version,
		Backend:        e.backend,
		UptimeSeconds:  time.Since(e.started).Seconds(),
		OrphanDetector: e.detector.status(),
	}
	problem := func(format string, args ...any) {
		h.Status = "degraded"
		h.Problems = append(h.Problems, fmt.Sprintf(format, args...))
	}
	if !h.OrphanDetector.Running {
		problem("the orphan detector is not running; restart this backend")
	}
	if late := e.detector.overdue(); late > 0 {
		problem("the orphan detector has not finished a sweep for %v longer than it should; look into this backend's log for why",
			late.Round(time.Second))
	}
	if free, ok := e.freeDisk(); ok {
		if h.DiskFreeBytes = free; free < e.settings.DiskReserve {
			problem("only %d MB of disk are free, and new work is refused below %d MB; free some space", free>>20, e.settings.DiskReserve>>20)
		}
	}
	e.healthOfStore(ctx, &h, problem)
	return h
}

// healthOfStore fills in what the store says, and that it says nothing or takes nothing.
func (e *Engine) healthOfStore(ctx context.Context, h *ktrdr.Health, problem func(format string, args ...any)) {
	all, err := e.account.get(ctx, e.askStore)
	if err != nil {
		h.Store.Error = ktrdr.CleanText(err.Error())
		problem("the store does not answer (%v); check that the database is running and can be reached", err)
		return
	}
	h.Store.StoreInfo, h.Store.OK = all.info, true
	h.Operations, h.Paused, h.Workers = all.counts, all.paused, slots(all.workers)
	h.Unschedulable, h.Stalled, h.Queues, h.Waiting = all.unschedulable, all.stalled, all.queues, all.waiting
	if err := e.unwritable.Load(); err != nil {
		h.Store.OK, h.Store.Error = false, ktrdr.CleanText((*err).Error())
		problem("the store does not take writes (%v); free some space where the database is, or look into its log", *err)
		h.Unschedulable = 0 // no heartbeat is stored either, so that every worker looks dead
	}
	if h.Unschedulable > 0 {
		problem("%d operations wait for a worker that does not exist; `ktrdr ops` says of which type", h.Unschedulable)
	}
}

// account is what the store says of everything it holds.
type account struct {
	info          ktrdr.StoreInfo
	counts        []ktrdr.Count
	paused        bool
	workers       []ktrdr.Worker
	unschedulable int64
	stalled       int
	queues        map[string]ktrdr.QueueHealth
	waiting       []ktrdr.Waiting
}

func (e *Engine) askStore(ctx context.Context) (a account, err error) {
	if a.info, err = e.store.Info(ctx); err != nil {
		return a, err
	}
	if a.counts, err = e.store.Counts(ctx); err != nil {
		return a, err
	}
	if a.paused, err = e.store.Paused(ctx); err != nil {
		return a, err
	}
	if a.workers, err = e.list(ctx); err != nil {
		return a, err
	}
	if a.waiting, err = e.store.Waiting(ctx); err != nil {
		return a, err
	}
	for _, w := range a.waiting {
		if !a.paused && reason(ktrdr.Operation{Type: w.Type, BackendLocal: w.BackendLocal}, a.workers, false) != "" {
			a.unschedulable += w.N
		}
	}
	stalls, err := e.stalls.get(ctx, e.askStalls)
	if err != nil {
		return a, err
	}
	a.stalled = len(stalls)
	a.queues, err = e.healthOfQueues(ctx, a.workers)
	return a, err
}

func (e *Engine) askStalls(ctx context.Context) ([]ktrdr.Stall, error) {
	return e.store.Stalled(ctx, e.settings.StalledAfter)
}
