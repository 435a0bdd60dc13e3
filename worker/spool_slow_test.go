package worker

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
)

// soon fails the test when f does not return: the lock it needs is held.
func soon(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatalf("%s waits for a write to the disk", what)
	}
}

func TestSpool_SlowWriteHoldsUpNoOther(t *testing.T) {
	s, err := openSpool(t.Context(), filepath.Join(t.TempDir(), "spool"), "w", quiet)
	if err != nil {
		t.Fatal(err)
	}
	all := entries()
	checkpoint, end, other := all[1], all[2], all[3]
	begun, proceed := make(chan struct{}), make(chan struct{})
	s.slow = func() {
		begun <- struct{}{}
		<-proceed
	}
	added := make(chan error)
	add := func(e *entry) {
		go func() { added <- s.add(e) }()
		<-begun
	}
	finish := func() {
		t.Helper()
		proceed <- struct{}{}
		if err := <-added; err != nil {
			t.Error(err)
		}
	}

	add(checkpoint)
	soon(t, "looking", func() {
		if !s.holds(checkpoint.claim()) || s.empty() {
			t.Error("what is being written does not hold up what follows")
		}
		if x := s.head(nil); x != nil {
			t.Errorf("%s is sent before it is durable", x.kind)
		}
	})
	add(end) // of the same claim, and durable first or last
	add(other)
	finish()
	finish()
	finish()
	for i, want := range []string{"checkpoint", "finished", "released"} {
		if s.waiting[i].kind != want {
			t.Errorf("%s is number %d, want %s", s.waiting[i].kind, i, want)
		}
		s.unmark(s.waiting[i])
	}
	soon(t, "dropping", func() { s.drop(end.claim()) })

	add(checkpoint)
	soon(t, "dropping what is being written", func() { s.drop(checkpoint.claim()) })
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		s.remove(s.head(nil))
		s.close()
	}()
	finish()
	<-closed
	if _, err := os.Stat(s.dir); !os.IsNotExist(err) {
		t.Errorf("the folder is still there: %v; %v", err, must(filepath.Glob(s.path("*"))))
	}
}

func TestSpool_EntriesOfAClaimAreSentInOrderHoweverLongTheyTake(t *testing.T) {
	s, err := openSpool(t.Context(), filepath.Join(t.TempDir(), "spool"), "w", quiet)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	checkpoint, end := entries()[1], entries()[2]
	x, err := s.reserve(checkpoint) // and still being written when the end is there
	if err != nil {
		t.Fatal(err)
	}
	if err := s.add(end); err != nil {
		t.Fatal(err)
	}
	if early := s.head(nil); early != nil {
		t.Errorf("%s is sent before the %s", early.kind, x.kind)
	}
	x.writing = false
	s.adding.Done()
	if first := s.head(nil); first != x {
		t.Errorf("%+v is sent first, want the checkpoint", first)
	}
}

// sink takes blobs and keeps nothing.
type sink struct {
	Backend
	got int64
}

func (k *sink) PutBlob(_ context.Context, _ ktrdr.Claimed, _ ktrdr.Hash, _ int64, r io.Reader) (err error) {
	k.got, err = io.Copy(io.Discard, r)
	return err
}

func (k *sink) Checkpoint(context.Context, ktrdr.NewCheckpoint) (ktrdr.CheckpointInfo, error) {
	return ktrdr.CheckpointInfo{}, nil
}

func TestSpool_BlobsAreSentWithoutBeingHeldInMemory(t *testing.T) {
	root := filepath.Join(t.TempDir(), "spool")
	blob := bytes.Repeat([]byte("weights "), 4<<20)
	h := ktrdr.Hash(sha256.Sum256(blob))
	deadSpool(t, root, []*entry{{
		Checkpoint: &ktrdr.NewCheckpoint{
			Operation: "op_a", Epoch: 1, Seq: 1, Type: ktrdr.CheckpointPeriodic, State: json.RawMessage("1"),
			Artifacts: []ktrdr.Artifact{{Name: "w", SHA256: h, Size: int64(len(blob))}},
		},
		files: map[ktrdr.Hash][]byte{h: blob},
	}})
	dead := must(deadSpools(root, quiet))
	if len(dead) != 1 {
		t.Fatalf("%d folders found, want 1", len(dead))
	}
	defer dead[0].close()
	backend := &sink{}
	w := &Worker{backend: backend, cfg: Config{CallTimeout: time.Minute}}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	e, err := dead[0].read(dead[0].head(nil))
	if err == nil {
		err = w.send(t.Context(), e)
	}
	runtime.ReadMemStats(&after)
	if err != nil || backend.got != int64(len(blob)) {
		t.Fatalf("%d bytes sent, %v, want %d", backend.got, err, len(blob))
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > uint64(len(blob)/4) {
		t.Errorf("sending %d bytes took %d bytes of memory", len(blob), used)
	}
}
