package worker_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/worker"
	"github.com/ktrdr/ktrdr/worker/workertest"
)

func TestWorker_CancelComesOverTheOpenPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := workertest.New()
		b.Every = time.Hour // no heartbeat will tell
		b.Create("op_a", ktrdr.Dummy, nil)
		start(t, b, worker.Config{})
		time.Sleep(5500 * time.Millisecond)
		cancelAndCheck(t, b, time.Second)
	})
}

func TestWorker_CancelComesWithTheHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := workertest.New()
		b.Before = deaf
		b.Create("op_a", ktrdr.Dummy, nil)
		start(t, b, worker.Config{})
		time.Sleep(5500 * time.Millisecond)
		cancelAndCheck(t, b, 2*time.Second)
	})
}

func cancelAndCheck(t *testing.T, b *workertest.FakeBackend, within time.Duration) {
	t.Helper()
	began := time.Now()
	if err := b.Act("op_a", ktrdr.Act{Input: ktrdr.Cancel}); err != nil {
		t.Fatal(err)
	}
	op := ended(t, b, "op_a")
	if op.Status != ktrdr.Cancelled || op.Error == nil || op.Error.Code != ktrdr.CodeCancelled {
		t.Errorf("ended %s with %+v, want CANCELLED", op.Status, op.Error)
	}
	if took := time.Since(began); took > within {
		t.Errorf("cancel took %v, want at most %v", took, within)
	}
	h := b.History("op_a")
	if last := h[len(h)-1]; last.Type != ktrdr.CheckpointCancellation || last.Step != 5 {
		t.Errorf("last checkpoint %s at step %d, want cancellation at 5", last.Type, last.Step)
	}
}

func TestWorker_CancelledBeforeItBeganStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := workertest.New()
		b.Every = time.Hour
		b.Create("op_a", ktrdr.Dummy, nil)
		b.After = func(c workertest.Call) error {
			if c.Name != "Claim" {
				return nil
			}
			b.After, b.Before = nil, func(workertest.Call) error { return errAway }
			return errAway
		}
		start(t, b, worker.Config{})
		reached(t, b, "op_a", func(op ktrdr.Operation) bool { return op.Status == ktrdr.Running })
		if err := b.Act("op_a", ktrdr.Act{Input: ktrdr.Cancel}); err != nil {
			t.Fatal(err)
		}
		b.Do(func() { b.Before = deaf })
		if op := ended(t, b, "op_a"); op.Status != ktrdr.Cancelled || op.MaxStep > 0 {
			t.Errorf("ended %s at step %d, want CANCELLED before the work began", op.Status, op.MaxStep)
		}
	})
}

func TestWorker_LostClaimWritesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := workertest.New()
		b.Create("op_a", ktrdr.Dummy, nil)
		var after error
		w := start(t, b, worker.Config{Runners: oneRunner(func(ctx context.Context, t *worker.Task) (json.RawMessage, error) {
			<-ctx.Done()
			t.Progress(ktrdr.Progress{StepsCompleted: 99})
			after = t.Save(ctx, 99, "zombie")
			_ = t.Interrupted(ctx, 99, "zombie")
			return json.RawMessage(`"zombie"`), nil // a runner that pretends nothing happened
		})})
		time.Sleep(3 * time.Second)
		if err := b.Act("op_a", ktrdr.Act{Input: ktrdr.LoseWorker}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if s := w.Stats(); s.Lost != 1 || s.Running != 0 || s.Ended != 0 {
			t.Errorf("stats %+v, want one lost and none running", s)
		}
		if !errors.Is(after, ktrdr.ErrLost) {
			t.Errorf("Save after the loss = %v, want ErrLost", after)
		}
		if cs := b.Calls("Progress", "Checkpoint", "Finish", "Release"); len(cs) != 0 {
			t.Errorf("a lost claim wrote %v", cs)
		}
	})
}

func TestWorker_RefusedSaveLosesTheClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := workertest.New()
		b.Every = time.Hour
		b.Create("op_a", ktrdr.Dummy, nil)
		b.Before = deaf
		w := start(t, b, worker.Config{})
		time.Sleep(time.Second / 10)
		if err := b.Act("op_a", ktrdr.Act{Input: ktrdr.LoseWorker}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Second)
		if s := w.Stats(); s.Lost != 1 || s.Running != 0 {
			t.Errorf("stats %+v, want one lost and none running", s)
		}
		if n := len(b.Calls("Finish", "Release")); n != 0 {
			t.Errorf("%d ends were written for a lost claim", n)
		}
	})
}

func TestWorker_PanicTouchesNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := workertest.New()
		b.Create("op_a", ktrdr.Dummy, json.RawMessage(`"panic"`))
		b.Create("op_b", ktrdr.Dummy, json.RawMessage(`"goexit"`))
		b.Create("op_c", ktrdr.Dummy, json.RawMessage(`"error"`))
		b.Create("op_d", ktrdr.Dummy, json.RawMessage(`"count"`))
		w := start(t, b, worker.Config{Slots: 4, Runners: oneRunner(func(ctx context.Context, t *worker.Task) (json.RawMessage, error) {
			switch string(t.Spec) {
			case `"panic"`:
				panic("boom\x00" + string(bytes.Repeat([]byte("x"), 1<<20)))
			case `"goexit"`:
				runtime.Goexit()
			case `"error"`:
				return nil, errors.New("bad luck")
			}
			return counter(ctx, t)
		})})
		a := ended(t, b, "op_a")
		if a.Status != ktrdr.Failed || a.Error.Code != ktrdr.CodePanic || len(a.Error.Chain) != 2 ||
			!strings.Contains(a.Error.Chain[1], "goroutine") {
			t.Errorf("panic ended %s with %+v, want FAILED, code panic, with the stack", a.Status, a.Error)
		}
		if n := len(a.ErrorMessage); n > 8<<10 || strings.ContainsRune(a.ErrorMessage, 0) {
			t.Errorf("message of the panic has %d bytes or a NUL", n)
		}
		for id, want := range map[ktrdr.OperationID]string{"op_b": "without returning", "op_c": "bad luck"} {
			if op := ended(t, b, id); op.Status != ktrdr.Failed || op.Error.Code != ktrdr.CodeFailed || !strings.Contains(op.ErrorMessage, want) {
				t.Errorf("%s ended %s with %q, want FAILED with %q", id, op.Status, op.ErrorMessage, want)
			}
		}
		if d := ended(t, b, "op_d"); d.Status != ktrdr.Completed {
			t.Errorf("the fourth ended %s, want COMPLETED", d.Status)
		}
		if s := w.Stats(); s.Panicked != 1 {
			t.Errorf("%d panics counted, want 1", s.Panicked)
		}
	})
}

func TestWorker_ResultThatCannotBeSavedIsASavedFailure(t *testing.T) {
	for name, result := range map[string]string{"not JSON": "{", "refused by the backend": `"large"`} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := workertest.New()
				b.Create("op_a", ktrdr.Dummy, nil)
				b.Before = func(c workertest.Call) error {
					if f, ok := c.Arg.(ktrdr.Finished); ok && string(f.Result) == `"large"` {
						return ktrdr.Errorf(ktrdr.CodeTooLarge, "too large")
					}
					return nil
				}
				start(t, b, worker.Config{Runners: oneRunner(func(context.Context, *worker.Task) (json.RawMessage, error) {
					return json.RawMessage(result), nil
				})})
				if op := ended(t, b, "op_a"); op.Status != ktrdr.Failed || op.ErrorMessage == "" {
					t.Errorf("ended %s with %q, want FAILED with a message", op.Status, op.ErrorMessage)
				}
			})
		})
	}
}

func TestWorker_GracefulStopSavesReleasesAndLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := workertest.New()
		b.Create("op_a", ktrdr.Dummy, nil)
		first := start(t, b, worker.Config{})
		time.Sleep(4500 * time.Millisecond)
		if err := first.stop(); err != nil {
			t.Fatalf("Run = %v, want nil", err)
		}
		h := b.History("op_a")
		if last := h[len(h)-1]; last.Type != ktrdr.CheckpointShutdown || last.Step != 4 {
			t.Errorf("last checkpoint %s at step %d, want shutdown at 4", last.Type, last.Step)
		}
		if op := b.Operation("op_a"); op.Status != ktrdr.Pending {
			t.Errorf("operation is %s, want PENDING", op.Status)
		}
		calls := b.Calls("Checkpoint", "Release", "Unregister")
		var names []string
		for _, c := range calls[len(calls)-3:] {
			names = append(names, c.Name)
		}
		if got := strings.Join(names, " "); got != "Checkpoint Release Unregister" {
			t.Errorf("last calls %s, want Checkpoint Release Unregister", got)
		}
		if r := calls[len(calls)-2].Arg.(ktrdr.Released); r.Reason != ktrdr.MessageReleased {
			t.Errorf("released because %q, want %q", r.Reason, ktrdr.MessageReleased)
		}
		start(t, b, worker.Config{})
		if op := ended(t, b, "op_a"); op.Status != ktrdr.Completed || string(op.Result) != "10" || op.Attempts != 2 {
			t.Errorf("ended %s with %s after %d attempts, want COMPLETED with 10 after 2", op.Status, op.Result, op.Attempts)
		}
	})
}

func TestWorker_RunnerThatWillNotStopIsLeftBehindAndWarnedOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := workertest.New()
		b.Create("op_a", ktrdr.Dummy, nil)
		wake := make(chan struct{})
		defer close(wake)
		var log bytes.Buffer
		w := start(t, b, worker.Config{
			Grace: 5 * time.Second, Log: slog.New(slog.NewTextHandler(&log, nil)),
			Runners: oneRunner(func(context.Context, *worker.Task) (json.RawMessage, error) {
				<-wake
				return nil, nil
			}),
		})
		time.Sleep(time.Second)
		if err := b.Act("op_a", ktrdr.Act{Input: ktrdr.Cancel}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		if s := w.Stats(); s.Running != 1 {
			t.Errorf("%d slots taken, want 1 until the runner is done", s.Running)
		}
		began := time.Now()
		if err := w.stop(); err != nil {
			t.Errorf("Run = %v, want nil", err)
		}
		if took := time.Since(began); took > 25*time.Second {
			t.Errorf("stop took %v, want at most 25 s", took)
		}
		for _, want := range []string{"ignores that it should stop", "does not stop"} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("log lacks %q:\n%s", want, &log)
			}
		}
	})
}

func TestWorker_AFailedOperationIsAWarning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := workertest.New()
		b.Create("op_a", ktrdr.Dummy, nil)
		var log bytes.Buffer
		start(t, b, worker.Config{
			Log: slog.New(slog.NewTextHandler(&log, nil)),
			Runners: oneRunner(func(context.Context, *worker.Task) (json.RawMessage, error) {
				return nil, ktrdr.Errorf(ktrdr.CodeInvalid, "no samples")
			}),
		})
		if op := ended(t, b, "op_a"); op.Status != ktrdr.Failed {
			t.Fatalf("ended %s, want FAILED", op.Status)
		}
		synctest.Wait()
		for line := range strings.Lines(log.String()) {
			if strings.Contains(line, "operation failed") && strings.Contains(line, "level=WARN") && strings.Contains(line, "code=invalid") &&
				strings.Contains(line, "no samples") {
				return
			}
		}
		t.Errorf("no warning of the failure in\n%s", &log)
	})
}
