package sqlstore

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
)

func TestSweep_ForgetsWorkersThatHaveBeenSilentForADay(t *testing.T) {
	eachStore(t, nil, func(t *testing.T, s *Store) {
		b := life("a", "1")
		start(t, s, b, policy)
		x := running(t, s) // its worker holds an operation
		op, err := s.Operation(t.Context(), x.op)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range []ktrdr.WorkerID{op.Worker, "silent", "young"} {
			if _, err := s.RegisterWorker(t.Context(), ktrdr.Registration{
				Worker: ktrdr.Worker{ID: id, Types: []ktrdr.Type{ktrdr.Dummy}, Slots: 1},
			}); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 20 {
			x.sql(`INSERT INTO workers (id, name, types, slots, held_by, host, pid, version, registered_at, seen_at)
				VALUES ($1, '', '["dummy"]', 1, '', '', 1, '', 1, 1)`, fmt.Sprint("dead", i))
		}
		age := func(d time.Duration, id ktrdr.WorkerID) {
			x.sql(`UPDATE workers SET seen_at = seen_at - $1 WHERE id = $2`, d.Microseconds(), string(id))
		}
		age(25*time.Hour, op.Worker)
		age(25*time.Hour, "silent")
		age(23*time.Hour, "young")
		left := func(want ...ktrdr.WorkerID) {
			t.Helper()
			sweep(t, s, b, policy, true)
			workers, err := s.Workers(t.Context(), time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			var got []ktrdr.WorkerID
			for _, w := range workers {
				got = append(got, w.ID)
			}
			if slices.Sort(want); !slices.Equal(got, want) {
				t.Errorf("workers %v are left, want %v", got, want)
			}
		}
		left("young", op.Worker)
		x.finish(1, ktrdr.Failed)
		age(25*time.Hour, op.Worker) // its end may have been heard
		left("young")
	})
}
