package page

import (
	"fmt"
	"html/template"
	"math"
	"strings"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/chart"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/research"
)

// verdict is every check with its value and its limit, and luck beside skill.
type verdict struct {
	Groups []checkGroup
	Skill  []figure
	Notes  []string
}

type checkGroup struct {
	Name, Note string
	Checks     []check
}

type check struct {
	Name, Note, Value, Needed string
	Mark                      string // p passed, f failed, o not made
	Margin                    template.HTML
}

// why words the reason of a verdict.
func why(r evidence.Reason) string {
	w, known := checkTexts[r.Code]
	switch {
	case !known:
		return plain(r.Text)
	case strings.Contains(w.failed, "%s"):
		return fmt.Sprintf(w.failed, w.show(r.Value))
	}
	return w.failed
}

func checkOf(r evidence.Reason) check {
	w, known := checkTexts[r.Code]
	if !known {
		w = checkWords{plain(r.Text), "", "", plainRatio, ""}
	}
	c := check{Name: w.name, Note: w.note, Value: w.show(r.Value), Needed: "yes", Mark: "p"}
	if !r.Passed {
		c.Mark = "f"
	}
	if w.relation == "" {
		if !r.Passed {
			c.Value = "no"
		}
		return c
	}
	if r.Limit != nil {
		c.Needed = w.relation + " " + w.show(r.Limit)
	}
	if r.Value != nil && r.Limit != nil {
		room := *r.Value - *r.Limit
		if w.relation == "≤" {
			room = -room
		}
		unit := math.Abs(*r.Limit)
		if unit == 0 {
			unit = 1
		}
		c.Margin = chart.Margin(room / unit)
	}
	return c
}

// firstFailure is the first check that failed, or nil.
func firstFailure(reasons []evidence.Reason) *evidence.Reason {
	for i := range reasons {
		if !reasons[i].Passed {
			return &reasons[i]
		}
	}
	return nil
}

// headline is the verdict as one sentence, and what it rests on.
func (f *facts) headline(s *strategy) {
	say := func(format string, args ...any) { s.Lead = append(s.Lead, phrase{Text: fmt.Sprintf(format, args...)}) }
	strong := func(text string) { s.Lead = append(s.Lead, phrase{Text: text, Strong: true}) }
	refused := f.refused()
	switch {
	case !f.ended():
		f.runningHeadline(s)
	case f.op.Status == ktrdr.Cancelled:
		s.Mark, s.Headline = "failed", "Cancelled."
		if f.op.CancelReason != "" {
			s.Headline = "Cancelled: " + sentence(f.op.CancelReason)
		}
	case f.op.Status == ktrdr.Failed:
		s.Mark, s.Headline = "failed", "Failed: "+sentence(f.op.ErrorMessage)
	case refused != nil:
		s.Mark, s.Headline = "gate", fmt.Sprintf("Stopped by the %s gate.", refused.Gate)
		if r := firstFailure(refused.Reasons); r != nil {
			s.Headline += " " + why(*r)
		}
		say("A gate stops what is plainly broken before more time is spent on it. Nothing was judged, and the holdout stays sealed.")
	case f.look != nil && f.look.Claim:
		s.Mark, s.Headline = "claimed", fmt.Sprintf("Edge claimed: %s after adjustment.", pValue(f.look.Look.Adjusted))
		say("On bars that no search has seen, the Sharpe ratio is ")
		strong(number(f.look.Look.Holdout.Sharpe.Ratio(), 2))
		say(", net of costs. ")
		if needed := f.needed(); needed != nil {
			say("About ")
			strong(number(needed, 2))
			say(" was needed: look %d at this market multiplies the p-value by %d. ", f.look.Look.Before+1, f.look.Look.Factor)
		}
		say("This does not say that the future is like the past.")
		if f.calibration != "" {
			say(" %s", plain(f.calibration))
		}
	case f.assessment == nil:
		s.Mark, s.Headline = "neutral", "No edge claimed. Nothing was judged."
	default:
		f.judgedHeadline(s, say, strong)
	}
}

func (f *facts) judgedHeadline(s *strategy, say func(string, ...any), strong func(string)) {
	a := f.assessment
	passed := 0
	for _, r := range a.Reasons {
		if r.Passed {
			passed++
		}
	}
	s.Mark, s.Headline = "neutral", "No edge claimed."
	failed := firstFailure(a.Reasons)
	switch {
	case f.look != nil:
		failed = firstFailure(f.look.Look.Reasons)
	case failed == nil:
		s.Headline = "Finalist: every check on the test part passed. The holdout is sealed."
	case failed.Code == evidence.BeatsLuck && a.Figures != nil:
		s.Headline += fmt.Sprintf(" Luck explains a Sharpe ratio of %s.", number(a.Figures.Test.Sharpe.Ratio(), 2))
		failed = nil
	}
	if failed != nil {
		s.Headline += " " + why(*failed)
	}
	if g := a.Figures; g != nil && g.ExpectedMax != nil && g.Trials > 1 {
		say("The best of %s without an edge would show about ", plural(g.Trials, "strategy"))
		strong(number(g.ExpectedMax, 2))
		say(". ")
	}
	say("This one passed ")
	strong(fmt.Sprintf("%d of %d", passed, len(a.Reasons)))
	switch {
	case f.look != nil:
		say(" checks on the test part. Its holdout was opened and did not confirm it.")
	case a.Finalist:
		say(" checks on the test part.")
	default:
		say(" checks on the test part, so its holdout stays sealed.")
	}
}

// runningHeadline says where a research is.
func (f *facts) runningHeadline(s *strategy) {
	s.Mark, s.Headline = "run", "Waiting to start."
	for i, phase := range phases {
		if string(phase) != f.op.Phase {
			continue
		}
		name := strings.ToLower(string(phase))
		s.Headline = fmt.Sprintf("%s%s: phase %d of %d.", strings.ToUpper(name[:1]), name[1:], i+1, len(phases))
	}
	for _, child := range f.children {
		if !child.Status.Terminal() {
			s.Phase = strings.TrimSpace(fmt.Sprintf("%.0f %% %s", child.Progress.Percentage, plain(child.Progress.CurrentStep)))
		}
	}
}

// refused is the gate that stopped the research, or nil.
func (f *facts) refused() *research.GateResult {
	for _, g := range f.gates() {
		if !g.Passed {
			return &g
		}
	}
	return nil
}

// needed is the Sharpe ratio that the holdout had to show, about: the verdict uses
// the weaker of the Sharpe and the alpha z-value.
func (f *facts) needed() *float64 {
	if f.look == nil || f.look.Look.Factor == 0 {
		return nil
	}
	rules := f.spec.Rules.WithDefaults()
	return f.look.Look.Holdout.Sharpe.Needed(rules.MaxAdjustedP / float64(f.look.Look.Factor))
}

// verdict is the table of checks and the figures beside it; nil before the first
// check.
func (f *facts) verdict() *verdict {
	v := &verdict{Notes: f.notes()}
	for _, g := range f.gates() {
		if g.Passed && len(g.Reasons) == 0 {
			continue // the checks of the assessment are stricter
		}
		note := "It stopped this research."
		if g.Bypassed {
			note = "It refused this and was bypassed."
		}
		group := checkGroup{Name: capital(g.Gate) + " gate", Note: note}
		for _, r := range g.Reasons {
			group.Checks = append(group.Checks, checkOf(r))
		}
		v.Groups = append(v.Groups, group)
	}
	if a := f.assessment; a != nil && f.refused() == nil {
		test := checkGroup{Name: "On the test part", Note: f.testNote()}
		luck := checkGroup{Name: "Against market and luck"}
		if a.Figures != nil {
			luck.Note = "adjusted for " + plural(a.Figures.Trials, "trial")
		}
		for _, r := range a.Reasons {
			if r.Code == evidence.BeatsHold || r.Code == evidence.BeatsLuck {
				luck.Checks = append(luck.Checks, checkOf(r))
			} else {
				test.Checks = append(test.Checks, checkOf(r))
			}
		}
		v.Groups = append(v.Groups, test, luck, f.holdoutChecks())
		v.Skill = f.skill()
	}
	if len(v.Groups) == 0 {
		return nil
	}
	return v
}

func (f *facts) testNote() string {
	if f.backtest == nil {
		return ""
	}
	return fmt.Sprintf("%s to %s, %s the model never saw", monthOf(f.backtest.Start), monthOf(f.backtest.End),
		plural(f.backtest.Sample.Unseen, "bar"))
}

// holdoutChecks are those of the look, or their limits while the holdout is sealed.
func (f *facts) holdoutChecks() checkGroup {
	g := checkGroup{Name: "On the holdout"}
	span := ""
	if len(f.spec.Sealed) > 0 {
		span = monthOf(f.spec.Sealed[0].From) + " to " + monthOf(f.spec.Sealed[0].To) + ", "
	}
	if f.look != nil {
		g.Note = span + "opened once, look " + count(f.look.Look.Before+1) + " at this market"
		for _, r := range f.look.Look.Reasons {
			g.Checks = append(g.Checks, checkOf(r))
		}
		return g
	}
	switch {
	case f.trial != nil && f.trial.Look != "":
		g.Note = span + "being opened"
	case f.assessment.Finalist:
		g.Note = span + "sealed: the best finalist of a generation is confirmed"
	default:
		g.Note = span + "sealed: a check on the test part failed"
	}
	rules := f.spec.Rules.WithDefaults()
	trades, zero := float64(rules.HoldoutTrades), 0.0
	for _, r := range []evidence.Reason{
		{Code: evidence.HoldoutTrades, Limit: &trades},
		{Code: evidence.HoldoutEarns, Limit: &zero},
		{Code: evidence.HoldoutConfirms, Limit: &rules.MaxAdjustedP},
	} {
		c := checkOf(r)
		c.Mark, c.Value = "o", "sealed"
		g.Checks = append(g.Checks, c)
	}
	return g
}
