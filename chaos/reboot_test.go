package chaos_test

import (
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/dummy"
	"github.com/ktrdr/ktrdr/labtest"
	"github.com/ktrdr/ktrdr/research"
)

// startWork starts researches and operations. Gates are bypassed so that every
// research goes through every phase.
func startWork(lab *labtest.Lab) (research.Triggered, []ktrdr.OperationID) {
	leaf := dummy.Spec{Steps: 120, StepMS: 20, CheckpointEvery: 5, ArtifactBytes: 70_000}
	work := []ktrdr.OperationID{
		lab.Submit(dummy.Spec{Children: []dummy.Spec{leaf, leaf}}),
		lab.Submit(dummy.Spec{Children: []dummy.Spec{leaf, leaf}, Parallel: true}),
	}
	seed := uint64(3)
	return lab.Research(research.Request{Brief: "trend on EURUSD 1h", Count: 2, Seed: &seed, BypassGates: true}, "evening"), work
}

// undisturbed is what the same researches come to in a lab where nothing
// happens. The first test that asks finds out for all.
func undisturbed(t *testing.T) []string {
	t.Helper()
	inPeace.Do(func() { inPeace.hashes = peaceful(t) })
	return inPeace.hashes
}

var inPeace struct {
	sync.Once
	hashes []string
}

func peaceful(t *testing.T) []string {
	t.Helper()
	lab := labtest.New(t, labtest.SQLite, labtest.Calm)
	lab.Market("EURUSD", 4000, 7)
	backend := lab.ServeWith(2)
	run, _ := startWork(lab)
	hashes := lab.Hashes(run)
	backend.Kill()
	return hashes
}

// A supervisor that starts the backend again at once is enough:
// no person resumes anything by hand. The first kills hit a backend that has not
// even started.
func TestSupervised_KilledFiveTimesInARowEndsAsUndisturbed(t *testing.T) {
	t.Parallel()
	want := undisturbed(t)
	onBoth(t, labtest.Calm, func(t *testing.T, lab *labtest.Lab) {
		lab.Market("EURUSD", 4000, 7)
		backend := lab.ServeWith(2)
		lone := lab.Submit(dummy.Spec{Steps: 200, StepMS: 20, CheckpointEvery: 5})
		run, work := startWork(lab)
		lab.Step(lone, 5)
		for _, life := range []time.Duration{300, 0, 60, 900, 500} {
			<-time.After(life * time.Millisecond) // how long it lives is the disturbance
			backend.Kill()
			backend = lab.Boot(2)
		}
		lab.Healthy(backend)
		for _, id := range append(work, lone) {
			lab.Ends(id, ktrdr.Completed) // by itself: no person resumes it
		}
		if got := lab.Hashes(run); !slices.Equal(got, want) {
			t.Errorf("result hashes %v, undisturbed %v", got, want)
		}
		if op := lab.Op(lone); op.Attempts < 2 {
			t.Errorf("%s was claimed %d times: the kills hit nothing", lone, op.Attempts)
		}
		lab.Audit()
		if code := backend.End(syscall.SIGTERM); code != 0 {
			t.Errorf("a stop that was asked for ends with %d: a supervisor would take it for a crash", code)
		}
	})
}

// A power cut takes backend and workers in the same instant, twice; the machine
// starts them again and no person does anything else.
func TestReboot_EverythingKilledAtOnceEndsAsUndisturbed(t *testing.T) {
	t.Parallel()
	want := undisturbed(t)
	onBoth(t, labtest.Calm, func(t *testing.T, lab *labtest.Lab) {
		lab.Market("EURUSD", 4000, 7)
		boot := func() []*labtest.Process {
			return []*labtest.Process{lab.Boot(0), lab.WorkerNamed("trainer", "training,backtesting"), lab.WorkerNamed("counter", "dummy")}
		}
		machine := boot()
		lab.Healthy(machine[0])
		run, work := startWork(lab)
		for range 2 {
			claimed := lab.Op(work[1]).Root
			lab.Until(claimed, 30*time.Second, "at work", func(ktrdr.Operation) bool {
				return slices.ContainsFunc(lab.Children(claimed), func(op ktrdr.Operation) bool {
					return op.Status == ktrdr.Running && op.Checkpoint != nil
				})
			})
			labtest.PowerCut(machine...)
			machine = boot()
			lab.Healthy(machine[0])
		}
		for _, id := range work {
			lab.Ends(id, ktrdr.Completed) // by itself: no person resumes it
		}
		if got := lab.Hashes(run); !slices.Equal(got, want) {
			t.Errorf("result hashes %v, undisturbed %v", got, want)
		}
		for i, p := range machine[1:] {
			if code := p.End(syscall.SIGTERM); code != 0 {
				t.Errorf("worker %d, asked to stop, ends with %d", i, code)
			}
		}
		lab.Audit()
	})
}
