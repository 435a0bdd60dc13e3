package dummy

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/worker"
	"github.com/ktrdr/ktrdr/worker/workertest"
)

const op ktrdr.OperationID = "op_dummy"

// create submits a spec to a backend in memory.
func create(t *testing.T, spec Spec) *workertest.FakeBackend {
	t.Helper()
	o, err := Operation(spec)
	if err != nil {
		t.Fatal(err)
	}
	b := workertest.New()
	b.Every = 100 * time.Millisecond
	b.Create(op, o.Type, o.Spec)
	return b
}

// start runs a worker until stop is called or the test ends.
func start(t *testing.T, b *workertest.FakeBackend, r worker.Runner) (stop func()) {
	t.Helper()
	w, err := worker.New(worker.Config{Runners: map[ktrdr.Type]worker.Runner{ktrdr.Dummy: r}}, b)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := w.Run(ctx); err != nil {
			t.Error(err)
		}
	}()
	stop = func() {
		cancel()
		<-done
	}
	t.Cleanup(stop)
	return stop
}

func await(t *testing.T, b *workertest.FakeBackend, want func(ktrdr.Operation) bool) ktrdr.Operation {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	o, err := b.Wait(ctx, op, want)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func terminal(o ktrdr.Operation) bool { return o.Status.Terminal() }

func act(t *testing.T, b *workertest.FakeBackend, in ktrdr.Input) {
	t.Helper()
	if err := b.Act(op, ktrdr.Act{Input: in}); err != nil {
		t.Fatal(err)
	}
}

// check says what is wrong with the end of an operation.
func check(o ktrdr.Operation, spec Spec) error {
	var r Result
	if o.Status != ktrdr.Completed {
		return fmt.Errorf("ended %s: %s", o.Status, o.ErrorMessage)
	}
	if err := json.Unmarshal(o.Result, &r); err != nil {
		return fmt.Errorf("result %q: %w", o.Result, err)
	}
	if r.Hash.String() != Expected(spec) || r.Steps != int64(spec.Steps) {
		return fmt.Errorf("hash %s after %d steps, want %s after %d", r.Hash, r.Steps, Expected(spec), spec.Steps)
	}
	return nil
}

func TestRunner_DoesWhatExpectedSays(t *testing.T) {
	for name, spec := range map[string]Spec{
		"one step":       {Steps: 1},
		"many steps":     {Steps: 1000, Seed: -7},
		"slow":           {Steps: 10, StepMS: 1500, CheckpointEvery: 3},
		"with artifacts": {Steps: 10, StepMS: 1, CheckpointEvery: 1, ArtifactBytes: 1000},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := create(t, spec)
				start(t, b, Runner())
				if err := check(await(t, b, terminal), spec); err != nil {
					t.Error(err)
				}
				want := 0
				if spec.CheckpointEvery > 0 {
					want = (spec.Steps - 1) / spec.CheckpointEvery
				}
				if n := len(b.History(op)); n != want {
					t.Errorf("%d checkpoints, want %d", n, want)
				}
			})
		})
	}
}

func TestExpected_TellsChainsApart(t *testing.T) {
	seen := make(map[string]string)
	for name, spec := range map[string]Spec{
		"base":           {Steps: 5},
		"one step more":  {Steps: 6},
		"another seed":   {Steps: 5, Seed: 1},
		"children":       {Children: []Spec{{Steps: 5}, {Steps: 6}}},
		"other order":    {Children: []Spec{{Steps: 6}, {Steps: 5}}},
		"a child less":   {Children: []Spec{{Steps: 5}}},
		"deeper":         {Children: []Spec{{Children: []Spec{{Steps: 5}}}}},
		"seed and steps": {Steps: 6, Seed: 1},
	} {
		h := Expected(spec)
		if other, ok := seen[h]; ok {
			t.Errorf("%s and %s have the same result", name, other)
		}
		seen[h] = name
	}
}

// A run that is stopped in any way, at any step, any number of times, and resumed,
// has the result of a run without a stop.
func TestRunner_InterruptedEqualsUninterrupted(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		spec := Spec{
			Steps:           rapid.IntRange(1, 40).Draw(rt, "steps"),
			StepMS:          rapid.SampledFrom([]float64{10, 100, 700}).Draw(rt, "step ms"),
			CheckpointEvery: rapid.IntRange(0, 7).Draw(rt, "checkpoint every"),
			ArtifactBytes:   rapid.SampledFrom([]int{0, 100}).Draw(rt, "artifact bytes"),
			Seed:            rapid.Int64().Draw(rt, "seed"),
		}
		type blow struct {
			How   string
			After int
		}
		blows := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) blow {
			return blow{
				rapid.SampledFrom([]string{"cancel", "shutdown", "drop"}).Draw(rt, "how"),
				rapid.IntRange(0, spec.Steps).Draw(rt, "after step"),
			}
		}), 0, 4).Draw(rt, "blows")

		var err error
		synctest.Test(t, func(t *testing.T) {
			b := create(t, spec)
			stop := start(t, b, Runner())
			for _, x := range blows {
				o := await(t, b, func(o ktrdr.Operation) bool {
					return o.Status.Terminal() || o.Status == ktrdr.Running && o.MaxStep >= int64(x.After)
				})
				if o.Status.Terminal() {
					break
				}
				blow := map[string]ktrdr.Input{"cancel": ktrdr.Cancel, "drop": ktrdr.LoseWorker}[x.How]
				if blow != "" {
					if err := b.Act(op, ktrdr.Act{Input: blow}); b.Operation(op).Status == ktrdr.Completed {
						break // it ended before the blow
					} else if err != nil {
						t.Fatal(err)
					}
				}
				switch x.How {
				case "cancel":
					await(t, b, terminal)
					act(t, b, ktrdr.Resume)
				case "shutdown":
					stop()
					stop = start(t, b, Runner())
				case "drop": // declared dead; it runs until it hears of that
					act(t, b, ktrdr.Resume)
				}
			}
			err = check(await(t, b, terminal), spec)
		})
		if err != nil {
			rt.Fatal(err)
		}
	})
}

func TestRunner_FailsWhereItsSpecSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := create(t, Spec{Steps: 9, FailAt: 5, ArtifactBytes: 10})
		start(t, b, Runner())
		o := await(t, b, terminal)
		if o.Status != ktrdr.Failed || o.Error.Code != ktrdr.CodeFailed || !strings.Contains(o.ErrorMessage, "step 5 fails") {
			t.Errorf("ended %s with %q, want FAILED at step 5", o.Status, o.ErrorMessage)
		}
		h := b.History(op)
		if len(h) != 1 || h[0].Type != ktrdr.CheckpointFailure || h[0].Step != 4 || len(h[0].Artifacts) != 1 {
			t.Errorf("checkpoints %+v, want one of the failure after step 4", h)
		}
	})
}

func TestRunner_PanicsWhereItsSpecSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := create(t, Spec{Steps: 9, PanicAt: 5})
		start(t, b, Runner())
		if o := await(t, b, terminal); o.Error.Code != ktrdr.CodePanic || !strings.Contains(o.ErrorMessage, "step 5 panics") {
			t.Errorf("ended %s with %q, want a panic at step 5", o.Status, o.ErrorMessage)
		}
	})
}

func TestRunner_CrashesWhereItsSpecSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := create(t, Spec{Steps: 9, CrashAt: 5, CheckpointEvery: 1})
		crashed := 0
		start(t, b, runner{crash: func() { crashed++; runtime.Goexit() }})
		await(t, b, terminal)
		if h := b.History(op); crashed != 1 || len(h) != 4 {
			t.Errorf("crashed %d times after %d checkpoints, want once after 4", crashed, len(h))
		}
	})
}

func TestRunner_HangsUntilItIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := create(t, Spec{Steps: 3, Hang: true})
		start(t, b, Runner())
		time.Sleep(time.Hour)
		if o := b.Operation(op); o.Status != ktrdr.Running || o.MaxStep != 3 {
			t.Errorf("operation is %s at step %d, want RUNNING at 3", o.Status, o.MaxStep)
		}
		act(t, b, ktrdr.Cancel)
		if o := await(t, b, terminal); o.Status != ktrdr.Cancelled {
			t.Errorf("ended %s, want CANCELLED", o.Status)
		}
	})
}

func TestRunner_RefusesACheckpointOfAnotherSpec(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := create(t, Spec{Steps: 9, StepMS: 1000})
		stop := start(t, b, Runner())
		await(t, b, func(o ktrdr.Operation) bool { return o.MaxStep >= 3 })
		stop()
		other, err := Operation(Spec{Steps: 9, StepMS: 1000, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		b.SetSpec(op, other.Spec)
		start(t, b, Runner())
		o := await(t, b, terminal)
		if o.Status != ktrdr.Failed || o.Error.Code != ktrdr.CodeMismatch || !strings.Contains(o.ErrorMessage, "another spec") {
			t.Errorf("ended %s with %q, want CodeMismatch naming the spec", o.Status, o.ErrorMessage)
		}
	})
}

func TestRunner_LeavesAWitnessOfEveryStep(t *testing.T) {
	path := filepath.Join(t.TempDir(), "witness")
	t.Setenv(WitnessEnv, path)
	synctest.Test(t, func(t *testing.T) {
		b := create(t, Spec{Steps: 9, StepMS: 1000})
		stop := start(t, b, Runner())
		await(t, b, func(o ktrdr.Operation) bool { return o.MaxStep >= 4 })
		stop()
		start(t, b, Runner())
		await(t, b, terminal)
	})
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var steps []string
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		if len(f) != 5 || f[0] != string(op) || f[4] != fmt.Sprint(os.Getpid()) {
			t.Fatalf("line %q is not operation, epoch, step, time, pid", line)
		}
		steps = append(steps, f[1]+":"+f[2])
	}
	if got := strings.Join(steps, " "); got != "1:1 1:2 1:3 1:4 2:5 2:6 2:7 2:8 2:9" {
		t.Errorf("witness saw %s, want every step once", got)
	}
}
