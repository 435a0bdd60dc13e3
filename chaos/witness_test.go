package chaos_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/dummy"
	"github.com/ktrdr/ktrdr/labtest"
)

// witness is a worker and a user in one, who writes down for every
// acknowledgement what must hold from then on.
type witness struct {
	t            *testing.T
	lab          *labtest.Lab
	client       *client.Client
	turn         int
	acknowledged []func()
}

// request is one way to make the backend write. do brings an operation to
// where the request is due, calls now and makes the request, which may be cut.
type request struct {
	name string
	do   func(w *witness, now func())
}

var requests = []request{
	{"submit", func(w *witness, now func()) { now(); w.submit() }},
	{"claim", func(w *witness, now func()) { w.submit(); now(); w.claim() }},
	{"blob", func(w *witness, now func()) { c := w.begin(); now(); w.blob(c, 1) }},
	{"checkpoint", func(w *witness, now func()) { c := w.begin(); a := w.blob(c, 1); now(); w.save(c, 1, a...) }},
	{"release", func(w *witness, now func()) { c := w.begin(); w.save(c, 1); now(); w.release(c) }},
	{"cancel", func(w *witness, now func()) { id := w.submit(); now(); w.cancel(id) }},
	{"resume", func(w *witness, now func()) {
		c := w.begin()
		w.save(c, 1)
		w.finish(c, ktrdr.Failed)
		now()
		w.resume(c)
	}},
	{"finish", func(w *witness, now func()) {
		c := w.begin()
		w.save(c, 1, w.blob(c, 1)...)
		w.save(c, 2, w.blob(c, 2)...)
		now()
		w.finish(c, ktrdr.Completed)
	}},
}

var steps = dummy.Spec{Steps: 3}

func (w *witness) context() (context.Context, context.CancelFunc) {
	return context.WithTimeout(w.t.Context(), 5*time.Second)
}

// acks notes what holds when err is nil.
func (w *witness) acks(err error, want func()) bool {
	if err == nil {
		w.acknowledged = append(w.acknowledged, want)
	}
	return err == nil
}

func (w *witness) is(id ktrdr.OperationID, ok func(op ktrdr.Operation) bool, what string) func() {
	return func() {
		w.t.Helper()
		if op := w.lab.Op(id); !ok(op) {
			w.t.Errorf("acknowledged: %s %s; but it is %s at epoch %d", id, what, op.Status, op.Epoch)
		}
	}
}

var worker = ktrdr.Worker{ID: "witness", Types: []ktrdr.Type{ktrdr.Dummy}, Slots: 1}

func (w *witness) register(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	_, err := w.client.Register(ctx, ktrdr.Registration{Protocol: ktrdr.Protocol, Worker: worker})
	return err == nil
}

// submit's acknowledgement is the lab's to remember.
func (w *witness) submit() ktrdr.OperationID {
	w.turn++
	id, _ := w.lab.TrySubmit(steps, fmt.Sprintf("witness-%d", w.turn))
	return id
}

func (w *witness) claim() (c ktrdr.Claimed) {
	ctx, cancel := w.context()
	defer cancel()
	reply, err := w.client.Claim(ctx, ktrdr.ClaimRequest{Worker: worker.ID, Key: fmt.Sprint(w.turn), Types: worker.Types, Free: 1, Wait: 1})
	if err != nil || reply.Task == nil {
		return c
	}
	c = ktrdr.Claimed{Operation: reply.Task.Operation, Epoch: reply.Task.Epoch}
	w.acks(nil, w.is(c.Operation, func(op ktrdr.Operation) bool { return op.Epoch >= c.Epoch }, "is claimed"))
	return c
}

func (w *witness) begin() ktrdr.Claimed {
	w.submit()
	return w.claim()
}

func (w *witness) blob(c ktrdr.Claimed, seq int64) []ktrdr.Artifact {
	ctx, cancel := w.context()
	defer cancel()
	content := bytes.Repeat([]byte{byte(seq), byte(w.turn)}, 50_000)
	a := ktrdr.Artifact{Name: "weights", SHA256: sha256.Sum256(content), Size: int64(len(content))}
	_ = w.client.PutBlob(ctx, c, a.SHA256, a.Size, bytes.NewReader(content)) // what no row names may be collected
	return []ktrdr.Artifact{a}
}

func (w *witness) save(c ktrdr.Claimed, seq int64, files ...ktrdr.Artifact) {
	ctx, cancel := w.context()
	defer cancel()
	saved := ktrdr.NewCheckpoint{
		Operation: c.Operation, Epoch: c.Epoch, Seq: seq, Type: ktrdr.CheckpointPeriodic, Step: seq,
		State: json.RawMessage(fmt.Sprintf(`{"step":%d,"hash":"x"}`, seq)), Artifacts: files,
	}
	_, err := w.client.Checkpoint(ctx, saved)
	w.acks(err, func() {
		got, err := w.client.CheckpointAt(w.t.Context(), c.Operation, ktrdr.CheckpointID(c.Epoch, seq))
		switch {
		case err != nil:
			w.t.Errorf("acknowledged checkpoint %d of %s is lost: %v", seq, c.Operation, err)
		case !bytes.Equal(got.State, saved.State) || !slices.Equal(got.Artifacts, saved.Artifacts):
			w.t.Errorf("checkpoint %d of %s came back as %s %v", seq, c.Operation, got.State, got.Artifacts)
		}
	})
}

func (w *witness) finish(c ktrdr.Claimed, how ktrdr.Status) {
	ctx, cancel := w.context()
	defer cancel()
	f := ktrdr.Finished{Operation: c.Operation, Epoch: c.Epoch, Outcome: how}
	if how == ktrdr.Completed {
		f.Result = json.RawMessage(fmt.Sprintf(`{"hash":%q,"steps":3}`, dummy.Expected(steps)))
	}
	w.acks(w.client.Finish(ctx, f), w.is(c.Operation, func(op ktrdr.Operation) bool {
		return op.Status == how || how == ktrdr.Failed // which may be resumed afterwards
	}, "is "+string(how)))
}

func (w *witness) release(c ktrdr.Claimed) {
	ctx, cancel := w.context()
	defer cancel()
	err := w.client.Release(ctx, ktrdr.Released{Operation: c.Operation, Epoch: c.Epoch, Reason: "witness"})
	w.acks(err, w.is(c.Operation, func(op ktrdr.Operation) bool { return op.Status == ktrdr.Pending }, "is released"))
}

func (w *witness) cancel(id ktrdr.OperationID) {
	if w.lab.TryCancel(id) == http.StatusOK {
		w.acks(nil, w.is(id, func(op ktrdr.Operation) bool { return op.Status == ktrdr.Cancelled }, "is cancelled"))
	}
}

func (w *witness) resume(c ktrdr.Claimed) {
	if w.lab.TryResume(c.Operation) == http.StatusOK {
		w.acks(nil, w.is(c.Operation, func(op ktrdr.Operation) bool { return !op.Status.Terminal() }, "is resumed"))
	}
}
