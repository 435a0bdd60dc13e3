package sqlstore

import (
	"testing"

	"github.com/ktrdr/ktrdr"
)

func TestResumeFrom_LeavesOutNewerCheckpoints(t *testing.T) {
	eachStore(t, nil, func(t *testing.T, s *Store) {
		x := running(t, s)
		x.save(1, 1)
		x.save(1, 2)
		x.save(1, 3)
		if _, err := s.ResumeFrom(t.Context(), x.op, id(1, 1)); ktrdr.CodeOf(err) != ktrdr.CodeConflict {
			t.Errorf("while it runs: %v, want %s", err, ktrdr.CodeConflict)
		}
		x.newest(id(1, 3)) // what is refused changes nothing
		x.finish(1, ktrdr.Failed)
		_, err := s.ResumeFrom(t.Context(), x.op, "unknown")
		x.refused(err, ktrdr.CodeNotFound)
		x.newest(id(1, 3))

		if _, err := s.ResumeFrom(t.Context(), x.op, id(1, 1)); err != nil {
			t.Fatal(err)
		}
		x.newest(id(1, 1))
		x.events(ktrdr.EventCheckpointSkipped, 1)
		x.history(id(1, 3), id(1, 2), id(1, 1)) // they are kept for people to see
		task := x.claim(2)
		if task.Checkpoint == nil || task.Checkpoint.ID != id(1, 1) {
			t.Fatalf("claimed with %+v, want the first checkpoint", task.Checkpoint)
		}
		x.save(2, 1)
		if c, err := s.Checkpoint(t.Context(), x.op, ""); err != nil || c.Parent != id(1, 1) {
			t.Errorf("parent %q, %v; want the checkpoint that it was resumed from", c.Parent, err)
		}
		x.finish(2, ktrdr.Failed)
		_, err = s.ResumeFrom(t.Context(), x.op, id(1, 3)) // it was left out
		x.refused(err, ktrdr.CodeNotFound)
		if _, err := s.ResumeFrom(t.Context(), x.op, id(2, 1)); err != nil { // the newest: nothing is left out
			t.Fatal(err)
		}
		x.events(ktrdr.EventCheckpointSkipped, 1)
	})
}
