package thread

import "context"

// Saver keeps checkpoints for other programs, with LangGraph's semantics. The checkpoints of
// operations are in the same tables, under thread ids that begin with "op_".
//
// Every checkpoint holds explicit references to its channel values. Two forks
// that reach the same version of a channel therefore keep their own values.
type Saver interface {
	// Put stores a checkpoint (an upsert on its id). Values holds only the channels named in
	// NewVersions. A channel named there without a value is now empty. Every other channel is
	// carried over from the parent when its version is the same, else from the first checkpoint of
	// the thread and namespace that had that version. CodeStaleEpoch when a lease forbids it,
	// CodeConflict when the newest checkpoint is not the expected one.
	Put(ctx context.Context, p Put) (Ref, error)

	// PutWrites stores a task's pending writes. For idx >= 0 the first write wins, so that a replay
	// changes nothing; for idx < 0 the last wins. CodeStaleEpoch when a lease forbids it.
	PutWrites(ctx context.Context, w Writes) error

	// GetTuple returns the named checkpoint, or the one with the greatest id when ref.Checkpoint is
	// empty. CodeNotFound when the thread has no checkpoint, CodeCorrupt when its values are lost.
	GetTuple(ctx context.Context, ref Ref) (Tuple, error)

	// List returns tuples newest first (by checkpoint id, over all threads and
	// namespaces asked for). Tuples whose values are lost are marked Damaged.
	// CodeTooLarge when all tuples together exceed q.MaxBytes.
	List(ctx context.Context, q Query) ([]Tuple, error)

	// History returns, per channel, the pending writes on the parent chain
	// from the nearest ancestor that holds the channel (its value is the seed)
	// up to but not including the target, oldest first.
	History(ctx context.Context, ref Ref, channels []string) (map[string]ChannelHistory, error)

	// DeleteThread removes every namespace, checkpoint and write of a thread.
	// A missing thread is no error.
	DeleteThread(ctx context.Context, tenant, thread string) error

	// DeleteRuns removes the checkpoints whose metadata run_id is one of runs.
	DeleteRuns(ctx context.Context, tenant string, runs []string) error

	// CopyThread copies every checkpoint and write of src to dst.
	CopyThread(ctx context.Context, tenant, src, dst string) error

	// Prune deletes threads, or with keepLatest all but the newest checkpoint of each namespace. It
	// keeps the writes of that checkpoint and the ancestors that it needs.
	Prune(ctx context.Context, tenant string, threads []string, keepLatest bool) error

	// Lease makes the holder the only writer of the thread until the lease expires. With the token
	// of a live lease it extends that lease. CodeConflict when another holder has a live lease;
	// CodeStaleEpoch when the lease to renew is no longer live.
	Lease(ctx context.Context, r LeaseRequest) (Lease, error)

	// Release ends a lease early. A lease that has ended already is no error.
	Release(ctx context.Context, r LeaseRelease) error
}
