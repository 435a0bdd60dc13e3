package sqlstore

import (
	"context"
	"slices"

	"github.com/ktrdr/ktrdr"
)

// Cancel implements ktrdr.Operations. The lock on the tree keeps the operation
// from ending between the look and the update.
func (s *Store) Cancel(ctx context.Context, id ktrdr.OperationID, reason string) (ktrdr.Operation, []ktrdr.OperationID, error) {
	if !id.Valid() {
		return ktrdr.Operation{}, nil, notFound(id)
	}
	var op operationRow
	var reached []operationRow
	err := s.write(ctx, normal, func(t *tx) error {
		if err := s.lockTree(ctx, t, id); err != nil {
			return err
		}
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
	ids := make([]ktrdr.OperationID, len(reached))
	for i, op := range reached {
		ids[i] = op.ID
	}
	slices.Reverse(ids) // from the top
	return op.Operation, ids, nil
}
