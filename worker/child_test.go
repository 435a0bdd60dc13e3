package worker_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/worker"
	"github.com/ktrdr/ktrdr/worker/workertest"
)

// requeued makes an operation that a backend ran when it died.
func requeued(t *testing.T, b *workertest.FakeBackend) {
	t.Helper()
	b.Create("op_a", ktrdr.Dummy, nil)
	for _, in := range []ktrdr.Input{ktrdr.Claim, ktrdr.Requeue} {
		if err := b.Act("op_a", ktrdr.Act{Input: in}); err != nil {
			t.Fatal(err)
		}
	}
}

// inChild is a worker.Child whose process is a worker in this one. It is killed
// by the end of its context: then it says nothing more.
func inChild(t *testing.T, r map[ktrdr.Type]worker.Runner) worker.Child {
	return func(ctx context.Context, stop <-chan struct{}, b worker.Backend) error {
		run, end := context.WithCancel(ctx)
		defer end()
		w, err := worker.New(worker.Config{Runners: r, StopWithin: 5 * time.Second}, b)
		if err != nil {
			t.Error(err)
			return err
		}
		go func() {
			select {
			case <-stop:
				end()
			case <-run.Done():
			}
		}()
		err = w.Run(run)
		return cmpErr(err, errors.New("exit status 0"))
	}
}

func cmpErr(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// never is a runner that must not be called: its operation runs elsewhere.
func never(t *testing.T) map[ktrdr.Type]worker.Runner {
	return oneRunner(func(context.Context, *worker.Task) (json.RawMessage, error) {
		t.Error("the operation ran in the process of its backend")
		return nil, nil
	})
}

func TestChild_RunsWhatABackendDiedOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := workertest.New()
		requeued(t, b)
		w := start(t, b, worker.Config{Runners: never(t), Child: inChild(t, oneRunner(counter))})
		op := ended(t, b, "op_a")
		if op.Status != ktrdr.Completed || op.Losses != 0 || string(op.Result) == "" {
			t.Errorf("ended %s with %s after %d losses, want COMPLETED without a loss", op.Status, op.Result, op.Losses)
		}
		synctest.Wait()
		if s := w.Stats(); s.Ended != 1 || s.Running != 0 {
			t.Errorf("stats %+v, want one ended and its slot free", s)
		}
	})
}

func TestChild_ThreeDeathsArePoison(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := workertest.New()
		requeued(t, b)
		deaths := 0
		var log bytes.Buffer
		w := start(t, b, worker.Config{
			Runners: never(t), Log: slog.New(slog.NewTextHandler(&log, nil)),
			Child: func(context.Context, <-chan struct{}, worker.Backend) error {
				deaths++
				return errors.New("signal: killed")
			},
		})
		if op := ended(t, b, "op_a"); op.Status != ktrdr.Failed || op.Losses != ktrdr.PoisonLosses || deaths != ktrdr.PoisonLosses {
			t.Errorf("ended %s with %d losses after %d deaths, want FAILED after %d", op.Status, op.Losses, deaths, ktrdr.PoisonLosses)
		}
		_ = w.stop() // the log is whole
		if got := strings.Count(log.String(), `level=WARN msg="death of the child process reported"`); got != ktrdr.PoisonLosses ||
			strings.Contains(log.String(), "operation ended") {
			t.Errorf("%d deaths are warnings, want %d:\n%s", got, ktrdr.PoisonLosses, &log)
		}
	})
}

func TestChild_ThatCannotBeStartedIsNoLoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := workertest.New()
		requeued(t, b)
		tries := 0
		runs := inChild(t, oneRunner(counter))
		start(t, b, worker.Config{Runners: never(t), Child: func(ctx context.Context, stop <-chan struct{}, w worker.Backend) error {
			if tries++; tries <= ktrdr.PoisonLosses {
				return fmt.Errorf("%w: no more processes", worker.ErrNotStarted)
			}
			return runs(ctx, stop, w)
		}})
		if op := ended(t, b, "op_a"); op.Status != ktrdr.Completed || op.Losses != 0 {
			t.Errorf("ended %s with %d losses, want COMPLETED without one", op.Status, op.Losses)
		}
	})
}

func TestChild_HearsOfACancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := workertest.New()
		requeued(t, b)
		start(t, b, worker.Config{Runners: never(t), Child: inChild(t, oneRunner(counter))})
		reached(t, b, "op_a", step(5))
		if err := b.Act("op_a", ktrdr.Act{Input: ktrdr.Cancel}); err != nil {
			t.Fatal(err)
		}
		op := ended(t, b, "op_a")
		h := b.History("op_a")
		if op.Status != ktrdr.Cancelled || len(h) == 0 || h[len(h)-1].Type != ktrdr.CheckpointCancellation {
			t.Errorf("ended %s with %d checkpoints, want CANCELLED with one of the cancellation", op.Status, len(h))
		}
	})
}

func TestChild_ThatIgnoresACancelIsKilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := workertest.New()
		requeued(t, b)
		deaf := func(ctx context.Context, _ <-chan struct{}, _ worker.Backend) error {
			<-ctx.Done()
			return errors.New("signal: killed")
		}
		start(t, b, worker.Config{Runners: never(t), Child: deaf, Grace: time.Minute})
		reached(t, b, "op_a", func(op ktrdr.Operation) bool { return op.Status == ktrdr.Running })
		if err := b.Act("op_a", ktrdr.Act{Input: ktrdr.Cancel}); err != nil {
			t.Fatal(err)
		}
		if op := ended(t, b, "op_a"); op.Status != ktrdr.Cancelled || op.Losses != 0 {
			t.Errorf("ended %s with %d losses, want CANCELLED without one", op.Status, op.Losses)
		}
	})
}

func TestChild_SavesAndGivesBackWhenItsBackendStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := workertest.New()
		requeued(t, b)
		w := start(t, b, worker.Config{Runners: never(t), Child: inChild(t, oneRunner(counter))})
		reached(t, b, "op_a", step(5))
		if err := w.stop(); err != nil {
			t.Fatal(err)
		}
		op, h := b.Operation("op_a"), b.History("op_a")
		if op.Status != ktrdr.Pending || op.Losses != 0 || len(h) == 0 || h[len(h)-1].Type != ktrdr.CheckpointShutdown {
			t.Errorf("%s with %d losses and %d checkpoints, want PENDING with one of the shutdown", op.Status, op.Losses, len(h))
		}
	})
}

func TestChild_OfALostClaimIsKilledAndNothingIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := workertest.New()
		requeued(t, b)
		killed := make(chan struct{})
		start(t, b, worker.Config{Runners: never(t), Child: func(ctx context.Context, _ <-chan struct{}, _ worker.Backend) error {
			<-ctx.Done()
			close(killed)
			return errors.New("signal: killed")
		}})
		reached(t, b, "op_a", func(op ktrdr.Operation) bool { return op.Status == ktrdr.Running })
		if err := b.Act("op_a", ktrdr.Act{Input: ktrdr.LoseWorker}); err != nil {
			t.Fatal(err)
		}
		<-killed
		time.Sleep(time.Minute)
		if cs := b.Calls("Progress", "Checkpoint", "Finish", "Release"); len(cs) != 0 {
			t.Errorf("a lost claim wrote %v", cs)
		}
	})
}

func TestChild_SpeaksForNoOtherClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := workertest.New()
		requeued(t, b)
		b.Create("op_b", ktrdr.Dummy, nil)
		answers := make(chan ktrdr.Code, 3)
		start(t, b, worker.Config{Runners: never(t), Child: func(ctx context.Context, _ <-chan struct{}, w worker.Backend) error {
			_, saved := w.Checkpoint(ctx, ktrdr.NewCheckpoint{Operation: "op_b", Epoch: 1})
			for _, err := range []error{
				saved, w.Finish(ctx, ktrdr.Finished{Operation: "op_b", Epoch: 1}),
				w.Release(ctx, ktrdr.Released{Operation: "op_a", Epoch: 1}),
			} {
				answers <- ktrdr.CodeOf(err)
			}
			<-ctx.Done()
			return errors.New("signal: killed")
		}})
		for range 3 {
			if got := <-answers; got != ktrdr.CodeStaleEpoch {
				t.Errorf("answered %v, want CodeStaleEpoch", got)
			}
		}
	})
}

// concluding is a runner whose last part is done in the backend.
type concluding struct {
	runnerFunc
	before json.RawMessage // what an earlier claim concluded with
}

func (c concluding) Concluded(context.Context, *worker.Task) (json.RawMessage, error) {
	return c.before, nil
}

func (concluding) Conclude(ctx context.Context, _ *worker.Task, result json.RawMessage, final *worker.Checkpoint) (json.RawMessage, error) {
	f, err := final.Open(ctx, "file")
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(f)
	return json.RawMessage(fmt.Sprintf(`[%s,%q]`, result, text)), errors.Join(err, f.Close())
}

func TestChild_WhatItComputedIsConcludedByItsBackend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := workertest.New()
		requeued(t, b)
		half := oneRunner(func(_ context.Context, t *worker.Task) (json.RawMessage, error) {
			return json.RawMessage(`1`), t.Final(1, "state", worker.File{Name: "file", Bytes: []byte("bytes")})
		})
		start(t, b, worker.Config{
			Runners: map[ktrdr.Type]worker.Runner{ktrdr.Dummy: concluding{}}, Child: inChild(t, half),
		})
		if op := ended(t, b, "op_a"); op.Status != ktrdr.Completed || string(op.Result) != `[1,"bytes"]` {
			t.Errorf(`ended %s with %s, want COMPLETED with [1,"bytes"]`, op.Status, op.Result)
		}
	})
}

func TestChild_IsNotStartedForWhatWasConcludedBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := workertest.New()
		requeued(t, b)
		start(t, b, worker.Config{
			Runners: map[ktrdr.Type]worker.Runner{ktrdr.Dummy: concluding{before: json.RawMessage(`"stored"`)}},
			Child: func(context.Context, <-chan struct{}, worker.Backend) error {
				t.Error("a child process was started")
				return errors.New("signal: killed")
			},
		})
		if op := ended(t, b, "op_a"); op.Status != ktrdr.Completed || string(op.Result) != `"stored"` {
			t.Errorf(`ended %s with %s, want COMPLETED with "stored"`, op.Status, op.Result)
		}
	})
}
