package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/internal/text"
)

// PanelCaveats are what the figures of a panel do not mean, for every place that shows them.
var PanelCaveats = []string{
	"SPA and StepM compare with cash, not with buy-and-hold. They test the mean net return on these days, not the future.",
	"StepM bounds the probability of one or more wrong trials by 5 %. A trial that it does not reject may still have an edge.",
	"PBO judges how strategies are chosen by their Sharpe ratio. It is no property of one strategy, and a low one proves no edge.",
	"Trials without a backtest or a trade are not in these figures. They are counted in the deflated Sharpe ratio.",
}

// Lines are what a panel says, one sentence or two each. Names of strategies are as
// people or models wrote them.
func (p *Panel) Lines() []string {
	lines := []string{p.members()}
	if p.SPA.P == nil {
		lines = append(lines, "SPA and StepM: undefined: "+p.SPA.Undefined+".")
	} else {
		lines = append(lines, fmt.Sprintf(
			"SPA, is any trial better than cash: %s (lower %s, upper %s), from %d resamples in blocks of %.1f days.",
			PValue(p.SPA.P), Significant(p.SPA.Lower), Significant(p.SPA.Upper), p.Draws, p.Block), p.stepm())
	}
	if p.PBO.PBO == nil {
		lines = append(lines, "PBO: undefined: "+p.PBO.Undefined+".")
	} else {
		lines = append(lines, fmt.Sprintf("PBO, probability of backtest overfitting: %.2f, from %d splits of %d blocks of days.",
			*p.PBO.PBO, p.PBO.Splits, p.PBO.Blocks), p.degradation())
	}
	if p.Effective != nil {
		lines = append(lines, fmt.Sprintf("Effective number of trials: %.1f of %d. The verdicts count every trial.", *p.Effective, p.Trials))
	}
	if said := TestLine(p.Test); said != "" {
		lines = append(lines, "Factory test, does the search find more than on copies without an edge: "+said+".")
	}
	for _, w := range p.Weaknesses {
		lines = append(lines, p.Weakness(w))
	}
	return lines
}

// TestLine says what the test of a run on permuted copies came to; "" without a test.
func TestLine(t ktrdr.RunTest) string {
	switch {
	case t.ReservedAt.IsZero():
		return ""
	case t.EndedAt.IsZero():
		return "not ended; `ktrdr ops --type factory_test` shows it"
	}
	said := fmt.Sprintf("p = %.3g after %s, at most %.3g is allowed", *t.P, text.Counted(t.Copies, "copy", "copies"), t.Threshold)
	if t.Passed {
		return said + ": " + t.Best.Tail() + " is a candidate"
	}
	return said + ": no candidate"
}

// Weakness says of which verdicts something is the weakness.
func (p *Panel) Weakness(what string) string {
	switch {
	case p.Trial != nil && p.Trial.Finalist:
		return "Weakness of this verdict, although every check passed: " + what + "."
	case p.Trial == nil && p.Finalists > 0:
		return fmt.Sprintf("Weakness of %s: %s.", text.Counted(p.Finalists, "verdict that passed", "verdicts that passed"), what)
	}
	return "Weakness: " + what + "."
}

func (p *Panel) members() string {
	s := fmt.Sprintf("Daily net returns of %d of %s on the test part", p.Trials, text.Counted(p.Researches, "trial"))
	if p.Days > 0 {
		s += fmt.Sprintf(", %s from %s to %s", text.Counted(p.Days, "day"), p.From.Format("2006-01-02"), p.To.Format("2006-01-02"))
	}
	var left []string
	for _, x := range []struct {
		n   int
		why string
	}{
		{p.Without, "without a backtest or a trade"},
		{p.Elsewhere, "on another test part"},
		{p.Older, fmt.Sprintf("older than the newest %d", MostPanelTrials)},
	} {
		if x.n > 0 {
			left = append(left, fmt.Sprintf("%d %s", x.n, x.why))
		}
	}
	if len(left) > 0 {
		s += ". Left out: " + strings.Join(left, ", ")
	}
	return s + "."
}

func (p *Panel) stepm() string {
	const question = "StepM, which trials are better than cash: "
	if p.Found == 0 {
		return question + "no trial" + bestOf(p.Best) + "."
	}
	const named = 3
	names := text.Map(p.Rejected[:min(named, len(p.Rejected))], func(t PanelTrial) string {
		return fmt.Sprintf("%s (%s, %s)", t.Strategy, t.Operation.Tail(), PValue(t.P))
	})
	s := fmt.Sprintf("%s%d of %d: %s", question, p.Found, p.Trials, strings.Join(names, ", "))
	if more := p.Found - len(names); more > 0 {
		s += fmt.Sprintf(", and %d more", more)
	}
	return s + "."
}

func bestOf(t *PanelTrial) string {
	if t == nil {
		return ""
	}
	return fmt.Sprintf(". The best is %s (%s), %s", t.Strategy, t.Operation.Tail(), PValue(t.P))
}

func (p *Panel) degradation() string {
	x := &p.PBO
	s := fmt.Sprintf("The trial that is best on one half of the days loses money on the other half in %.0f %% of the splits", 100**x.Loss)
	if x.Chosen != nil && x.Other != nil {
		s += fmt.Sprintf("; its mean Sharpe ratio falls from %.2f to %.2f", *x.Chosen, *x.Other)
	}
	return s + "."
}

// OfTrial is what the panel of a run says of one of its researches; empty without it.
func (p *Panel) OfTrial() string {
	t := p.Trial
	switch {
	case t == nil:
		return ""
	case t.Missing != "":
		return "StepM: not in the panel of its run: " + t.Missing + "."
	case t.P == nil && p.StepM.Undefined != "":
		return "StepM: undefined: " + p.StepM.Undefined + "."
	case t.P == nil:
		return "StepM: undefined: its daily returns do not vary."
	}
	s := fmt.Sprintf("StepM: not better than cash among the %d trials of its run (adjusted %s; at most 0.05 is needed)", p.Trials,
		PValue(t.P))
	if t.Rejected {
		s = fmt.Sprintf("StepM: better than cash among the %d trials of its run (adjusted %s)", p.Trials, PValue(t.P))
	}
	if t.Deflated != nil && p.Effective != nil {
		s += fmt.Sprintf(". The deflated Sharpe ratio with %.1f effective trials would be %.2f (for information)", *p.Effective, *t.Deflated)
	}
	return s + "."
}

// WritePanel prints a panel alone, with what it does not mean.
func WritePanel(w io.Writer, p Panel) {
	of := "of a run"
	if p.Market != "" {
		of = "of all runs on " + p.Market
	}
	fmt.Fprintln(w, term.Plain("Evidence "+of))
	for _, line := range append(p.Lines(), PanelCaveats...) {
		fmt.Fprintln(w, " ", term.Plain(line))
	}
}

// panelSections are one section for each panel of a report.
func panelSections(r Report) (list []section) {
	for i := range r.Panels {
		p := &r.Panels[i]
		s := section{title: "Evidence of the whole run"}
		if r.Run == "" {
			s.title += " " + ktrdr.ShortRun(p.Run)
		}
		for _, line := range p.Lines() {
			s.add("%s", line)
		}
		list = append(list, s)
	}
	if len(list) > 0 {
		last := &list[len(list)-1]
		for _, line := range PanelCaveats {
			last.add("%s", line)
		}
	}
	return list
}
