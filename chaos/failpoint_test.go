package chaos_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/chaos"
	"github.com/ktrdr/ktrdr/dummy"
	"github.com/ktrdr/ktrdr/fault"
	"github.com/ktrdr/ktrdr/httpapi"
)

// turns is which passings of a point kill the process.
func turns() []int {
	if soak() {
		return []int{1, 2, 3, 4, 5, 6, 8, 10, 13}
	}
	return []int{1, 4}
}

func points(prefixes ...string) []fault.Point {
	return slices.DeleteFunc(slices.Clone(fault.Points), func(p fault.Point) bool {
		return !slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(string(p), prefix) })
	})
}

// TestFailpoints_BackendKilledAtEveryDurableStep lets the test be the worker:
// it knows what was acknowledged, and wants all of it back.
func TestFailpoints_BackendKilledAtEveryDurableStep(t *testing.T) {
	for _, point := range points("blob.", "tx.", "http.") {
		for _, turn := range turns() {
			t.Run(fmt.Sprintf("%s@%d", point, turn), func(t *testing.T) {
				onBoth(t, chaos.Calm, func(t *testing.T, lab *chaos.Lab) { killBackendAt(t, lab, point, turn) })
			})
		}
	}
}

func killBackendAt(t *testing.T, lab *chaos.Lab, point fault.Point, turn int) {
	t.Helper()
	armed := filepath.Join(t.TempDir(), "armed")
	backend := lab.Serve(fmt.Sprintf("KTRDR_FAILPOINT=%s@%d", point, turn), "KTRDR_FAILPOINT_ARMED_BY="+armed)
	w := &witness{t: t, lab: lab, client: lab.Client()}
	if w.work(t.Context()); len(w.finished) == 0 {
		t.Fatal("the witness could not finish an operation on a backend that nobody kills")
	}
	if err := os.WriteFile(armed, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(time.Minute)
	for backend.Alive() {
		if time.Now().After(deadline) {
			t.Fatalf("the backend never came to %s for the %d. time", point, turn)
		}
		w.work(t.Context())
	}
	t.Logf("killed after %d acknowledged checkpoints and %d results", len(w.saved), len(w.finished))
	lab.Serve()
	w.check(t.Context())
	lab.Audit()
}

// witness is a worker that writes down every acknowledgement.
type witness struct {
	t        *testing.T
	lab      *chaos.Lab
	client   *httpapi.Client
	turn     int
	saved    []ktrdr.NewCheckpoint
	finished []ktrdr.OperationID
}

// work carries one operation from submit to finish, as far as it gets.
func (w *witness) work(ctx context.Context) {
	w.turn++
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	worker := ktrdr.Worker{ID: "witness", Types: []ktrdr.Type{ktrdr.Dummy}, Slots: 1}
	if _, err := w.client.Register(ctx, ktrdr.Registration{Protocol: ktrdr.Protocol, Worker: worker}); err != nil {
		return
	}
	spec := dummy.Spec{Steps: 3}
	if _, err := w.lab.TrySubmit(spec, fmt.Sprintf("witness-%d", w.turn)); err != nil {
		return
	}
	reply, err := w.client.Claim(ctx, ktrdr.ClaimRequest{Worker: worker.ID, Key: fmt.Sprint(w.turn), Types: worker.Types, Free: 1, Wait: 1})
	if err != nil || reply.Task == nil {
		return
	}
	claim := ktrdr.Claimed{Operation: reply.Task.Operation, Epoch: reply.Task.Epoch}
	for seq := int64(1); seq <= 2; seq++ {
		bytesOf := bytes.Repeat([]byte{byte(seq), byte(w.turn)}, 50_000)
		a := ktrdr.Artifact{Name: "weights", SHA256: sha256.Sum256(bytesOf), Size: int64(len(bytesOf))}
		if err := w.client.PutBlob(ctx, claim, a.SHA256, a.Size, bytes.NewReader(bytesOf)); err != nil {
			return
		}
		c := ktrdr.NewCheckpoint{
			Operation: claim.Operation, Epoch: claim.Epoch, Seq: seq, Type: ktrdr.CheckpointPeriodic, Step: seq,
			State: json.RawMessage(fmt.Sprintf(`{"step":%d,"hash":"x"}`, seq)), Artifacts: []ktrdr.Artifact{a},
		}
		if _, err := w.client.Checkpoint(ctx, c); err != nil {
			return
		}
		w.saved = append(w.saved, c)
	}
	result := json.RawMessage(fmt.Sprintf(`{"hash":%q,"steps":3}`, dummy.Expected(spec)))
	if err := w.client.Finish(ctx, ktrdr.Finished{Operation: claim.Operation, Epoch: claim.Epoch, Outcome: ktrdr.Completed, Result: result}); err == nil {
		w.finished = append(w.finished, claim.Operation)
	}
}

// check wants every acknowledged checkpoint and every acknowledged finish.
// (The lab wants every acknowledged submit.)
func (w *witness) check(ctx context.Context) {
	w.t.Helper()
	for _, c := range w.saved {
		got, err := w.client.CheckpointAt(ctx, c.Operation, ktrdr.CheckpointID(c.Epoch, c.Seq))
		if err != nil {
			w.t.Errorf("acknowledged checkpoint %d of %s is lost: %v", c.Seq, c.Operation, err)
			continue
		}
		if !bytes.Equal(got.State, c.State) || !slices.Equal(got.Artifacts, c.Artifacts) {
			w.t.Errorf("checkpoint %d of %s came back as %s %v", c.Seq, c.Operation, got.State, got.Artifacts)
		}
	}
	for _, id := range w.finished {
		if op := w.lab.Op(id); op.Status != ktrdr.Completed {
			w.t.Errorf("acknowledged finish of %s is lost: it is %s", id, op.Status)
		}
	}
}

// TestFailpoints_WorkerKilledAtEveryDurableStep kills a real worker at each of
// its own points; the spool's need a backend that is away.
func TestFailpoints_WorkerKilledAtEveryDurableStep(t *testing.T) {
	for _, point := range points("worker.", "spool.") {
		for _, turn := range turns() {
			t.Run(fmt.Sprintf("%s@%d", point, turn), func(t *testing.T) {
				onBoth(t, chaos.Quick, func(t *testing.T, lab *chaos.Lab) { killWorkerAt(t, lab, point, turn) })
			})
		}
	}
}

func killWorkerAt(t *testing.T, lab *chaos.Lab, point fault.Point, turn int) {
	t.Helper()
	backend := lab.Serve()
	spec := dummy.Spec{Steps: 40, StepMS: 10, CheckpointEvery: 5, ArtifactBytes: 70_000}
	var ids []ktrdr.OperationID
	for range 6 {
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
