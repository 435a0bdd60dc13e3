package engine

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
)

// This file is the worker's side of the engine.

// Register admits a worker, at its start and whenever it has been out of
// touch. CodeProtocol when it speaks another version.
func (e *Engine) Register(ctx context.Context, r ktrdr.Registration) (ktrdr.Registered, error) {
	r.Worker.HeldBy = "" // only Local speaks for a backend
	return e.register(ctx, r)
}

func (e *Engine) register(ctx context.Context, r ktrdr.Registration) (ktrdr.Registered, error) {
	err := cmp.Or(ktrdr.CheckProtocol(r.Protocol), e.checkWorker(r.Worker), checkClaims(r.Running), checkClaims(r.Finished))
	if err != nil {
		return ktrdr.Registered{}, err
	}
	orders, err := e.store.RegisterWorker(ctx, r)
	if err != nil {
		return ktrdr.Registered{}, fmt.Errorf("register %s: %w", r.Worker.ID, err)
	}
	e.fleet.forget()
	e.log.InfoContext(ctx, "worker registered", "worker", r.Worker.ID, "types", r.Worker.Types, "slots", r.Worker.Slots,
		"running", len(r.Running), "finished", len(r.Finished), "lost", len(orders.Lost))
	return ktrdr.Registered{
		HeartbeatSeconds:  e.settings.HeartbeatInterval.Seconds(),
		TimeoutSeconds:    e.settings.OrphanTimeout.Seconds(),
		CheckpointSeconds: e.settings.CheckpointInterval.Seconds(),
		Backend:           e.backend.Incarnation,
		Orders:            orders,
	}, nil
}

const maxSlots = 4096

func (e *Engine) checkWorker(w ktrdr.Worker) error {
	switch {
	case w.ID == "" || len(w.ID) > 128:
		return ktrdr.Errorf(ktrdr.CodeInvalid, "a worker_id has 1 to 128 characters")
	case w.Slots < 1 || w.Slots > maxSlots:
		return ktrdr.Errorf(ktrdr.CodeInvalid, "a worker has 1 to %d slots, not %d", maxSlots, w.Slots)
	case len(w.Types) == 0:
		return ktrdr.Errorf(ktrdr.CodeInvalid, "a worker offers at least one operation type")
	case len(w.Name) > 128 || len(w.Host) > 256 || len(w.Version) > 128:
		return ktrdr.Errorf(ktrdr.CodeInvalid, "a worker's name and version have at most 128 characters, its host 256")
	}
	return e.checkTypes(w.Types...)
}

// Unregister forgets a worker that has released everything and is stopping.
// CodeForbidden for one inside a backend: only Local speaks for it.
func (e *Engine) Unregister(ctx context.Context, id ktrdr.WorkerID) error {
	return e.unregister(ctx, id, "")
}

func (e *Engine) unregister(ctx context.Context, id ktrdr.WorkerID, heldBy ktrdr.Incarnation) error {
	defer e.fleet.forget()
	return e.store.RemoveWorker(ctx, id, heldBy)
}

// Heartbeat refreshes everything a worker runs. CodeForbidden under the id of
// a worker inside a backend: only Local speaks for it.
func (e *Engine) Heartbeat(ctx context.Context, h ktrdr.Heartbeat) (ktrdr.Orders, error) {
	h.HeldBy = ""
	return e.heartbeat(ctx, h)
}

func (e *Engine) heartbeat(ctx context.Context, h ktrdr.Heartbeat) (ktrdr.Orders, error) {
	if err := checkClaims(h.Running); err != nil {
		return ktrdr.Orders{}, err
	}
	orders, err := e.store.Report(ctx, h)
	if err != nil {
		return ktrdr.Orders{}, fmt.Errorf("heartbeat of %s: %w", h.Worker, err)
	}
	e.heartbeats.Add(1)
	e.lateness.add(time.Now(), e.fleet.beat(h.Worker, e.settings.HeartbeatInterval))
	e.lost.Add(int64(len(orders.Lost)))
	return orders, nil
}

// Progress overwrites an operation's progress.
func (e *Engine) Progress(ctx context.Context, p ktrdr.ProgressReport) error {
	if err := checkProgress(p.Progress); err != nil {
		return err
	}
	return e.refusal(e.store.SaveProgress(ctx, p))
}

// maxStep bounds what a worker may call a step, so that one wrong report
// cannot make every later one look like no progress.
const maxStep = 1 << 53

func checkStep(step int64) error {
	if step < 0 || step > maxStep {
		return ktrdr.Errorf(ktrdr.CodeInvalid, "a step is a number from 0 to 2^53, not %d", step)
	}
	return nil
}

func checkClaims(all []ktrdr.Claimed) error {
	for _, c := range all {
		if err := checkStep(c.Step); err != nil {
			return fmt.Errorf("%s: %w", c.Operation, err)
		}
	}
	return nil
}

func checkProgress(p ktrdr.Progress) error {
	if err := cmp.Or(checkStep(p.StepsCompleted), checkStep(p.StepsTotal)); err != nil {
		return err
	}
	if !(p.Percentage >= 0 && p.Percentage <= 100) { // so that NaN is refused too
		return ktrdr.Errorf(ktrdr.CodeInvalid, "a percentage lies between 0 and 100")
	}
	return nil
}

// Checkpoint stores a checkpoint. Its artifacts must have been uploaded; a
// state too large for a row becomes a blob first.
func (e *Engine) Checkpoint(ctx context.Context, c ktrdr.NewCheckpoint) (ktrdr.CheckpointInfo, error) {
	text := c.State
	state, err := e.prepare(ctx, &c)
	if err != nil {
		return ktrdr.CheckpointInfo{}, err
	}
	info, err := e.store.SaveCheckpoint(ctx, c, state)
	if err != nil {
		return info, e.refusal(err)
	}
	e.logCheckpoint(ctx, c)
	e.leaving.saved(c.Operation)
	return info, e.stillThere(ctx, c.Artifacts, state, text)
}

func (e *Engine) logCheckpoint(ctx context.Context, c ktrdr.NewCheckpoint) {
	e.log.InfoContext(ctx, "Checkpoint saved", "op", c.Operation, "epoch", c.Epoch, "type", c.Type, "step", c.Step)
}

// prepare checks a checkpoint and makes its blobs durable, so that the row can be written.
func (e *Engine) prepare(ctx context.Context, c *ktrdr.NewCheckpoint) (*ktrdr.Artifact, error) {
	switch {
	case !c.Type.Known():
		return nil, ktrdr.Errorf(ktrdr.CodeInvalid, "%.40q is not a checkpoint type", string(c.Type))
	case len(c.State) > ktrdr.MaxState:
		return nil, ktrdr.Errorf(ktrdr.CodeTooLarge, "a checkpoint's state has at most %d bytes, not %d; put the rest into artifacts",
			ktrdr.MaxState, len(c.State))
	case !json.Valid(c.State):
		return nil, ktrdr.Errorf(ktrdr.CodeInvalid, "a checkpoint's state is JSON")
	case c.Seq < 1:
		return nil, ktrdr.Errorf(ktrdr.CodeInvalid, "a checkpoint's seq counts from 1")
	}
	if err := cmp.Or(checkStep(c.Step), checkArtifacts(c.Artifacts)); err != nil {
		return nil, err
	}
	for _, a := range c.Artifacts {
		info, err := e.blobs.Stat(ctx, a.SHA256)
		if ktrdr.CodeOf(err) == ktrdr.CodeNotFound {
			return nil, ktrdr.Errorf(ktrdr.CodeInvalid,
				"artifact %q names blob %s, which is not there; upload blobs before the checkpoint that names them", a.Name, a.SHA256)
		}
		if err != nil {
			return nil, fmt.Errorf("artifact %q: %w", a.Name, err)
		}
		if info.Size != a.Size {
			return nil, ktrdr.Errorf(ktrdr.CodeInvalid, "artifact %q says %d bytes but blob %s has %d", a.Name, a.Size, a.SHA256, info.Size)
		}
	}
	if len(c.State) <= ktrdr.InlineState {
		return nil, nil
	}
	state := ktrdr.Artifact{Name: "state", SHA256: sha256.Sum256(c.State), Size: int64(len(c.State))}
	if _, err := e.blobs.Put(ctx, state.SHA256, bytes.NewReader(c.State)); err != nil {
		return nil, fmt.Errorf("checkpoint state: %w", err)
	}
	c.State = nil
	return &state, nil
}

// Bounds of a checkpoint's artifacts.
const (
	maxArtifacts    = 256
	maxArtifactName = 128
)

// checkArtifacts refuses what no worker of ours sends: names that are no plain
// file names, twice the same, or too many.
func checkArtifacts(all []ktrdr.Artifact) error {
	if len(all) > maxArtifacts {
		return ktrdr.Errorf(ktrdr.CodeInvalid, "a checkpoint has at most %d artifacts, not %d; put several things into one",
			maxArtifacts, len(all))
	}
	seen := make(map[string]bool, len(all))
	for _, a := range all {
		switch {
		case a.Name == "" || len(a.Name) > maxArtifactName || !ktrdr.PlainText(a.Name) || strings.ContainsAny(a.Name, `/\`) ||
			a.Name == "." || a.Name == "..":
			return ktrdr.Errorf(ktrdr.CodeInvalid, "an artifact's name has 1 to %d bytes of visible text without / and \\, not %.100q",
				maxArtifactName, a.Name)
		case seen[a.Name]:
			return ktrdr.Errorf(ktrdr.CodeInvalid, "a checkpoint has two artifacts named %q; give each its own name", a.Name)
		}
		seen[a.Name] = true
	}
	return nil
}

// SkipCheckpoint takes a worker's word that a checkpoint cannot be used, looks
// for itself, and returns what to start from instead: the same one when its
// blobs are whole after all, the one before it, or none.
func (e *Engine) SkipCheckpoint(ctx context.Context, s ktrdr.Skip) (*ktrdr.StoredCheckpoint, error) {
	c, err := e.store.Checkpoint(ctx, s.Operation, s.Checkpoint)
	if err != nil {
		return nil, err
	}
	for _, a := range blobsOf(&c) {
		if err := e.verify(ctx, a); err != nil {
			s.Reason = ktrdr.CleanText(err.Error())
			return e.skip(ctx, s)
		}
	}
	return &c, nil
}

func (e *Engine) skip(ctx context.Context, s ktrdr.Skip) (*ktrdr.StoredCheckpoint, error) {
	e.log.WarnContext(ctx, "checkpoint skipped", "op", s.Operation, "epoch", s.Epoch, "checkpoint", s.Checkpoint, "reason", s.Reason)
	if err := e.store.SkipCheckpoint(ctx, s); err != nil {
		return nil, e.refusal(err)
	}
	e.skipped.Add(1)
	next, err := e.store.Checkpoint(ctx, s.Operation, "")
	if ktrdr.CodeOf(err) == ktrdr.CodeNotFound {
		return nil, nil //nolint:nilnil // none is an answer: the work starts from nothing
	}
	if err != nil {
		return nil, err
	}
	return &next, nil
}

// verify reads a blob to its end and compares its hash.
func (e *Engine) verify(ctx context.Context, a ktrdr.Artifact) error {
	r, err := e.blobs.Open(ctx, a.SHA256)
	if err != nil {
		return fmt.Errorf("blob %s (%s): %w", a.SHA256, a.Name, err)
	}
	defer func() { _ = r.Close() }()
	sum := sha256.New()
	if _, err := io.Copy(sum, r); err != nil {
		return fmt.Errorf("blob %s (%s): %w", a.SHA256, a.Name, err)
	}
	if got := ktrdr.Hash(sum.Sum(nil)); got != a.SHA256 {
		return ktrdr.Errorf(ktrdr.CodeCorrupt, "blob %s (%s) holds other bytes: their hash is %s", a.SHA256, a.Name, got)
	}
	return nil
}

// Finish ends an operation. The parent, if it has one that waits, moves on in the same transaction.
func (e *Engine) Finish(ctx context.Context, f ktrdr.Finished) error {
	if !f.Outcome.Terminal() {
		return ktrdr.Errorf(ktrdr.CodeInvalid, "an operation ends COMPLETED, FAILED or CANCELLED, not %.40q", string(f.Outcome))
	}
	if len(f.Result) > 0 && !json.Valid(f.Result) {
		return ktrdr.Errorf(ktrdr.CodeInvalid, "a result is JSON")
	}
	if f.Progress != nil {
		if err := checkProgress(*f.Progress); err != nil {
			return err
		}
	}
	f.ErrorMessage = ktrdr.CleanText(f.ErrorMessage)
	var text []byte
	if c := f.Checkpoint; c != nil {
		if c.Operation != f.Operation || c.Epoch != f.Epoch {
			return ktrdr.Errorf(ktrdr.CodeInvalid, "the checkpoint of a finish belongs to the same operation and epoch")
		}
		text = c.State
		state, err := e.prepare(ctx, c)
		if err != nil {
			return err
		}
		f.StateBlob = state
	}
	if _, err := e.store.Finish(ctx, f); err != nil || f.Checkpoint == nil {
		return e.refusal(err)
	}
	e.logCheckpoint(ctx, *f.Checkpoint)
	return e.stillThere(ctx, f.Checkpoint.Artifacts, f.StateBlob, text)
}

// Release takes an operation back, to be claimed again from its checkpoint,
// but not before its wait is over.
func (e *Engine) Release(ctx context.Context, r ktrdr.Released) error {
	r.Reason = ktrdr.CleanText(r.Reason)
	err := e.store.Release(ctx, r)
	if err == nil && r.ChildDied {
		e.tellPoison(ctx, r)
	}
	return e.refusal(err)
}

// tellPoison logs that an operation failed because its child processes keep
// dying. Only the store knows how many did.
func (e *Engine) tellPoison(ctx context.Context, r ktrdr.Released) {
	op, err := e.store.Operation(ctx, r.Operation)
	if err == nil && op.Status == ktrdr.Failed && op.Epoch == r.Epoch {
		e.log.WarnContext(ctx, "operation failed", "op", op.ID, "epoch", op.Epoch, "code", ktrdr.CodePoison, "err", op.ErrorMessage)
	}
}

// MayUpload refuses with CodeStaleEpoch to store a blob for a claim that is not
// live, unless the claim left the operation's newest checkpoint and it names the
// blob: a finish that lost a file uploads it again.
func (e *Engine) MayUpload(ctx context.Context, id ktrdr.OperationID, epoch ktrdr.Epoch, h ktrdr.Hash) error {
	orders, err := e.store.Orders(ctx, []ktrdr.Claimed{{Operation: id, Epoch: epoch}})
	if err != nil || len(orders.Lost) == 0 {
		return err
	}
	left, err := e.store.Checkpoint(ctx, id, "")
	switch {
	case err != nil && ktrdr.CodeOf(err) != ktrdr.CodeNotFound:
		return err
	case err == nil && left.Epoch == epoch && slices.ContainsFunc(left.Artifacts, func(a ktrdr.Artifact) bool { return a.SHA256 == h }):
		return nil
	}
	return ktrdr.Errorf(ktrdr.CodeStaleEpoch, "epoch %d of %s is not live", epoch, id)
}

// PutBlob stores bytes under their hash.
func (e *Engine) PutBlob(ctx context.Context, want ktrdr.Hash, r io.Reader) (int64, error) {
	return e.blobs.Put(ctx, want, r)
}

// MayRead refuses a blob which is no input and no checkpoint of anything that
// workers run: CodeForbidden. The bars of a holdout, for example, or an imported file.
func (e *Engine) MayRead(ctx context.Context, h ktrdr.Hash) error {
	given, err := e.store.BlobGiven(ctx, h)
	if err == nil && !given {
		err = ktrdr.Errorf(ktrdr.CodeForbidden,
			"blob %s belongs to no operation that a worker runs now; files of an operation are read by its id and their name", h)
	}
	return err
}

// OpenBlob returns a blob's bytes.
func (e *Engine) OpenBlob(ctx context.Context, h ktrdr.Hash) (ktrdr.BlobReader, error) {
	return e.blobs.Open(ctx, h)
}

// StatBlob returns a blob's size.
func (e *Engine) StatBlob(ctx context.Context, h ktrdr.Hash) (int64, error) {
	info, err := e.blobs.Stat(ctx, h)
	return info.Size, err
}
