package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/text"
)

const (
	maxWait  = 30 * time.Second // a poll is held open no longer
	pollStep = time.Second      // the store's hints may get lost, and none tells that a wait is over; this is the truth
)

// lookers is how many polls look into the store at once. One is woken for every operation, but all
// of them are; the few that look first find what there is, and the rest are told that it is gone.
const lookers = 4

// queue remembers for which types the store had nothing, so that a wake-up
// does not send every waiting worker to it with the same question.
type queue struct {
	turn  chan struct{} // holds a place for each that looks
	mu    sync.Mutex
	empty map[string]<-chan struct{} // types asked for -> the hint of new work; at most one for each set of types
}

func typesKey(types []ktrdr.Type, heldBy ktrdr.Incarnation) string {
	var b strings.Builder
	if heldBy != "" {
		b.WriteByte('+') // backend-local work is visible to it too
	}
	for _, t := range types {
		b.WriteString(string(t))
		b.WriteByte(',')
	}
	return b.String()
}

func (q *queue) known(key string, hint <-chan struct{}) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.empty[key] == hint
}

func (q *queue) learn(key string, hint <-chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.empty == nil {
		q.empty = make(map[string]<-chan struct{})
	}
	q.empty[key] = hint
}

// Claim holds a worker's poll open until there is an operation for it, an
// order about one it runs, or the wait is over.
func (e *Engine) Claim(ctx context.Context, req ktrdr.ClaimRequest) (ktrdr.ClaimReply, error) {
	return e.claim(ctx, req, "")
}

func (e *Engine) claim(ctx context.Context, req ktrdr.ClaimRequest, heldBy ktrdr.Incarnation) (ktrdr.ClaimReply, error) {
	if err := e.checkClaim(req); err != nil {
		return ktrdr.ClaimReply{}, err
	}
	req.Types = slices.Compact(slices.Sorted(slices.Values(req.Types))) // a set, however it is written; and a copy: they are the caller's
	over := time.NewTimer(min(time.Duration(req.Wait*float64(time.Second)), maxWait))
	defer over.Stop()
	poll := time.NewTimer(pollStep)
	defer poll.Stop()
	for ask := true; ; {
		hint := e.store.Ready() // taken before looking, so that nothing between is missed
		reply, err := e.look(ctx, req, heldBy, hint, ask)
		if ended(ctx, err) {
			return ktrdr.ClaimReply{}, nil
		}
		if err != nil || reply.Task != nil || !reply.Empty() {
			return reply, err
		}
		poll.Reset(pollStep)
		select {
		case <-over.C: // not before a first look: no wait still asks
			return ktrdr.ClaimReply{}, nil
		case <-ctx.Done():
			return ktrdr.ClaimReply{}, nil
		case <-e.draining:
			return ktrdr.ClaimReply{}, nil
		case <-hint:
			ask = false // others may have looked already
		case <-poll.C:
			ask = true // whatever the hints say
		}
	}
}

// look asks the store once, unless others have just found that there is nothing. A first look
// always asks, because its key may name a claim whose answer was lost, and so does a look at the
// end of a step, because a hint may have been.
func (e *Engine) look(ctx context.Context, req ktrdr.ClaimRequest, heldBy ktrdr.Incarnation, hint <-chan struct{},
	ask bool,
) (ktrdr.ClaimReply, error) {
	if len(req.Running) > 0 {
		orders, err := e.store.Orders(ctx, req.Running)
		if err != nil || !orders.Empty() {
			return ktrdr.ClaimReply{Orders: orders}, err
		}
	}
	if req.Free == 0 {
		return ktrdr.ClaimReply{}, nil
	}
	select {
	case <-e.draining:
		return ktrdr.ClaimReply{}, nil
	default:
	}
	key := typesKey(req.Types, heldBy)
	select {
	case e.waiting.turn <- struct{}{}:
		defer func() { <-e.waiting.turn }()
	case <-ctx.Done():
		return ktrdr.ClaimReply{}, nil
	}
	if !ask && e.waiting.known(key, hint) {
		return ktrdr.ClaimReply{}, nil
	}
	task, err := e.store.Claim(context.WithoutCancel(ctx), req, heldBy) // a claim made must be handed out
	if err != nil {
		return ktrdr.ClaimReply{}, err
	}
	if task == nil {
		e.waiting.learn(key, hint)
		return ktrdr.ClaimReply{}, nil
	}
	for _, complete := range []func(context.Context, *ktrdr.Task) error{e.soundCheckpoint, e.inject, e.addLook} {
		if err := complete(context.WithoutCancel(ctx), task); err != nil {
			return ktrdr.ClaimReply{}, err
		}
	}
	return ktrdr.ClaimReply{Task: task}, nil
}

// inject asks what is to go wrong with the operation. It is asked at every
// claim, so that a backend that is started without it cures what is resumed.
func (e *Engine) inject(ctx context.Context, task *ktrdr.Task) error {
	if e.config.Inject == nil {
		return nil
	}
	op, err := e.store.Operation(ctx, task.Operation)
	if err != nil {
		return fmt.Errorf("what to inject into %s: %w", task.Operation, err)
	}
	if task.Inject = e.config.Inject(op); task.Inject != "" {
		e.log.WarnContext(ctx, "operation is made to go wrong", "op", task.Operation, "epoch", task.Epoch, "inject", task.Inject)
	}
	return nil
}

// addLook gives the task the look that was reserved for it, if it makes one.
func (e *Engine) addLook(ctx context.Context, task *ktrdr.Task) error {
	if !e.config.Types[task.Type].Look {
		return nil
	}
	look, err := e.store.LookOf(ctx, task.Operation)
	switch {
	case ktrdr.CodeOf(err) == ktrdr.CodeNotFound: // its runner says so
		return nil
	case err != nil:
		return fmt.Errorf("look of %s: %w", task.Operation, err)
	}
	task.Look = &look
	return nil
}

func (e *Engine) checkClaim(req ktrdr.ClaimRequest) error {
	switch {
	case req.Worker == "":
		return ktrdr.Errorf(ktrdr.CodeInvalid, "a claim names its worker_id")
	case len(req.Key) > 128 || req.Free > 0 && req.Key == "":
		return ktrdr.Errorf(ktrdr.CodeInvalid,
			"a claim carries a key of 1 to 128 characters, new for every attempt to get work and the same when the attempt is repeated")
	case req.Free < 0:
		return ktrdr.Errorf(ktrdr.CodeInvalid, "free is the number of free slots, 0 or more, not %d", req.Free)
	case req.Free > 0 && len(req.Types) == 0:
		return ktrdr.Errorf(ktrdr.CodeInvalid, "a claim with free slots names the types it can run")
	case req.Wait < 0 || req.Wait != req.Wait:
		return ktrdr.Errorf(ktrdr.CodeInvalid, "wait_seconds must not be negative")
	}
	return e.checkTypes(req.Types...)
}

func (e *Engine) checkTypes(types ...ktrdr.Type) error {
	for _, t := range types {
		if known := e.config.Types; !known.Known(t) {
			return ktrdr.Errorf(ktrdr.CodeInvalid, "%.40q is not an operation type; %s", string(t), text.Choices(string(t), known.Names()))
		}
	}
	return nil
}

// soundCheckpoint makes sure that what the task starts from is there. A
// checkpoint with a missing blob is skipped for the one before it, on record;
// a wrong byte is found by the worker, which reads them all.
func (e *Engine) soundCheckpoint(ctx context.Context, task *ktrdr.Task) error {
	for task.Checkpoint != nil {
		missing := e.missingBlob(ctx, task.Checkpoint)
		if missing == nil {
			return nil
		}
		next, err := e.skip(ctx, ktrdr.Skip{
			Operation: task.Operation, Epoch: task.Epoch, Checkpoint: task.Checkpoint.ID, Reason: missing.Error(),
		})
		if err != nil {
			return err
		}
		task.Checkpoint = next
	}
	return nil
}

// missingBlob returns why a checkpoint cannot be used, or nil. A blob store
// that does not answer is no reason: the worker will ask again.
func (e *Engine) missingBlob(ctx context.Context, c *ktrdr.StoredCheckpoint) error {
	for _, a := range blobsOf(c) {
		info, err := e.blobs.Stat(ctx, a.SHA256)
		switch {
		case ktrdr.CodeOf(err) == ktrdr.CodeNotFound:
			return ktrdr.Errorf(ktrdr.CodeCorrupt, "blob %s (%s) is missing", a.SHA256, a.Name)
		case err == nil && info.Size != a.Size:
			return ktrdr.Errorf(ktrdr.CodeCorrupt, "blob %s (%s) has %d bytes instead of %d", a.SHA256, a.Name, info.Size, a.Size)
		}
	}
	return nil
}

func blobsOf(c *ktrdr.StoredCheckpoint) []ktrdr.Artifact {
	if c.StateBlob == nil {
		return c.Artifacts
	}
	return append([]ktrdr.Artifact{*c.StateBlob}, c.Artifacts...)
}
