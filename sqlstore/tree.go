package sqlstore

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/ktrdr/ktrdr"
)

// A tree is changed by one transaction at a time. On PostgreSQL a transaction that
// may touch more than one of its rows locks its root first; one that touches several
// trees locks their roots in the order of their ids. Claims, saves and reports touch
// single rows, or pass over locked ones, and need no such lock. So no two
// transactions ever wait for each other.

const (
	lockRoot  query = `SELECT id FROM operations WHERE id = (SELECT root_id FROM operations WHERE id = $1) {lock}`
	lockRoots query = `SELECT id FROM operations WHERE id IN ({ids}) ORDER BY id {lock}`
)

// lockTree locks the tree of id until the transaction ends: no other changes it. A missing operation locks nothing.
func (s *Store) lockTree(ctx context.Context, t *tx, id ktrdr.OperationID) {
	if s.isPostgres() { // on SQLite the transaction has the whole file
		t.later(ctx, lockRoot, id)
	}
}

// lockTrees is lockTree for several roots.
func (s *Store) lockTrees(ctx context.Context, t *tx, roots []ktrdr.OperationID) {
	if s.isPostgres() {
		values, args := rowsOf(1, distinct(roots), []string{"TEXT"}, func(id ktrdr.OperationID) []any { return []any{id} })
		t.later(ctx, query(strings.Replace(string(lockRoots), "{ids}", values, 1)), args...)
	}
}

// closed says whether the operation is cancelled, being cancelled or only
// waiting for its children to end: nothing is started below it any more.
func (op *operationRow) closed() bool {
	return op.Status == ktrdr.Cancelled || op.CancelRequested || op.ending != nil
}

// parentOf is the question to ask when op has ended.
func parentOf(op operationRow) []ask {
	if op.Parent == "" {
		return nil
	}
	return []ask{{op.Parent, ktrdr.WhyChild}}
}

// cancelTree cancels what is PENDING and flags what is live, from $1 or, when
// $2 is 1, from its children downwards. $3 is the reason; $4 the failure.
const cancelTree query = `WITH RECURSIVE tree(id, level) AS (
		SELECT id, 0 FROM operations WHERE id = $1
		UNION ALL
		SELECT operations.id, level + 1 FROM operations JOIN tree ON operations.parent_id = tree.id
	)
	UPDATE operations SET
		cancel_reason = CASE WHEN cancel_requested = 1 THEN cancel_reason ELSE $3 END,
		cancel_requested = CASE WHEN status = 'PENDING' THEN 0 ELSE 1 END,
		error_message = CASE WHEN status = 'PENDING' THEN COALESCE(NULLIF($3, ''), 'Cancelled') ELSE error_message END,
		error = CASE WHEN status = 'PENDING' THEN $4 ELSE error END,
		completed_at = CASE WHEN status = 'PENDING' THEN {now} ELSE completed_at END,
		ended_by = CASE WHEN status = 'PENDING' THEN 'cancel' ELSE ended_by END,
		status = CASE WHEN status = 'PENDING' THEN 'CANCELLED' ELSE status END, not_before = NULL
	WHERE id IN (SELECT id FROM tree WHERE level >= $2) AND ` + isOpen + `
	RETURNING {operation}`

// cancelFrom makes Step's Cancel transition for every open operation of the
// tree below id, with or without id itself, and returns what it reached, the
// deepest first, and the parents to ask about it.
func cancelFrom(ctx context.Context, t *tx, id ktrdr.OperationID, belowOnly bool, reason string) ([]operationRow, []ask, error) {
	reached, err := collect(ctx, t, scanOperation, cancelTree, id, bit(belowOnly), ktrdr.CleanText(reason), cancelledFailure)
	if err != nil {
		return nil, nil, err
	}
	t.wakeWorkers()
	slices.SortFunc(reached, func(a, b operationRow) int { return cmp.Or(cmp.Compare(b.depth, a.depth), cmp.Compare(a.ID, b.ID)) })
	var asks []ask
	for _, op := range reached {
		switch {
		case op.HasPlan: // a parent ends by itself when no child of it is open
			asks = append(asks, ask{op.ID, ktrdr.WhyChild})
		case op.Status.Terminal():
			asks = append(asks, parentOf(op)...)
		}
	}
	return reached, slices.Compact(asks), nil
}

// Cancel implements ktrdr.Operations. The lock on the tree keeps the operation
// from ending between the look and the update.
func (s *Store) Cancel(ctx context.Context, id ktrdr.OperationID, reason string) (ktrdr.Operation, []ktrdr.OperationID, error) {
	if !id.Valid() {
		return ktrdr.Operation{}, nil, notFound(id)
	}
	var op operationRow
	var reached []operationRow
	err := s.write(ctx, normal, func(t *tx) error {
		s.lockTree(ctx, t, id)
		target, err := load(ctx, t, id)
		if err != nil {
			return err
		}
		if target.Status.Terminal() {
			return refusal(ctx, t, id, ktrdr.Act{Input: ktrdr.Cancel})
		}
		var asks []ask
		if reached, asks, err = cancelFrom(ctx, t, id, false, reason); err != nil {
			return err
		}
		if err := s.settle(ctx, t, asks...); err != nil {
			return err
		}
		op, err = load(ctx, t, id)
		return err
	})
	if err != nil {
		return ktrdr.Operation{}, nil, err
	}
	ids := fieldOf(reached, func(op operationRow) ktrdr.OperationID { return op.ID })
	slices.Reverse(ids) // from the top
	return op.Operation, ids, nil
}
