package worker_test

import (
	"bytes"
	"cmp"
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

type runnerFunc func(ctx context.Context, t *worker.Task) (json.RawMessage, error)

func (f runnerFunc) Run(ctx context.Context, t *worker.Task) (json.RawMessage, error) {
	return f(ctx, t)
}

// counter counts to ten, a second a step, and saves every third step.
func counter(ctx context.Context, t *worker.Task) (json.RawMessage, error) {
	n := int64(0)
	if t.Checkpoint != nil {
		if err := json.Unmarshal(t.Checkpoint.State, &n); err != nil {
			return nil, err
		}
	}
	t.Every = 3
	for n < 10 {
		select {
		case <-ctx.Done():
			return nil, t.Interrupted(ctx, n, n)
		case <-time.After(time.Second):
		}
		n++
		t.Progress(ktrdr.Progress{StepsCompleted: n, StepsTotal: 10})
		if t.Due(n) {
			if err := t.Save(ctx, n, n); err != nil {
				return nil, err
			}
		}
	}
	return json.Marshal(n)
}

func oneRunner(r runnerFunc) map[ktrdr.Type]worker.Runner {
	return map[ktrdr.Type]worker.Runner{ktrdr.Dummy: r}
}

// life is a worker that runs until stop is called or the test ends.
type life struct {
	*worker.Worker
	stop func() error
}

func start(t *testing.T, b worker.Backend, c worker.Config) life {
	t.Helper()
	if c.Runners == nil {
		c.Runners = oneRunner(counter)
	}
	w, err := worker.New(c, b)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		err = w.Run(ctx)
	}()
	stop := func() error {
		cancel()
		<-done
		return err
	}
	t.Cleanup(func() { _ = stop() })
	return life{w, stop}
}

// ended waits until the operation has ended.
func ended(t *testing.T, b *workertest.Backend, id ktrdr.OperationID) ktrdr.Operation {
	t.Helper()
	return reached(t, b, id, func(op ktrdr.Operation) bool { return op.Status.Terminal() })
}

func reached(t *testing.T, b *workertest.Backend, id ktrdr.OperationID, want func(ktrdr.Operation) bool) ktrdr.Operation {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	op, err := b.Wait(ctx, id, want)
	if err != nil {
		t.Fatal(err)
	}
	return op
}

func step(n int64) func(ktrdr.Operation) bool {
	return func(op ktrdr.Operation) bool { return op.MaxStep >= n }
}

var errAway = ktrdr.Errorf(ktrdr.CodeUnavailable, "nobody answers")

// setAway cuts the backend off, or brings it back.
func setAway(b *workertest.Backend, away bool) {
	b.Do(func() {
		b.Before = nil
		if away {
			b.Before = func(workertest.Call) error { return errAway }
		}
	})
}

// deaf keeps orders from coming over a poll.
func deaf(c workertest.Call) error {
	if r, ok := c.Arg.(ktrdr.ClaimRequest); ok && r.Free == 0 {
		return ktrdr.Errorf(ktrdr.CodeInternal, "no poll will tell")
	}
	return nil
}

func TestWorker_RunsToTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := workertest.New()
		b.Create("op_a", ktrdr.Dummy, nil)
		w := start(t, b, worker.Config{Dir: t.TempDir()})
		op := ended(t, b, "op_a")
		if op.Status != ktrdr.Completed || string(op.Result) != "10" {
			t.Errorf("ended %s with %s, want COMPLETED with 10", op.Status, op.Result)
		}
		if n := len(b.History("op_a")); n != 3 {
			t.Errorf("%d checkpoints, want 3", n)
		}
		if err := w.stop(); err != nil {
			t.Errorf("Run = %v, want nil", err)
		}
		if s := w.Stats(); s.Claimed != 1 || s.Ended != 1 || s.Running != 0 || s.Spooled != 0 {
			t.Errorf("stats %+v, want one claimed and ended, nothing spooled", s)
		}
	})
}

func TestWorker_RunsAsManyAsItHasSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := workertest.New()
		ids := []ktrdr.OperationID{"op_a", "op_b", "op_c", "op_d", "op_e"}
		for _, id := range ids {
			b.Create(id, ktrdr.Dummy, nil)
		}
		began := time.Now()
		w := start(t, b, worker.Config{Slots: 2})
		time.Sleep(time.Second)
		if s := w.Stats(); s.Running != 2 {
			t.Errorf("%d run at once, want 2", s.Running)
		}
		for _, id := range ids {
			ended(t, b, id)
		}
		if took := time.Since(began); took > 32*time.Second {
			t.Errorf("five operations of 10 s in two slots took %v, want little over 30 s", took)
		}
	})
}

func TestWorker_FreeSlotIsOfferedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := workertest.New()
		b.Create("op_a", ktrdr.Dummy, nil)
		start(t, b, worker.Config{Runners: oneRunner(func(ctx context.Context, t *worker.Task) (json.RawMessage, error) {
			<-ctx.Done()
			time.Sleep(3 * time.Second) // time for a poll that waits for no news of this operation
			return nil, context.Cause(ctx)
		})})
		time.Sleep(5 * time.Second)
		if err := b.Act("op_a", ktrdr.Act{Input: ktrdr.Cancel}); err != nil {
			t.Fatal(err)
		}
		b.Create("op_b", ktrdr.Dummy, nil)
		ended(t, b, "op_a")
		freed := time.Now()
		reached(t, b, "op_b", func(op ktrdr.Operation) bool { return op.Status == ktrdr.Running })
		if waited := time.Since(freed); waited > time.Second {
			t.Errorf("next claim %v after the slot was free, want at once", waited)
		}
	})
}

func TestWorker_RegistersUntilTheBackendIsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := workertest.New()
		b.Create("op_a", ktrdr.Dummy, nil)
		setAway(b, true)
		start(t, b, worker.Config{})
		time.Sleep(10 * time.Minute)
		setAway(b, false)
		if op := ended(t, b, "op_a"); op.Status != ktrdr.Completed {
			t.Errorf("ended %s, want COMPLETED", op.Status)
		}
	})
}

func TestWorker_StopsWhileTheBackendWasNeverThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := workertest.New()
		setAway(b, true)
		w := start(t, b, worker.Config{Dir: t.TempDir()})
		time.Sleep(time.Minute)
		if err := w.stop(); err != nil {
			t.Errorf("Run = %v, want nil", err)
		}
	})
}

func TestWorker_ProtocolRefusalIsFinal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, code := range []ktrdr.Code{ktrdr.CodeProtocol, ktrdr.CodeUnauthorized} {
			b := workertest.New()
			b.Before = func(workertest.Call) error { return ktrdr.Errorf(code, "go away") }
			w, err := worker.New(worker.Config{Runners: oneRunner(counter)}, b)
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Run(t.Context()); ktrdr.CodeOf(err) != code {
				t.Errorf("Run = %v, want code %s", err, code)
			}
		}
	})
}

func TestWorker_TokenBrokenLaterIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := workertest.New()
		b.Create("op_a", ktrdr.Dummy, nil)
		start(t, b, worker.Config{Dir: t.TempDir()})
		reached(t, b, "op_a", step(2))
		setAway(b, true)
		time.Sleep(2 * time.Second) // long enough to make it register again
		b.Do(func() {
			b.Before = func(workertest.Call) error { return ktrdr.Errorf(ktrdr.CodeUnauthorized, "no token of ours") }
		})
		time.Sleep(time.Minute)
		setAway(b, false)
		if op := ended(t, b, "op_a"); op.Status != ktrdr.Completed || op.Attempts != 1 {
			t.Errorf("ended %s after %d attempts, want COMPLETED after 1", op.Status, op.Attempts)
		}
	})
}

func TestWorker_UnknownWorkerRegistersAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := workertest.New()
		b.Create("op_a", ktrdr.Dummy, nil)
		w := start(t, b, worker.Config{})
		reached(t, b, "op_a", step(3))
		if err := b.Unregister(t.Context(), w.ID()); err != nil {
			t.Fatal(err)
		}
		if op := ended(t, b, "op_a"); op.Status != ktrdr.Completed || op.Attempts != 1 {
			t.Errorf("ended %s after %d attempts, want COMPLETED after 1", op.Status, op.Attempts)
		}
		calls := b.Calls("Register")
		if len(calls) != 2 {
			t.Fatalf("%d registrations, want 2", len(calls))
		}
		r := calls[1].Arg.(ktrdr.Registration)
		if len(r.Running) != 1 || r.Running[0].Operation != "op_a" || r.Running[0].Epoch != 1 || r.Running[0].Step < 3 {
			t.Errorf("registered again running %+v, want op_a at epoch 1, step 3 or later", r.Running)
		}
	})
}

func TestWorker_HeartbeatCarriesEverythingAndTheStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := workertest.New()
		b.Create("op_a", ktrdr.Dummy, nil)
		b.Create("op_b", ktrdr.Dummy, nil)
		start(t, b, worker.Config{Slots: 2})
		ended(t, b, "op_a")
		ended(t, b, "op_b")
		beats := b.Calls("Heartbeat")
		if len(beats) < 8 {
			t.Fatalf("%d heartbeats in 10 s at an interval of 1 s", len(beats))
		}
		h := beats[6].Arg.(ktrdr.Heartbeat)
		if len(h.Running) != 2 || h.Running[0].Step < 5 {
			t.Errorf("seventh heartbeat carries %+v, want both operations at step 5 or later", h.Running)
		}
	})
}

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

func cancelAndCheck(t *testing.T, b *workertest.Backend, within time.Duration) {
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
		if a.Status != ktrdr.Failed || a.Error.Code != ktrdr.CodePanic || len(a.Error.Chain) != 2 || !strings.Contains(a.Error.Chain[1], "goroutine") {
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

func TestWorker_ClaimWhoseAnswerWasLostRunsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := workertest.New()
		b.Create("op_a", ktrdr.Dummy, nil)
		lose := 3
		b.After = func(c workertest.Call) error {
			if c.Name == "Claim" && lose > 0 {
				lose--
				return errAway
			}
			return nil
		}
		start(t, b, worker.Config{})
		if op := ended(t, b, "op_a"); op.Status != ktrdr.Completed || op.Attempts != 1 || op.Epoch != 1 {
			t.Errorf("ended %s after %d attempts, want COMPLETED after 1", op.Status, op.Attempts)
		}
	})
}

// slowAnswer makes the claim but answers only when the caller has given up.
type slowAnswer struct{ *workertest.Backend }

func (b slowAnswer) Claim(ctx context.Context, c ktrdr.ClaimRequest) (ktrdr.ClaimReply, error) {
	reply, err := b.Backend.Claim(ctx, c)
	if reply.Task != nil && c.Wait > 0 {
		<-ctx.Done()
		return ktrdr.ClaimReply{}, ctx.Err()
	}
	return reply, err
}

func TestWorker_StopGivesBackAClaimCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := workertest.New()
		b.Create("op_a", ktrdr.Dummy, nil)
		w := start(t, slowAnswer{b}, worker.Config{})
		reached(t, b, "op_a", func(op ktrdr.Operation) bool { return op.Status == ktrdr.Running })
		if err := w.stop(); err != nil {
			t.Fatal(err)
		}
		if op := b.Operation("op_a"); op.Status != ktrdr.Pending || op.Epoch != 1 {
			t.Errorf("operation is %s at epoch %d, want PENDING at 1", op.Status, op.Epoch)
		}
	})
}

func TestWorker_ProgressIsCoalesced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := workertest.New()
		b.Create("op_a", ktrdr.Dummy, nil)
		start(t, b, worker.Config{Runners: oneRunner(func(_ context.Context, t *worker.Task) (json.RawMessage, error) {
			for i := range int64(20_000) {
				time.Sleep(time.Millisecond)
				t.Progress(ktrdr.Progress{StepsCompleted: i + 1, Percentage: float64(i)})
			}
			return nil, nil
		})})
		op := ended(t, b, "op_a")
		if n := len(b.Calls("Progress")); n < 20 || n > 42 {
			t.Errorf("%d reports in 20 s, want about 40", n)
		}
		if op.Progress.StepsCompleted != 20_000 || op.Progress.Percentage != 100 {
			t.Errorf("last progress %+v, want step 20000 at no more than 100 %%", op.Progress)
		}
	})
}

func TestNew_RefusesWhatCannotWork(t *testing.T) {
	ok := worker.Config{Runners: oneRunner(counter)}
	for name, change := range map[string]func(*worker.Config){
		"no runners":     func(c *worker.Config) { c.Runners = nil },
		"negative slots": func(c *worker.Config) { c.Slots = -1 },
		"id with a path": func(c *worker.Config) { c.ID = "../x" },
	} {
		c := ok
		change(&c)
		if _, err := worker.New(c, workertest.New()); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	w, err := worker.New(ok, workertest.New())
	if err != nil || cmp.Compare(w.ID(), "") == 0 {
		t.Errorf("New = %v, id %q, want an id of its own", err, w.ID())
	}
}
