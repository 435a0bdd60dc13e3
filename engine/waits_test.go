package engine_test

import (
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
)

func TestClaim_OpenPollIsHandedWhatWaitedWhenItsTimeHasCome(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	l.register("w")
	op := l.submit()
	task := l.claimOne()
	if err := l.Release(t.Context(), ktrdr.Released{Operation: op.ID, Epoch: task.Epoch, AfterSeconds: 0.5}); err != nil {
		t.Fatal(err)
	}
	released, err := l.Operation(t.Context(), op.ID)
	if err != nil {
		t.Fatal(err)
	}
	reply, err := l.Claim(t.Context(), ktrdr.ClaimRequest{Worker: "w", Key: "later", Types: dummies, Free: 1, Wait: 30})
	if err != nil || reply.Task == nil || reply.Task.Operation != op.ID {
		t.Fatalf("the poll ended with %+v, %v; want %s", reply.Task, err, op.ID)
	}
	if now, err := l.Operation(t.Context(), op.ID); err != nil || now.ClaimedAt.Before(released.NotBefore) {
		t.Errorf("claimed at %v, %v; want not before %v", now.ClaimedAt, err, released.NotBefore)
	}
}

func TestOperation_ThatWaitsMissesNoWorker(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	op := l.submit()
	task := l.claimOne()
	if err := l.Release(t.Context(), ktrdr.Released{Operation: op.ID, Epoch: task.Epoch, AfterSeconds: time.Hour.Seconds()}); err != nil {
		t.Fatal(err)
	}
	got, err := l.Operation(t.Context(), op.ID)
	if err != nil || got.NotBefore.IsZero() || got.Unschedulable != "" {
		t.Errorf("waits until %v, and is said to be unschedulable: %q (%v)", got.NotBefore, got.Unschedulable, err)
	}
	if h := l.Health(t.Context()); h.Unschedulable != 0 {
		t.Errorf("health counts %d unschedulable, want 0", h.Unschedulable)
	}
}
