package agent

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/designer"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/llm"
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
	if len(codes) != 19 {
		t.Errorf("%d codes, want ten of the gates and nine of the verdict", len(codes))
	}
	for _, code := range codes {
		a, ok := advices[meaning(code)]
		if !ok || a.suggestion == "" || a.hypothesis.Text == "" || a.hypothesis.Rationale == "" {
			t.Errorf("the advice on %s is %+v", code, a)
		}
	}
}

func TestOpinion_HearsBothSides(t *testing.T) {
	gates := []research.GateResult{{
		Gate: "training", Reason: "loss_too_high (9 > 1)",
		Reasons: research.GateReasons{{Code: "loss_too_high", Text: "loss_too_high (9 > 1)", Value: new(9.0), Limit: new(1.0)}},
	}}
	finalist := evidence.Verdict{
		Level: evidence.Promising, Finalist: true,
		Reasons: []evidence.Reason{{Code: evidence.BeatsLuck, Text: "more than luck", Passed: true}},
	}
	for name, a := range map[string]research.Assessment{
		"a finalist":       opinion(research.AssessmentSpec{}, finalist),
		"nothing at all":   opinion(research.AssessmentSpec{}, evidence.Judge(evidence.Case{}, evidence.Rules{})),
		"a gate's refusal": rejected(research.AssessmentSpec{Gates: gates, Collapsed: true}),
	} {
		if len(a.Strengths) == 0 || len(a.Weaknesses) == 0 || len(a.Hypotheses) == 0 || len(a.Suggestions) > most || a.Reasons == nil {
			t.Errorf("%s: %+v", name, a)
		}
	}
	if a := rejected(research.AssessmentSpec{Gates: gates}); a.Verdict != evidence.Poor || a.Finalist || a.Summary == "" ||
		a.Reasons[0].Code != "loss_too_high" ||
		a.Reasons[0].Value == nil || *a.Reasons[0].Value != 9 || a.Reasons[0].Limit == nil || *a.Reasons[0].Limit != 1 || a.Reasons[0].Passed {
		t.Errorf("a refusal is judged %+v", a)
	}
}

// TestAdvice_DoesNotContradictItself asks for the advice on every two codes at
// once: to trade more is not told beside to trade less.
func TestAdvice_DoesNotContradictItself(t *testing.T) {
	both := func(first, second string) []string {
		a := research.Assessment{}
		advise(&a, first)
		advise(&a, second)
		return a.Suggestions
	}
	for _, pair := range [][2]string{
		{"too_few_trades", string(evidence.SurvivesCosts)},
		{string(evidence.EnoughTrades), "net_return_negative"},
		{"win_rate_too_low", "net_return_negative"},
		{string(evidence.PositiveSharpe), string(evidence.BeatsLuck)},
		{"sharpe_too_low", string(evidence.BeatsLuck)},
		{"accuracy_below_threshold", "loss_too_high"},
	} {
		for range 2 {
			if got := both(pair[0], pair[1]); len(got) != 1 {
				t.Errorf("on %s and %s: %q, want the first alone", pair[0], pair[1], got)
			}
			pair[0], pair[1] = pair[1], pair[0]
		}
	}
	if got := both(string(evidence.EnoughTrades), string(evidence.BoundedDecay)); len(got) != 2 {
		t.Errorf("what agrees is told as %q, want both", got)
	}
}

func TestAsked_IsWhatTheParentPosedAndTheLessonTests(t *testing.T) {
	open := []research.HypothesisNote{
		{ID: "other", Source: "r/0/1", Code: string(evidence.BoundedDecay)},
		{ID: "another question", Source: "r/0/0", Code: string(evidence.EnoughTrades)},
		{ID: "this", Source: "r/0/0", Code: string(evidence.BoundedDecay)},
		{ID: "of a gate", Source: "r/0/0", Code: "loss_too_high"},
	}
	for name, c := range map[string]struct {
		p    designer.Proposal
		want string
	}{
		"a verdict's":                   {designer.Proposal{From: "r/0/0", Lesson: []string{"decay", "overfit"}}, "this"},
		"a gate's":                      {designer.Proposal{From: "r/0/0", Lesson: []string{"loss_too_high"}}, "of a gate"},
		"no lesson":                     {designer.Proposal{From: "r/0/0"}, ""},
		"another parent":                {designer.Proposal{From: "r/0/2", Lesson: []string{"decay"}}, ""},
		"without a parent":              {designer.Proposal{Lesson: []string{"decay"}}, ""},
		"a question that was not asked": {designer.Proposal{From: "r/0/0", Lesson: []string{"drawdown"}}, ""},
	} {
		got := ""
		if h := asked(c.p, open); h != nil {
			got = h.ID
		}
		if got != c.want {
			t.Errorf("%s: tests %q, want %q", name, got, c.want)
		}
	}
}

func TestTools_HypothesesAreListedAndNamed(t *testing.T) {
	tools := &designTools{past: research.Past{Hypotheses: []research.HypothesisNote{
		{ID: "a/0/1/1", Text: "older"},
		{ID: "a/0/2/1", Text: "newer"},
	}}}
	text, done, err := tools.use(llm.ToolCall{Name: "list_hypotheses", Input: json.RawMessage(`{}`)})
	if err != nil || done || !strings.Contains(text, "a/0/1/1") || strings.Index(text, "newer") > strings.Index(text, "older") {
		t.Errorf("%s, %v, %v, want both, the newer first", text, done, err)
	}
	_, _, err = tools.use(llm.ToolCall{Name: saveTool, Input: json.RawMessage(`{"yaml":"x","hypothesis":"y","tests":"none"}`)})
	if err == nil || !strings.Contains(err.Error(), "no untested hypothesis") {
		t.Errorf("a hypothesis that was not posed: %v", err)
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
	joined, err := join(part(0, 300, 0, 70), part(300, hours.Len(), 70, long.Len()))
	if err != nil || !reflect.DeepEqual(joined.Bars, []*market.Bars{hours, long}) {
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
