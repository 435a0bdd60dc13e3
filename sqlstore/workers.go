package sqlstore

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ktrdr/ktrdr"
)

const (
	insertWorker query = `INSERT INTO workers (id, name, types, slots, held_by, host, pid, version, registered_at, seen_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, {now}, {now}) ON CONFLICT (id) DO NOTHING`
	updateWorker query = `UPDATE workers SET name = $2, types = $3, slots = $4, host = $6, pid = $7, version = $8,
		seen_at = {now} WHERE id = $1 AND held_by = $5`
	seenWorker    query = `UPDATE workers SET seen_at = {now} WHERE id = $1 AND held_by = $2`
	othersWorker  query = `SELECT COUNT(*) FROM workers WHERE id = $1 AND held_by <> $2`
	deleteWorker  query = `DELETE FROM workers WHERE id = $1 AND held_by = $2 RETURNING ` + toldWorker
	countWorker   query = `SELECT COUNT(*) FROM workers WHERE id = $1`
	selectWorkers query = `SELECT id, name, types, slots, held_by, host, pid, version, registered_at, seen_at,
			CASE WHEN seen_at > {now} - $1 AND (held_by = '' OR EXISTS (SELECT 1 FROM backends WHERE incarnation = held_by)) THEN 1 ELSE 0 END,
			COALESCE(running, 0)
		FROM workers LEFT JOIN (SELECT worker_id, COUNT(*) AS running FROM operations WHERE ` + isLive + ` GROUP BY worker_id) AS held
			ON held.worker_id = workers.id
		ORDER BY id`
)

// seen notes that a worker was heard from, if it is registered. CodeForbidden
// when it is registered as living elsewhere.
func seen(ctx context.Context, t *tx, id ktrdr.WorkerID, heldBy ktrdr.Incarnation) error {
	known, err := t.exec(ctx, seenWorker, id, heldBy)
	if err != nil || known > 0 {
		return err
	}
	return refuseOthers(ctx, t, id, heldBy)
}

// refuseOthers refuses one who speaks under the id of a worker that lives
// elsewhere: CodeForbidden.
func refuseOthers(ctx context.Context, t *tx, id ktrdr.WorkerID, heldBy ktrdr.Incarnation) error {
	if others, err := scanValue[int](t.row(ctx, othersWorker, id, heldBy)); err != nil || others == 0 {
		return err
	}
	return elsewhere(id)
}

func elsewhere(id ktrdr.WorkerID) error {
	return ktrdr.Errorf(ktrdr.CodeForbidden,
		"worker id %s belongs to a worker that lives elsewhere: inside a backend, or outside this one; choose another", id)
}

// RegisterWorker implements ktrdr.Store.
func (s *Store) RegisterWorker(ctx context.Context, r ktrdr.Registration) (ktrdr.Orders, error) {
	w := r.Worker
	for _, text := range []string{string(w.ID), w.Name, string(w.HeldBy), w.Host, w.Version} {
		if w.ID == "" || !storable(text, 255) {
			return ktrdr.Orders{}, ktrdr.Errorf(ktrdr.CodeInvalid, "a worker needs an id, and no text it sends may be over 255 bytes")
		}
	}
	if err := s.checkTypes(w.Types...); err != nil {
		return ktrdr.Orders{}, fmt.Errorf("worker %s: %w", w.ID, err)
	}
	types, err := marshal(distinct(w.Types))
	if err != nil {
		return ktrdr.Orders{}, err
	}
	args := []any{w.ID, w.Name, types, w.Slots, w.HeldBy, w.Host, w.PID, w.Version}
	return s.hear(ctx, slices.Concat(r.Running, r.Finished), func(t *tx) error {
		t.wake() // what was reconciling may be running now
		first, err := t.exec(ctx, insertWorker, args...)
		if err != nil {
			return err
		}
		if first == 0 {
			known, err := t.exec(ctx, updateWorker, args...)
			if err == nil && known == 0 {
				err = elsewhere(w.ID)
			}
			return err
		}
		insertEvent(ctx, t, "", ktrdr.EventWorkerRegistered, 0, workerEvent{w.ID, w.Name, w.HeldBy, w.Host, w.PID, w.Types, w.Slots})
		return nil
	})
}

// RemoveWorker implements ktrdr.Store.
func (s *Store) RemoveWorker(ctx context.Context, id ktrdr.WorkerID, heldBy ktrdr.Incarnation) error {
	if !storable(string(id), 255) || !storable(string(heldBy), 255) {
		return nil // no such worker can be known
	}
	return s.write(ctx, normal, func(t *tx) error {
		if removed, err := tell(ctx, t, ktrdr.EventWorkerLeft, scanWorkerEvent, deleteWorker, id, heldBy); err != nil || removed > 0 {
			return err
		}
		if left, err := scanValue[int](t.row(ctx, countWorker, id)); err != nil || left == 0 {
			return err
		}
		return ktrdr.Errorf(ktrdr.CodeForbidden, "worker %s lives elsewhere: inside a backend, with which it leaves, or outside this one", id)
	})
}

// Workers implements ktrdr.Store.
func (s *Store) Workers(ctx context.Context, timeout time.Duration) ([]ktrdr.Worker, error) {
	return readAll(ctx, s, scanWorker, selectWorkers, timeout.Microseconds())
}

var scanWorker = fields(func(w *ktrdr.Worker) []any {
	return []any{
		&w.ID, &w.Name, fromJSON(&w.Types), &w.Slots, &w.HeldBy, &w.Host, &w.PID, &w.Version,
		(*moment)(&w.RegisteredAt), (*moment)(&w.SeenAt), (*boolean)(&w.Live), &w.Running,
	}
})
