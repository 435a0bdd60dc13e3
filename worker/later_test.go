package worker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/worker"
	"github.com/ktrdr/ktrdr/worker/workertest"
)

// hesitant saves and asks for time when it runs for the first time, and
// answers with the step that it resumed from when it runs again.
func hesitant(ctx context.Context, t *worker.Task) (json.RawMessage, error) {
	if t.Checkpoint != nil {
		return t.Checkpoint.State, nil
	}
	if err := t.Save(ctx, 4, "so far"); err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("design: %w", &worker.Later{After: 20 * time.Minute, Reason: "the provider asked for 20 minutes"})
}

func TestLater_GivesTheOperationBackForItsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := workertest.New()
		b.Create("op_a", ktrdr.Dummy, nil)
		w := start(t, b, worker.Config{Runners: oneRunner(hesitant)})
		waiting := reached(t, b, "op_a", func(op ktrdr.Operation) bool { return !op.NotBefore.IsZero() })
		released := b.Calls("Release")[0].Arg.(ktrdr.Released)
		if released.AfterSeconds != 1200 || released.Reason != "the provider asked for 20 minutes" {
			t.Errorf("released with %+v", released)
		}
		synctest.Wait()
		if s := w.Stats(); s.Running != 0 || s.Ended != 1 {
			t.Errorf("stats %+v, want a free slot while it waits", s)
		}
		op := reached(t, b, "op_a", func(op ktrdr.Operation) bool { return op.Status.Terminal() })
		if op.Status != ktrdr.Completed || string(op.Result) != `"so far"` || op.Attempts != 2 || op.Losses != 0 {
			t.Errorf("ended %s with %s after %d attempts, want COMPLETED from its checkpoint after 2", op.Status, op.Result, op.Attempts)
		}
		if now := time.Now(); now.Before(waiting.NotBefore) {
			t.Errorf("claimed again before %v, at %v", waiting.NotBefore, now)
		}
	})
}

func TestLater_LiesInTheSpoolWhileTheBackendIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := workertest.New()
		b.Create("op_a", ktrdr.Dummy, nil)
		begun := make(chan struct{})
		dir := t.TempDir()
		first := start(t, b, worker.Config{Dir: dir, Runners: oneRunner(func(ctx context.Context, t *worker.Task) (json.RawMessage, error) {
			close(begun)
			time.Sleep(time.Second)
			return hesitant(ctx, t)
		})})
		<-begun
		setAway(b, true)
		time.Sleep(10 * time.Minute)
		if err := first.stop(); err != nil {
			t.Fatal(err)
		}
		if cs := b.Calls("Release"); len(cs) > 0 {
			t.Fatalf("the backend was away and heard %v", cs)
		}
		setAway(b, false)
		start(t, b, worker.Config{Dir: dir, Runners: oneRunner(hesitant)}) // the next worker on the same folder
		reached(t, b, "op_a", func(op ktrdr.Operation) bool { return !op.NotBefore.IsZero() })
		var released []ktrdr.Released
		for _, c := range b.Calls("Release") {
			released = append(released, c.Arg.(ktrdr.Released))
		}
		want := []ktrdr.Released{{Operation: "op_a", Epoch: 1, Reason: "the provider asked for 20 minutes", AfterSeconds: 1200}}
		if !slices.Equal(released, want) {
			t.Errorf("delivered %+v, want %+v", released, want)
		}
		if op := ended(t, b, "op_a"); op.Status != ktrdr.Completed || string(op.Result) != `"so far"` {
			t.Errorf("ended %s with %s", op.Status, op.Result)
		}
	})
}

func TestLater_WithoutAWaitIsClaimedAgainAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := workertest.New()
		b.Create("op_a", ktrdr.Dummy, nil)
		start(t, b, worker.Config{Runners: oneRunner(func(_ context.Context, t *worker.Task) (json.RawMessage, error) {
			if t.Attempts == 1 {
				return nil, &worker.Later{After: -time.Minute}
			}
			return json.RawMessage(`1`), nil
		})})
		if op := ended(t, b, "op_a"); op.Status != ktrdr.Completed || op.Attempts != 2 {
			t.Errorf("ended %s after %d attempts", op.Status, op.Attempts)
		}
		if r := b.Calls("Release")[0].Arg.(ktrdr.Released); r.AfterSeconds != 0 || r.Reason == "" {
			t.Errorf("released with %+v, want no wait and some reason", r)
		}
	})
}

func TestLater_UnderACancelEndsTheOperation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := workertest.New()
		b.Create("op_a", ktrdr.Dummy, nil)
		start(t, b, worker.Config{Runners: oneRunner(func(ctx context.Context, _ *worker.Task) (json.RawMessage, error) {
			<-ctx.Done()
			return nil, &worker.Later{After: time.Hour}
		})})
		reached(t, b, "op_a", func(op ktrdr.Operation) bool { return op.Status == ktrdr.Running })
		if err := b.Act("op_a", ktrdr.Act{Input: ktrdr.Cancel}); err != nil {
			t.Fatal(err)
		}
		if op := ended(t, b, "op_a"); op.Status != ktrdr.Cancelled {
			t.Errorf("ended %s, want CANCELLED", op.Status)
		}
	})
}
