package agent

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/research"
)

// advice is what follows from something that did not hold.
type advice struct {
	suggestion string
	hypothesis research.Hypothesis
}

// advices is the table, by the code of a check or of a gate's reason. An advice
// is a question for the next round, not an answer.
var advices = map[string]advice{
	string(evidence.NotRuined): {"Trade smaller, and with a stop.", research.Hypothesis{
		Text:      "The same signals survive at a smaller size with a stop.",
		Rationale: "The account was used up before the end, so nothing else can be told.",
	}},
	string(evidence.NotCollapsed): {"Change the labels or weigh their classes.", research.Hypothesis{
		Text:      "Labels with more even classes give a model that tells situations apart.",
		Rationale: "The model gave almost always the same answer.",
	}},
	string(evidence.EnoughTrades): {"Lower the confidence threshold or shorten the horizon.", research.Hypothesis{
		Text: "The same inputs with a shorter horizon trade often enough to be judged.", Rationale: "There were too few trades to tell anything.",
	}},
	string(evidence.PositiveSharpe): {"Try other inputs; these lose after costs.", research.Hypothesis{
		Text: "Another family of indicators tells more about the same horizon.", Rationale: "These inputs lose money out of sample.",
	}},
	string(evidence.BoundedDrawdown): {"Take smaller positions, or leave losing ones earlier.", research.Hypothesis{
		Text: "A stop bounds the fall without taking the earnings.", Rationale: "The account fell further than is allowed.",
	}},
	string(evidence.SurvivesCosts): {"Trade less often: a higher threshold or a longer horizon.", research.Hypothesis{
		Text: "The same signals held longer earn more than they cost.", Rationale: "Slightly higher costs would have taken the earnings.",
	}},
	string(evidence.BoundedDecay): {"Use a smaller network and fewer inputs.", research.Hypothesis{
		Text:      "A smaller network keeps more of what it learns out of sample.",
		Rationale: "Most of what was earned in sample was gone out of sample.",
	}},
	string(evidence.BeatsHold): {"Look for what the market itself does not give.", research.Hypothesis{
		Text: "Trading both sides earns what holding does not.", Rationale: "Holding did as well.",
	}},
	string(evidence.BeatsLuck): {"Gather more evidence for the same idea instead of more variants.", research.Hypothesis{
		Text: "The same idea shows in another symbol or in longer data.", Rationale: "As many trials as were made find as much by luck.",
	}},
	"accuracy_below_threshold": {"Ask another question: other labels, other inputs.", research.Hypothesis{
		Text: "Other labels can be foretold from these inputs.", Rationale: "The network did no better than chance.",
	}},
	"loss_too_high": {"Train longer, slower, or with other labels.", research.Hypothesis{
		Text: "A lower learning rate brings the loss down.", Rationale: "The network was surer than it was right.",
	}},
	"win_rate_too_low": {"Take profits sooner.", research.Hypothesis{
		Text: "A nearer target wins more often and earns more.", Rationale: "Hardly any trade won.",
	}},
}

// same says which codes mean what another one does.
var same = map[string]string{
	"directional_accuracy_below_threshold": "accuracy_below_threshold",
	"insufficient_loss_decrease":           "loss_too_high",
	"no_test_part":                         "accuracy_below_threshold",
	"too_few_trades":                       string(evidence.EnoughTrades),
	"drawdown_too_high":                    string(evidence.BoundedDrawdown),
	"sharpe_too_low":                       string(evidence.PositiveSharpe),
	"net_return_negative":                  string(evidence.SurvivesCosts),
}

// against lists the advice that says the opposite of another: what came first is
// given, because checks are made in the order of their weight.
var against = [][2]string{
	{string(evidence.EnoughTrades), string(evidence.SurvivesCosts)}, // more trades, fewer trades
	{"win_rate_too_low", string(evidence.SurvivesCosts)},            // leave sooner, hold longer
	{string(evidence.PositiveSharpe), string(evidence.BeatsLuck)},   // another idea, the same idea
	{"accuracy_below_threshold", "loss_too_high"},                   // other labels, train longer on these
	{"accuracy_below_threshold", string(evidence.BeatsLuck)},        // another idea, the same idea
	{string(evidence.NotCollapsed), string(evidence.BeatsLuck)},     // other labels, the same idea
}

// meaning is the code whose advice a code shares.
func meaning(code string) string { return cmp.Or(same[code], code) }

// contradicts says whether the advice on a code is the opposite of what was given.
func contradicts(given []research.Hypothesis, code string) bool {
	return slices.ContainsFunc(given, func(h research.Hypothesis) bool {
		was, now := meaning(h.Code), meaning(code)
		return slices.Contains(against, [2]string{was, now}) || slices.Contains(against, [2]string{now, was})
	})
}

const most = 3

func advise(a *research.Assessment, code string) {
	tip, ok := advices[meaning(code)]
	if !ok || len(a.Suggestions) >= most || slices.Contains(a.Suggestions, tip.suggestion) || contradicts(a.Hypotheses, code) {
		return
	}
	a.Suggestions = append(a.Suggestions, tip.suggestion)
	if h := tip.hypothesis; h.Text != "" {
		h.Code = code
		a.Hypotheses = append(a.Hypotheses, h)
	}
}

func opinion(spec research.AssessmentSpec, v evidence.Verdict) research.Assessment {
	a := research.Assessment{
		Summary: v.Summary, Strategy: spec.Strategy, Verdict: v.Level, Finalist: v.Finalist, Reasons: v.Reasons, Figures: &v.Figures,
		MadeUp: spec.MadeUp, Suggestions: []string{}, Hypotheses: []research.Hypothesis{},
	}
	for _, r := range v.Reasons {
		if r.Passed {
			a.Strengths = append(a.Strengths, sentence(r.Text))
			continue
		}
		a.Weaknesses = append(a.Weaknesses, sentence(r.Text))
		advise(&a, string(r.Code))
	}
	for _, g := range spec.Gates {
		if g.Bypassed {
			a.Weaknesses = append(a.Weaknesses, fmt.Sprintf("The %s gate would have refused it: %s.", g.Gate, g.Reasons))
		}
	}
	a.Weaknesses = append(a.Weaknesses, costNotes(spec.Files)...)
	if v.Finalist {
		a.Hypotheses = append(a.Hypotheses, research.Hypothesis{
			Text: "The same idea holds in other symbols.", Rationale: "An edge that is real is rarely alone.",
		})
	}
	return complete(a)
}

// rejected assesses a research that a gate ended.
func rejected(spec research.AssessmentSpec) research.Assessment {
	a := research.Assessment{
		Strategy: spec.Strategy, Verdict: evidence.Poor, Reasons: []evidence.Reason{}, MadeUp: spec.MadeUp,
		Suggestions: []string{}, Hypotheses: []research.Hypothesis{},
	}
	for _, g := range spec.Gates {
		if g.Passed {
			a.Strengths = append(a.Strengths, fmt.Sprintf("It passed the %s gate.", g.Gate))
			continue
		}
		a.Summary = fmt.Sprintf("No edge is claimed: the %s gate refused it: %s.", g.Gate, g.Reason)
		for _, reason := range g.Reasons {
			a.Reasons = append(a.Reasons, reason)
			a.Weaknesses = append(a.Weaknesses, sentence(reason.Text))
			advise(&a, string(reason.Code))
		}
	}
	if spec.Collapsed {
		a.Weaknesses = append(a.Weaknesses, "The model gives almost always the same answer.")
		advise(&a, string(evidence.NotCollapsed))
	}
	return complete(a)
}

// complete sees to it that both sides are heard.
func complete(a research.Assessment) research.Assessment {
	if len(a.Strengths) == 0 {
		a.Strengths = []string{"It was tried and counted."}
	}
	if len(a.Weaknesses) == 0 {
		a.Weaknesses = []string{"It is chosen by what it did on the test part; only a holdout can confirm it."}
	}
	return a
}

func sentence(text string) string {
	if text == "" {
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:] + "."
}
