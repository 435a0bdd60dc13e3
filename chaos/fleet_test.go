package chaos_test

import (
	"slices"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/labtest"
	"github.com/ktrdr/ktrdr/report"
)

// TestFleet_EveryKilledProcessIsTold kills three workers, of which one holds an
// operation, and then the backend. The report counts each once.
func TestFleet_EveryKilledProcessIsTold(t *testing.T) {
	t.Parallel()
	onBoth(t, labtest.Quick, func(t *testing.T, lab *labtest.Lab) {
		backend := lab.Serve()
		workers := []*labtest.Process{lab.Worker(), lab.Worker(), lab.Worker()}
		labtest.Eventually(t, time.Minute, "three workers", func() bool {
			all, err := lab.Client().Workers(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return len(slices.DeleteFunc(all, func(w ktrdr.Worker) bool { return !w.Live || w.HeldBy != "" })) == 3
		})
		id := lab.Submit(long())
		lab.Step(id, 25)
		for _, w := range workers {
			w.Kill()
		}
		lab.Ends(id, ktrdr.Failed)
		machine := func() report.Machine {
			r, err := lab.Client().Report(t.Context(), "1h", "")
			if err != nil {
				t.Fatal(err)
			}
			return r.Machine
		}
		labtest.Eventually(t, time.Minute, "the loss of three workers", func() bool { return machine().WorkersLost >= 3 })
		backend.Kill()
		lab.Serve()
		if m := machine(); m.WorkersLost != 3 || m.WorkersJoined != 3 || m.WorkersLeft != 0 || m.BackendStarts != 2 ||
			m.BackendDeaths != 1 || m.Orphaned != 1 {
			t.Errorf("the report counts %+v, want 3 workers joined and lost, 2 starts and 1 death of a backend, 1 orphan", m)
		}
	})
}
