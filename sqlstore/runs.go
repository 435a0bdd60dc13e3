package sqlstore

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/text"
)

// runColumns is what scanRun reads, in its order.
const runColumns = `id, goal, request, created_at, COALESCE(until, 0), generation_size, planned, made_up,
	state, COALESCE(cancelled_at, 0), cancelled_by, cancel_reason, given_up, COALESCE(ended_at, 0), COALESCE(told_at, 0),
	generations, closed, created, open, completed, rejected, failed, cancelled, finalists, looks, claims, heads,
	COALESCE(test_reserved_at, 0), test_before, test_id, test_p, test_threshold, test_copies, test_best, test_passed, COALESCE(tested_at, 0)`

const (
	selectRun query = `SELECT ` + runColumns + ` FROM runs WHERE id = $1`
	updateRun query = `SELECT ` + runColumns + ` FROM runs WHERE id = $1 {update}`
	lockRun   query = `SELECT ` + runColumns + ` FROM runs WHERE id = $1 {lock}`

	insertRun query = `INSERT INTO runs (id, goal, request, created_at, until, generation_size, planned, made_up, state)
		VALUES ($1, $2, $3, {now}, $4, $5, $6, $7, 'RUNNING') ON CONFLICT (id) DO NOTHING`

	shareRun query = `SELECT ` + runColumns + ` FROM runs WHERE id = $1 {share}`

	// The operations of a run that are open are found by the index of their
	// generations.
	selectOpenRuns query = `SELECT ` + runColumns + `,
			COALESCE((SELECT MIN(generation) FROM operations WHERE run = runs.id AND run <> '' AND completed_at IS NULL), -1),
			COALESCE((SELECT MAX(created_at) FROM operations WHERE run = runs.id AND run <> '' AND queue <> ''), 0)
		FROM runs WHERE ended_at IS NULL ORDER BY created_at, id`
)

// reasonRunCancelled is shown to people beside each operation of a cancelled
// run. Nothing reads it: the state of the run is a column.
const reasonRunCancelled = "Its run was cancelled"

// The row of a run is locked after the line of a queue and after trees, and before
// markets. There are three locks:
//
//   - CancelRun takes {lock} and nothing else.
//   - What starts an operation of the run takes {share}, so that CancelRun waits
//     for it, or it for CancelRun. It may hold operations that others wait for,
//     so it must not wait for the counts of the run: {share} does not.
//   - What changes the counts, or is sure to, takes {update}. To take {share}
//     first and then change the row would be a deadlock with CancelRun.

// errRunCancelled undoes a claim of an operation whose run was cancelled in the
// same moment.
var errRunCancelled = errors.New("the run was cancelled")

var scanRun = fields(runFields)

func runFields(r *ktrdr.Run) []any {
	return []any{
		&r.ID, &r.Goal, (*document)(&r.Request), (*moment)(&r.CreatedAt), (*moment)(&r.Until), &r.Size, &r.Planned, fromBit(&r.MadeUp),
		&r.State, (*moment)(&r.CancelledAt), &r.CancelledBy, &r.CancelReason, &r.GivenUp, (*moment)(&r.EndedAt), (*moment)(&r.ToldAt),
		&r.Generations, &r.Closed, &r.Created, &r.Open, &r.Completed, &r.Rejected, &r.Failed, &r.Cancelled, &r.Finalists, &r.Looks, &r.Claims,
		fromJSON(&r.Heads),
		(*moment)(&r.Test.ReservedAt), &r.Test.Before, &r.Test.Operation, &r.Test.P, &r.Test.Threshold, &r.Test.Copies, &r.Test.Best,
		(*boolean)(&r.Test.Passed), (*moment)(&r.Test.EndedAt),
	}
}

func noRun(id string) error {
	return ktrdr.Errorf(ktrdr.CodeNotFound, "there is no run %q; `ktrdr runs` lists them", clip(id))
}

// loadRun reads a run by a statement that selects it; CodeNotFound.
func loadRun(ctx context.Context, q queryer, text query, id string) (ktrdr.Run, error) {
	if !storable(id, 255) {
		return ktrdr.Run{}, noRun(id)
	}
	r, err := scanRun(q.row(ctx, text, id))
	return r, ifNoRow(err, noRun(id))
}

// makeRun stores the row of a run that has none yet.
func makeRun(ctx context.Context, t *tx, id string, n *ktrdr.NewRun) {
	if n == nil {
		n = &ktrdr.NewRun{}
	}
	t.later(ctx, insertRun, id, n.Goal, string(orObject(n.Request)), nullInt(micros(n.Until)), max(n.Size, 1), n.Planned,
		optionalBit(n.MadeUp))
}

// runCancelled says whether the run of an operation was cancelled. lock is
// shareRun or updateRun: it keeps the run from being cancelled until the
// transaction ends. An operation without a run is never cancelled with one.
func runCancelled(ctx context.Context, t *tx, lock query, id string) (bool, error) {
	if id == "" {
		return false, nil
	}
	run, err := loadRun(ctx, t, lock, id)
	if ktrdr.CodeOf(err) == ktrdr.CodeNotFound { // a run without a row was never cancelled
		return false, nil
	}
	return run.State == ktrdr.RunCancelled, err
}

// stillRuns is errRunCancelled if the run of a claimed operation was cancelled.
func stillRuns(ctx context.Context, t *tx, run string) error {
	cancelled, err := runCancelled(ctx, t, shareRun, run)
	if err == nil && cancelled {
		err = errRunCancelled
	}
	return err
}

// Run implements ktrdr.Runs.
func (s *Store) Run(ctx context.Context, id string) (ktrdr.Run, error) {
	run, err := inRead(ctx, s.readOne, func(r queryer) (ktrdr.Run, error) { return loadRun(ctx, r, selectRun, id) })
	if ktrdr.CodeOf(err) != ktrdr.CodeNotFound || len(id) < shortestRun || !strings.HasPrefix(id, "run_") {
		return run, err
	}
	return s.runBeginning(ctx, id)
}

// shortestRun is the shortest beginning of an id that names a run.
const shortestRun = len("run_") + 4

const selectRunsBetween query = `SELECT ` + runColumns + ` FROM runs WHERE id >= $1 AND id < $2 ORDER BY id LIMIT 2`

// runBeginning returns the only run whose id begins so. Ids are ASCII, so that
// the byte after the last one of it bounds them.
func (s *Store) runBeginning(ctx context.Context, id string) (ktrdr.Run, error) {
	if !storable(id, 255) || id[len(id)-1] >= 0x7f {
		return ktrdr.Run{}, noRun(id)
	}
	end := []byte(id)
	end[len(end)-1]++
	found, err := readAll(ctx, s, scanRun, selectRunsBetween, id, string(end))
	switch {
	case err != nil:
		return ktrdr.Run{}, err
	case len(found) == 0 || !strings.HasPrefix(found[0].ID, id):
		return ktrdr.Run{}, noRun(id)
	case len(found) > 1:
		return ktrdr.Run{}, ktrdr.Errorf(ktrdr.CodeInvalid, "several runs begin with %q; give more of the id, which `ktrdr runs --json` shows",
			clip(id))
	}
	return found[0], nil
}

// Runs implements ktrdr.Runs.
func (s *Store) Runs(ctx context.Context, q ktrdr.RunQuery) (page ktrdr.RunPage, err error) {
	text, args, err := runsQuery(&q)
	if err != nil {
		return page, err
	}
	found, err := readAll(ctx, s, scanRun, text, args...)
	page.Runs, page.Next = pageOf(found, q.Limit, func(run ktrdr.Run) string {
		return sortedCursor(q.Sort, run.CreatedAt, run.EndedAt, run.ID)
	})
	return page, err
}

// runsQuery writes the statement of a page and one run more.
func runsQuery(q *ktrdr.RunQuery) (query, []any, error) {
	if err := checkLimit(&q.Limit); err != nil {
		return "", nil, err
	}
	order, err := orderOf(q.Sort, "ended_at")
	if err != nil {
		return "", nil, err
	}
	c := conditions{texts: order.only}
	for _, state := range q.State {
		if !slices.Contains(ktrdr.RunStates, state) {
			return "", nil, ktrdr.Errorf(ktrdr.CodeInvalid, "%q is not a state of a run; the states are %s", clip(string(state)),
				text.Join(ktrdr.RunStates))
		}
	}
	in(&c, "state", q.State)
	if q.Cursor != "" {
		at, id, err := parseSorted(q.Sort, q.Cursor)
		if err != nil {
			return "", nil, err
		}
		c.add(order.follows(), at, id)
	}
	text, args := c.page(runColumns+" FROM runs", order.by(), q.Limit+1)
	return text, args, nil
}

// OpenRuns implements ktrdr.Runs.
func (s *Store) OpenRuns(ctx context.Context) ([]ktrdr.OpenRun, error) {
	return readAll(ctx, s, fields(func(o *ktrdr.OpenRun) []any {
		return append(runFields(&o.Run), &o.OldestOpen, (*moment)(&o.NewestAdded))
	}), selectOpenRuns)
}

const (
	markCancelled query = `UPDATE runs SET state = 'CANCELLED', cancelled_at = {now}, cancelled_by = $2, cancel_reason = $3
		WHERE id = $1 AND cancelled_at IS NULL AND ended_at IS NULL`

	// Researches that wait and have no children are cancelled many at once.
	// MATERIALIZED: PostgreSQL may run a subquery that locks rows more than once,
	// and each time it finds others.
	cancelWaiting query = `WITH waiting AS MATERIALIZED (
			SELECT id FROM operations WHERE run = $1 AND run <> '' AND completed_at IS NULL AND status = 'PENDING' AND parent_id IS NULL
				AND NOT EXISTS (SELECT 1 FROM operations AS child WHERE child.parent_id = operations.id)
			ORDER BY id LIMIT $4 {lock})
		UPDATE operations SET status = 'CANCELLED', cancel_reason = $2,
			error_message = $2, error = $3, completed_at = {now}, ended_by = 'cancel', not_before = NULL
		WHERE id IN (SELECT id FROM waiting) AND status = 'PENDING'`
	selectOpenRoots query = `SELECT id FROM operations WHERE run = $1 AND run <> '' AND completed_at IS NULL
		AND parent_id IS NULL AND cancel_requested = 0 ORDER BY id LIMIT $2`
)

// cancelledAtOnce is how many operations one transaction of CancelBatch cancels.
const cancelledAtOnce = 500

// CancelRun implements ktrdr.Runs. The lock is waited for before the instant is
// taken: what was claimed before it is older than the mark.
func (s *Store) CancelRun(ctx context.Context, id, by, reason string) (ktrdr.Run, error) {
	by, reason = shortened(by), shortened(reason)
	return inWrite(ctx, s, func(t *tx) (ktrdr.Run, error) {
		run, err := loadRun(ctx, t, lockRun, id)
		switch {
		case err != nil || run.State == ktrdr.RunCancelled:
			return run, err
		case !run.EndedAt.IsZero():
			return run, ktrdr.Errorf(ktrdr.CodeConflict, "run %s has ended (%s): there is nothing to cancel", run.ID, run.State)
		}
		t.later(ctx, markCancelled, id, by, reason)
		insertEvent(ctx, t, "", ktrdr.EventRunCancelled, 0, runEvent{Run: id, By: by, Reason: reason})
		t.wakeWorkers()
		return loadRun(ctx, t, selectRun, id)
	})
}

// runEvent is what an event says of a run.
type runEvent struct {
	Run        string `json:"run"`
	By         string `json:"by,omitempty"`
	Reason     string `json:"reason,omitempty"`
	Generation *int   `json:"generation,omitempty"`
	State      string `json:"state,omitempty"`
}

// CancelBatch implements ktrdr.Runs. A run stays cancelled, so its row needs no
// lock before the counts change.
func (s *Store) CancelBatch(ctx context.Context, id string) (more bool, err error) {
	return inWrite(ctx, s, func(t *tx) (bool, error) {
		run, err := loadRun(ctx, t, selectRun, id)
		if err != nil || run.State != ktrdr.RunCancelled {
			return false, err
		}
		n, err := t.exec(ctx, cancelWaiting, id, reasonRunCancelled, cancelledFailure, cancelledAtOnce)
		if err != nil {
			return false, err
		}
		if n > 0 {
			t.wake()
			return true, nil
		}
		return s.cancelStarted(ctx, t, id)
	})
}

// cancelStarted cancels the researches of a run that have started, and its
// confirmations. more says that there may be others.
func (s *Store) cancelStarted(ctx context.Context, t *tx, run string) (more bool, err error) {
	roots, err := collect(ctx, t, scanValue[ktrdr.OperationID], selectOpenRoots, run, cancelledAtOnce)
	if err != nil || len(roots) == 0 {
		return false, err
	}
	s.lockTrees(ctx, t, roots)
	for _, root := range roots {
		_, asks, err := cancelFrom(ctx, t, root, false, reasonRunCancelled)
		if err != nil {
			return false, err
		}
		if err := s.settle(ctx, t, asks...); err != nil {
			return false, err
		}
	}
	return len(roots) == cancelledAtOnce, nil
}

const (
	markGivenUp query = `UPDATE runs SET state = 'GIVEN_UP', given_up = $2 WHERE id = $1 AND state = 'RUNNING' AND ended_at IS NULL`
	settleRun   query = `UPDATE runs SET planned = created WHERE id = $1 AND planned > created AND ended_at IS NULL`

	// A run with operations that are open, or with a generation that is not
	// closed, does not end by itself.
	endRun query = `UPDATE runs SET ended_at = {now}, state = CASE WHEN state = 'RUNNING' THEN 'COMPLETED' ELSE state END
		WHERE id = $1 AND ended_at IS NULL AND open = 0 AND (state <> 'RUNNING' OR closed >= generations AND created >= planned)
			AND NOT EXISTS (SELECT 1 FROM operations WHERE run = $1 AND run <> '' AND completed_at IS NULL)`

	leaseRun query = `UPDATE runs SET tell_lease = {now} + CAST($1 AS BIGINT)
		WHERE id = (SELECT id FROM runs WHERE ended_at IS NOT NULL AND told_at IS NULL AND tell_lease <= {now} ORDER BY ended_at LIMIT 1 {skip})
		RETURNING ` + runColumns
	selectUntold query = `SELECT COUNT(*) FROM runs WHERE ended_at IS NOT NULL AND told_at IS NULL AND tell_lease <= {now}`
	markTold     query = `UPDATE runs SET told_at = {now} WHERE id = $1 AND told_at IS NULL`
)

// GiveUpRun implements ktrdr.Runs.
func (s *Store) GiveUpRun(ctx context.Context, id, why string) (changed bool, err error) {
	return s.changeRun(ctx, id, ktrdr.EventRunGivenUp, why, markGivenUp, id, shortened(why))
}

// EndRun implements ktrdr.Runs.
func (s *Store) EndRun(ctx context.Context, id string) (changed bool, err error) {
	return s.changeRun(ctx, id, ktrdr.EventRunEnded, "", endRun, id)
}

// changeRun runs a conditional update of a run and writes an event if it changed
// anything. The row is locked first: a statement that waits for a row sees the
// row as it is then, and the rest of the database as it was before.
func (s *Store) changeRun(ctx context.Context, id string, kind ktrdr.EventKind, why string, text query,
	args ...any,
) (changed bool, err error) {
	return inWrite(ctx, s, func(t *tx) (bool, error) {
		if _, err := loadRun(ctx, t, updateRun, id); err != nil {
			return false, err
		}
		n, err := t.exec(ctx, text, args...)
		if err != nil || n != 1 {
			return false, err
		}
		if kind == ktrdr.EventRunEnded {
			if err := s.chainRun(ctx, t, id); err != nil {
				return false, err
			}
		}
		run, err := loadRun(ctx, t, selectRun, id)
		if err != nil {
			return false, err
		}
		insertEvent(ctx, t, "", kind, 0, runEvent{Run: id, Reason: shortened(why), State: string(run.State)})
		return true, nil
	})
}

// SettleRun implements ktrdr.Runs.
func (s *Store) SettleRun(ctx context.Context, id string) error {
	return s.write(ctx, normal, func(t *tx) error {
		n, err := t.exec(ctx, settleRun, id)
		if n > 0 {
			t.wake()
		}
		return err
	})
}

// NextUndelivered implements ktrdr.Runs.
func (s *Store) NextUndelivered(ctx context.Context, lease time.Duration) (*ktrdr.Run, error) {
	due, err := readRow(ctx, s, scanValue[int64], selectUntold) // looking costs no transaction
	if err != nil || due == 0 {
		return nil, err
	}
	return inWrite(ctx, s, func(t *tx) (*ktrdr.Run, error) {
		run, found, err := optionalRow(scanRun(t.row(ctx, leaseRun, lease.Microseconds())))
		if !found {
			return nil, err
		}
		return &run, nil
	})
}

// MarkDelivered implements ktrdr.Runs.
func (s *Store) MarkDelivered(ctx context.Context, id string) error {
	_, err := s.exec(ctx, markTold, id)
	return err
}
