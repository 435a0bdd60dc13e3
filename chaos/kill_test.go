package chaos_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/dummy"
	"github.com/ktrdr/ktrdr/labtest"
)

// long is work that outlives whatever a test does to its worker.
func long() dummy.Spec { return dummy.Spec{Steps: 600, StepMS: 10, CheckpointEvery: 20} }

// It measures a time, so it runs before all that run side by side.
func TestWorkerKilled_OperationFailsAfterTheTimeoutAndNotBefore(t *testing.T) {
	onBoth(t, labtest.Quick, func(t *testing.T, lab *labtest.Lab) {
		lab.Serve()
		worker := lab.Worker()
		id := lab.Submit(long())
		lab.Step(id, 25)
		worker.Kill()

		op := lab.Ends(id, ktrdr.Failed)
		if op.ErrorMessage != ktrdr.MessageOrphaned {
			t.Errorf("error_message %q, want %q", op.ErrorMessage, ktrdr.MessageOrphaned)
		}
		if op.Error == nil || op.Error.Code != ktrdr.CodeOrphaned {
			t.Errorf("error %+v, want code %s", op.Error, ktrdr.CodeOrphaned)
		}
		// The instants are the store's own: last accepted heartbeat and end.
		silent := op.CompletedAt.Sub(op.HeartbeatAt)
		if silent < labtest.Quick.Timeout || silent > labtest.Quick.Timeout+labtest.Quick.Interval {
			t.Errorf("failed after %v of silence, want between %v and %v", silent, labtest.Quick.Timeout,
				labtest.Quick.Timeout+labtest.Quick.Interval)
		}

		lab.Worker()
		lab.Resume(id)
		if op := lab.Ends(id, ktrdr.Completed); op.Epoch != 2 {
			t.Errorf("epoch %d after one loss and one resume, want 2", op.Epoch)
		}
		lab.Audit()
	})
}

func TestBackendKilled_WorkerKeepsItsEpoch(t *testing.T) {
	t.Parallel()
	onBoth(t, labtest.Calm, func(t *testing.T, lab *labtest.Lab) {
		backend := lab.Serve()
		lab.Worker()
		id := lab.Submit(dummy.Spec{Steps: 300, StepMS: 10, CheckpointEvery: 20})
		lab.Step(id, 25)
		backend.Kill()
		lab.Serve()

		op := lab.Ends(id, ktrdr.Completed)
		if op.Epoch != 1 || op.Attempts != 1 {
			t.Errorf("epoch %d, attempts %d after a backend restart, want 1 and 1: the worker never stopped", op.Epoch, op.Attempts)
		}
		reconciled := false
		for _, ev := range lab.Events(id) {
			reconciled = reconciled || ev.Kind == ktrdr.EventReconciling
		}
		if !reconciled {
			t.Error("the operation was never PENDING_RECONCILIATION: the restart was not noticed")
		}
		lab.Audit()
	})
}

func TestWorkerFinishesWhileBackendIsDown_ResultIsAccepted(t *testing.T) {
	t.Parallel()
	onBoth(t, labtest.Calm, func(t *testing.T, lab *labtest.Lab) {
		backend := lab.Serve()
		lab.Worker()
		id := lab.Submit(dummy.Spec{Steps: 60, StepMS: 10, CheckpointEvery: 10, ArtifactBytes: 100_000})
		lab.Step(id, 1)
		backend.Kill()
		waitForSpooledFinish(t, lab.WorkerDir(1))
		lab.Serve()

		if op := lab.Ends(id, ktrdr.Completed); op.Epoch != 1 {
			t.Errorf("epoch %d, want 1: the work was done once", op.Epoch)
		}
		lab.Audit()
	})
}

func TestDeadWorkersSpool_IsDeliveredByTheNextWorker(t *testing.T) {
	t.Parallel()
	onBoth(t, labtest.Calm, func(t *testing.T, lab *labtest.Lab) {
		backend := lab.Serve()
		worker := lab.Worker()
		id := lab.Submit(dummy.Spec{Steps: 60, StepMS: 10, CheckpointEvery: 10, ArtifactBytes: 100_000})
		lab.Step(id, 1)
		backend.Kill()
		waitForSpooledFinish(t, lab.WorkerDir(1))
		worker.Kill()
		lab.Serve()
		lab.WorkerIn(lab.WorkerDir(1))

		op := lab.Ends(id, ktrdr.Completed)
		if op.Epoch != 1 {
			t.Errorf("epoch %d, want 1: the dead worker had finished it", op.Epoch)
		}
		lab.Audit()
	})
}

// waitForSpooledFinish waits until a worker has spooled a result: its folder
// then holds an entry that says so.
func waitForSpooledFinish(t *testing.T, dir string) {
	t.Helper()
	labtest.Eventually(t, 30*time.Second, "a result in the spool of "+dir, func() bool {
		entries, _ := filepath.Glob(filepath.Join(dir, "spool", "*", "*.json"))
		return slices.ContainsFunc(entries, func(name string) bool {
			b, err := os.ReadFile(name)
			return err == nil && bytes.Contains(b, []byte(`"outcome"`))
		})
	})
}

func TestStoppedWorkerContinued_ItsWritesAreRefusedAndCounted(t *testing.T) {
	t.Parallel()
	onBoth(t, labtest.Quick, func(t *testing.T, lab *labtest.Lab) {
		lab.Serve()
		line := lab.Line()
		zombie := lab.WorkerOn(line)
		id := lab.Submit(long())
		lab.Step(id, 25)
		zombie.Stop()
		line.Deafen() // else the first answer it reads tells it, and it writes nothing
		lab.Ends(id, ktrdr.Failed)
		lab.Worker()
		lab.Resume(id)
		lab.Until(id, time.Minute, "claimed again", func(op ktrdr.Operation) bool { return op.Epoch == 2 })
		zombie.Cont()

		lab.RefusedWrite(id, 1)
		lab.Ends(id, ktrdr.Completed)
		if refused := lab.Metric("ktrdr_writes_refused_total"); refused < 1 {
			t.Errorf("%v writes refused; the zombie's must have been", refused)
		}
		lab.Audit()
	})
}

func TestWorkerTerminated_SavesReleasesAndExitsZero(t *testing.T) {
	t.Parallel()
	onBoth(t, labtest.Calm, func(t *testing.T, lab *labtest.Lab) {
		lab.Serve()
		worker := lab.Worker()
		id := lab.Submit(dummy.Spec{Steps: 300, StepMS: 10, CheckpointEvery: 1000})
		lab.Step(id, 5)
		if code := worker.End(syscall.SIGTERM); code != 0 {
			t.Errorf("exit code %d, want 0\n%s", code, worker.Log())
		}
		op := lab.Op(id)
		if op.Status != ktrdr.Pending || op.Checkpoint == nil || op.Checkpoint.Type != ktrdr.CheckpointShutdown {
			t.Fatalf("after SIGTERM: %s with checkpoint %+v, want PENDING with a shutdown checkpoint", op.Status, op.Checkpoint)
		}
		lab.Worker()
		op = lab.Ends(id, ktrdr.Completed)
		if op.Epoch != 2 || op.Losses != 0 {
			t.Errorf("epoch %d, losses %d, want 2 and 0: a release is no loss", op.Epoch, op.Losses)
		}
		lab.Audit()
	})
}

func TestBackendAndWorkerKilledAtOnce_NothingAcknowledgedIsLost(t *testing.T) {
	t.Parallel()
	onBoth(t, labtest.Quick, func(t *testing.T, lab *labtest.Lab) {
		backend, worker := lab.Serve(), lab.Worker()
		var ids []ktrdr.OperationID
		for range 8 {
			ids = append(ids, lab.Submit(dummy.Spec{Steps: 80, StepMS: 5, CheckpointEvery: 10}))
		}
		lab.Step(ids[0], 15)
		backend.Kill()
		worker.Kill()

		lab.Serve()
		lab.Worker()
		for _, id := range ids {
			lab.Completes(id)
		}
		lab.Audit()
	})
}

func TestTwoBackends_TheSecondRecoversTheFirstsLocalWork(t *testing.T) {
	t.Parallel()
	lab := labtest.New(t, labtest.Postgres, labtest.Quick)
	first := lab.ServeWith(1)
	id := lab.Submit(dummy.Spec{Steps: 400, StepMS: 10, CheckpointEvery: 20, BackendLocal: true})
	lab.Step(id, 25)
	other := lab.Second()
	other.ServeWith(1)
	first.Kill()

	op := other.Ends(id, ktrdr.Completed)
	if op.Epoch != 2 || op.Losses != 0 {
		t.Errorf("epoch %d, losses %d, want 2 and 0: a dead backend is no worker loss", op.Epoch, op.Losses)
	}
	other.Adopt(lab)
	other.Audit()
}

func TestCopiedBackend_TheOlderLifeStops(t *testing.T) {
	t.Parallel()
	lab := labtest.New(t, labtest.Postgres, labtest.Quick)
	older := lab.Serve()
	copied := lab.Second()
	copied.CopyIdentity(lab)
	copied.Serve()
	if code := older.Exit(30 * time.Second); code != 1 {
		t.Errorf("the older life ended with %d, want 1\n%s", code, older.Log())
	}
}

func TestBackendKilled_ItsOwnWorkGoesByThePolicy(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"resume", "fail"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			onBoth(t, labtest.Quick, func(t *testing.T, lab *labtest.Lab) {
				backend := lab.ServeWith(1, "RESTART_POLICY="+policy)
				id := lab.Submit(dummy.Spec{Steps: 200, StepMS: 10, CheckpointEvery: 20, BackendLocal: true})
				lab.Step(id, 25)
				backend.Kill()
				lab.ServeWith(1, "RESTART_POLICY="+policy)

				if policy == "fail" {
					if op := lab.Ends(id, ktrdr.Failed); op.ErrorMessage != ktrdr.MessageRestartResumable {
						t.Errorf("error_message %q, want %q", op.ErrorMessage, ktrdr.MessageRestartResumable)
					}
					lab.Resume(id)
				}
				lab.Ends(id, ktrdr.Completed)
				lab.Audit()
			})
		})
	}
}

func TestWorkerOfAChildDies_TheTreeCompletesByItself(t *testing.T) {
	t.Parallel()
	onBoth(t, labtest.Quick, func(t *testing.T, lab *labtest.Lab) {
		lab.Serve()
		worker := lab.Worker()
		child := dummy.Spec{Steps: 120, StepMS: 10, CheckpointEvery: 10}
		id := lab.Submit(dummy.Spec{Children: []dummy.Spec{child, child, {Parallel: true, Children: []dummy.Spec{child, child}}}})
		lab.Until(id, time.Minute, "past its first child", func(op ktrdr.Operation) bool { return op.Progress.StepsCompleted >= 1 })
		worker.Kill()
		lab.Worker()
		lab.Ends(id, ktrdr.Completed)
		lab.Audit()
	})
}

func TestPoison_ThreeLossesIsolateTheOperation(t *testing.T) {
	t.Parallel()
	onBoth(t, labtest.Quick, func(t *testing.T, lab *labtest.Lab) {
		lab.Serve()
		bad := dummy.Spec{Steps: 50, StepMS: 1, CrashAt: 1} // before any step that would count as getting further
		id := lab.Submit(dummy.Spec{Children: []dummy.Spec{bad}})
		good := lab.Submit(dummy.Spec{Steps: 5, StepMS: 1})
		for range 3 { // the operation kills each worker that takes it
			w := lab.Worker()
			w.Exit(time.Minute)
		}
		lab.Worker()
		lab.Ends(id, ktrdr.Failed)
		child := lab.Children(id)[0]
		if child.Error == nil || child.Error.Code != ktrdr.CodePoison || child.Losses != ktrdr.PoisonLosses {
			t.Errorf("the child failed with %+v after %d losses, want code poison after %d", child.Error, child.Losses, ktrdr.PoisonLosses)
		}
		lab.Completes(good) // it may have shared a worker with the bad one
		lab.Audit()
	})
}
