package chaos_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/dummy"
	"github.com/ktrdr/ktrdr/fault"
	"github.com/ktrdr/ktrdr/labtest"
)

// turns is which passings of a point kill the process.
func turns() []int {
	if soak() {
		return []int{1, 2, 3, 4, 5, 6, 8, 10, 13}
	}
	return []int{1, 4}
}

// quiet is a lab in which nothing of the backend's own passes a point while a
// test makes one request.
var quiet = labtest.Times{Timeout: 2 * time.Minute, Interval: 30 * time.Second, Heartbeat: 15 * time.Second}

// patient is a lab in which the backend looks for dead workers while a test makes
// requests, and takes the witness, which sends no heartbeat, for alive until the end.
var patient = labtest.Times{Timeout: 2 * time.Minute, Interval: 500 * time.Millisecond, Heartbeat: 15 * time.Second}

func points(prefixes ...string) []fault.Point {
	return slices.DeleteFunc(slices.Clone(fault.Points), func(p fault.Point) bool {
		return !slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(string(p), prefix) })
	})
}

// TestFailpoints_BackendKilledAtEveryDurableStep lets the test be the worker:
// it knows what was acknowledged, and wants all of it back.
func TestFailpoints_BackendKilledAtEveryDurableStep(t *testing.T) {
	t.Parallel()
	for _, point := range points("blob.", "tx.", "http.") {
		for _, r := range requests {
			if strings.HasPrefix(string(point), "blob.") != (r.name == "blob") {
				continue // a blob is written by nothing else, and needs no transaction
			}
			t.Run(fmt.Sprintf("%s/%s", point, r.name), func(t *testing.T) {
				t.Parallel()
				onBoth(t, quiet, func(t *testing.T, lab *labtest.Lab) { killBackendIn(t, lab, point, r) })
			})
		}
	}
}

func killBackendIn(t *testing.T, lab *labtest.Lab, point fault.Point, r request) {
	t.Helper()
	armed := filepath.Join(t.TempDir(), "armed")
	backend := lab.Serve("KTRDR_FAILPOINT="+string(point), "KTRDR_FAILPOINT_ARMED_BY="+armed)
	w := &witness{t: t, lab: lab, client: lab.Client()}
	w.register(t.Context())
	r.do(w, func() {
		if err := os.WriteFile(armed, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	})
	if code := backend.Exit(30 * time.Second); code != -1 {
		t.Fatalf("the backend ended with %d instead of being killed at %s of the %s", code, point, r.name)
	}
	lab.Serve()
	for _, want := range w.acknowledged {
		want()
	}
	lab.Audit()
}

// TestFailpoints_BackendKilledAtAnyTurn kills the backend at later passings,
// wherever in the life of an operation they fall.
func TestFailpoints_BackendKilledAtAnyTurn(t *testing.T) {
	t.Parallel()
	for _, point := range points("blob.", "tx.", "http.") {
		for _, turn := range turns()[1:] {
			t.Run(fmt.Sprintf("%s@%d", point, turn), func(t *testing.T) {
				t.Parallel()
				onBoth(t, patient, func(t *testing.T, lab *labtest.Lab) { killBackendAt(t, lab, point, turn) })
			})
		}
	}
}

func killBackendAt(t *testing.T, lab *labtest.Lab, point fault.Point, turn int) {
	t.Helper()
	backend := lab.Start(fmt.Sprintf("KTRDR_FAILPOINT=%s@%d", point, turn))
	w := &witness{t: t, lab: lab, client: lab.Client()}
	deadline := time.Now().Add(time.Minute)
	for backend.Alive() {
		if time.Now().After(deadline) {
			t.Fatalf("the backend never came to %s for the %d. time", point, turn)
		}
		if w.register(t.Context()) {
			requests[len(requests)-1].do(w, func() {}) // a whole life
		}
	}
	t.Logf("killed after %d acknowledgements", len(w.acknowledged))
	lab.Serve()
	for _, want := range w.acknowledged {
		want()
	}
	lab.Audit()
}

// TestFailpoints_WorkerKilledAtEveryDurableStep kills a real worker at each of
// its own points; the spool's need a backend that is away. A worker does not see
// which store there is: later passings are tried on one, and on both in a long run.
func TestFailpoints_WorkerKilledAtEveryDurableStep(t *testing.T) {
	t.Parallel()
	for _, point := range points("worker.", "spool.") {
		for _, turn := range turns() {
			if point == fault.SpoolSent && turn > 10 {
				continue // one outage leaves no more: the spool keeps the newest four checkpoints of a claim
			}
			t.Run(fmt.Sprintf("%s@%d", point, turn), func(t *testing.T) {
				t.Parallel()
				if turn == turns()[0] || soak() {
					onBoth(t, labtest.Quick, func(t *testing.T, lab *labtest.Lab) { killWorkerAt(t, lab, point, turn) })
					return
				}
				killWorkerAt(t, labtest.New(t, labtest.SQLite, labtest.Quick), point, turn)
			})
		}
	}
}

func killWorkerAt(t *testing.T, lab *labtest.Lab, point fault.Point, turn int) {
	t.Helper()
	backend := lab.Serve()
	spec := dummy.Spec{Steps: 12 + 2*turn, StepMS: 20, CheckpointEvery: 2, ArtifactBytes: 70_000} // enough checkpoints for all turns
	var ids []ktrdr.OperationID
	for range turn + 3 { // each is claimed and ended once
		ids = append(ids, lab.Submit(spec))
	}
	worker := lab.Worker(fmt.Sprintf("KTRDR_FAILPOINT=%s@%d", point, turn))
	if strings.HasPrefix(string(point), "spool.") {
		lab.Step(ids[0], 2)
		backend.Kill()
		if point == fault.SpoolSent { // passed when the backend is back
			waitForSpooledFinish(t, lab.WorkerDir(1))
			lab.Serve()
			backend = nil
		}
	}
	if code := worker.Exit(time.Minute); code != -1 {
		t.Fatalf("the worker ended with %d instead of being killed at %s\n%s", code, point, worker.Log())
	}
	if backend != nil && !backend.Alive() {
		lab.Serve()
	}
	lab.WorkerIn(lab.WorkerDir(1))
	for _, id := range ids {
		lab.Completes(id)
	}
	lab.Audit()
}
