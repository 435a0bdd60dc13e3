package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/tracing"
)

// This file is the user's side of the engine.

// Submit creates an operation. It is refused while free disk is below the
// reserve, because work that cannot save itself is work lost. The limit of its
// queue, if it stands in one, is the engine's to say.
func (e *Engine) Submit(ctx context.Context, op ktrdr.NewOperation, key ktrdr.IdempotencyKey) (ktrdr.Operation, error) {
	made, err := e.SubmitAll(ctx, []ktrdr.NewOperation{op}, []ktrdr.IdempotencyKey{key})
	if err != nil {
		return ktrdr.Operation{}, err
	}
	return made[0], nil
}

// SubmitAll creates operations in their order, all or none, each under its own
// key: at most ktrdr.MaxCreate. An operation with a key gets its id in ops. If it
// comes back with another id, an earlier call with the same key created it.
func (e *Engine) SubmitAll(ctx context.Context, ops []ktrdr.NewOperation, keys []ktrdr.IdempotencyKey) (made []ktrdr.Operation, err error) {
	for range idTries {
		keyed := false
		for i := range ops {
			if keys[i].Key != "" {
				keyed, ops[i].ID = true, ktrdr.NewOperationID(ops[i].Type, time.Now())
			}
		}
		if made, err = e.submitAll(ctx, ops, keys); !keyed || ktrdr.CodeOf(err) != ktrdr.CodeConflict {
			break
		}
	}
	return made, err
}

// idTries is how often an id may exist already before that is no accident.
const idTries = 3

func (e *Engine) submitAll(ctx context.Context, ops []ktrdr.NewOperation, keys []ktrdr.IdempotencyKey) ([]ktrdr.Operation, error) {
	ops = slices.Clone(ops) // their queues are filled in
	trace := tracing.Parent(ctx)
	for i, op := range ops {
		if err := e.checkSpec(op); err != nil {
			return nil, err
		}
		ops[i].Trace = cmp.Or(op.Trace, trace)
		if op.Queue == nil {
			continue
		}
		q, err := e.limited(ctx, *op.Queue)
		if err != nil {
			return nil, err
		}
		ops[i].Queue = &q
	}
	if free, ok := e.freeDisk(); ok && free < e.settings.DiskReserve {
		return nil, ktrdr.Errorf(ktrdr.CodeNoSpace,
			"only %d MB of disk are free, less than the reserve of %d MB; free some space, or run `ktrdr checkpoints cleanup`, and try again",
			free>>20, e.settings.DiskReserve>>20)
	}
	return e.store.CreateAll(ctx, ops, keys)
}

// checkSpec refuses an operation of an unknown type, and one whose type cannot run its spec.
func (e *Engine) checkSpec(op ktrdr.NewOperation) error {
	if err := e.checkTypes(op.Type); err != nil {
		return err
	}
	if len(op.Spec) == 0 || !json.Valid(op.Spec) {
		return ktrdr.Errorf(ktrdr.CodeInvalid, "an operation's spec is JSON")
	}
	if check := e.config.Types[op.Type].Spec; check != nil {
		return check(op.Spec)
	}
	return nil
}

func (e *Engine) freeDisk() (int64, bool) {
	if e.config.FreeDisk == nil || e.settings.DiskReserve < 0 {
		return 0, false
	}
	free, err := e.config.FreeDisk()
	return free, err == nil
}

// Operation returns one operation.
func (e *Engine) Operation(ctx context.Context, id ktrdr.OperationID) (ktrdr.Operation, error) {
	op, err := e.store.Operation(ctx, id)
	if err != nil {
		return ktrdr.Operation{}, err
	}
	one := []ktrdr.Operation{op}
	err = e.explain(ctx, one)
	return one[0], err
}

// List returns a page of operations, newest first.
func (e *Engine) List(ctx context.Context, q ktrdr.OperationQuery) (ktrdr.OperationPage, error) {
	page, err := e.store.List(ctx, q)
	if err != nil {
		return ktrdr.OperationPage{}, err
	}
	return page, e.explain(ctx, page.Operations)
}

// FindRun returns one run, as Run of the store: an engine's own Run keeps it going.
func (e *Engine) FindRun(ctx context.Context, id string) (ktrdr.Run, error) {
	return e.stored.Run(ctx, id)
}

// Retry makes a new operation with the same spec and no checkpoint. It stands
// in the same place of the same queue, and is refused when there is no room.
func (e *Engine) Retry(ctx context.Context, id ktrdr.OperationID, key ktrdr.IdempotencyKey) (ktrdr.Operation, error) {
	op, err := e.store.Operation(ctx, id)
	if err != nil {
		return ktrdr.Operation{}, err
	}
	if !op.Status.Terminal() {
		return ktrdr.Operation{}, ktrdr.Errorf(ktrdr.CodeConflict,
			"%s is %s; only an operation that has ended can be retried (cancel it first with `ktrdr cancel %s`)", id, op.Status, id)
	}
	if e.config.Types[op.Type].Look {
		next := "it has completed"
		if op.Status != ktrdr.Completed {
			next = fmt.Sprintf("restart it under the same number with `ktrdr resume %s`", id)
		}
		return ktrdr.Operation{}, ktrdr.Errorf(ktrdr.CodeConflict, "%s is a look at a holdout, which is made once: %s", id, next)
	}
	if op.Compacted && op.Parent != "" {
		return ktrdr.Operation{}, ktrdr.Errorf(ktrdr.CodeConflict,
			"the files that %s reads are not kept; `ktrdr pin %s` computes them again, then retry it", id, op.Root)
	}
	n := ktrdr.NewOperation{
		Type: op.Type, Priority: op.Priority, BackendLocal: op.BackendLocal, HasPlan: op.HasPlan,
		Spec: op.Spec, Metadata: op.Metadata, RetryOf: op.ID,
	}
	if q := op.Queue; q != nil {
		n.Queue = &ktrdr.Queue{Name: q.Name, Run: q.Run, Generation: q.Generation, Index: q.Index}
	}
	return e.Submit(ctx, n, key)
}

// SetPaused stops or allows new claims everywhere.
func (e *Engine) SetPaused(ctx context.Context, paused bool) error {
	defer e.account.forget()
	return e.store.SetPaused(ctx, paused)
}

// InQueue lists the operations of a queue, at most that number of waiting ones. What health
// remembers is forgotten: a client that asks for this and then for health gets a newer answer.
func (e *Engine) InQueue(ctx context.Context, name string, most int) (ktrdr.QueueState, error) {
	defer e.account.forget()
	defer e.fleet.forget()
	return e.store.InQueue(ctx, name, most)
}

// CheckpointAt returns a checkpoint with its state, or the newest when id is empty.
func (e *Engine) CheckpointAt(ctx context.Context, op ktrdr.OperationID, id string) (ktrdr.Checkpoint, error) {
	c, err := e.store.Checkpoint(ctx, op, id)
	if err != nil || c.StateBlob == nil {
		return c.Checkpoint, err
	}
	r, err := e.blobs.Open(ctx, c.StateBlob.SHA256)
	if err != nil {
		return ktrdr.Checkpoint{}, fmt.Errorf("state of checkpoint %s: %w", c.ID, err)
	}
	defer func() { _ = r.Close() }()
	c.State, err = io.ReadAll(io.LimitReader(r, ktrdr.MaxState))
	return c.Checkpoint, err
}

// RevokeToken ends one, but not the last admin token: no other could be made after that.
func (e *Engine) RevokeToken(ctx context.Context, id string) error {
	tokens, err := e.store.Tokens(ctx)
	if err != nil {
		return err
	}
	others := slices.ContainsFunc(tokens, func(t ktrdr.Token) bool {
		return t.Scope == ktrdr.ScopeAdmin && t.RevokedAt.IsZero() && t.ID != id
	})
	if !others && slices.ContainsFunc(tokens, func(t ktrdr.Token) bool { return t.ID == id }) {
		return ktrdr.Errorf(ktrdr.CodeConflict, "%s is the last admin token; make another first with `ktrdr token create NAME --scope admin`", id)
	}
	return e.store.RevokeToken(ctx, id)
}

// Cleanup deletes checkpoints older than age and blobs that nothing names; while a
// backup runs, no blobs.
func (e *Engine) Cleanup(ctx context.Context, age time.Duration) (checkpoints, blobs int, err error) {
	for {
		n, err := e.store.ExpireCheckpoints(ctx, age)
		if err != nil {
			return checkpoints, 0, fmt.Errorf("expire checkpoints: %w", err)
		}
		if checkpoints += n; n == 0 {
			break
		}
	}
	busy, err := e.store.BackupRunning(ctx)
	if err != nil {
		return checkpoints, 0, fmt.Errorf("collect blobs: %w", err)
	}
	if e.config.Collect != nil && !busy {
		if blobs, err = e.config.Collect(ctx); err != nil {
			return checkpoints, blobs, fmt.Errorf("collect blobs: %w", err)
		}
	}
	return checkpoints, blobs, nil
}

// cleanup is the retention loop.
func (e *Engine) cleanup(ctx context.Context) {
	e.every(ctx, e.settings.CleanupInterval, func() {
		checkpoints, blobs, err := e.Cleanup(ctx, e.settings.Retention)
		calls, callErr := untilNone(func() (int, error) { return e.store.ExpireCalls(ctx, e.settings.Retention) })
		events, eventErr := untilNone(func() (int, error) { return e.store.PruneEvents(ctx, e.settings.EventRetention) })
		if err = errors.Join(err, callErr, eventErr); err != nil && ctx.Err() == nil {
			e.log.WarnContext(ctx, "cleanup", "err", err)
		}
		if checkpoints+blobs+calls+events > 0 {
			e.log.InfoContext(ctx, "cleaned up", "checkpoints", checkpoints, "blobs", blobs, "calls", calls, "events", events)
		}
	})
}

// untilNone repeats what the store does in small pieces.
func untilNone(some func() (int, error)) (total int, err error) {
	for {
		n, err := some()
		if total += n; n == 0 || err != nil {
			return total, err
		}
	}
}
