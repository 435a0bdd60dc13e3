package sqlstore

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
)

const (
	// Everything that is counted stands in the index operations_done. SQLite
	// would rather read all operations in the order of the groups; what is
	// added to the columns keeps it from that.
	endedSince query = `SELECT operation_type || '', status || '', rung || '', COUNT(*) FROM operations
		WHERE parent_id IS NULL AND completed_at IS NOT NULL AND completed_at >= $1
		GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`

	failureColumns = `SELECT id, operation_type, {code}, error_message, CASE WHEN ckpt_id IS NULL THEN 0 ELSE 1 END FROM operations WHERE `

	failuresOfRun = failureColumns + `run = $1 AND run <> '' AND parent_id IS NULL AND status = 'FAILED' AND completed_at >= $2
		ORDER BY completed_at DESC LIMIT $3`
	failuresSince = failureColumns + `parent_id IS NULL AND completed_at IS NOT NULL AND status = 'FAILED' AND completed_at >= $1
		ORDER BY completed_at DESC LIMIT $2`

	// machineKinds is spelled as the index events_machine spells it.
	machineKinds = `kind IN ('worker_registered', 'failed', 'released', 'reported', 'resumed', 'checkpoint_skipped', 'write_refused', ` +
		`'breaker', 'paused', 'unpaused', 'backend_started', 'backend_stopped', 'backend_died', 'worker_left', 'worker_lost', 'worker_returned')`

	countMachine = `SELECT kind, COALESCE({code}, ''), COALESCE({by}, ''), COALESCE({held_by}, ''), COUNT(*) FROM events
		WHERE at >= $1 AND ` + machineKinds + ` GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4`
	selectPauses query = `SELECT 0, id, operation_id, kind, at, epoch, data FROM events
		WHERE at >= $1 AND ` + machineKinds + ` AND kind IN ('paused', 'unpaused') ORDER BY at DESC, id DESC LIMIT 20`
	selectProcesses query = `SELECT 0, id, operation_id, kind, at, epoch, data FROM events WHERE at >= $1 AND ` + machineKinds + `
		AND kind NOT IN ('failed', 'released', 'resumed', 'checkpoint_skipped', 'write_refused') ORDER BY at DESC, id DESC LIMIT 200`
)

// field writes {name} of a statement as what a column of JSON says under that
// name.
func (s *Store) fields(text, column string, names ...string) query {
	if s.isPostgres() {
		column += "::json"
	}
	for _, name := range names {
		text = strings.ReplaceAll(text, "{"+name+"}", "("+column+" ->> '"+name+"')")
	}
	return query(text)
}

// EndedSince implements ktrdr.Reports.
func (s *Store) EndedSince(ctx context.Context, at time.Time) (all []ktrdr.EndedCount, err error) {
	return readAll(ctx, s, fields(func(c *ktrdr.EndedCount) []any { return []any{&c.Type, &c.Status, &c.Rung, &c.N} }), endedSince, micros(at))
}

// Failures implements ktrdr.Reports.
func (s *Store) Failures(ctx context.Context, q ktrdr.FailureQuery) (all []ktrdr.FailedOperation, err error) {
	if err := checkLimit(&q.Limit); err != nil {
		return nil, err
	}
	since := micros(q.Since)
	text, args := failuresSince, []any{since, q.Limit}
	if q.Run != "" {
		text, args = failuresOfRun, []any{q.Run, since, q.Limit}
	}
	return readAll(ctx, s, fields(func(f *ktrdr.FailedOperation) []any {
		return []any{&f.ID, &f.Type, (*nullText)(&f.Code), &f.Message, (*boolean)(&f.Resumable)}
	}), s.fields(text, "error", "code"), args...)
}

// MachineSince implements ktrdr.Reports.
func (s *Store) MachineSince(ctx context.Context, at time.Time) (m ktrdr.MachineCounts, err error) {
	from := micros(at)
	err = s.read(ctx, func(r queryer) error {
		m.Events, err = collect(ctx, r, fields(func(c *ktrdr.EventCount) []any {
			return []any{&c.Kind, &c.Code, &c.By, &c.HeldBy, &c.N}
		}), s.fields(countMachine, "data", "code", "by", "held_by"), from)
		if err != nil {
			return err
		}
		if m.Pauses, err = collect(ctx, r, scanEvent, selectPauses, from); err != nil {
			return err
		}
		m.Newest, err = collect(ctx, r, scanEvent, selectProcesses, from)
		slices.Reverse(m.Pauses)
		slices.Reverse(m.Newest)
		return err
	})
	return m, err
}
