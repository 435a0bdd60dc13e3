package report

import (
	"context"
	"fmt"
	"strings"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/research"
)

// stands adds to a claim or a finalist where it stands, and what its examination found.
func (l *lookback) stands(ctx context.Context, row *Leader) error {
	if row.Rung != ktrdr.RungFinalist {
		return nil
	}
	op, err := l.engine.Operation(ctx, row.Operation)
	if err != nil {
		return err
	}
	if row.Ladder, err = research.ReadLadder(ctx, l.engine, op); err != nil || row.Trial.Examination == "" {
		return err
	}
	row.Examination, err = research.ReadExamination(ctx, l.engine, row.Trial.Examination)
	return err
}

// Stands says where a claim or a finalist of a report stands: what the bars after it have shown, its ladder
// and what would move it on, what its examination found, and how often this lab claims falsely.
func (l *Leader) Stands() (lines []string) {
	if since := sinceLine(l.Since); since != "" {
		lines = append(lines, since)
	}
	if x := l.Ladder; x != nil {
		rungs := text.Map(x.Rungs, func(r research.LadderRung) string { return r.Rung + " " + reached(r) })
		lines = append(lines, fmt.Sprintf("ladder: %s (%s).", x.Rung, strings.Join(rungs, ", ")))
		for _, r := range x.Rungs {
			if !r.Reached && r.Next != "" {
				lines = append(lines, fmt.Sprintf("not %s: %s", r.Rung, r.Next))
			}
		}
	}
	if x := l.Examination; x != nil {
		lines = append(lines, "examination: "+x.Summary)
	}
	if x := l.Examination; x != nil && x.Pooled != nil {
		lines = append(lines, fmt.Sprintf("Sharpe ratio of each path: %s; of each network alone: %s.",
			hundredths(text.Map(x.Paths, func(p evidence.Path) *float64 { return p.Sharpe })), hundredths(x.Seeds)))
	}
	if l.Calibration != "" {
		lines = append(lines, l.Calibration)
	}
	return lines
}

// reached is the number of a rung in a few words.
func reached(r research.LadderRung) string {
	said := "no"
	if r.Reached {
		said = "yes"
	}
	switch {
	case r.P != nil:
		said += ", " + text.PValue(*r.P)
	case r.EValue != nil:
		said += fmt.Sprintf(", e = %.3g", *r.EValue)
	}
	return said
}

func hundredths(list []*float64) string { return strings.Join(text.Map(list, term.Hundredths), ", ") }
