package engine_test

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/dummy"
)

// savesOnResume is a plan that saves a checkpoint when its parent is resumed, as
// that of researches does.
type savesOnResume struct{ ktrdr.Plan }

func (p savesOnResume) Next(parent ktrdr.Operation, children []ktrdr.Operation, why ktrdr.Why) (ktrdr.Decision, error) {
	d, err := p.Plan.Next(parent, children, why)
	if why == ktrdr.WhyResumed {
		d.State = json.RawMessage(`{"resumed":true}`)
	}
	return d, err
}

// A parent whose child failed carries the child's reasons. Resumed, it answers
// with the checkpoint it had, not with the one that its plan saves at once.
func TestResume_OfAParentAnswersWithTheCheckpointItHad(t *testing.T) {
	t.Parallel()
	l := newLabWith(t, savesOnResume{dummy.Types()[ktrdr.Dummy].Plan}, nil)
	n, err := dummy.Operation(dummy.Spec{Children: []dummy.Spec{{Steps: 3}}})
	if err != nil {
		t.Fatal(err)
	}
	parent, err := l.Submit(t.Context(), n, ktrdr.IdempotencyKey{})
	if err != nil {
		t.Fatal(err)
	}
	task := l.claimOne()
	deep := ktrdr.NewFailure(ktrdr.CodeFailed, errors.Join(errors.New("epoch 3"), errors.New("loss is not a number")))
	l.save(task, 1) // without it the child could not be resumed
	if err := l.Finish(t.Context(), ktrdr.Finished{
		Operation: task.Operation, Epoch: task.Epoch, Outcome: ktrdr.Failed, ErrorMessage: "epoch 3", Error: deep,
	}); err != nil {
		t.Fatal(err)
	}
	failed, err := l.Operation(t.Context(), parent.ID)
	if err != nil || failed.Status != ktrdr.Failed || failed.Checkpoint == nil {
		t.Fatalf("parent %+v, %v, want FAILED with a checkpoint", failed, err)
	}
	for _, want := range deep.Chain {
		if !slices.Contains(failed.Error.Chain, want) {
			t.Errorf("the parent's chain %q lacks its child's %q", failed.Error.Chain, want)
		}
	}

	resumed, err := l.Resume(t.Context(), parent.ID)
	if err != nil {
		t.Fatal(err)
	}
	if resumed.Checkpoint == nil || resumed.Checkpoint.ID != failed.Checkpoint.ID {
		t.Errorf("resumed from %+v, want %+v", resumed.Checkpoint, failed.Checkpoint)
	}
	if now, err := l.Operation(t.Context(), parent.ID); err != nil || now.Checkpoint.ID == failed.Checkpoint.ID {
		t.Errorf("its plan saved no checkpoint: %+v, %v; the test shows nothing", now.Checkpoint, err)
	}
}
