package chaos_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/labtest"
	"github.com/ktrdr/ktrdr/research"
)

// TestLook_KilledAtEveryStepIsOneLook kills the backend with SIGKILL at every
// step of a confirmation, from the end of the generation to the end of the look.
// There is one look, with one number and the hash of an undisturbed one.
func TestLook_KilledAtEveryStepIsOneLook(t *testing.T) {
	t.Parallel()
	calm := labtest.New(t, labtest.SQLite, labtest.Calm)
	plant(calm)
	undisturbed := calm.ServeWith(2)
	run := calm.Research(oneLook, "calm").Run
	calm.RunEnds(run)
	want := calm.Looks(run)
	undisturbed.End(syscall.SIGTERM)
	if len(want) != 1 || want[0].Number != 1 {
		t.Fatalf("undisturbed, the looks are %+v; want one", want)
	}
	for _, point := range points("look.") {
		t.Run(string(point), func(t *testing.T) {
			t.Parallel()
			onBoth(t, labtest.Calm, func(t *testing.T, lab *labtest.Lab) {
				plant(lab)
				backend := lab.ServeWith(2, "KTRDR_FAILPOINT="+string(point))
				run := lab.Research(oneLook, "killed").Run
				if code := backend.Exit(2 * time.Minute); code != -1 {
					t.Fatalf("the backend ended with %d instead of being killed at %s\n%s", code, point, backend.Log())
				}
				lab.ServeWith(2)
				ended := lab.RunEnds(run)
				if diff := cmp.Diff(want, lab.Looks(run)); diff != "" {
					t.Errorf("the look differs from the undisturbed one (- undisturbed, + this):\n%s", diff)
				}
				if ended.State != ktrdr.RunCompleted || ended.Looks != 1 || ended.Closed != 1 || ended.Open != 0 {
					t.Errorf("the run ended as %+v", ended)
				}
			})
		})
	}
}

// oneLook is a run in which one finalist is confirmed, where plant was done.
var oneLook = research.Request{
	Brief: "mean reversion on EURUSD 1h, simple", Count: 2, Seed: new(uint64(7)), Symbols: []string{"EURUSD"}, Timeframe: "1h",
}

// plant puts a market into the lab in which a strategy becomes a finalist.
func plant(lab *labtest.Lab) { lab.MarketWith("EURUSD", 4000, 1, 0.8) }
