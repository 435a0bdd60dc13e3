package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/ktrdr/ktrdr"
)

// parentsAtOnce is how many parents, with their children, are held in memory
// while their plans are asked.
const parentsAtOnce = 32

const selectLiveParents query = `SELECT {operation} FROM operations
	WHERE has_plan = 1 AND id > $1 AND ` + isLive + ` ORDER BY id LIMIT $2`

// AskPlans implements ktrdr.Recovery. Plans are asked twice: first beside the
// writers, about rows as they are, and again with the tree locked only where
// the first answer was that there is something to do.
func (s *Store) AskPlans(ctx context.Context) (moved int, err error) {
	var errs []error
	for after := ktrdr.OperationID(""); ; {
		var parents []operationRow
		var children map[ktrdr.OperationID][]operationRow
		err := s.read(ctx, func(r queryer) (err error) {
			parents, children, err = families(ctx, r, after)
			return err
		})
		if err != nil {
			return moved, errors.Join(append(errs, err)...)
		}
		for _, p := range parents {
			after = p.ID
			todo, err := s.undecided(ctx, p, children[p.ID])
			if todo {
				err = s.askAgain(ctx, p.ID)
			}
			switch {
			case err != nil: // the others are still asked
				errs = append(errs, err)
			case todo:
				moved++
			}
		}
		if len(parents) < parentsAtOnce {
			return moved, errors.Join(errs...)
		}
	}
}

// families returns the live parents after an id, and their children in order.
func families(ctx context.Context, r queryer, after ktrdr.OperationID) ([]operationRow, map[ktrdr.OperationID][]operationRow, error) {
	parents, err := collect(ctx, r, scanOperation, selectLiveParents, after, parentsAtOnce)
	if err != nil || len(parents) == 0 {
		return nil, nil, err
	}
	values, args := rowsOf(1, parents, []string{"TEXT"}, func(p operationRow) []any { return []any{p.ID} })
	all, err := collect(ctx, r, scanOperation, query(`SELECT {operation} FROM operations WHERE parent_id IN (`+values+`)`), args...)
	if err != nil {
		return nil, nil, err
	}
	slices.SortFunc(all, func(a, b operationRow) int {
		return cmp.Or(cmp.Compare(a.Ordinal, b.Ordinal), cmp.Compare(a.ID, b.ID))
	})
	children := map[ktrdr.OperationID][]operationRow{}
	for _, child := range all {
		children[child.Parent] = append(children[child.Parent], child)
	}
	return parents, children, nil
}

// undecided says whether there is something to do for a live parent. A plan may
// note the same whenever it is asked; that alone is nothing to do.
func (s *Store) undecided(ctx context.Context, p operationRow, children []operationRow) (bool, error) {
	if p.closed() {
		return !slices.ContainsFunc(children, func(c operationRow) bool { return !c.Status.Terminal() }), nil
	}
	plan := s.types[p.Type].Plan
	if plan == nil {
		return false, nil // another backend knows it
	}
	d, err := s.consult(plan, p, children, ktrdr.WhyReconcile)
	if err != nil {
		return true, nil //nolint:nilerr // how that ends is decided where it can be written
	}
	notes := d.Notes
	d.Notes = nil
	if d.Changes() || len(notes) == 0 {
		return d.Changes(), nil
	}
	return s.unnoted(ctx, notes)
}

func (s *Store) askAgain(ctx context.Context, id ktrdr.OperationID) error {
	return s.write(ctx, normal, func(t *tx) error {
		s.lockTree(ctx, t, id)
		return s.settle(ctx, t, ask{id, ktrdr.WhyReconcile})
	})
}
