package research

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/library"
	"github.com/ktrdr/ktrdr/market"
)

// oneClaim is a lab with one claim, and the steps that were asked for.
type oneClaim struct {
	ClaimStore
	claim     ktrdr.LivingClaim
	confirmed ktrdr.Operation
	steps     int
	holds     int // times that a hold was written
	paused    bool
}

func (o *oneClaim) Claims(context.Context) ([]ktrdr.LivingClaim, error) {
	return []ktrdr.LivingClaim{o.claim}, nil
}
func (o *oneClaim) Paused(context.Context) (bool, error) { return o.paused, nil }
func (o *oneClaim) Operation(context.Context, ktrdr.OperationID) (ktrdr.Operation, error) {
	return o.confirmed, nil
}

func (o *oneClaim) Submit(_ context.Context, op ktrdr.NewOperation, _ ktrdr.IdempotencyKey) (ktrdr.Operation, error) {
	o.steps++
	return ktrdr.Operation{Type: op.Type, Status: ktrdr.Pending}, nil
}

func (o *oneClaim) HoldClaim(_ context.Context, _ ktrdr.OperationID, hold ktrdr.ClaimHold, reason string) error {
	o.claim.Hold, o.claim.Reason = hold, reason
	o.holds++
	return nil
}

// held checks why a claim is not followed, and that this was written once.
func (o *oneClaim) held(t *testing.T, when string, follow *ClaimFollower, hold ktrdr.ClaimHold, reason string) {
	t.Helper()
	o.holds = 0
	for range 2 {
		if _, err := follow.Follow(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if o.claim.Hold != hold || o.claim.Reason != reason || o.holds != 1 {
		t.Errorf("%s: held because %q (%s), written %d times; want %q (%s), once", when, o.claim.Hold, o.claim.Reason, o.holds, hold, reason)
	}
}

// refusedBars are bars with a severe finding.
type refusedBars struct {
	entry jobs.SeriesInfo
	again library.Import
}

// claimOnRefusedBars is a lab with a claim over bars that no person accepts.
func claimOnRefusedBars(t *testing.T) (lab *oneClaim, lib *library.Library, bars refusedBars) {
	t.Helper()
	d, _ := newDesk(t, nil)
	lib = d.cfg.Library
	b := market.Synth(market.SynthConfig{Symbol: "EURUSD", Timeframe: market.H1, Bars: 2000, Seed: 4})
	bad := *b
	for _, column := range []*[]float64{&bad.Open, &bad.High, &bad.Low, &bad.Close} {
		all := append([]float64(nil), *column...)
		for i := 900; i < len(all); i++ {
			all[i] *= 10
		}
		*column = all
	}
	again := library.Import{Bars: &bad, Mode: jobs.ImportNew, Origin: ktrdr.BarsFromFile}
	done, err := lib.Import(t.Context(), again)
	if err != nil {
		t.Fatal(err)
	}
	const id = "op_agent_confirm_20240101_000000_abcdef12"
	spec, err := json.Marshal(ConfirmSpec{
		Research: "op_agent_research_20240101_000000_abcdef12", Strategy: "s", RunPosition: RunPosition{Run: "r"}, Symbols: []string{"EURUSD"},
		Bars: []jobs.Bars{done.Entry.Pinned()}, Holdout: []jobs.Bars{done.Entry.Pinned()}, From: time.Unix(b.Time[1000], 0).UTC(),
		Rules: evidence.Rules{},
	})
	if err != nil {
		t.Fatal(err)
	}
	lab = &oneClaim{confirmed: ktrdr.Operation{ID: id, Spec: spec}}
	lab.claim.Operation, lab.claim.Rung, lab.claim.Bars = id, ktrdr.ClaimConfirmed, 1
	return lab, lib, refusedBars{done.Entry, again}
}

// A claim that waits for bars must not look like one that is followed: its figures would be taken for those of today.
func TestClaimFollower_SaysWhyAClaimIsNotFollowed(t *testing.T) {
	lab, lib, done := claimOnRefusedBars(t)
	follow := NewClaimFollower(lab, lib)
	lab.paused = true // nothing starts, and the list is still right
	lab.held(t, "severe findings", follow, ktrdr.ClaimFindings,
		"the 1h bars of EURUSD have 1 severe finding that no person accepts (unit-jump): `ktrdr data check EURUSD 1h` shows more")
	if _, err := lib.Delete(t.Context(), "EURUSD", market.H1); err != nil {
		t.Fatal(err)
	}
	const missing = "the library has no 1h bars of EURUSD: import them again, with the new ones after them"
	lab.held(t, "deleted", follow, ktrdr.ClaimMissing, missing)
	lab.claim.Rung, lab.claim.Hold, lab.claim.Reason, lab.holds = ktrdr.ClaimRetired, "", "", 0
	if _, err := follow.Follow(t.Context()); err != nil || lab.holds != 0 {
		t.Errorf("a retired claim is held %d times: %v", lab.holds, err)
	}
	lab.claim.Rung, lab.paused = ktrdr.ClaimConfirmed, false
	lab.held(t, "deleted", follow, ktrdr.ClaimMissing, missing)
	if again, err := lib.Import(t.Context(), done.again); err != nil {
		t.Fatal(err)
	} else if _, err := lib.Accept(t.Context(), again.Entry, ktrdr.Market{}, []string{"unit-jump"}, "ann"); err != nil {
		t.Fatal(err)
	}
	lab.held(t, "the bars are back", follow, ktrdr.ClaimFollowed, "")
	if lab.steps == 0 {
		t.Error("it is followed again, and no step was made")
	}
	lab.claim.Hold, lab.claim.Reason, lab.holds = ktrdr.ClaimRevised, "other bars", 0 // by a step
	if _, err := follow.Follow(t.Context()); err != nil || lab.holds != 0 {
		t.Errorf("the bars are there, so only a step ends that hold: written %d times, %v", lab.holds, err)
	}
}

// A split that the source misses must neither make a claim nor end one.
func TestClaimFollower_WaitsWhileItsBarsAreRefused(t *testing.T) {
	lab, lib, done := claimOnRefusedBars(t)
	follow := NewClaimFollower(lab, lib)
	if _, err := follow.Follow(t.Context()); err != nil || lab.steps != 0 {
		t.Errorf("%d steps over refused bars, %v", lab.steps, err)
	}
	if _, err := lib.Accept(t.Context(), done.entry, ktrdr.Market{}, []string{"unit-jump"}, "ann"); err != nil {
		t.Fatal(err)
	}
	if _, err := follow.Follow(t.Context()); err != nil || lab.steps != 1 {
		t.Errorf("%d steps once they are accepted, want 1: %v", lab.steps, err)
	}
}
