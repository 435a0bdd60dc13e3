package engine_test

import (
	"os"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr"
)

// failed makes an operation that failed with that number of checkpoints and returns
// the hashes of their artifacts.
func (l *lab) failed(checkpoints int) (ktrdr.Operation, []ktrdr.Hash) {
	l.t.Helper()
	op := l.submit()
	task := l.claimOne()
	var artifacts []ktrdr.Hash
	for seq := range checkpoints {
		artifacts = append(artifacts, l.save(task, int64(seq+1)))
	}
	l.finish(task, ktrdr.Failed)
	return op, artifacts
}

func (l *lab) finish(task *ktrdr.Task, outcome ktrdr.Status) {
	l.t.Helper()
	err := l.Finish(l.t.Context(), ktrdr.Finished{Operation: task.Operation, Epoch: task.Epoch, Outcome: outcome})
	if err != nil {
		l.t.Fatal(err)
	}
}

func TestResume_NamesTheCheckpointThatTheWorkBeginsFrom(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	op, artifacts := l.failed(3)
	for _, gone := range artifacts[1:] {
		if err := os.Remove(l.path(gone)); err != nil {
			t.Fatal(err)
		}
	}
	resumed, err := l.Resume(t.Context(), op.ID)
	if err != nil {
		t.Fatal(err)
	}
	task := l.claimOne()
	if resumed.Checkpoint == nil || task.Checkpoint == nil || resumed.Checkpoint.ID != task.Checkpoint.ID || task.Checkpoint.Seq != 1 {
		t.Errorf("resumed from %+v and claimed with %+v, want the first checkpoint in both", resumed.Checkpoint, task.Checkpoint)
	}
}

func TestResume_WithoutAnIntactCheckpointIsRefusedWithTheReason(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	op, artifacts := l.failed(2)
	for _, gone := range artifacts {
		if err := os.Remove(l.path(gone)); err != nil {
			t.Fatal(err)
		}
	}
	_, err := l.Resume(t.Context(), op.ID)
	if ktrdr.CodeOf(err) != ktrdr.CodeNoCheckpoint || !strings.Contains(err.Error(), "is missing") {
		t.Errorf("err = %v, want CodeNoCheckpoint that names the missing blob", err)
	}
	if now, err := l.Operation(t.Context(), op.ID); err != nil || now.Status != ktrdr.Failed {
		t.Errorf("it is %s, %v, want FAILED as before", now.Status, err)
	}
}

func TestResume_OfACompletedOperationIsRefused(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	op := l.submit()
	task := l.claimOne()
	l.save(task, 1)
	if _, err := l.Resume(t.Context(), op.ID); ktrdr.CodeOf(err) != ktrdr.CodeConflict {
		t.Errorf("while it runs: %v, want CodeConflict", err)
	}
	l.finish(task, ktrdr.Completed)
	_, err := l.Resume(t.Context(), op.ID)
	if ktrdr.CodeOf(err) != ktrdr.CodeNoCheckpoint ||
		!strings.HasSuffix(err.Error(), "it has completed; repeat it with `ktrdr retry "+string(op.ID)+"`") {
		t.Errorf("err = %v, want CodeNoCheckpoint, and the command that repeats it", err)
	}
}

func TestResumeFrom_BeginsAtTheChosenCheckpoint(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	op, _ := l.failed(3)
	history, err := l.History(t.Context(), op.ID)
	if err != nil || len(history) != 3 {
		t.Fatalf("%d checkpoints, %v", len(history), err)
	}
	if _, err := l.ResumeFrom(t.Context(), op.ID, "0000000009.0000000009"); ktrdr.CodeOf(err) != ktrdr.CodeNotFound {
		t.Errorf("an unknown checkpoint: %v, want %s", err, ktrdr.CodeNotFound)
	}
	resumed, err := l.ResumeFrom(t.Context(), op.ID, history[1].ID)
	if err != nil {
		t.Fatal(err)
	}
	task := l.claimOne()
	if resumed.Checkpoint == nil || resumed.Checkpoint.ID != history[1].ID || task.Checkpoint == nil || task.Checkpoint.ID != history[1].ID {
		t.Errorf("resumed from %+v and claimed with %+v, want %s in both", resumed.Checkpoint, task.Checkpoint, history[1].ID)
	}
}
