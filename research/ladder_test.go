package research

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/evidence"
)

func TestLadder_TheHighestReachedRungCounts(t *testing.T) {
	look := &ktrdr.Look{EndedAt: time.Unix(1, 0), LookResult: ktrdr.LookResult{Claim: true, Adjusted: new(0.004)}}
	claim := func(life ktrdr.ClaimLife) *ktrdr.LivingClaim { return &ktrdr.LivingClaim{ClaimLife: life} }
	bar := time.Date(2024, 3, 1, 12, 0, 0, 0, time.UTC)
	for want, f := range map[string]LadderFacts{
		"nothing":   {},
		"finalist":  {Finalist: true},
		"candidate": {Finalist: true, Factory: passedTest(0.01)},
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
}

// passedTest is the test of a run whose best strategy is asked about.
func passedTest(p float64) *FactoryFact {
	return &FactoryFact{Run: "run_1", Best: true, Positive: true, Test: ktrdr.RunTest{
		ReservedAt: time.Unix(1, 0), EndedAt: time.Unix(2, 0),
		RunTestResult: ktrdr.RunTestResult{
			P: &p, Threshold: 0.025, Copies: 199, Best: "op_agent_research_20260101_000000_0000beef", Passed: p <= 0.025,
		},
	}}
}

// Only the strategy whose score was compared is a candidate, and only if everything holds.
func TestLadder_ACandidateNeedsEverything(t *testing.T) {
	for why, change := range map[string]func(*LadderFacts){
		"at most 0.025":           func(f *LadderFacts) { f.Factory = passedTest(0.03) },
		"compared the score of":   func(f *LadderFacts) { f.Factory.Best = false },
		"tested once":             func(f *LadderFacts) { f.Factory.Positive = false },
		"A run is tested once":    func(f *LadderFacts) { f.Finalist = false },
		"was not tested":          func(f *LadderFacts) { f.Factory.Test = ktrdr.RunTest{} },
		"has not ended":           func(f *LadderFacts) { f.Factory.Test.EndedAt = time.Time{} },
		"the run has no finalist": func(f *LadderFacts) { f.Factory.Best, f.Factory.Test.Best = false, "" },
		"belongs to no run":       func(f *LadderFacts) { f.Factory = nil },
	} {
		f := LadderFacts{Finalist: true, Factory: passedTest(0.01)}
		if l := LadderOf(f); l.Rung != "candidate" || *l.Rungs[1].P != 0.01 || l.Rungs[1].Next != "" {
			t.Fatalf("%+v, want a candidate", l.Rungs[1])
		}
		change(&f)
		l := LadderOf(f)
		r := l.Rungs[1]
		if r.Reached || l.Rung == "candidate" || !strings.Contains(strings.ToLower(r.Means+r.Next), strings.ToLower(why)) {
			t.Errorf("%s: %+v", why, r)
		}
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

// More bars are no answer to a look whose p-value was small enough.
func TestLadder_SaysWhichOtherCheckOfTheLookFailed(t *testing.T) {
	holdout := evidence.Comparison{Sharpe: evidence.Sharpe{
		Bars: 4000, PerBar: new(0.06), Annualized: new(4.7), Z: new(3.8),
	}, AlphaZ: new(3.8)}
	const few = "6 trades on the holdout; at least 10 are needed"
	result, err := json.Marshal(Confirmation{Look: evidence.Confirmation{Holdout: holdout, Reasons: []evidence.Reason{
		{Code: evidence.HoldoutTrades, Text: few}, {Code: evidence.HoldoutEarns, Passed: true}, {Code: evidence.HoldoutConfirms, Passed: true},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	look := &ktrdr.Look{EndedAt: time.Unix(1, 0), LookResult: ktrdr.LookResult{Adjusted: new(0.0001), Result: result}}
	r := LadderOf(LadderFacts{Finalist: true, Look: look, Looks: 1}).Rungs[2]
	if r.Reached || !strings.Contains(r.Next, few) || strings.Contains(r.Next, "years") {
		t.Errorf("%+v, want %q", r, few)
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
