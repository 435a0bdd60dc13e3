package research

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
)

func TestLadder_TheHighestReachedRungCounts(t *testing.T) {
	look := &ktrdr.Look{EndedAt: time.Unix(1, 0), LookResult: ktrdr.LookResult{Claim: true, Adjusted: new(0.004)}}
	claim := func(life ktrdr.ClaimLife) *ktrdr.LivingClaim { return &ktrdr.LivingClaim{ClaimLife: life} }
	bar := time.Date(2024, 3, 1, 12, 0, 0, 0, time.UTC)
	for want, f := range map[string]LadderFacts{
		"nothing":   {},
		"finalist":  {Finalist: true},
		"candidate": {Finalist: true, Factory: &FactoryFact{P: 0.01, Threshold: 0.025, Copies: 99, Positive: true}},
		"confirmed": {Finalist: true, Look: look, Claim: claim(ktrdr.ClaimLife{E: 2.5, Bars: 100})},
		"living":    {Finalist: true, Look: look, Claim: claim(ktrdr.ClaimLife{E: 25, Bars: 100, Detected: bar})},
		"retired":   {Finalist: true, Look: look, Claim: claim(ktrdr.ClaimLife{E: 25, Bars: 100, Detected: bar, Retired: bar})},
	} {
		l := LadderOf(f)
		if l.Rung != want {
			t.Errorf("rung %s, want %s", l.Rung, want)
		}
		for _, r := range l.Rungs {
			if r.Means == "" || r.NotMeans == "" {
				t.Errorf("%s: rung %s says nothing", want, r.Rung)
			}
		}
	}
	weak := LadderOf(LadderFacts{Finalist: true, Factory: &FactoryFact{P: 0.03, Threshold: 0.025, Positive: true}})
	if weak.Rung != "finalist" {
		t.Errorf("a factory p-value above its threshold gives %s", weak.Rung)
	}
}

func TestLadder_SaysHowManyYearsWouldConfirm(t *testing.T) {
	g := &BacktestFigures{TestSharpe: new(2.0), SharpeZ: new(2.0), AlphaZ: new(2.0)}
	l := LadderOf(LadderFacts{Finalist: true, Figures: g})
	// The first look needs p ≤ 0.01, z = 2.33: (2.33 / 2)² = 1.36 years.
	if next := l.Rungs[2].Next; !strings.Contains(next, "about 1.4 years") || !strings.Contains(next, "look 1") {
		t.Errorf("next: %s", next)
	}
}

func TestLadder_SealedItTellsNothingOfWhatCameAfterTheClaim(t *testing.T) {
	bar := time.Date(2024, 3, 1, 12, 0, 0, 0, time.UTC)
	l := LadderOf(LadderFacts{
		Finalist: true, Look: &ktrdr.Look{EndedAt: bar, LookResult: ktrdr.LookResult{Claim: true, Adjusted: new(0.004)}},
		Claim: &ktrdr.LivingClaim{ClaimLife: ktrdr.ClaimLife{E: 77.7, RetireE: 88.8, Bars: 555, Detected: bar, Retired: bar}},
	})
	l.Seal()
	text, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"77.7", "88.8", "555", "2024", `"rung":"retired","reached":true`} {
		if strings.Contains(string(text), secret) {
			t.Errorf("%s is in %s", secret, text)
		}
	}
	if l.Rung != "confirmed" {
		t.Errorf("rung %s", l.Rung)
	}
}
