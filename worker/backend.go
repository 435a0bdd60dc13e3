package worker

import (
	"context"
	"encoding/json"
	"io"

	"github.com/ktrdr/ktrdr"
)

// Backend is all that a worker needs of a backend: in process or over HTTP,
// the same. Refusals are *ktrdr.Error or *ktrdr.TransitionError.
// CodeUnavailable, CodeUnknownResult and network errors mean that the backend
// is away; every call may then be repeated.
type Backend interface {
	// Register introduces the worker; CodeProtocol is final.
	Register(ctx context.Context, r ktrdr.Registration) (ktrdr.Registered, error)
	// Heartbeat says what runs; CodeNotFound asks the worker to register again.
	Heartbeat(ctx context.Context, h ktrdr.Heartbeat) (ktrdr.Orders, error)
	// Claim is held open until there is a task, an order, or the wait is over.
	// With Free 0 it only listens for orders.
	Claim(ctx context.Context, c ktrdr.ClaimRequest) (ktrdr.ClaimReply, error)

	// The writes of a claim. CodeStaleEpoch means that the claim is lost.
	Progress(ctx context.Context, p ktrdr.ProgressReport) error
	Checkpoint(ctx context.Context, c ktrdr.NewCheckpoint) (ktrdr.CheckpointInfo, error)
	SkipCheckpoint(ctx context.Context, s ktrdr.Skip) (*ktrdr.StoredCheckpoint, error)
	Finish(ctx context.Context, f ktrdr.Finished) error
	Release(ctx context.Context, r ktrdr.Released) error

	// Unregister forgets a worker that has stopped for good.
	Unregister(ctx context.Context, id ktrdr.WorkerID) error

	// PutBlob stores bytes under their hash on behalf of a live claim.
	PutBlob(ctx context.Context, c ktrdr.Claimed, h ktrdr.Hash, size int64, r io.Reader) error
	// OpenBlob reads them; CodeNotFound, CodeCorrupt.
	OpenBlob(ctx context.Context, h ktrdr.Hash) (io.ReadCloser, error)
}

// Runner does the work of one operation type. It is pure: what it computes
// depends on the task's spec and checkpoint alone, so that any worker may go
// on where another stopped.
//
// ctx ends with cause ktrdr.ErrCancelled, ktrdr.ErrShutdown or ktrdr.ErrLost;
// a runner answers with Task.Interrupted. Any other error fails the operation
// under the error's own code; a panic fails it under CodePanic.
type Runner interface {
	Run(ctx context.Context, t *Task) (json.RawMessage, error)
}

// Blobs is a local cache of blobs.
type Blobs interface {
	// Get returns a blob, fetching it when it is not in the cache.
	Get(ctx context.Context, h ktrdr.Hash) (io.ReadCloser, error)
	// Put adds a blob that this worker made.
	Put(ctx context.Context, h ktrdr.Hash, r io.Reader) error
}
