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
}

func (o *oneClaim) Claims(context.Context) ([]ktrdr.LivingClaim, error) {
	return []ktrdr.LivingClaim{o.claim}, nil
}
func (o *oneClaim) Paused(context.Context) (bool, error) { return false, nil }
func (o *oneClaim) Operation(context.Context, ktrdr.OperationID) (ktrdr.Operation, error) {
	return o.confirmed, nil
}

func (o *oneClaim) Submit(_ context.Context, op ktrdr.NewOperation, _ ktrdr.IdempotencyKey) (ktrdr.Operation, error) {
	o.steps++
	return ktrdr.Operation{Type: op.Type, Status: ktrdr.Pending}, nil
}

// A split that the source misses must neither make a claim nor end one.
func TestClaimFollower_WaitsWhileItsBarsAreRefused(t *testing.T) {
	d, _ := newDesk(t, nil)
	lib := d.cfg.Library
	b := market.Synth(market.SynthConfig{Symbol: "EURUSD", Timeframe: market.H1, Bars: 2000, Seed: 4})
	bad := *b
	for _, column := range []*[]float64{&bad.Open, &bad.High, &bad.Low, &bad.Close} {
		all := append([]float64(nil), *column...)
		for i := 900; i < len(all); i++ {
			all[i] *= 10
		}
		*column = all
	}
	done, err := lib.Import(t.Context(), library.Import{Bars: &bad, Mode: jobs.ImportNew, Origin: ktrdr.BarsFromFile})
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
	lab := &oneClaim{confirmed: ktrdr.Operation{ID: id, Spec: spec}}
	lab.claim.Operation, lab.claim.Rung, lab.claim.Bars = id, ktrdr.ClaimConfirmed, 1
	follow := NewClaimFollower(lab, lib)
	if _, err := follow.Follow(t.Context()); err != nil || lab.steps != 0 {
		t.Errorf("%d steps over refused bars, %v", lab.steps, err)
	}
	if _, err := lib.Accept(t.Context(), done.Entry, ktrdr.Market{}, []string{"unit-jump"}, "ann"); err != nil {
		t.Fatal(err)
	}
	if _, err := follow.Follow(t.Context()); err != nil || lab.steps != 1 {
		t.Errorf("%d steps once they are accepted, want 1: %v", lab.steps, err)
	}
}
