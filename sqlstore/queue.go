package sqlstore

import (
	"cmp"
	"context"
	"slices"

	"github.com/ktrdr/ktrdr"
)

// A queue's line is moved by one transaction at a time, so that what it counted
// is still so when it commits. The line is locked before any tree, and no
// transaction that holds a tree asks for a line.

// inLine, started, alone and nextOfRun are spelled as the partial indexes spell
// them.
const (
	inLine  = `queue = $1 AND queue <> '' AND status = 'PENDING'`
	started = `queue = $1 AND queue <> '' AND ` + isLive

	// takesRoom is true of what has started, but for a parent that waits for an
	// answer: a child that nothing may claim yet, and nothing ever claimed.
	takesRoom = started + ` AND NOT EXISTS (SELECT 1 FROM operations AS child WHERE child.parent_id = operations.id
		AND child.status = 'PENDING' AND child.attempts = 0 AND child.not_before > {now})`

	// alone is true of what may start and belongs to no run, or is a retry. A
	// retry may come after the end of its run.
	alone = inLine + ` AND (run = '' OR retry_of IS NOT NULL) AND (run = '' OR EXISTS (SELECT 1 FROM runs
		WHERE runs.id = operations.run AND runs.cancelled_at IS NULL AND runs.closed >= operations.generation))`

	// nextOfRun is true of the researches of a run that may start: those of its
	// first generation that is not closed. Later generations are not looked at,
	// however long they are.
	nextOfRun = `o.run = runs.id AND o.run <> '' AND o.generation = runs.closed AND o.retry_of IS NULL
		AND o.queue = $1 AND o.queue <> '' AND o.status = 'PENDING'`
	isRunning = `runs.ended_at IS NULL AND runs.state = 'RUNNING'`
)

const (
	// selectTurn finds the first of what may start: the first that is alone, the
	// first of each run, and the first of all these.
	selectTurn query = `SELECT CASE WHEN active < $2 THEN COALESCE((SELECT id FROM (
				SELECT id, priority, session FROM (SELECT id, priority, session FROM operations
					WHERE ` + alone + ` ORDER BY priority DESC, session LIMIT 1) AS single
				UNION ALL
				SELECT first.id, first.priority, first.session FROM runs JOIN operations AS first ON first.id = (
					SELECT o.id FROM operations AS o WHERE ` + nextOfRun + ` ORDER BY o.priority DESC, o.session LIMIT 1)
				WHERE ` + isRunning + `) AS line
			ORDER BY priority DESC, session LIMIT 1), '') ELSE '' END
		FROM (SELECT COUNT(*) AS active FROM operations WHERE ` + takesRoom + `) AS live`

	// Those whose turn has come are as good as started: there is no room for
	// another when they fill it. Of each line no more are counted than fill it.
	countTaken query = `SELECT active, (SELECT COUNT(*) FROM (SELECT 1 FROM operations WHERE ` + alone + ` LIMIT $2) AS single)
			+ CAST(COALESCE((SELECT SUM((SELECT COUNT(*) FROM (SELECT 1 FROM operations AS o WHERE ` + nextOfRun + `
				ORDER BY o.priority DESC, o.session LIMIT $2) AS ready)) FROM runs WHERE ` + isRunning + `), 0) AS BIGINT)
		FROM (SELECT COUNT(*) AS active FROM operations WHERE ` + takesRoom + `) AS live`

	countInLine query = `SELECT COUNT(*) FROM operations WHERE ` + inLine

	// outlineColumns is what outlines reads, in its order.
	outlineColumns = `id, operation_type, status, priority, is_backend_local, metadata, cancel_reason, created_at, completed_at, run,
		generation, idx, session`

	selectStarted query = `SELECT {operation} FROM operations WHERE ` + started
	selectWork    query = `SELECT {operation} FROM operations
		WHERE parent_id IN (SELECT id FROM operations WHERE ` + started + `) AND ` + isOpen
	selectInLine query = `SELECT ` + outlineColumns + ` FROM operations WHERE ` + inLine + ` ORDER BY priority DESC, session LIMIT $2`

	// No index tells who ended last; but they end nearly in the order in which
	// they came.
	selectOut query = `SELECT ` + outlineColumns + ` FROM operations
		WHERE queue = $1 AND queue <> '' AND completed_at IS NOT NULL ORDER BY session DESC LIMIT $2`

	selectQueues query = `SELECT queue, SUM(active), SUM(waiting) FROM (
			SELECT queue, COUNT(*) AS active, 0 AS waiting FROM operations WHERE queue <> '' AND ` + isLive + ` GROUP BY queue
			UNION ALL
			SELECT queue, 0, COUNT(*) FROM operations WHERE queue <> '' AND status = 'PENDING' GROUP BY queue) AS counted
		GROUP BY queue ORDER BY queue`

	nextSession query = `INSERT INTO meta (key, value) VALUES ($1, '1')
		ON CONFLICT (key) DO UPDATE SET value = CAST(CAST(meta.value AS BIGINT) + 1 AS TEXT)
		RETURNING CAST(value AS BIGINT)`
)

// newest is how many ended operations are shown.
const newest = 64

// lockLine locks the line of a queue until the transaction ends: no other moves it.
func (s *Store) lockLine(ctx context.Context, t *tx, name string) { s.lockMeta(ctx, t, metaQueue+name) }

// turn returns the operation whose turn it is; "" when none waits, or there is no
// room.
func turn(ctx context.Context, q queryer, name string, limit int) (ktrdr.OperationID, error) {
	return scanValue[ktrdr.OperationID](q.row(ctx, selectTurn, name, limit))
}

// createQueued stores a new parent that stands in a queue, and starts it if its
// turn has come with it.
func (s *Store) createQueued(ctx context.Context, t *tx, id ktrdr.OperationID, n ktrdr.NewOperation) (operationRow, error) {
	s.lockLine(ctx, t, n.Queue.Name)
	if !n.Queue.Force {
		if err := hasRoom(ctx, t, n.Queue); err != nil {
			return operationRow{}, err
		}
	}
	session, err := scanValue[int64](t.row(ctx, nextSession, metaSessions))
	if err != nil {
		return operationRow{}, err
	}
	e, err := enter(ctx, t, id, n)
	if err != nil {
		return operationRow{}, err
	}
	op, err := s.insertOperation(ctx, t, id, n, nil, session, e)
	if err != nil || e.run.Closed < n.Queue.Generation && n.Queue.Run != "" { // most of a long run has to wait
		return op, err
	}
	if first, err := turn(ctx, t, n.Queue.Name, n.Queue.Limit); err != nil || first != op.ID {
		return op, err
	}
	return s.setOut(ctx, t, op.ID)
}

func hasRoom(ctx context.Context, t *tx, q *ktrdr.Queue) error {
	var active, ready, waiting int
	if err := t.row(ctx, countTaken, q.Name, q.Limit).Scan(&active, &ready); err != nil || active+ready < q.Limit {
		return err
	}
	if err := t.row(ctx, countInLine, q.Name).Scan(&waiting); err != nil {
		return err
	}
	return ktrdr.AtCapacity(ktrdr.Capacity{Queue: q.Name, Active: active, Limit: q.Limit, Waiting: waiting})
}

// checkQueue refuses a place in a line that no operation could have.
func checkQueue(n ktrdr.NewOperation) error {
	q := n.Queue
	switch {
	case q == nil:
		return nil
	case !n.HasPlan || n.Parent != "":
		return ktrdr.Errorf(ktrdr.CodeInvalid, "only a parent that has no parent of its own can stand in a queue")
	case q.Name == "" || !storable(q.Name, 64) || !storable(q.Run, 255):
		return ktrdr.Errorf(ktrdr.CodeInvalid, "the name of a queue is 1 to 64 bytes of text, that of a run at most 255")
	case q.Limit < 1:
		return ktrdr.Errorf(ktrdr.CodeInvalid, "the limit of the queue %s must be at least 1, not %d", q.Name, q.Limit)
	case q.Generation < 0 || q.Index < 0:
		return ktrdr.Errorf(ktrdr.CodeInvalid, "generation and index must not be negative: %d and %d", q.Generation, q.Index)
	}
	return nil
}

// StartQueued implements ktrdr.Queues.
func (s *Store) StartQueued(ctx context.Context, name string, limit int) (started int, err error) {
	for {
		next, err := inRead(ctx, s.peek, func(r queryer) (ktrdr.OperationID, error) { // looking costs no transaction
			return turn(ctx, r, name, limit)
		})
		if err != nil || next == "" {
			return started, err
		}
		begun, err := s.startNext(ctx, name, limit)
		if err != nil || begun == "" {
			return started, err
		}
		started++
	}
}

// turnTries is how often one transaction looks again because the operation whose
// turn it was has been cancelled. The next call continues.
const turnTries = 100

// startNext starts the operation whose turn it is; "" when none waits any more, or
// only another backend has its plan.
func (s *Store) startNext(ctx context.Context, name string, limit int) (ktrdr.OperationID, error) {
	return inWrite(ctx, s, func(t *tx) (ktrdr.OperationID, error) {
		s.lockLine(ctx, t, name)
		for range turnTries {
			next, err := turn(ctx, t, name, limit)
			if err != nil || next == "" {
				return "", err
			}
			s.lockTree(ctx, t, next)
			op, err := load(ctx, t, next)
			if err != nil || s.types[op.Type].Plan == nil {
				return "", err
			}
			if op.Status != ktrdr.Pending {
				continue // cancelled between the two looks
			}
			cancelled, err := runCancelled(ctx, t, updateRun, op.Run) // a plan that fails at once is counted
			if err != nil {
				return "", err
			}
			if cancelled { // between the two looks, too
				continue
			}
			t.wakeWorkers()
			_, err = s.setOut(ctx, t, next)
			return next, err
		}
		return "", nil
	})
}

// InQueue implements ktrdr.Queues.
func (s *Store) InQueue(ctx context.Context, name string, most int) (ktrdr.QueueState, error) {
	return inRead(ctx, s.read, func(r queryer) (q ktrdr.QueueState, err error) {
		q.Count.Name = name
		if q.Started, err = collect(ctx, r, scanPlain, selectStarted, name); err != nil {
			return q, err
		}
		q.Count.Active = len(q.Started)
		slices.SortFunc(q.Started, func(a, b ktrdr.Operation) int { return cmp.Compare(a.Session, b.Session) })
		if q.Children, err = collect(ctx, r, scanPlain, selectWork, name); err != nil {
			return q, err
		}
		if q.Waiting, err = outlines(ctx, r, selectInLine, name, most); err != nil {
			return q, err
		}
		if err := r.row(ctx, countInLine, name).Scan(&q.Count.Waiting); err != nil {
			return q, err
		}
		if q.Ended, err = outlines(ctx, r, selectOut, name, newest); err != nil || len(q.Ended) == 0 {
			return q, err
		}
		last, err := load(ctx, r, slices.MaxFunc(q.Ended, func(a, b ktrdr.Operation) int { return a.CompletedAt.Compare(b.CompletedAt) }).ID)
		q.Last = &last.Operation
		return q, err
	})
}

// outlines reads what can be seen from outside of some in a queue.
func outlines(ctx context.Context, r queryer, text query, queue string, most int) ([]ktrdr.Operation, error) {
	return collect(ctx, r, func(row scanner) (ktrdr.Operation, error) {
		op := ktrdr.Operation{HasPlan: true, Queue: &ktrdr.QueuePlace{Name: queue}}
		err := row.Scan(&op.ID, &op.Type, &op.Status, &op.Priority, (*boolean)(&op.BackendLocal), (*document)(&op.Metadata), &op.CancelReason,
			(*moment)(&op.CreatedAt), (*moment)(&op.CompletedAt), &op.Queue.Run, &op.Queue.Generation, &op.Queue.Index, &op.Session)
		op.Root, op.Run = op.ID, op.Queue.Run
		return op, err
	}, text, queue, most)
}

// QueueCounts implements ktrdr.Queues.
func (s *Store) QueueCounts(ctx context.Context) (all []ktrdr.QueueCount, err error) {
	return readAll(ctx, s, fields(func(c *ktrdr.QueueCount) []any { return []any{&c.Name, &c.Active, &c.Waiting} }), selectQueues)
}
