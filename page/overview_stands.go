package page

import (
	"slices"

	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/report"
)

// stands are the claims and finalists of a report on the ladder.
type stands struct {
	Rungs []string // names of the columns
	Rows  []standing
	Notes []string // calibrations of the markets, without repeats
}

// standing is a claim or a finalist.
type standing struct {
	ID, Handle, Strategy string
	Rungs                []rung
	Paths, Seeds         string // the lowest and the highest Sharpe ratio of each
	Examination          string
	Next                 []string // what would reach the rungs that it has not reached
}

// standsOf are the claims of a report, then the finalists among its best.
func standsOf(told *report.Report) (s stands) {
	add := func(l *report.Leader) {
		if l.Ladder == nil {
			return
		}
		s.Rows = append(s.Rows, standingOf(l))
		if note := plain(l.Calibration); note != "" && !slices.Contains(s.Notes, note) {
			s.Notes = append(s.Notes, note)
		}
	}
	for i := range told.Claims {
		add(&told.Claims[i])
	}
	for i := range told.Leaders {
		if l := &told.Leaders[i]; !l.Claim {
			add(l)
		}
	}
	if len(s.Rows) > 0 {
		s.Rungs = text.Map(s.Rows[0].Rungs, func(r rung) string { return r.Name })
	}
	return s
}

func standingOf(l *report.Leader) standing {
	at := standing{
		ID: string(l.Operation), Handle: l.Operation.Tail(), Strategy: strategyName(l.Strategy), Rungs: rungsOf(l.Ladder),
		Paths: missing, Seeds: missing,
	}
	for _, r := range l.Ladder.Rungs {
		if !r.Reached && r.Next != "" {
			at.Next = append(at.Next, plain(r.Next))
		}
	}
	if x := l.Examination; x != nil {
		at.Examination = plain(x.Summary)
		at.Paths = lowToHigh(text.Map(x.Paths, func(p evidence.Path) *float64 { return p.Sharpe }))
		at.Seeds = lowToHigh(x.Seeds)
	}
	return at
}

// lowToHigh writes the lowest and the highest of some figures.
func lowToHigh(list []*float64) string {
	low, high, ok := spread(list)
	if !ok {
		return missing
	}
	return number(low, 2) + " to " + number(high, 2)
}
