package worker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/worker"
	"github.com/ktrdr/ktrdr/worker/workertest"
)

func TestOutage_ResultComesAfterwardsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := workertest.New()
		b.Create("op_a", ktrdr.Dummy, nil)
		dir := t.TempDir()
		w := start(t, b, worker.Config{Dir: dir})
		reached(t, b, "op_a", step(1))
		setAway(b, true)
		before := len(b.Calls())
		time.Sleep(time.Minute)
		if op := b.Operation("op_a"); op.Status != ktrdr.Running {
			t.Fatalf("operation is %s while the backend is away, want RUNNING", op.Status)
		}
		if s := w.Stats(); s.Running != 0 || s.Ended != 1 {
			t.Errorf("stats %+v, want the work done meanwhile", s)
		}
		setAway(b, false)
		if op := ended(t, b, "op_a"); op.Status != ktrdr.Completed || string(op.Result) != "10" || op.Attempts != 1 {
			t.Errorf("ended %s with %s after %d attempts, want COMPLETED with 10 after 1", op.Status, op.Result, op.Attempts)
		}
		var story []string
		for _, c := range b.Calls()[before:] {
			if c.Name != "Claim" && c.Name != "Heartbeat" {
				story = append(story, c.Name)
			}
		}
		if got, want := strings.Join(story, " "), "Register Checkpoint Checkpoint Progress Checkpoint Finish"; got != want {
			t.Errorf("after the outage: %s, want %s", got, want)
		}
		r := b.Calls("Register")[1].Arg.(ktrdr.Registration)
		if len(r.Running) != 0 || len(r.Finished) != 1 || r.Finished[0].Operation != "op_a" || r.Finished[0].Epoch != 1 {
			t.Errorf("registered again with %+v, want op_a finished at epoch 1", r)
		}
		if err := w.stop(); err != nil {
			t.Error(err)
		}
		noSpool(t, dir)
	})
}

// noSpool requires that nothing was left behind.
func noSpool(t *testing.T, dir string) {
	t.Helper()
	left, err := os.ReadDir(filepath.Join(dir, "spool"))
	if err != nil || len(left) != 0 {
		t.Errorf("spool holds %v, %v, want nothing", left, err)
	}
}

func TestOutage_RegistrationTellsRunningFromFinished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := workertest.New()
		b.Create("op_a", ktrdr.Dummy, nil)
		start(t, b, worker.Config{Dir: t.TempDir(), Slots: 2})
		reached(t, b, "op_a", step(5))
		b.Create("op_b", ktrdr.Dummy, nil)
		reached(t, b, "op_b", step(1))
		setAway(b, true)
		time.Sleep(5 * time.Second) // op_a ends at 10 s, op_b at 15 s
		setAway(b, false)
		ended(t, b, "op_b")
		r := b.Calls("Register")[1].Arg.(ktrdr.Registration)
		if len(r.Finished) != 1 || r.Finished[0].Operation != "op_a" {
			t.Errorf("finished %+v, want op_a", r.Finished)
		}
		if len(r.Running) != 1 || r.Running[0].Operation != "op_b" || r.Running[0].Step < 5 {
			t.Errorf("running %+v, want op_b at step 5 or later", r.Running)
		}
	})
}

func TestOutage_LostMeanwhileIsDropped(t *testing.T) {
	for name, back := range map[string]time.Duration{"while it ran": 5 * time.Second, "after it ended": time.Minute} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := workertest.New()
				b.Create("op_a", ktrdr.Dummy, nil)
				dir := t.TempDir()
				w := start(t, b, worker.Config{Dir: dir})
				reached(t, b, "op_a", step(1))
				setAway(b, true)
				before := len(b.Calls("Checkpoint", "Finish", "Progress"))
				time.Sleep(back)
				for _, in := range []ktrdr.Input{ktrdr.LoseWorker, ktrdr.Resume, ktrdr.Claim} { // another worker has it now
					if err := b.Act("op_a", ktrdr.Act{Input: in}); err != nil {
						t.Fatal(err)
					}
				}
				setAway(b, false)
				time.Sleep(time.Minute)
				if op := b.Operation("op_a"); op.Status != ktrdr.Running || op.Epoch != 2 || len(b.History("op_a")) != 0 {
					t.Errorf("operation is %s at epoch %d with %d checkpoints, want untouched", op.Status, op.Epoch, len(b.History("op_a")))
				}
				if s := w.Stats(); s.Lost != 1 || s.Running != 0 {
					t.Errorf("stats %+v, want one lost", s)
				}
				if n := len(b.Calls("Checkpoint", "Finish", "Progress")) - before; n > 1 {
					t.Errorf("%d writes were tried for a lost claim, want at most one refusal", n)
				}
				if err := w.stop(); err != nil {
					t.Error(err)
				}
				noSpool(t, dir)
			})
		})
	}
}

func TestOutage_WhatFollowsASpooledWriteWaitsBehindIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := workertest.New()
		b.Create("op_a", ktrdr.Dummy, nil)
		full := func(c workertest.Call) error { // in reach, but it takes no checkpoints
			if c.Name == "Checkpoint" {
				return ktrdr.Errorf(ktrdr.CodeNoSpace, "the disk is full")
			}
			return nil
		}
		b.Before = full
		w := start(t, b, worker.Config{Dir: t.TempDir()})
		time.Sleep(time.Minute)
		if s := w.Stats(); s.Ended != 1 || len(b.Calls("Finish")) != 0 {
			t.Errorf("stats %+v and %d finishes sent, want the result to wait for the checkpoints", s, len(b.Calls("Finish")))
		}
		setAway(b, false)
		ended(t, b, "op_a")
		if wrong := outOfOrder(b); len(wrong) > 0 || len(b.History("op_a")) != 3 {
			t.Errorf("%d checkpoints, %v, want all three in order", len(b.History("op_a")), wrong)
		}
	})
}

func TestOutage_WithoutASpoolTheWorkWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := workertest.New()
		b.Create("op_a", ktrdr.Dummy, nil)
		start(t, b, worker.Config{})
		reached(t, b, "op_a", step(1))
		setAway(b, true)
		time.Sleep(time.Minute)
		setAway(b, false)
		if op := ended(t, b, "op_a"); op.Status != ktrdr.Completed || op.Attempts != 1 {
			t.Errorf("ended %s after %d attempts, want COMPLETED after 1", op.Status, op.Attempts)
		}
	})
}

func TestOutage_NextWorkerDeliversWhatTheLastOneLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := workertest.New()
		b.Create("op_a", ktrdr.Dummy, nil)
		b.Create("op_b", ktrdr.Dummy, nil)
		dir := t.TempDir()
		first := start(t, b, worker.Config{
			Dir: dir, Slots: 2,
			Runners: oneRunner(func(ctx context.Context, t *worker.Task) (json.RawMessage, error) {
				if t.Operation == "op_b" { // still at work when the worker stops
					<-ctx.Done()
					return nil, t.Interrupted(ctx, 7, 7, worker.File{Name: "weights", Bytes: []byte("heavy")})
				}
				return counter(ctx, t)
			}),
		})
		reached(t, b, "op_a", step(1))
		setAway(b, true)
		time.Sleep(time.Minute)
		if err := first.stop(); err != nil {
			t.Fatalf("Run = %v, want nil", err)
		}
		setAway(b, false)

		second := start(t, b, worker.Config{Dir: dir})
		if op := ended(t, b, "op_a"); op.Status != ktrdr.Completed || op.Attempts != 1 {
			t.Errorf("op_a ended %s after %d attempts, want COMPLETED after 1", op.Status, op.Attempts)
		}
		reached(t, b, "op_b", func(op ktrdr.Operation) bool { return op.Epoch == 2 }) // released, and claimed by the second
		h := b.History("op_b")
		if len(h) == 0 || h[0].Type != ktrdr.CheckpointShutdown || h[0].Epoch != 1 || string(b.Blobs()[h[0].Artifacts[0].SHA256]) != "heavy" {
			t.Errorf("checkpoints of op_b %+v, want the first worker's shutdown checkpoint with its file", h)
		}
		r := b.Calls("Register")[1].Arg.(ktrdr.Registration)
		if r.Worker.ID != second.ID() || len(r.Finished) != 2 || len(r.Running) != 0 {
			t.Errorf("second worker registered with %+v, want two finished, none running", r)
		}
		ended(t, b, "op_b")
		if err := second.stop(); err != nil {
			t.Error(err)
		}
		noSpool(t, dir)
	})
}

func TestOutage_FolderOfALivingWorkerIsNotChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := workertest.New()
		b.Create("op_a", ktrdr.Dummy, nil)
		dir := t.TempDir()
		first := start(t, b, worker.Config{Dir: dir})
		reached(t, b, "op_a", step(1))
		only := func(c workertest.Call) error { // only the first worker is cut off
			if c.Worker == first.ID() || c.Worker == "" {
				return errAway
			}
			return nil
		}
		b.Do(func() { b.Before = only })
		time.Sleep(20 * time.Second)
		start(t, b, worker.Config{Dir: dir})
		time.Sleep(20 * time.Second)
		regs := b.Calls("Register")
		if r := regs[len(regs)-1].Arg.(ktrdr.Registration); r.Worker.ID == first.ID() || len(r.Finished) != 0 {
			t.Errorf("second worker registered with %+v, want nothing of the first's", r)
		}
		setAway(b, false)
		ended(t, b, "op_a")
	})
}

// A result and the checkpoint stored with it wait together.
func TestOutage_FinalCheckpointTravelsWithTheResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := workertest.New()
		b.Create("op_a", ktrdr.Dummy, nil)
		start(t, b, worker.Config{Dir: t.TempDir(), Runners: oneRunner(func(_ context.Context, t *worker.Task) (json.RawMessage, error) {
			time.Sleep(time.Minute)
			if err := t.Final(7, "done", worker.File{Name: "model", Bytes: []byte("weights")}); err != nil {
				return nil, err
			}
			return json.RawMessage("1"), nil
		})})
		time.Sleep(time.Second)
		setAway(b, true)
		time.Sleep(2 * time.Minute)
		setAway(b, false)
		ended(t, b, "op_a")
		h := b.History("op_a")
		if len(h) != 1 || h[0].Type != ktrdr.CheckpointFinal || string(b.Blobs()[h[0].Artifacts[0].SHA256]) != "weights" {
			t.Errorf("checkpoints %+v, want one final one with its file", h)
		}
	})
}

// Whatever is cut off, lost or repeated on the way, each operation runs once,
// its accepted writes are in order, and its result is the undisturbed one.
func TestOutage_AnyOfThemKeepsOrderAndResult(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		const before, after = 1, 2
		faults := rapid.SliceOfN(rapid.IntRange(0, 7), 1, 200).Draw(rt, "faults")
		config := worker.Config{Slots: 2}
		if rapid.Bool().Draw(rt, "spool") {
			config.Dir = tempDir(t)
		}
		var wrong []string
		synctest.Test(t, func(t *testing.T) {
			b := workertest.New()
			n := 0
			fault := func(kind int) func(workertest.Call) error {
				return func(workertest.Call) error {
					if n++; n < len(faults) && faults[n] == kind {
						return errAway
					}
					return nil
				}
			}
			b.Before, b.After = fault(before), fault(after)
			ids := []ktrdr.OperationID{"op_a", "op_b", "op_c"}
			for _, id := range ids {
				b.Create(id, ktrdr.Dummy, nil)
			}
			w := start(t, b, config)
			for _, id := range ids {
				if op := ended(t, b, id); op.Status != ktrdr.Completed || string(op.Result) != "10" || op.Attempts != 1 {
					wrong = append(wrong, fmt.Sprintf("%s ended %s with %s after %d attempts", id, op.Status, op.Result, op.Attempts))
				}
			}
			if err := w.stop(); err != nil {
				wrong = append(wrong, err.Error())
			}
			wrong = append(wrong, outOfOrder(b)...)
		})
		if len(wrong) > 0 {
			rt.Fatal(strings.Join(wrong, "\n"))
		}
	})
}

// tempDir is like t.TempDir, for bodies that run many times.
func tempDir(t *testing.T) string {
	dir, err := os.MkdirTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// outOfOrder lists the writes that were refused or came in a wrong order.
func outOfOrder(b *workertest.FakeBackend) (wrong []string) {
	seq := make(map[ktrdr.OperationID]int64)
	over := make(map[ktrdr.OperationID]bool)
	for _, c := range b.Calls("Checkpoint", "Finish") {
		if c.Err != nil {
			wrong = append(wrong, fmt.Sprintf("%s of %s refused: %v", c.Name, c.Operation, c.Err))
		}
		cp, ok := c.Arg.(ktrdr.NewCheckpoint)
		if !ok {
			over[c.Operation] = true
			continue
		}
		if over[c.Operation] || cp.Seq < seq[c.Operation] || cp.Seq > seq[c.Operation]+1 {
			wrong = append(wrong, fmt.Sprintf("%s: checkpoint %d after %d, ended %v", c.Operation, cp.Seq, seq[c.Operation], over[c.Operation]))
		}
		seq[c.Operation] = cp.Seq
	}
	return wrong
}

func TestLoad_UnusableCheckpointFallsBackToTheOneBefore(t *testing.T) {
	for name, spoil := range map[string]func(*workertest.FakeBackend, ktrdr.Hash){
		"missing": func(b *workertest.FakeBackend, h ktrdr.Hash) { b.SetBlob(h, nil) },
		"flipped": func(b *workertest.FakeBackend, h ktrdr.Hash) {
			bad := slices.Clone(b.Blobs()[h])
			bad[0] ^= 1
			b.SetBlob(h, bad)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := workertest.New()
				b.Create("op_a", ktrdr.Dummy, nil)
				var from []int64
				config := worker.Config{Runners: oneRunner(func(ctx context.Context, t *worker.Task) (json.RawMessage, error) {
					if t.Checkpoint != nil {
						from = append(from, t.Checkpoint.Step)
						f, err := t.Checkpoint.Open(ctx, "file")
						if err != nil {
							return nil, err
						}
						defer f.Close() //nolint:errcheck // in memory
						return io.ReadAll(f)
					}
					for i := range int64(3) {
						if err := t.Save(ctx, i+1, i+1, worker.File{Name: "file", Bytes: []byte{'1' + byte(i)}}); err != nil {
							return nil, err
						}
					}
					<-ctx.Done()
					return nil, context.Cause(ctx)
				})}
				w := start(t, b, config)
				reached(t, b, "op_a", step(3))
				if err := w.stop(); err != nil {
					t.Fatal(err)
				}
				h := b.History("op_a")
				spoil(b, h[2].Artifacts[0].SHA256)
				spoil(b, h[1].Artifacts[0].SHA256)
				start(t, b, config)
				if op := ended(t, b, "op_a"); string(op.Result) != "1" || !slices.Equal(from, []int64{1}) {
					t.Errorf("resumed from %v with result %s (%s), want from step 1 with its file", from, op.Result, op.ErrorMessage)
				}
				if n := len(b.Calls("SkipCheckpoint")); n != 2 {
					t.Errorf("%d checkpoints skipped, want 2", n)
				}
			})
		})
	}
}

func TestLoad_StateMayBeABlob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := workertest.New()
		b.Create("op_a", ktrdr.Dummy, nil)
		b.StateBlobs = true
		first := start(t, b, worker.Config{})
		reached(t, b, "op_a", step(7))
		if err := first.stop(); err != nil {
			t.Fatal(err)
		}
		start(t, b, worker.Config{})
		if op := ended(t, b, "op_a"); op.Status != ktrdr.Completed || string(op.Result) != "10" {
			t.Errorf("ended %s with %s: %s", op.Status, op.Result, op.ErrorMessage)
		}
	})
}

func TestTask_CheckpointOfSomethingElseIsRefusedByName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := workertest.New()
		b.Create("op_a", ktrdr.Dummy, nil)
		config := func(fingerprint map[string]string) worker.Config {
			return worker.Config{Runners: oneRunner(func(ctx context.Context, t *worker.Task) (json.RawMessage, error) {
				if err := t.Identify(maps.Clone(fingerprint)); err != nil {
					return nil, err
				}
				return counter(ctx, t)
			})}
		}
		first := start(t, b, config(map[string]string{"data": "1", "spec": "1"}))
		reached(t, b, "op_a", step(5))
		if err := first.stop(); err != nil {
			t.Fatal(err)
		}
		start(t, b, config(map[string]string{"data": "2", "spec": "1"}))
		op := ended(t, b, "op_a")
		if op.Status != ktrdr.Failed || op.Error.Code != ktrdr.CodeMismatch || !strings.Contains(op.ErrorMessage, "another data;") {
			t.Errorf("ended %s with %q, want CodeMismatch naming the data", op.Status, op.ErrorMessage)
		}
	})
}
