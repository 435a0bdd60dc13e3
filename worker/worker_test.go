package worker_test

import (
	"cmp"
	"context"
	"encoding/json"
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
func ended(t *testing.T, b *workertest.FakeBackend, id ktrdr.OperationID) ktrdr.Operation {
	t.Helper()
	return reached(t, b, id, func(op ktrdr.Operation) bool { return op.Status.Terminal() })
}

func reached(t *testing.T, b *workertest.FakeBackend, id ktrdr.OperationID, want func(ktrdr.Operation) bool) ktrdr.Operation {
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

var errAway = ktrdr.Errorf(ktrdr.CodeUnavailable, "no answer")

// setAway cuts the backend off, or brings it back.
func setAway(b *workertest.FakeBackend, away bool) {
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

// byTheClock counts ten seconds and saves whenever the clock alone says so.
func byTheClock(ctx context.Context, t *worker.Task) (json.RawMessage, error) {
	for n := int64(1); n <= 10; n++ {
		time.Sleep(time.Second)
		if t.Due(n) {
			if err := t.Save(ctx, n, n); err != nil {
				return nil, err
			}
		}
	}
	return json.RawMessage("10"), nil
}

func TestWorker_CheckpointsAsOftenAsTheBackendSaysUnlessToldOtherwise(t *testing.T) {
	for name, is := range map[string]struct {
		backend, own time.Duration
		want         int
	}{
		"the backend's word": {backend: 3 * time.Second, want: 3},
		"its own word":       {backend: 3 * time.Second, own: 5 * time.Second, want: 2},
		"none by time":       {backend: -time.Second, want: 0},
		"no word at all":     {want: 0}, // 300 s
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := workertest.New()
				b.SaveEvery = is.backend
				b.Create("op_a", ktrdr.Dummy, nil)
				start(t, b, worker.Config{Runners: oneRunner(byTheClock), CheckpointEvery: is.own})
				ended(t, b, "op_a")
				if n := len(b.History("op_a")); n != is.want {
					t.Errorf("%d checkpoints in ten seconds, want %d", n, is.want)
				}
			})
		})
	}
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

// The poll that was open when an operation ended is answered with news of it.
func TestWorker_EndOfItsOwnOperationDelaysNoClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := workertest.New()
		b.Create("op_a", ktrdr.Dummy, nil)
		start(t, b, worker.Config{Slots: 2, Runners: oneRunner(func(context.Context, *worker.Task) (json.RawMessage, error) {
			time.Sleep(50 * time.Millisecond)
			return nil, nil
		})})
		ended(t, b, "op_a")
		synctest.Wait()
		freed, polls := time.Now(), len(b.Calls("Claim"))
		b.Create("op_b", ktrdr.Dummy, nil)
		reached(t, b, "op_b", func(op ktrdr.Operation) bool { return op.Status != ktrdr.Pending })
		if waited := time.Since(freed); waited > 0 {
			t.Errorf("next claim %v after there was work, want at once", waited)
		}
		if polls > 10 {
			t.Errorf("%d looks of a worker with one operation; it spins", polls)
		}
	})
}

// The same when the end takes its time: meanwhile no poll names the claim
// again and again.
func TestWorker_SlowEndMakesNoPollSpin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := workertest.New()
		looks := 0
		b.Before = func(c workertest.Call) error {
			if c.Name != "Claim" {
				return nil
			}
			if looks++; looks > 50 { // a loop that spins holds the clock, too
				return ktrdr.Errorf(ktrdr.CodeInternal, "enough")
			}
			return nil
		}
		b.Create("op_a", ktrdr.Dummy, nil)
		start(t, slowEnd{b}, worker.Config{Slots: 2, Runners: oneRunner(func(context.Context, *worker.Task) (json.RawMessage, error) {
			time.Sleep(50 * time.Millisecond)
			return nil, nil
		})})
		ended(t, b, "op_a")
		time.Sleep(5 * time.Second)
		b.Do(func() {
			if looks > 10 {
				t.Errorf("%d looks while the end was being answered, want a few", looks)
			}
		})
	})
}

// slowEnd stores an end at once and answers late.
type slowEnd struct{ *workertest.FakeBackend }

func (b slowEnd) Finish(ctx context.Context, f ktrdr.Finished) error {
	err := b.FakeBackend.Finish(ctx, f)
	time.Sleep(4 * time.Second)
	return err
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
type slowAnswer struct{ *workertest.FakeBackend }

func (b slowAnswer) Claim(ctx context.Context, c ktrdr.ClaimRequest) (ktrdr.ClaimReply, error) {
	reply, err := b.FakeBackend.Claim(ctx, c)
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

func TestWorker_PassesOnWhatIsToGoWrong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := workertest.New()
		b.Inject = "fail"
		b.Create("op_a", ktrdr.Dummy, nil)
		start(t, b, worker.Config{Runners: oneRunner(func(_ context.Context, t *worker.Task) (json.RawMessage, error) {
			return json.Marshal(t.Inject)
		})})
		if op := ended(t, b, "op_a"); string(op.Result) != `"fail"` {
			t.Errorf("the runner saw %s", op.Result)
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
