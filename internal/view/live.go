package view

import (
	"fmt"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/research"
)

// LiveRow is a row of what is followed on a terminal: a run, a research, or an
// operation, below the one that it belongs to.
type LiveRow struct {
	Depth  int
	Name   string
	Part   float64 // of it that is done, from 0 to 1
	Status string
	Colour func(string) string // of the status; nil: none
	Left   time.Duration       // until it ends; 0: not known
	Note   string
}

// The widths of a bar, and of a terminal from which bars are wide.
const (
	narrowBar, wideBar = 10, 20
	wideRows           = 110
)

// LiveLines lays out rows as lines of at most the given columns. Names, statuses and
// times are in columns; notes take the rest.
func LiveLines(rows []LiveRow, p term.Palette, columns int) []string {
	bar := narrowBar
	if columns >= wideRows {
		bar = wideBar
	}
	var name, status, left int
	names := make([]string, len(rows))
	for i, r := range rows {
		names[i] = text.Fit(strings.Repeat("  ", r.Depth)+term.Plain(r.Name), max(columns/3, narrowBar))
		name, status, left = max(name, text.Width(names[i])), max(status, text.Width(r.Status)), max(left, text.Width(leftText(r.Left)))
	}
	lines := make([]string, len(rows))
	for i, r := range rows {
		shown := pad(r.Status, status)
		if r.Colour != nil {
			shown = r.Colour(shown)
		}
		line := fmt.Sprintf("%s %s %3.0f%% %s", pad(names[i], name), term.Bar(r.Part, bar), 100*min(max(r.Part, 0), 1), shown)
		if left > 0 {
			line += " " + pad(leftText(r.Left), left)
		}
		if r.Note != "" {
			line += " " + p.Paint("2", term.Plain(r.Note))
		}
		lines[i] = text.Fit(strings.TrimRight(line, " "), columns)
	}
	return lines
}

func pad(s string, columns int) string { return s + strings.Repeat(" ", max(0, columns-text.Width(s))) }

func leftText(d time.Duration) string {
	if d <= 0 {
		return ""
	}
	return term.Brief(d.Round(time.Second)) + " left"
}

// LiveOperation is an operation as a live row.
func LiveOperation(op ktrdr.Operation, p term.Palette, depth int) LiveRow {
	row := LiveRow{
		Depth: depth, Name: Short(op), Part: Percent(op) / 100, Status: string(op.Status), Note: noteWith(op, progressFigures),
		Colour: func(shown string) string { return strings.Replace(shown, string(op.Status), p.Status(op.Status), 1) },
	}
	if !op.Status.Terminal() {
		row.Left = timeLeft(op.Progress)
	}
	return row
}

// phaseTypes are the operations that do the work of each phase.
var phaseTypes = map[research.Phase]ktrdr.Type{
	research.Designing: ktrdr.AgentDesign, research.Training: ktrdr.Training, research.Backtesting: ktrdr.Backtesting,
	research.Assessing: ktrdr.AgentAssessment,
}

// LiveResearch is a research, and below it the operation that does the work of its
// phase.
func LiveResearch(r research.Active, number int, p term.Palette, depth int) []LiveRow {
	rows := []LiveRow{{
		Depth: depth, Name: fmt.Sprintf("research %d", number), Part: PartOf(r), Status: string(r.Phase),
		Colour: func(s string) string { return p.Paint("36", s) }, Note: r.Strategy,
	}}
	if r.Child == "" || r.Progress == nil {
		return rows
	}
	child := LiveRow{
		Depth: depth + 1, Name: string(phaseTypes[r.Phase]) + " " + r.Child.Tail(), Part: r.Progress.Percentage / 100,
		Left: timeLeft(*r.Progress), Note: progressFigures(*r.Progress),
	}
	if r.Worker != "" {
		child.Note = strings.TrimPrefix(child.Note+", on "+r.Worker, ", ")
	}
	return append(rows, child)
}

// LiveRun is a run as a live row.
func LiveRun(r ktrdr.Run, now time.Time, p term.Palette) LiveRow {
	planned := max(r.Planned, r.Created)
	row := LiveRow{
		Name: ktrdr.ShortRun(r.ID), Status: string(r.State), Colour: func(s string) string { return p.Paint("36", s) },
		Note: fmt.Sprintf("%d of %s ended, %s, %s", r.Ended(), text.Counted(planned, "research", "researches"),
			text.Counted(r.Finalists, "finalist"), text.Counted(r.Looks, "look")),
	}
	if planned > 0 {
		row.Part = float64(r.Ended()) / float64(planned)
	}
	switch {
	case !r.EndedAt.IsZero():
		row.Part = 1
	case !r.Until.IsZero():
		row.Part = part(now.Sub(r.CreatedAt), r.Until.Sub(r.CreatedAt))
		row.Left = r.Until.Sub(now)
	case r.Ended() > 0:
		row.Left = now.Sub(r.CreatedAt) / time.Duration(r.Ended()) * time.Duration(planned-r.Ended())
	}
	return row
}

func part(of, all time.Duration) float64 {
	if all <= 0 {
		return 0
	}
	return float64(of) / float64(all)
}
