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

	// One that was released waits since the last word of its worker.
	countWaiting query = `SELECT operation_type, is_backend_local, COUNT(*), {now} - MIN(CASE
			WHEN not_before > created_at AND not_before > COALESCE(heartbeat_at, 0) THEN not_before
			WHEN heartbeat_at > created_at THEN heartbeat_at ELSE created_at END)
		FROM operations
		WHERE status = 'PENDING' AND has_plan = 0 AND ` + isDue + `
		GROUP BY operation_type, is_backend_local ORDER BY operation_type, is_backend_local`

	selectStalled query = `SELECT id, {now} - since FROM (
			SELECT id, CASE WHEN moved_at > claimed_at THEN moved_at ELSE claimed_at END AS since
			FROM operations WHERE has_plan = 0 AND ` + isLive + `) AS live
		WHERE since <= {now} - $1 ORDER BY id`
)

// Counts implements ktrdr.Store.
func (s *Store) Counts(ctx context.Context) ([]ktrdr.Count, error) {
	counts, err := readAll(ctx, s, fields(func(c *ktrdr.Count) []any { return []any{&c.Type, &c.Status, &c.N} }), selectCounts)
	slices.SortFunc(counts, func(a, b ktrdr.Count) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Status, b.Status))
	})
	return counts, err
}

// Waiting implements ktrdr.Store.
func (s *Store) Waiting(ctx context.Context) ([]ktrdr.Waiting, error) {
	return readAll(ctx, s, fields(func(w *ktrdr.Waiting) []any {
		return []any{&w.Type, (*boolean)(&w.BackendLocal), &w.N, (*span)(&w.Oldest)}
	}), countWaiting)
}

// Stalled implements ktrdr.Store.
func (s *Store) Stalled(ctx context.Context, after time.Duration) ([]ktrdr.Stall, error) {
	return readAll(ctx, s, fields(func(one *ktrdr.Stall) []any { return []any{&one.Operation, (*span)(&one.For)} }), selectStalled,
		after.Microseconds())
}
