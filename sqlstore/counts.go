package sqlstore

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/ktrdr/ktrdr"
)

const (
	// No status is of both, so there is nothing to add up.
	selectCounts query = `SELECT operation_type, status, COUNT(*) FROM operations WHERE ` + isOpen + ` GROUP BY operation_type, status
		UNION ALL
		SELECT operation_type, status, COUNT(*) FROM operations WHERE completed_at IS NOT NULL GROUP BY operation_type, status`

	countWaiting query = `SELECT operation_type, is_backend_local, COUNT(*) FROM operations
		WHERE status = 'PENDING' AND has_plan = 0 AND ` + isDue + `
		GROUP BY operation_type, is_backend_local ORDER BY operation_type, is_backend_local`

	selectStalled query = `SELECT id, {now} - since FROM (
			SELECT id, CASE WHEN moved_at > claimed_at THEN moved_at ELSE claimed_at END AS since
			FROM operations WHERE has_plan = 0 AND ` + isLive + `) AS live
		WHERE since <= {now} - $1 ORDER BY id`
)

// Counts implements ktrdr.Store.
func (s *Store) Counts(ctx context.Context) (counts []ktrdr.Count, err error) {
	err = s.readOne(ctx, func(r queryer) error {
		rows, err := r.rows(ctx, selectCounts)
		counts, err = gather(rows, err, func(row scanner) (c ktrdr.Count, err error) {
			err = row.Scan(&c.Type, &c.Status, &c.N)
			return c, err
		})
		slices.SortFunc(counts, func(a, b ktrdr.Count) int {
			return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Status, b.Status))
		})
		return err
	})
	return counts, err
}

// Waiting implements ktrdr.Store.
func (s *Store) Waiting(ctx context.Context) (all []ktrdr.Waiting, err error) {
	err = s.readOne(ctx, func(r queryer) error {
		rows, err := r.rows(ctx, countWaiting)
		all, err = gather(rows, err, func(row scanner) (w ktrdr.Waiting, err error) {
			var local int
			err = row.Scan(&w.Type, &local, &w.N)
			w.BackendLocal = local == 1
			return w, err
		})
		return err
	})
	return all, err
}

// Stalled implements ktrdr.Store.
func (s *Store) Stalled(ctx context.Context, after time.Duration) (all []ktrdr.Stall, err error) {
	err = s.readOne(ctx, func(r queryer) error {
		rows, err := r.rows(ctx, selectStalled, after.Microseconds())
		all, err = gather(rows, err, func(row scanner) (one ktrdr.Stall, err error) {
			var us int64
			err = row.Scan(&one.Operation, &us)
			one.For = span(us)
			return one, err
		})
		return err
	})
	return all, err
}
