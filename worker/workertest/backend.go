// Package workertest holds a backend in memory for the tests of workers and
// runners: a few operations moved by ktrdr.Step, no clock and no disk.
package workertest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ktrdr/ktrdr"
)

// FakeBackend is a worker.Backend in memory. The zero value is not ready; use New.
type FakeBackend struct {
	mu      sync.Mutex
	changed chan struct{}
	ops     map[ktrdr.OperationID]*ktrdr.Operation
	order   []ktrdr.OperationID
	history map[ktrdr.OperationID][]ktrdr.StoredCheckpoint
	blobs   map[ktrdr.Hash][]byte
	keys    map[string]ktrdr.Claimed
	ended   map[ktrdr.Claimed]bool
	workers map[ktrdr.WorkerID]ktrdr.Worker
	calls   []Call

	// Before is asked before a call is carried out and After afterwards; an
	// error is what the caller gets, so that After loses an answer. Set them
	// before the first call, or through Do.
	Before, After func(c Call) error

	Every      time.Duration // the heartbeat interval given to workers; 0 means 1 s
	SaveEvery  time.Duration // the checkpoint interval given to workers
	Inject     string        // handed out with every operation
	StateBlobs bool          // hand states out as blobs, as if they were large
}

// Call is one call that reached the backend.
type Call struct {
	Name      string // as the method
	Worker    ktrdr.WorkerID
	Operation ktrdr.OperationID
	Epoch     ktrdr.Epoch
	Err       error // what was answered
	Arg       any
}

// New makes an empty backend.
func New() *FakeBackend {
	return &FakeBackend{
		changed: make(chan struct{}), ops: make(map[ktrdr.OperationID]*ktrdr.Operation),
		history: make(map[ktrdr.OperationID][]ktrdr.StoredCheckpoint), blobs: make(map[ktrdr.Hash][]byte),
		keys: make(map[string]ktrdr.Claimed), ended: make(map[ktrdr.Claimed]bool), workers: make(map[ktrdr.WorkerID]ktrdr.Worker),
	}
}

// Do runs f while no call is under way.
func (b *FakeBackend) Do(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f()
}

// carry carries a call out: the hooks, the work, the record.
func (b *FakeBackend) carry(c Call, work func() error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.Before != nil {
		if err := b.Before(c); err != nil {
			return err
		}
	}
	c.Err = work()
	b.calls = append(b.calls, c)
	if b.After != nil {
		if err := b.After(c); err != nil {
			return err
		}
	}
	return c.Err
}

// Calls returns the calls carried out so far that have one of the names, or
// all of them.
func (b *FakeBackend) Calls(names ...string) []Call {
	b.mu.Lock()
	defer b.mu.Unlock()
	var cs []Call
	for _, c := range b.calls {
		if len(names) == 0 || slices.Contains(names, c.Name) {
			cs = append(cs, c)
		}
	}
	return cs
}

// Create adds a PENDING operation.
func (b *FakeBackend) Create(id ktrdr.OperationID, t ktrdr.Type, spec json.RawMessage) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ops[id] = &ktrdr.Operation{ID: id, Type: t, Status: ktrdr.Pending, Spec: spec}
	b.order = append(b.order, id)
	b.wake()
}

// Operation returns one as it stands.
func (b *FakeBackend) Operation(id ktrdr.OperationID) ktrdr.Operation {
	b.mu.Lock()
	defer b.mu.Unlock()
	return *b.ops[id]
}

// SetSpec changes what a later claim is told to do, as no store would.
func (b *FakeBackend) SetSpec(id ktrdr.OperationID, spec json.RawMessage) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ops[id].Spec = spec
}

// History returns an operation's checkpoints, oldest first.
func (b *FakeBackend) History(id ktrdr.OperationID) []ktrdr.StoredCheckpoint {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.history[id])
}

// Blobs returns the stored blobs.
func (b *FakeBackend) Blobs() map[ktrdr.Hash][]byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	return maps.Clone(b.blobs)
}

// SetBlob damages a blob, or removes it when data is nil.
func (b *FakeBackend) SetBlob(h ktrdr.Hash, data []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if data == nil {
		delete(b.blobs, h)
		return
	}
	b.blobs[h] = data
}

// Act does to an operation what a user or a sweep would.
func (b *FakeBackend) Act(id ktrdr.OperationID, a ktrdr.Act) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	op := b.ops[id]
	if a.Epoch == 0 {
		a.Epoch = op.Epoch
	}
	return b.step(op, a)
}

func (b *FakeBackend) step(op *ktrdr.Operation, a ktrdr.Act) error {
	s, _, err := ktrdr.Step(op.Lifecycle(), a)
	if err != nil {
		return err
	}
	op.Status, op.Epoch, op.Attempts = s.Status, s.Epoch, s.Attempts
	op.CancelRequested, op.Losses, op.MaxStep, op.BackendDied = s.CancelRequested, s.Losses, s.MaxStep, s.BackendDied
	b.wake()
	return nil
}

func (b *FakeBackend) wake() {
	close(b.changed)
	b.changed = make(chan struct{})
}

// Wait returns the operation once want is true of it, or ctx's error.
func (b *FakeBackend) Wait(ctx context.Context, id ktrdr.OperationID, want func(ktrdr.Operation) bool) (ktrdr.Operation, error) {
	for {
		b.mu.Lock()
		op, changed := *b.ops[id], b.changed
		b.mu.Unlock()
		if want(op) {
			return op, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return op, fmt.Errorf("%s is %s: %w", id, op.Status, context.Cause(ctx))
		}
	}
}

// PutBlob stores bytes under their hash.
func (b *FakeBackend) PutBlob(_ context.Context, c ktrdr.Claimed, h ktrdr.Hash, _ int64, r io.Reader) error {
	data, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	return b.carry(Call{Name: "PutBlob", Operation: c.Operation, Epoch: c.Epoch, Arg: h}, func() error {
		if sha256.Sum256(data) != h {
			return ktrdr.Errorf(ktrdr.CodeCorrupt, "blob %s does not match its hash", h)
		}
		if op := b.ops[c.Operation]; op == nil || op.Epoch != c.Epoch || !op.Status.Live() {
			return ktrdr.ErrLost
		}
		b.blobs[h] = data
		return nil
	})
}

// OpenBlob reads a blob.
func (b *FakeBackend) OpenBlob(_ context.Context, h ktrdr.Hash) (io.ReadCloser, error) {
	var data []byte
	err := b.carry(Call{Name: "OpenBlob", Arg: h}, func() error {
		var ok bool
		if data, ok = b.blobs[h]; !ok {
			return ktrdr.Errorf(ktrdr.CodeNotFound, "no blob %s", h)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return io.NopCloser(bytes.NewReader(data)), nil
}
