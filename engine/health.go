package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/ktrdr/ktrdr"
)

// healthTimeout bounds a health answer: a store that hangs is not healthy.
const healthTimeout = 3 * time.Second

// Health tells how things stand. It always answers: a store that cannot be
// reached is part of the answer.
func (e *Engine) Health(ctx context.Context) ktrdr.Health {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
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
		problem("the orphan detector has not finished a sweep for %v longer than it should; the log says why", late.Round(time.Second))
	}
	if err := e.unwritable.Load(); err != nil {
		problem("the store does not take writes: %v", *err)
	}
	if free, ok := e.freeDisk(); ok {
		if h.DiskFreeBytes = free; free < e.settings.DiskReserve {
			problem("only %d MB of disk are free; new work is refused until there are %d MB", free>>20, e.settings.DiskReserve>>20)
		}
	}
	if err := e.healthOfStore(ctx, &h); err != nil {
		h.Store.OK, h.Store.Error = false, ktrdr.CleanText(err.Error())
		problem("the store does not answer: %v", err)
	} else if h.Unschedulable > 0 {
		problem("%d operations wait for a worker that does not exist; `ktrdr ops` says of which type", h.Unschedulable)
	}
	return h
}

func (e *Engine) healthOfStore(ctx context.Context, h *ktrdr.Health) (err error) {
	if h.Store.StoreInfo, err = e.store.Info(ctx); err != nil {
		return err
	}
	if h.Operations, err = e.store.Counts(ctx); err != nil {
		return err
	}
	if h.Paused, err = e.store.Paused(ctx); err != nil {
		return err
	}
	workers, err := e.list(ctx)
	if err != nil {
		return err
	}
	h.Workers = slots(workers)
	waiting, err := e.List(ctx, ktrdr.OperationQuery{Status: []ktrdr.Status{ktrdr.Pending}, Limit: 1000})
	if err != nil {
		return err
	}
	for _, op := range waiting.Operations {
		if op.Unschedulable != "" && !h.Paused {
			h.Unschedulable++
		}
	}
	h.Store.OK = true
	return nil
}
