package engine

import (
	"context"
	"io"

	"github.com/ktrdr/ktrdr"
)

// Local is the engine as a worker inside this backend sees it: the same
// contract that a worker elsewhere has over HTTP, except that what it claims
// is held by this backend's life and is recovered with it.
type Local struct{ *Engine }

// Local returns the contract for workers inside this process.
func (e *Engine) Local() Local { return Local{e} }

// Register admits a worker of this process.
func (l Local) Register(ctx context.Context, r ktrdr.Registration) (ktrdr.Registered, error) {
	r.Worker.HeldBy = l.backend.Incarnation
	return l.register(ctx, r)
}

// Unregister forgets a worker of this process.
func (l Local) Unregister(ctx context.Context, id ktrdr.WorkerID) error {
	return l.unregister(ctx, id, l.backend.Incarnation)
}

// Heartbeat refreshes everything that a worker of this process runs.
func (l Local) Heartbeat(ctx context.Context, h ktrdr.Heartbeat) (ktrdr.Orders, error) {
	h.HeldBy = l.backend.Incarnation
	return l.heartbeat(ctx, h)
}

// Claim also hands out work that runs only inside a backend.
func (l Local) Claim(ctx context.Context, req ktrdr.ClaimRequest) (ktrdr.ClaimReply, error) {
	return l.claim(ctx, req, l.backend.Incarnation)
}

// PutBlob stores bytes for a claim.
func (l Local) PutBlob(ctx context.Context, c ktrdr.Claimed, h ktrdr.Hash, _ int64, r io.Reader) error {
	if err := l.MayUpload(ctx, c.Operation, c.Epoch, h); err != nil {
		return err
	}
	_, err := l.blobs.Put(ctx, h, r)
	return err
}

// OpenBlob returns a blob's bytes.
func (l Local) OpenBlob(ctx context.Context, h ktrdr.Hash) (io.ReadCloser, error) {
	return l.blobs.Open(ctx, h)
}
