package agent

import (
	"reflect"
	"slices"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/research"
	"github.com/ktrdr/ktrdr/train"
)

func TestAdvice_ThereIsSomeForEveryRefusal(t *testing.T) {
	codes := []string{
		"accuracy_below_threshold", "directional_accuracy_below_threshold", "loss_too_high", "insufficient_loss_decrease", "no_test_part",
		"win_rate_too_low", "drawdown_too_high", "sharpe_too_low", "net_return_negative", "too_few_trades",
	}
	for _, r := range evidence.Judge(evidence.Case{}, evidence.Rules{}).Reasons { // every check there is
		codes = append(codes, string(r.Code))
	}
	if len(codes) != 23 {
		t.Errorf("%d codes, want ten of the gates and thirteen of the verdict", len(codes))
	}
	for _, code := range codes {
		if a, ok := adviceOn(code); !ok || a.suggestion == "" || a.hypothesis.Text == "" || a.hypothesis.Rationale == "" {
			t.Errorf("there is no advice on %s", code)
		}
	}
}

func TestOpinion_HearsBothSides(t *testing.T) {
	gates := []research.GateResult{{Gate: "training", Reason: "loss_too_high (9 > 1)", Reasons: []string{"loss_too_high (9 > 1)"}}}
	claim := evidence.Verdict{Level: evidence.Promising, Claim: true, Reasons: []evidence.Reason{{Code: evidence.BeatsLuck, Text: "more than luck", Passed: true}}}
	sealed := evidence.Judge(evidence.Case{}, evidence.Rules{})
	for name, a := range map[string]research.Assessment{
		"a claim":          opinion(research.AssessmentSpec{}, claim, true),
		"nothing at all":   opinion(research.AssessmentSpec{}, sealed, false),
		"a gate's refusal": refused(research.AssessmentSpec{Gates: gates, Collapsed: true}),
	} {
		if len(a.Strengths) == 0 || len(a.Weaknesses) == 0 || len(a.Hypotheses) == 0 || len(a.Suggestions) > most || a.Reasons == nil {
			t.Errorf("%s: %+v", name, a)
		}
		if slices.Contains(a.Weaknesses, "The holdout is sealed.") {
			t.Errorf("%s: that the holdout is sealed is no weakness", name)
		}
	}
	if a := refused(research.AssessmentSpec{Gates: gates}); a.Verdict != evidence.Poor || a.Claim || a.Summary == "" || a.Reasons[0].Code != "loss_too_high" {
		t.Errorf("a refusal is judged %+v", a)
	}
}

func TestJoin_PutsTheHoldoutBehindWhatWasSeen(t *testing.T) {
	hours := market.Synth(market.SynthConfig{Bars: 400, Seed: 5})
	long, err := market.Resample(hours, market.H4)
	if err != nil {
		t.Fatal(err)
	}
	part := func(a, b, c, d int) train.Series {
		return train.Series{Symbol: "SYNTH", Bars: []*market.Bars{hours.Slice(a, b), long.Slice(c, d)}}
	}
	whole, err := join(part(0, 300, 0, 70), part(300, hours.Len(), 70, long.Len()))
	if err != nil || !reflect.DeepEqual(whole.Bars, []*market.Bars{hours, long}) {
		t.Errorf("joined it is another series (%v)", err)
	}
	for name, after := range map[string]train.Series{
		"one that overlaps":     part(299, 400, 70, 80),
		"one that is empty":     part(400, 400, 70, 80),
		"one timeframe missing": {Symbol: "SYNTH", Bars: []*market.Bars{hours.Slice(300, 400)}},
	} {
		if _, err := join(part(0, 300, 0, 70), after); ktrdr.CodeOf(err) != ktrdr.CodeInvalid {
			t.Errorf("%s is joined: %v", name, err)
		}
	}
}
