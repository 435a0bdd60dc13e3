package worker

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/worker/workertest"
)

var quiet = slog.New(slog.DiscardHandler)

// entries is one of each kind, the checkpoint with a blob.
func entries() []*entry {
	blob := []byte("weights <&>")
	h := ktrdr.Hash(sha256.Sum256(blob))
	return []*entry{
		{Progress: &ktrdr.ProgressReport{Operation: "op_a", Epoch: 1, Progress: ktrdr.Progress{StepsCompleted: 5, CurrentStep: "<five>"}}},
		{
			Checkpoint: &ktrdr.NewCheckpoint{
				Operation: "op_a", Epoch: 1, Seq: 1, Type: ktrdr.CheckpointPeriodic, Step: 5, State: json.RawMessage(`{"n":5}`),
				Artifacts: []ktrdr.Artifact{{Name: "w", SHA256: h, Size: int64(len(blob))}},
			},
			files: map[ktrdr.Hash][]byte{h: blob},
		},
		{Finished: &ktrdr.Finished{Operation: "op_a", Epoch: 1, Outcome: ktrdr.Completed, Result: json.RawMessage(`"done"`)}},
		{Released: &ktrdr.Released{Operation: "op_b", Epoch: 4, Reason: "because"}},
	}
}

// deadSpool writes the entries and lets the folder go, as a killed process does.
func deadSpool(t testing.TB, root string, es []*entry) string {
	t.Helper()
	s, err := openSpool(t.Context(), root, "dead", quiet)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range es {
		if err := s.add(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.lock.Close(); err != nil {
		t.Fatal(err)
	}
	return s.dir
}

// recovered adopts what is in root, reads all of it, and gives it up.
func recovered(t testing.TB, root string) []*entry {
	t.Helper()
	dead, err := deadSpools(root, quiet)
	if err != nil {
		t.Fatal(err)
	}
	var got []*entry
	for _, s := range dead {
		for x := s.head(nil); x != nil; x = s.head(nil) {
			e, err := s.read(x)
			if err != nil {
				s.setAside(entryName(x.seq), err)
			} else {
				e.files = contents(t, e)
				got = append(got, e)
			}
			s.remove(x)
		}
		s.close()
	}
	return got
}

// contents reads the blobs of an entry.
func contents(t testing.TB, e *entry) map[ktrdr.Hash][]byte {
	t.Helper()
	all := map[ktrdr.Hash][]byte{}
	for _, a := range e.artifacts() {
		r, err := e.open(a)
		if err != nil {
			t.Fatal(err)
		}
		all[a.SHA256] = must(io.ReadAll(r))
		_ = r.Close()
	}
	return all
}

func same(a, b *entry) bool {
	return cmp.Equal(a.Progress, b.Progress) && cmp.Equal(a.Checkpoint, b.Checkpoint) &&
		cmp.Equal(a.Finished, b.Finished) && cmp.Equal(a.Released, b.Released)
}

func TestSpool_OutlivesTheProcess(t *testing.T) {
	root := filepath.Join(t.TempDir(), "spool")
	want := entries()
	dir := deadSpool(t, root, want)
	got := recovered(t, root)
	if len(got) != len(want) {
		t.Fatalf("%d entries came back, want %d", len(got), len(want))
	}
	for i := range want {
		if !same(got[i], want[i]) {
			t.Errorf("entry %d came back as %+v, want %+v", i, got[i], want[i])
		}
	}
	for h, b := range want[1].files {
		if !bytes.Equal(got[1].files[h], b) {
			t.Errorf("blob came back as %q, want %q", got[1].files[h], b)
		}
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("folder is still there after everything was delivered: %v", err)
	}
}

func TestSpool_TruncatedAnywhereDeliversNothingWrong(t *testing.T) {
	want := entries()
	root := filepath.Join(t.TempDir(), "spool")
	dir := deadSpool(t, root, want)
	for i := range want {
		name := entryName(uint64(i + 1))
		complete := must(os.ReadFile(filepath.Join(dir, name)))
		for cut := range len(complete) {
			if err := os.WriteFile(filepath.Join(dir, name), complete[:cut], 0o600); err != nil {
				t.Fatal(err)
			}
			var expected []*entry
			for k, e := range want {
				if k != i || cut == len(complete)-1 { // only the final line feed is missing
					expected = append(expected, e)
				}
			}
			got := readable(t, root)
			if len(got) != len(expected) {
				t.Fatalf("entry %d cut at byte %d: %d entries can be read, want %d", i+1, cut, len(got), len(expected))
			}
			for k := range got {
				if !same(got[k], expected[k]) {
					t.Fatalf("entry %d cut at byte %d: got %+v, want %+v", i+1, cut, got[k], expected[k])
				}
			}
			if _, err := os.Stat(filepath.Join(root, unreadable, "dead-"+name)); cut == 0 && err != nil {
				t.Fatalf("entry %d is not set aside: %v", i+1, err)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, name), complete, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// readable adopts what is in root, reads it, and leaves it there.
func readable(t *testing.T, root string) (got []*entry) {
	t.Helper()
	for _, s := range must(deadSpools(root, quiet)) {
		for _, x := range s.waiting {
			if e, err := s.read(x); err == nil {
				got = append(got, e)
			}
		}
		if err := s.lock.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return got
}

// copied is a copy of a folder, to be damaged.
func copied(t *testing.T, dir string) string {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return to
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestSpool_DamagedAnyhowDeliversNothingWrong(t *testing.T) {
	want := entries()
	written := filepath.Join(t.TempDir(), "spool")
	deadSpool(t, written, want)
	rapid.Check(t, func(rt *rapid.T) {
		root := copied(t, written)
		dir := filepath.Join(root, "dead")
		files := must(os.ReadDir(dir))
		for range rapid.IntRange(1, 4).Draw(rt, "damages") {
			path := filepath.Join(dir, files[rapid.IntRange(0, len(files)-1).Draw(rt, "file")].Name())
			data := must(os.ReadFile(path))
			if len(data) > 0 {
				data[rapid.IntRange(0, len(data)-1).Draw(rt, "byte")] ^= 1 << rapid.IntRange(0, 7).Draw(rt, "bit")
			}
			if err := os.WriteFile(path, data, 0o600); err != nil {
				rt.Fatal(err)
			}
		}
		k := 0
		for _, e := range recovered(t, root) {
			for k < len(want) && !same(e, want[k]) {
				k++
			}
			if k == len(want) {
				rt.Fatalf("delivered %+v, which was never written, or not in this order", e)
			}
			for h, b := range e.files {
				if sha256.Sum256(b) != h {
					rt.Fatalf("delivered a blob that does not match its hash")
				}
			}
		}
	})
}

func TestSpool_UnreadableLastCheckpointDoesNotKeepTheResult(t *testing.T) {
	root := filepath.Join(t.TempDir(), "spool")
	e := entries()[1]
	f := &entry{Finished: &ktrdr.Finished{Operation: "op_a", Epoch: 1, Outcome: ktrdr.Completed, Checkpoint: e.Checkpoint}, files: e.files}
	dir := deadSpool(t, root, []*entry{f})
	if err := os.Remove(filepath.Join(dir, blobName(e.Checkpoint.Artifacts[0].SHA256))); err != nil {
		t.Fatal(err)
	}
	got := recovered(t, root)
	if len(got) != 1 || got[0].Finished.Outcome != ktrdr.Completed || got[0].Finished.Checkpoint != nil {
		t.Errorf("got %+v, want the result without its checkpoint", got)
	}
}

func TestSpool_KeepsTheNewestProgressAndAFewCheckpoints(t *testing.T) {
	root := filepath.Join(t.TempDir(), "spool")
	var es []*entry
	for i := range int64(20) {
		blob := fmt.Append(nil, i)
		h := ktrdr.Hash(sha256.Sum256(blob))
		es = append(es,
			&entry{Progress: &ktrdr.ProgressReport{Operation: "op_a", Epoch: 1, Progress: ktrdr.Progress{StepsCompleted: i}}},
			&entry{
				Checkpoint: &ktrdr.NewCheckpoint{
					Operation: "op_a", Epoch: 1, Seq: i + 1, Type: ktrdr.CheckpointPeriodic, Step: i, State: json.RawMessage("1"),
					Artifacts: []ktrdr.Artifact{{Name: "w", SHA256: h, Size: int64(len(blob))}},
				},
				files: map[ktrdr.Hash][]byte{h: blob},
			})
	}
	dir := deadSpool(t, root, es)
	if n := len(must(filepath.Glob(filepath.Join(dir, "*.blob")))); n != keptCheckpoints {
		t.Errorf("%d blobs kept, want %d", n, keptCheckpoints)
	}
	var got []string
	for _, e := range recovered(t, root) {
		if e.Progress != nil {
			got = append(got, fmt.Sprint("progress ", e.Progress.Progress.StepsCompleted))
		} else {
			got = append(got, fmt.Sprint("checkpoint ", e.Checkpoint.Seq))
		}
	}
	if s := strings.Join(got, ", "); s != "checkpoint 17, checkpoint 18, checkpoint 19, progress 19, checkpoint 20" {
		t.Errorf("kept %s", s)
	}
}

func TestSpool_KeepsInMemoryWhatTheDiskRefuses(t *testing.T) {
	var log bytes.Buffer
	root := filepath.Join(t.TempDir(), "spool")
	s, err := openSpool(t.Context(), root, "w", slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	if err := os.RemoveAll(s.dir); err != nil { // nothing can be written any more
		t.Fatal(err)
	}
	want := entries()
	for _, e := range want {
		if err := s.add(e); err != nil {
			t.Fatal(err)
		}
		for _, b := range e.files {
			clear(b) // the caller may reuse what it gave
		}
	}
	if n := strings.Count(log.String(), "keeping the entry in memory"); n != len(want) {
		t.Errorf("said %d times that it keeps entries in memory, want %d", n, len(want))
	}
	for i := 0; !s.empty(); i++ {
		x := s.head(nil)
		e, err := s.read(x)
		if err != nil || !same(e, want[i]) {
			t.Errorf("entry %d came back as %+v, %v", i, e, err)
		}
		for h, b := range e.files {
			if sha256.Sum256(b) != h {
				t.Errorf("a blob changed after it was spooled")
			}
		}
		s.remove(x)
	}
}

func TestSpool_WhatMemoryHeldReachesTheDiskAtTheEnd(t *testing.T) {
	root := filepath.Join(t.TempDir(), "spool")
	s, err := openSpool(t.Context(), root, "w", quiet)
	if err != nil {
		t.Fatal(err)
	}
	away := s.dir + "-away"
	if err := os.Rename(s.dir, away); err != nil {
		t.Fatal(err)
	}
	if err := s.add(entries()[2]); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(away, s.dir); err != nil { // the disk is well again
		t.Fatal(err)
	}
	s.close()
	if got := recovered(t, root); len(got) != 1 || got[0].Finished == nil {
		t.Errorf("recovered %+v, want the result", got)
	}
}

func TestSpool_WaitForALockEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		root := filepath.Join(t.TempDir(), "spool")
		held := must(openSpool(t.Context(), root, "w", quiet))
		defer held.close()
		ctx, cancel := context.WithTimeout(t.Context(), 3*lockPause/2)
		defer cancel()
		began := time.Now()
		if _, err := openSpool(ctx, root, "w", quiet); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("err = %v, want the end of the context", err)
		}
		if took := time.Since(began); took != 3*lockPause/2 {
			t.Errorf("gave up after %v, want %v", took, 3*lockPause/2)
		}
	})
}

func TestSpool_StartAndAdoptionDoNotMeet(t *testing.T) {
	root := filepath.Join(t.TempDir(), "spool")
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			for i := range 100 {
				s, err := openSpool(t.Context(), root, ktrdr.WorkerID(fmt.Sprintf("w-%d-%d", g, i)), quiet)
				if err != nil {
					t.Error(err)
					return
				}
				if err := s.add(entries()[2]); err != nil || s.waiting[0].held != nil {
					t.Errorf("a living worker's folder was taken away: %v", err)
				}
				dead, err := deadSpools(root, quiet)
				if err != nil {
					t.Error(err)
				}
				for _, d := range dead {
					if !d.empty() {
						t.Errorf("%s was taken for dead", d.dir)
					}
					d.close()
				}
				s.remove(s.head(nil))
				s.close()
			}
		})
	}
	all.Wait()
	if left := must(os.ReadDir(root)); len(left) != 0 {
		t.Errorf("%d folders are left", len(left))
	}
}

func TestSpool_OneWriteRefusedForNowHoldsUpOnlyItsOperation(t *testing.T) {
	b := workertest.New()
	for _, id := range []ktrdr.OperationID{"op_a", "op_b"} {
		b.Create(id, ktrdr.Dummy, nil)
		if err := b.Act(id, ktrdr.Act{Input: ktrdr.Claim}); err != nil {
			t.Fatal(err)
		}
	}
	b.Before = func(c workertest.Call) error {
		if c.Operation == "op_a" {
			return ktrdr.Errorf(ktrdr.CodeNoSpace, "the disk is full")
		}
		return nil
	}
	dir := t.TempDir()
	es := entries()
	es[3].Released.Epoch = 1
	deadSpool(t, filepath.Join(dir, "spool"), es)
	w, err := New(Config{Dir: dir, Runners: map[ktrdr.Type]Runner{ktrdr.Dummy: nil}}, b)
	if err != nil {
		t.Fatal(err)
	}
	if w.own, err = openSpool(t.Context(), filepath.Join(dir, "spool"), w.ID(), quiet); err != nil {
		t.Fatal(err)
	}
	defer w.own.close()
	w.adopt()
	w.link.raise(defaultBeat)
	if postponed := w.drain(context.Background()); !postponed {
		t.Error("drain says that nothing was put off")
	}
	if a, b := b.Operation("op_a").Status, b.Operation("op_b").Status; a != ktrdr.Running || b != ktrdr.Pending {
		t.Errorf("op_a is %s and op_b is %s, want RUNNING and PENDING", a, b)
	}
	b.Before = nil
	if postponed := w.drain(context.Background()); postponed {
		t.Error("drain says that something was put off")
	}
	if op := b.Operation("op_a"); op.Status != ktrdr.Completed || op.Progress.StepsCompleted != 5 || len(b.History("op_a")) != 1 {
		t.Errorf("op_a is %s with %+v and %d checkpoints, want all of it delivered", op.Status, op.Progress, len(b.History("op_a")))
	}
}

func FuzzUnseal(f *testing.F) {
	for _, e := range entries() {
		f.Add(must(seal(e)))
	}
	f.Add([]byte(`{"sha256":"44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a","entry":{}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := unseal(data)
		if err != nil {
			return
		}
		once := must(seal(e))
		again, err := unseal(once)
		if err != nil || !bytes.Equal(must(seal(again)), once) {
			t.Errorf("sealed again it came back as %+v, %v, want %+v", again, err, e)
		}
	})
}
