package engine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/engine"
)

func introduce(id ktrdr.WorkerID) ktrdr.Registration {
	return ktrdr.Registration{Protocol: ktrdr.Protocol, Worker: ktrdr.Worker{ID: id, Types: dummies, Slots: 1}}
}

func TestRegister_SpeaksForNoWorkerInsideABackend(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	if _, err := l.Local().Register(t.Context(), introduce("inside")); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Register(t.Context(), introduce("inside")); ktrdr.CodeOf(err) != ktrdr.CodeForbidden ||
		!strings.Contains(err.Error(), "inside") {
		t.Errorf("register from outside: %v, want CodeForbidden that names the id", err)
	}
	if err := l.Unregister(t.Context(), "inside"); ktrdr.CodeOf(err) != ktrdr.CodeForbidden {
		t.Errorf("unregister from outside: %v, want CodeForbidden", err)
	}
	if all, err := l.Workers(t.Context()); err != nil || len(all) != 1 || all[0].HeldBy != "b.1" {
		t.Errorf("workers: %+v, %v, want the one inside as it was", all, err)
	}
	beat := ktrdr.Heartbeat{Worker: "inside", HeldBy: "b.1"}
	if _, err := l.Heartbeat(t.Context(), beat); ktrdr.CodeOf(err) != ktrdr.CodeForbidden {
		t.Errorf("heartbeat from outside: %v, want CodeForbidden", err)
	}
	op := l.submit()
	ask := ktrdr.ClaimRequest{Worker: "inside", Key: "k", Types: dummies, Free: 1}
	if reply, err := l.Claim(t.Context(), ask); ktrdr.CodeOf(err) != ktrdr.CodeForbidden || reply.Task != nil {
		t.Errorf("claim from outside: %+v, %v, want CodeForbidden", reply.Task, err)
	}
	if now, err := l.Operation(t.Context(), op.ID); err != nil || now.Status != ktrdr.Pending {
		t.Errorf("the operation is %s, %v, want PENDING", now.Status, err)
	}
	if _, err := l.Local().Heartbeat(t.Context(), ktrdr.Heartbeat{Worker: "inside"}); err != nil {
		t.Errorf("heartbeat from inside: %v", err)
	}
	if reply, err := l.Local().Claim(t.Context(), ask); err != nil || reply.Task == nil {
		t.Errorf("claim from inside: %+v, %v", reply.Task, err)
	}
	if _, err := l.Local().Register(t.Context(), introduce("inside")); err != nil {
		t.Errorf("register again from inside: %v", err)
	}
	if err := l.Local().Unregister(t.Context(), "inside"); err != nil {
		t.Errorf("unregister from inside: %v", err)
	}
	l.register("outside")
	if err := l.Unregister(t.Context(), "outside"); err != nil {
		t.Errorf("unregister of a worker outside: %v", err)
	}
}

func TestRegister_HandsOutTheCheckpointInterval(t *testing.T) {
	t.Parallel()
	for given, want := range map[time.Duration]float64{0: 300, 12 * time.Second: 12, -time.Second: -1} {
		l := newLab(t, func(c *engine.Config) { c.Settings.CheckpointInterval = given })
		answer, err := l.Register(t.Context(), introduce("w"))
		if err != nil || answer.CheckpointSeconds != want {
			t.Errorf("an interval of %v is handed out as %v, %v, want %v", given, answer.CheckpointSeconds, err, want)
		}
	}
}

func TestCounters_TellLostHeartbeatsFromRefusedWrites(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	op := l.submit()
	task := l.claimOne()
	if err := l.Release(t.Context(), ktrdr.Released{Operation: op.ID, Epoch: task.Epoch}); err != nil {
		t.Fatal(err)
	}
	_, err := l.Heartbeat(t.Context(), ktrdr.Heartbeat{Worker: "w", Running: []ktrdr.Claimed{{Operation: op.ID, Epoch: task.Epoch}}})
	if err != nil {
		t.Fatal(err)
	}
	if c := l.Counters(); c.HeartbeatsLost != 1 || c.WritesRefused != 0 {
		t.Errorf("after a lost heartbeat: %+v", c)
	}
	if err := l.Progress(t.Context(), ktrdr.ProgressReport{Operation: op.ID, Epoch: task.Epoch}); ktrdr.CodeOf(err) != ktrdr.CodeStaleEpoch {
		t.Fatalf("progress of an old epoch: %v", err)
	}
	if c := l.Counters(); c.HeartbeatsLost != 1 || c.WritesRefused != 1 {
		t.Errorf("after a refused write: %+v", c)
	}
}

func TestClaim_SaysWhatIsToGoWrong(t *testing.T) {
	var asked ktrdr.OperationID
	l := newLab(t, func(c *engine.Config) {
		c.Inject = func(op ktrdr.Operation) string {
			asked = op.ID
			return "fail"
		}
	})
	op := l.submit()
	l.register("w")
	if task := l.claimOne(); task.Inject != "fail" || asked != op.ID {
		t.Errorf("injected %q, asked about %q, want fail and %s", task.Inject, asked, op.ID)
	}
}
