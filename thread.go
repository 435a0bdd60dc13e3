package ktrdr

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"time"
)

// Saver keeps checkpoints for programs that are not ours, with LangGraph's
// semantics. Our own operations' checkpoints live in the same tables, under
// thread ids beginning "op_".
//
// Every checkpoint holds explicit references to its channel values, so that
// two forks that reach the same channel version keep their own.
type Saver interface {
	// Put stores a checkpoint (an upsert on its id). Values holds only the
	// channels named in NewVersions; a channel named there without a value is
	// now empty; every other channel is carried over from the parent when its
	// version is the same, else from the first checkpoint of the thread and
	// namespace that had that version. CodeStaleEpoch when a lease forbids it,
	// CodeConflict when the newest checkpoint is not the expected one.
	Put(ctx context.Context, p ThreadPut) (ThreadRef, error)

	// PutWrites stores a task's pending writes. For idx >= 0 the first write
	// wins, so that a replay changes nothing; for idx < 0 the last wins.
	// CodeStaleEpoch when a lease forbids it.
	PutWrites(ctx context.Context, w ThreadWrites) error

	// GetTuple returns the named checkpoint, or the one with the greatest id
	// when ref.Checkpoint is empty. CodeNotFound when there is none, CodeCorrupt
	// when its values are lost.
	GetTuple(ctx context.Context, ref ThreadRef) (ThreadTuple, error)

	// List returns tuples newest first (by checkpoint id, over all threads and
	// namespaces asked for). Those whose values are lost are among them, marked
	// Damaged. CodeTooLarge when they are over q.MaxBytes together.
	List(ctx context.Context, q ThreadQuery) ([]ThreadTuple, error)

	// History returns, per channel, the pending writes on the parent chain
	// from the nearest ancestor that holds the channel (its value is the seed)
	// up to but not including the target, oldest first.
	History(ctx context.Context, ref ThreadRef, channels []string) (map[string]ChannelHistory, error)

	// DeleteThread removes every namespace, checkpoint and write of a thread.
	// A missing thread is no error.
	DeleteThread(ctx context.Context, tenant, thread string) error

	// DeleteRuns removes the checkpoints whose metadata run_id is one of runs.
	DeleteRuns(ctx context.Context, tenant string, runs []string) error

	// CopyThread copies every checkpoint and write of src to dst.
	CopyThread(ctx context.Context, tenant, src, dst string) error

	// Prune deletes threads whole, or all but the newest checkpoint of each
	// namespace with its writes, never cutting what the kept one needs.
	Prune(ctx context.Context, tenant string, threads []string, keepLatest bool) error

	// Lease makes the holder the thread's only writer for a while, or, with the
	// token of a live lease, for a while longer. CodeConflict when somebody else
	// is; CodeStaleEpoch when what is to be renewed is over.
	Lease(ctx context.Context, r LeaseRequest) (Lease, error)

	// Release ends a lease before its time. One that is over already is no
	// error.
	Release(ctx context.Context, r LeaseRelease) error
}

// ThreadRef addresses a checkpoint.
type ThreadRef struct {
	Tenant     string `json:"tenant,omitempty"`
	Thread     string `json:"thread_id"`
	NS         string `json:"checkpoint_ns"`
	Checkpoint string `json:"checkpoint_id,omitempty"`
}

// Value is one serialised value: a type the server never interprets, and bytes
// (base64 on the wire).
type Value struct {
	Type  string `json:"t"`
	Bytes []byte `json:"b"`
}

// InlineValue is the largest value that a row of the main store holds. A larger
// one becomes a blob that the row names.
const InlineValue = 64 << 10

// BlobMark begins the type of a value that stands for a blob. No client's own
// type may.
const BlobMark = `{"ktrdr_blob":`

// blobType is that type.
type blobType struct {
	Blob Artifact `json:"ktrdr_blob"`
}

// BlobValue is what a row holds of a value of the given type that is a blob:
// its type names the blob, so that whoever looks for references finds them all
// in texts, and its bytes are the type that the value has.
func BlobValue(kind string, blob Artifact) Value {
	text, _ := json.Marshal(blobType{blob}) // a name, a hash and a number always marshal
	return Value{Type: string(text), Bytes: []byte(kind)}
}

// Blob returns the type of the value that v stands for and the blob that holds
// its bytes; false when v is an ordinary value.
func (v Value) Blob() (kind string, blob Artifact, ok bool) {
	var t blobType
	if !strings.HasPrefix(v.Type, BlobMark) || json.Unmarshal([]byte(v.Type), &t) != nil {
		return "", Artifact{}, false
	}
	return string(v.Bytes), t.Blob, true
}

// ThreadPut is a checkpoint to store under Thread and NS. Checkpoint is the
// client's own JSON without its channel_values; ID, ChannelVersions are read
// from it. Parent may be empty.
type ThreadPut struct {
	Tenant      string                     `json:"tenant,omitempty"`
	Thread      string                     `json:"thread_id"`
	NS          string                     `json:"checkpoint_ns"`
	Parent      string                     `json:"parent_checkpoint_id,omitempty"`
	Checkpoint  json.RawMessage            `json:"checkpoint"`
	Values      map[string]Value           `json:"channel_values,omitempty"`
	NewVersions map[string]json.RawMessage `json:"new_versions"`
	Metadata    json.RawMessage            `json:"metadata,omitempty"`
	TTLSeconds  float64                    `json:"ttl_seconds,omitempty"` // retention may delete the thread after so long without a put; 0 keeps it

	Lease  *LeaseToken `json:"lease,omitempty"`           // the writer's, if it has one
	Latest *string     `json:"expected_latest,omitempty"` // what the newest checkpoint of the namespace must be, "" for none; this put itself, repeated, may be it too
}

// ThreadWrites is a task's pending writes on one checkpoint.
type ThreadWrites struct {
	Tenant     string        `json:"tenant,omitempty"`
	Thread     string        `json:"thread_id"`
	NS         string        `json:"checkpoint_ns"`
	Checkpoint string        `json:"checkpoint_id"`
	Task       string        `json:"task_id"`
	TaskPath   string        `json:"task_path,omitempty"`
	Writes     []ThreadWrite `json:"writes"`
	Lease      *LeaseToken   `json:"lease,omitempty"`
}

// ThreadWrite is one pending write.
type ThreadWrite struct {
	Idx     int    `json:"idx"`
	Channel string `json:"channel"`
	Value   Value  `json:"value"`
}

// PendingWrite is a write as it is read back, ordered by (task, idx).
type PendingWrite struct {
	Task    string `json:"task_id"`
	Channel string `json:"channel"`
	Value   Value  `json:"value"`
}

// ThreadTuple is a checkpoint as it is read back. PendingSends is filled for
// checkpoints of format v < 4 with a parent: the parent's writes on the
// __pregel_tasks channel.
type ThreadTuple struct {
	Thread        string           `json:"thread_id"`
	NS            string           `json:"checkpoint_ns"`
	ID            string           `json:"checkpoint_id"`
	Parent        string           `json:"parent_checkpoint_id,omitempty"`
	Checkpoint    json.RawMessage  `json:"checkpoint"`
	Values        map[string]Value `json:"channel_values"`
	Metadata      json.RawMessage  `json:"metadata,omitempty"`
	PendingWrites []PendingWrite   `json:"pending_writes"`
	PendingSends  []Value          `json:"pending_sends,omitempty"`

	// Damaged says why the values cannot be read. Then there are no values and
	// no writes: half of a state must not be taken for a whole one.
	Damaged string `json:"damaged,omitempty"`
}

// Spoilt is the tuple as it is listed when something of it is lost.
func (t ThreadTuple) Spoilt(why error) ThreadTuple {
	t.Values, t.PendingWrites, t.PendingSends = map[string]Value{}, []PendingWrite{}, nil
	t.Damaged = CleanText(why.Error())
	return t
}

// ThreadPlace is where a checkpoint stands among all of a tenant's. Lists go by
// id, then thread, then namespace, each downwards: threads that were copied
// share their ids, so that an id alone is no place to go on from.
type ThreadPlace struct {
	Thread string `json:"thread_id"`
	NS     string `json:"checkpoint_ns"`
	ID     string `json:"checkpoint_id"`
}

// Compare is negative when p is listed before o.
func (p ThreadPlace) Compare(o ThreadPlace) int {
	return cmp.Or(strings.Compare(o.ID, p.ID), strings.Compare(o.Thread, p.Thread), strings.Compare(o.NS, p.NS))
}

// ThreadQuery selects tuples, in the order of ThreadPlace. A nil pointer means
// any.
type ThreadQuery struct {
	Tenant     string                     `json:"tenant,omitempty"`
	Thread     *string                    `json:"thread_id,omitempty"`
	NS         *string                    `json:"checkpoint_ns,omitempty"`
	Checkpoint string                     `json:"checkpoint_id,omitempty"`
	Before     string                     `json:"before,omitempty"` // ids strictly less
	After      *ThreadPlace               `json:"after,omitempty"`  // what comes behind it in the order of lists
	Filter     map[string]json.RawMessage `json:"filter,omitempty"` // AND of JSON equality on top-level metadata keys
	Limit      *int                       `json:"limit,omitempty"`  // nil: no limit; 0: none
	MaxBytes   int64                      `json:"-"`                // of all tuples together, when there is more than one; 0: no limit
}

// ChannelHistory is one channel's writes along the parent chain.
type ChannelHistory struct {
	Seed   *Value         `json:"seed,omitempty"`
	Writes []PendingWrite `json:"writes"`
}

// Lease is one writer's right to be the only one of a thread.
//
//	nobody ──lease──▶ held ──renew──▶ held
//	  ▲                │ └──lease by the same holder──▶ held, with a new token
//	  └─release · time─┘
//
// Nobody needs one: a thread without a live lease takes every write. While
// there is one, a put or a task's writes must carry its token, and a token is
// good for nothing once its time is up, even when nobody came after it: others
// may have written meanwhile. So a writer that slept through its lease cannot
// overwrite its successor's work, whatever it believes. Time is the store's,
// and a lease ends by itself.
//
// A holder that asks again without a token gets a new one and the old is void:
// a program that was killed need not wait for its own lease to end, and its
// former self, should it still live, writes no more. Deleting the thread ends
// its lease.
type Lease struct {
	Token   int64     `json:"token"` // greater than those before it
	Holder  string    `json:"holder"`
	Expires time.Time `json:"expires"`
}

// LeaseRequest asks for a lease, or with a token for more time.
type LeaseRequest struct {
	Tenant     string  `json:"tenant,omitempty"`
	Thread     string  `json:"thread_id"`
	Holder     string  `json:"holder"`
	TTLSeconds float64 `json:"ttl_seconds"`
	Token      int64   `json:"token,omitempty"` // of the lease to renew; 0 asks for a new one
}

// LeaseRelease gives a lease back.
type LeaseRelease struct {
	Tenant string `json:"tenant,omitempty"`
	Thread string `json:"thread_id"`
	Token  int64  `json:"token"`
}

// LeaseToken is what a write shows of its lease.
type LeaseToken struct {
	Token int64 `json:"token"`
}
