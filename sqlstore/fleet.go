package sqlstore

import (
	"context"
	"time"

	"github.com/ktrdr/ktrdr"
)

// This file writes the events of backends and workers that start, stop and are lost.
// A loss is written once: its time is stored in the row.

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

// tell writes an event of each, and returns how many there were.
func tell[T any](ctx context.Context, t *tx, kind ktrdr.EventKind, scan func(scanner) (T, error), text query, args ...any) (int, error) {
	all, err := collect(ctx, t, scan, text, args...)
	for _, one := range all {
		insertEvent(ctx, t, "", kind, 0, one)
	}
	return len(all), err
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

// tellLost writes events of workers and backends that have been silent for the
// timeout, and of lost workers that report again.
func tellLost(ctx context.Context, t *tx, b ktrdr.Backend, timeout time.Duration) error {
	if _, err := tell(ctx, t, ktrdr.EventWorkerReturned, scanWorkerEvent, findWorkers); err != nil {
		return err
	}
	if _, err := tell(ctx, t, ktrdr.EventWorkerLost, scanWorkerEvent, loseWorkers, timeout.Microseconds()); err != nil {
		return err
	}
	_, err := tell(ctx, t, ktrdr.EventBackendDied, scanBackend, loseBackends, timeout.Microseconds(), b.Incarnation)
	return err
}
