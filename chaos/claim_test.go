package chaos_test

import (
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/labtest"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/num"
)

// The bars of a market with an edge: those that the claim saw, and those after.
const claimSaw, claimAll = 6000, 7200

// claimIn makes a lab with a claim and no backend, and returns the bars with those that came
// after the claim.
func claimIn(lab *labtest.Lab) *market.Bars {
	all := market.Synth(market.SynthConfig{Symbol: "EURUSD", Timeframe: market.H1, Bars: claimAll, Seed: 7, Edge: 1})
	lab.Import(all.Slice(0, claimSaw))
	backend := lab.ServeWith(2)
	lab.RunEnds(lab.Research(oneLook, "claim").Run)
	if n := len(lab.Claims()); n != 1 {
		panic(fmt.Sprintf("the planted market gives %d claims", n))
	}
	backend.End(syscall.SIGTERM)
	return all
}

// followed waits until the claim was followed to the last of the bars, and returns what was
// found: no id, no time of the clock.
func followed(t *testing.T, lab *labtest.Lab, all *market.Bars) (life ktrdr.ClaimLife) {
	t.Helper()
	last := time.Unix(all.Time[all.Len()-1], 0).UTC()
	labtest.Eventually(t, 2*time.Minute, "the claim to be followed", func() bool {
		c := lab.Claims()
		if len(c) != 1 {
			t.Fatalf("%d claims", len(c))
		}
		life = c[0].ClaimLife
		return life.Last.Equal(last)
	})
	life.Step = ""
	return life
}

// TestClaimStep_KilledAtEveryStepGivesTheSameNumbers kills the backend with SIGKILL at every
// step of the operation that follows a claim.
func TestClaimStep_KilledAtEveryStepGivesTheSameNumbers(t *testing.T) {
	t.Parallel()
	calm := labtest.New(t, labtest.SQLite, labtest.Calm)
	all := claimIn(calm)
	calm.Import(all)
	calm.ServeWith(2)
	want := followed(t, calm, all)
	if want.Bars < 1000 || want.E == 1 {
		t.Fatalf("undisturbed: %+v", want)
	}
	for _, point := range points("claim.") {
		t.Run(string(point), func(t *testing.T) {
			t.Parallel()
			onBoth(t, labtest.Calm, func(t *testing.T, lab *labtest.Lab) {
				all := claimIn(lab)
				lab.Import(all)
				lab.Killed(2, string(point))
				lab.ServeWith(2)
				if diff := cmp.Diff(want, followed(t, lab, all)); diff != "" {
					t.Errorf("the claim differs from the undisturbed one (- undisturbed, + this):\n%s", diff)
				}
			})
		})
	}
}

// TestClaimStep_InPiecesAndKilledAtRandomGivesTheSameNumbers appends the bars in pieces and
// kills the backend at random moments between and within the steps.
func TestClaimStep_InPiecesAndKilledAtRandomGivesTheSameNumbers(t *testing.T) {
	t.Parallel()
	pieces, kills := 3, 3
	if os.Getenv("KTRDR_SOAK") == "1" {
		pieces, kills = 40, 200
	}
	calm := labtest.New(t, labtest.SQLite, labtest.Calm)
	all := claimIn(calm)
	calm.Import(all)
	calm.ServeWith(2)
	want := followed(t, calm, all)

	lab := labtest.New(t, labtest.SQLite, labtest.Calm)
	claimIn(lab)
	r := num.NewRand(1519)
	for i := range pieces {
		part := all.Slice(0, claimSaw+(i+1)*(claimAll-claimSaw)/pieces)
		lab.Import(part)
		for range kills / pieces {
			backend := lab.ServeWith(2)
			pause := time.NewTimer(time.Duration(r.Uint64n(1500)) * time.Millisecond)
			<-pause.C
			backend.Kill()
		}
		backend := lab.ServeWith(2)
		followed(t, lab, part)
		backend.End(syscall.SIGTERM)
	}
	lab.ServeWith(2)
	if diff := cmp.Diff(want, followed(t, lab, all)); diff != "" {
		t.Errorf("the claim differs from one uninterrupted step (- at once, + in pieces):\n%s", diff)
	}
}
