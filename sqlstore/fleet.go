package sqlstore

import (
	"context"
	"errors"
	"time"

	"github.com/ktrdr/ktrdr"
)

// This file tells of backends and workers that come and go. What is lost is told
// once: the row says since when it is.

// workerEvent is what the log keeps of a worker.
type workerEvent struct {
	ID     ktrdr.WorkerID    `json:"worker_id"`
	Name   string            `json:"name,omitempty"`
	HeldBy ktrdr.Incarnation `json:"held_by,omitempty"` // the backend that it lives in
	Host   string            `json:"host,omitempty"`
	PID    int               `json:"pid,omitempty"`
	Types  []ktrdr.Type      `json:"types,omitempty"`
	Slots  int               `json:"slots,omitempty"`
}

const (
	toldWorker  = `id, name, held_by, host, pid, slots`
	toldBackend = `incarnation, id, addr, host, pid, version`
)

var scanWorkerEvent = fields(func(w *workerEvent) []any {
	return []any{&w.ID, &w.Name, &w.HeldBy, &w.Host, &w.PID, &w.Slots}
})

var scanBackend = fields(func(b *ktrdr.Backend) []any {
	return []any{&b.Incarnation, &b.ID, &b.Addr, &b.Host, &b.PID, &b.Version}
})

func tellWorkers(ctx context.Context, t *tx, kind ktrdr.EventKind, all []workerEvent) error {
	var errs []error
	for _, w := range all {
		errs = append(errs, insertEvent(ctx, t, "", kind, 0, w))
	}
	return errors.Join(errs...)
}

func tellBackends(ctx context.Context, t *tx, kind ktrdr.EventKind, all []ktrdr.Backend) error {
	var errs []error
	for _, b := range all {
		errs = append(errs, insertEvent(ctx, t, "", kind, 0, b))
	}
	return errors.Join(errs...)
}

// tellStarted tells of a backend's start once, however often it is recorded.
func tellStarted(ctx context.Context, t *tx, b ktrdr.Backend) error {
	text, err := marshal(b)
	if err != nil {
		return err
	}
	t.wake()
	return t.later(ctx, insertRefusal, "", ktrdr.EventBackendStarted, 0, text, string(ktrdr.EventBackendStarted)+" "+string(b.Incarnation))
}

const (
	// A worker inside a backend is lost with the backend, which is told.
	loseWorkers query = `UPDATE workers SET lost_at = {now} WHERE lost_at IS NULL AND held_by = '' AND seen_at <= {now} - $1
		RETURNING ` + toldWorker
	findWorkers query = `UPDATE workers SET lost_at = NULL WHERE lost_at IS NOT NULL AND seen_at > lost_at
		RETURNING ` + toldWorker
	loseBackends query = `UPDATE backends SET died_at = {now} WHERE died_at IS NULL AND incarnation <> $2 AND seen_at <= {now} - $1
		RETURNING ` + toldBackend
)

// tellLost tells of workers and backends that have been silent for the timeout,
// and of lost workers that are heard from again.
func tellLost(ctx context.Context, t *tx, b ktrdr.Backend, timeout time.Duration) error {
	workers := func(kind ktrdr.EventKind, text query, args ...any) error {
		all, err := collect(ctx, t, scanWorkerEvent, text, args...)
		return errors.Join(err, tellWorkers(ctx, t, kind, all))
	}
	if err := workers(ktrdr.EventWorkerReturned, findWorkers); err != nil {
		return err
	}
	if err := workers(ktrdr.EventWorkerLost, loseWorkers, timeout.Microseconds()); err != nil {
		return err
	}
	dead, err := collect(ctx, t, scanBackend, loseBackends, timeout.Microseconds(), b.Incarnation)
	return errors.Join(err, tellBackends(ctx, t, ktrdr.EventBackendDied, dead))
}
