package research

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/ktrdr/ktrdr"
)

// Operations creates operations in their order, all or none, each under its key:
// *engine.Engine. An operation with a key gets its id in ops. If it comes back
// with another id, it was created before.
type Operations interface {
	SubmitAll(ctx context.Context, ops []ktrdr.NewOperation, keys []ktrdr.IdempotencyKey) ([]ktrdr.Operation, error)
}

// Start creates a run of researches. Under a key each research has a key of its
// own and the run is named after it, so that a repeated request completes an
// interrupted one: with the same specs.
func (d *Desk) Start(ctx context.Context, t Request, key ktrdr.IdempotencyKey) (Triggered, error) {
	if t.DryRun {
		return d.preview(ctx, t)
	}
	if key.Key != "" {
		sum := sha256.Sum256([]byte(key.Key))
		t.Run = "run_" + hex.EncodeToString(sum[:8])
	}
	order, err := d.Trigger(ctx, t)
	if err != nil {
		return Triggered{}, err
	}
	out := Triggered{
		Run: order.Run, Seed: order.Seed, Understood: order.Understood, Warnings: order.Warnings, NotUnderstood: order.NotUnderstood,
	}
	replays := 0
	for i := 0; i < len(order.Operations); i = len(out.Operations) {
		some := order.Operations[i:min(i+ktrdr.MaxCreate, len(order.Operations))]
		if i == 0 {
			some = some[:1] // if it exists, its spec decides about the others
		}
		made, err := d.cfg.Operations.SubmitAll(ctx, some, keysOf(key, i, len(some)))
		if err != nil && i > 0 {
			err = fmt.Errorf("%d of %d researches of %s were created: %w", i, len(order.Operations), order.Run, err)
		}
		if err != nil {
			return Triggered{}, err
		}
		for k, op := range made {
			if key.Key != "" && op.ID != some[k].ID {
				replays++
				if op.Queue != nil {
					out.Run = op.Queue.Run
				}
			}
			out.Operations = append(out.Operations, TriggeredResearch{Operation: op.ID, Session: op.Session, Status: op.Status})
		}
		if i == 0 && replays > 0 && len(order.Operations) > 1 {
			t.Run = out.Run
			if order, err = d.Rest(t, made[0].Spec); err != nil {
				return Triggered{}, err
			}
			out.Seed = order.Seed
		}
	}
	first := out.Operations[0]
	out.Operation, out.Session, out.Status = first.Operation, first.Session, first.Status
	out.Replayed = replays == len(out.Operations)
	return out, nil
}

// keysOf are the keys of n researches of a run, from the i-th.
func keysOf(key ktrdr.IdempotencyKey, i, n int) []ktrdr.IdempotencyKey {
	keys := make([]ktrdr.IdempotencyKey, n)
	for k := range keys {
		keys[k] = key
		if key.Key != "" && i+k > 0 {
			keys[k].Key = fmt.Sprintf("%s #%d", key.Key, i+k)
		}
	}
	return keys
}
