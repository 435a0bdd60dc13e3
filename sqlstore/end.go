package sqlstore

import (
	"context"
	"slices"

	"github.com/ktrdr/ktrdr"
)

const (
	setEnding query = `UPDATE operations SET ending = $3
		WHERE id = $1 AND epoch = $2 AND has_plan = 1 AND ` + isLive
	countOpen query = `SELECT COUNT(*) FROM operations WHERE parent_id = $1 AND ` + isOpen
)

// stop ends a parent as its plan wants. A parent never ends before its
// children: what is still open below it is cancelled, and the parent ends when
// the last of it has.
func (s *Store) stop(ctx context.Context, t *tx, p operationRow, how ktrdr.Finished) ([]ask, error) {
	busy, err := scanValue[int](t.row(ctx, countOpen, p.ID))
	if err != nil {
		return nil, err
	}
	if busy == 0 {
		return s.endParent(ctx, t, p, how)
	}
	if how, err = endOf(p, how); err != nil {
		return nil, err
	}
	text, err := marshal(how)
	t.fail(err)
	t.later(ctx, setEnding, p.ID, p.Epoch, text)
	_, asks, err := cancelFrom(ctx, t, p.ID, true, "Its parent has ended")
	return asks, err
}

// endClosed ends a parent that was cancelled or stopped, once nothing below it
// is open.
func (s *Store) endClosed(ctx context.Context, t *tx, p operationRow, children []operationRow) ([]ask, error) {
	if slices.ContainsFunc(children, func(c operationRow) bool { return !c.Status.Terminal() }) {
		return nil, nil
	}
	how := ktrdr.Finished{Operation: p.ID, Epoch: p.Epoch, Outcome: ktrdr.Cancelled}
	if p.ending != nil {
		how = *p.ending
	}
	if p.CancelRequested { // so it ends, whatever its plan wanted
		if err := moveParent(ctx, t, p, ktrdr.Decision{Finish: &ktrdr.Finished{Outcome: ktrdr.Cancelled}}); err != nil {
			return nil, err
		}
	}
	return s.endParent(ctx, t, p, how)
}

// endOf makes how a parent's end: one that cannot be stored is a failure.
func endOf(p operationRow, how ktrdr.Finished) (ktrdr.Finished, error) {
	how, err := tidy(how)
	if err != nil {
		how, err = tidy(failedPlan(p, err))
	}
	how.Operation, how.Epoch, how.Checkpoint = p.ID, p.Epoch, nil
	return how, err
}

// endParent makes Step's Finish transition for a parent; its own parent is to
// be asked.
func (s *Store) endParent(ctx context.Context, t *tx, p operationRow, how ktrdr.Finished) ([]ask, error) {
	how, err := endOf(p, how)
	if err != nil {
		return nil, err
	}
	op, err := s.end(ctx, t, how, true)
	if err != nil {
		return nil, err
	}
	return parentOf(op), nil
}
