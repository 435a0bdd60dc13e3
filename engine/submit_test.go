package engine_test

import (
	"context"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/dummy"
	"github.com/ktrdr/ktrdr/engine"
)

// takenIDs is a store in which the first ids are taken already.
type takenIDs struct {
	ktrdr.Store
	taken int
	tried []ktrdr.OperationID
}

func (s *takenIDs) CreateAll(ctx context.Context, ops []ktrdr.NewOperation, keys []ktrdr.IdempotencyKey) ([]ktrdr.Operation, error) {
	s.tried = append(s.tried, ops[0].ID)
	if s.taken--; s.taken >= 0 {
		return nil, ktrdr.Errorf(ktrdr.CodeConflict, "the id is taken")
	}
	return s.Store.CreateAll(ctx, ops, keys)
}

func TestSubmitAll_UnderAKeyTellsAReplayByItsID(t *testing.T) {
	t.Parallel()
	store := &takenIDs{taken: 1}
	l := newLab(t, func(c *engine.Config) { store.Store, c.Store = c.Store, store })
	n, err := dummy.Operation(dummy.Spec{Steps: 1})
	if err != nil {
		t.Fatal(err)
	}
	submit := func() (given, made ktrdr.OperationID) {
		ops := []ktrdr.NewOperation{n}
		all, err := l.SubmitAll(t.Context(), ops, []ktrdr.IdempotencyKey{{Key: "key"}})
		if err != nil {
			t.Fatal(err)
		}
		return ops[0].ID, all[0].ID
	}
	given, first := submit()
	if given == "" || given != first || len(store.tried) != 2 || store.tried[0] == store.tried[1] {
		t.Errorf("created %s as %s after %q, want its id at the second try", given, first, store.tried)
	}
	if given, again := submit(); again != first || given == again {
		t.Errorf("repeated: %s as %s, want %s under another id", given, again, first)
	}
	store.taken = 9
	_, err = l.SubmitAll(t.Context(), []ktrdr.NewOperation{n}, []ktrdr.IdempotencyKey{{Key: "other"}})
	if ktrdr.CodeOf(err) != ktrdr.CodeConflict {
		t.Errorf("every id is taken: %v, want CodeConflict", err)
	}
}
