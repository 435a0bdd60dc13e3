package sqlstore

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"
	"unicode/utf8"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/text"
)

// errTaken says that a made-up id exists already: try another.
var errTaken = errors.New("operation id is taken")

const idTries = 5

// Create implements ktrdr.Operations.
func (s *Store) Create(ctx context.Context, n ktrdr.NewOperation, key ktrdr.IdempotencyKey) (ktrdr.Operation, error) {
	made, err := s.CreateAll(ctx, []ktrdr.NewOperation{n}, []ktrdr.IdempotencyKey{key})
	if err != nil {
		return ktrdr.Operation{}, err
	}
	return made[0], nil
}

// CreateAll implements ktrdr.Operations.
func (s *Store) CreateAll(ctx context.Context, all []ktrdr.NewOperation, keys []ktrdr.IdempotencyKey) ([]ktrdr.Operation, error) {
	if keys == nil {
		keys = make([]ktrdr.IdempotencyKey, len(all))
	}
	if len(all) > ktrdr.MaxCreate || len(keys) != len(all) {
		return nil, ktrdr.Errorf(ktrdr.CodeInvalid, "%d operations with %d keys: at most %d are created at once, each with its key", len(all),
			len(keys), ktrdr.MaxCreate)
	}
	for i, n := range all {
		if err := s.checkNew(n); err != nil {
			return nil, err
		}
		if !storable(keys[i].Key, 255) {
			return nil, ktrdr.Errorf(ktrdr.CodeInvalid, "an idempotency key is at most 255 bytes of text")
		}
	}
	for try := 1; ; try++ {
		made, err := inWrite(ctx, s, func(t *tx) ([]ktrdr.Operation, error) {
			made := make([]ktrdr.Operation, len(all))
			for i, n := range all {
				op, err := s.create(ctx, t, newID(n), n, keys[i])
				if errors.Is(err, errTaken) && n.ID != "" {
					err = ktrdr.Errorf(ktrdr.CodeConflict, "operation %s exists already", n.ID)
				}
				if err != nil {
					return nil, err
				}
				made[i] = op.Operation
			}
			return made, nil
		})
		if try == idTries || !errors.Is(err, errTaken) {
			return made, err
		}
	}
}

// newID is the id of a new operation: what it asks for, or one of ours.
func newID(n ktrdr.NewOperation) ktrdr.OperationID {
	return cmp.Or(n.ID, ktrdr.NewOperationID(n.Type, time.Now()))
}

func (s *Store) create(ctx context.Context, t *tx, id ktrdr.OperationID, n ktrdr.NewOperation,
	key ktrdr.IdempotencyKey,
) (operationRow, error) {
	if key.Key != "" {
		before, err := remember(ctx, t, key, id)
		switch {
		case err != nil:
			return operationRow{}, err
		case before != "":
			return load(ctx, t, before)
		}
	}
	if n.Queue != nil {
		return s.createQueued(ctx, t, id, n)
	}
	var parent *operationRow
	var e entered
	var err error
	if n.Parent == "" {
		e, err = enter(ctx, t, id, n)
	} else {
		parent, err = s.openParent(ctx, t, n.Parent)
	}
	if err != nil {
		return operationRow{}, err
	}
	op, err := s.insertOperation(ctx, t, id, n, parent, 0, e)
	if err != nil || !n.HasPlan {
		return op, err
	}
	return s.setOut(ctx, t, op.ID)
}

// setOut claims a PENDING parent for its plan and asks it for the first time.
func (s *Store) setOut(ctx context.Context, t *tx, id ktrdr.OperationID) (operationRow, error) {
	if err := claimPlan(ctx, t, id); err != nil {
		return operationRow{}, err
	}
	if err := s.settle(ctx, t, ask{id, ktrdr.WhyCreated}); err != nil {
		return operationRow{}, err
	}
	return load(ctx, t, id)
}

// openParent locks the parent's tree and refuses a parent that takes no more
// children.
func (s *Store) openParent(ctx context.Context, t *tx, id ktrdr.OperationID) (*operationRow, error) {
	s.lockTree(ctx, t, id)
	p, err := load(ctx, t, id)
	switch {
	case err != nil:
		return nil, err
	case p.Status.Terminal() || p.closed():
		return nil, ktrdr.Errorf(ktrdr.CodeConflict, "operation %s has ended or is ending; it takes no more children", id)
	case p.depth >= maxDepth:
		return nil, ktrdr.Errorf(ktrdr.CodeInvalid, "operation %s is %d levels below its root; no operation may be deeper", id, p.depth)
	}
	cancelled, err := runCancelled(ctx, t, shareRun, p.Run)
	if err == nil && cancelled {
		err = ktrdr.Errorf(ktrdr.CodeConflict, "operation %s takes no more children: its run %s was cancelled", id, p.Run)
	}
	return &p, err
}

var (
	insertUnlessTaken = insertNew + ` ON CONFLICT (id) DO NOTHING`
	insertAndRead     = insertUnlessTaken + ` RETURNING {operation}`
)

// insertOperation stores a new PENDING operation; errTaken when the id is.
func (s *Store) insertOperation(
	ctx context.Context, t *tx, id ktrdr.OperationID, n ktrdr.NewOperation, parent *operationRow, session int64, e entered,
) (operationRow, error) {
	t.wakeWorkers()
	op, err := scanOperation(t.row(ctx, insertAndRead, s.newRow(id, n, parent, session, e).inserted()...))
	return op, ifNoRow(err, errTaken)
}

// newRow is the row of a new operation; the session is 0 unless it stands in a
// queue.
func (s *Store) newRow(id ktrdr.OperationID, n ktrdr.NewOperation, parent *operationRow, session int64, e entered) *operationRow {
	place := placeOf(n)
	r := &operationRow{queue: place.Name, generation: place.Generation, index: place.Index, look: e.look}
	r.Operation = ktrdr.Operation{
		ID: id, Type: n.Type, Status: ktrdr.Pending, Priority: n.Priority, Parent: n.Parent, Root: id, Ordinal: n.Ordinal,
		BackendLocal: n.BackendLocal || s.types[n.Type].Local, HasPlan: n.HasPlan, Run: place.Run, Session: session,
		Spec: orObject(n.Spec), State: n.State, Metadata: orObject(n.Metadata), Trials: e.trials, RetryOf: n.RetryOf, Trace: n.Trace,
	}
	if parent != nil {
		r.Root, r.depth, r.Trace = parent.Root, parent.depth+1, parent.Trace
		r.Run, r.generation, r.index = parent.Run, parent.generation, parent.index
	}
	return r
}

// placeOf is where a new operation stands in a queue and in a run.
func placeOf(n ktrdr.NewOperation) ktrdr.Queue {
	if n.Queue != nil {
		return *n.Queue
	}
	return ktrdr.Queue{Run: n.Run, Generation: n.Generation}
}

func orObject(text json.RawMessage) json.RawMessage {
	if len(text) == 0 {
		return json.RawMessage("{}")
	}
	return text
}

// mostTrace is more than the 55 bytes of a traceparent of version 00.
const mostTrace = 64

// checkNew refuses what no later step could make sense of.
func (s *Store) checkNew(n ktrdr.NewOperation) error {
	if err := s.checkTypes(n.Type); err != nil {
		return err
	}
	switch {
	case n.ID != "" && !n.ID.Valid():
		return ktrdr.Errorf(ktrdr.CodeInvalid, "%q is not an operation id", clip(string(n.ID)))
	case n.RetryOf != "" && !n.RetryOf.Valid():
		return ktrdr.Errorf(ktrdr.CodeInvalid, "%q is not an operation id to retry", clip(string(n.RetryOf)))
	case !storable(n.Trace, mostTrace):
		return ktrdr.Errorf(ktrdr.CodeInvalid, "a traceparent is at most %d bytes of text", mostTrace)
	case n.HasPlan && s.types[n.Type].Plan == nil:
		return ktrdr.Errorf(ktrdr.CodeInvalid, "this backend has no plan for operations of type %s", n.Type)
	}
	for what, text := range map[string]json.RawMessage{"spec": n.Spec, "state": n.State, "metadata": n.Metadata} {
		if len(text) > 0 && !validJSON(text) {
			return ktrdr.Errorf(ktrdr.CodeInvalid, "the %s of a new operation is not valid JSON", what)
		}
	}
	return cmp.Or(checkQueue(n), checkEntry(n))
}

func (s *Store) checkTypes(types ...ktrdr.Type) error {
	for _, t := range types {
		if !s.types.Known(t) {
			return ktrdr.Errorf(ktrdr.CodeInvalid, "%q is not an operation type; the types are %s", clip(string(t)), text.Join(s.types.Names()))
		}
	}
	return nil
}

// validJSON also asks for valid UTF-8, which encoding/json does not inside
// strings and PostgreSQL does.
func validJSON(text json.RawMessage) bool { return json.Valid(text) && utf8.Valid(text) }

// storable says whether a caller's text can be stored as it is.
func storable(s string, most int) bool { return len(s) <= most && ktrdr.CleanText(s) == s }

// Operation implements ktrdr.Operations.
func (s *Store) Operation(ctx context.Context, id ktrdr.OperationID) (ktrdr.Operation, error) {
	op, err := inRead(ctx, s.readOne, func(r queryer) (operationRow, error) { return load(ctx, r, id) })
	return op.Operation, err
}
