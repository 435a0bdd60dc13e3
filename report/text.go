package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/research"
)

// section is a part of a report, before it is known how it is printed.
type section struct {
	title string
	lines []string
	head  []string // of a table; empty for a table without one
	rows  [][]string
}

func (s *section) add(format string, args ...any) {
	s.lines = append(s.lines, term.Plain(fmt.Sprintf(format, args...)))
}

func (s *section) row(cells ...any) {
	s.rows = append(s.rows, text.Map(cells, func(c any) string { return term.Plain(fmt.Sprint(c)) }))
}

// addStands says where a claim or a finalist stands.
func (s *section) addStands(l *Leader) {
	for _, line := range l.Stands() {
		s.add("%s: %s", l.Operation.Tail(), line)
	}
}

// sectionsOf puts a report into words. A part in which nothing happened is left
// out.
func sectionsOf(r Report, zone *time.Location) []section {
	all := append([]section{headSection(r, zone), claimSection(r), leaderSection(r)}, panelSections(r)...)
	return slices.DeleteFunc(append(
		all, failureSection(r), machineSection(r.Machine, zone), modelSection(r.Models), nowSection(r),
	), func(s section) bool { return len(s.lines)+len(s.rows) == 0 })
}

func headSection(r Report, zone *time.Location) section {
	const layout = "Mon 2006-01-02 15:04"
	s := section{
		title: fmt.Sprintf("%s to %s (%s)", r.From.In(zone).Format(layout), r.To.In(zone).Format(layout+" MST"), term.Brief(r.To.Sub(r.From))),
	}
	if r.Run != "" {
		s.title = term.Plain(r.Run) + ", " + s.title
	}
	s.add("%s", r.Summary)
	n := r.Researches
	var parts []string
	for _, o := range research.Outcomes {
		if k := n.Outcomes[string(o)]; k > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", k, strings.ReplaceAll(string(o), "_", " ")))
		}
	}
	if len(parts) > 0 {
		s.add("%s: %s.", text.Counted(n.Ended, "research ended", "researches ended"), strings.Join(parts, ", "))
	}
	if n.Unaided > 0 {
		s.add("In %d of them the built-in designer or assessor replaced the model; `ktrdr results RESEARCH` says why.", n.Unaided)
	}
	switch {
	case r.Run != "" && n.Active > 0:
		s.add("%s still open.", text.Counted(n.Active, "research is", "researches are"))
	case n.Active+n.Waiting > 0:
		s.add("%d are active and %d wait.", n.Active, n.Waiting)
	}
	if n.Finalists > 0 {
		s.add("%s passed every check on the test part.", text.Counted(n.Finalists, "finalist"))
	}
	if n.Markets > 0 {
		s.add("So far %s and %s at holdouts are counted on %s.", text.Counted(n.Trials, "trial"), text.Counted(n.Looks, "look"),
			text.Counted(n.Markets, "market"))
	}
	for _, h := range r.Heads {
		s.add("Ledger head: %s", h)
	}
	var others []string
	for _, c := range r.Others {
		others = append(others, fmt.Sprintf("%s: %d %s", c.Type, c.N, strings.ToLower(string(c.Status))))
	}
	if len(others) > 0 {
		s.add("Other operations: %s.", strings.Join(others, ", "))
	}
	return s
}

func claimSection(r Report) section {
	if len(r.Claims) == 0 {
		return section{}
	}
	s := section{title: "Claims", head: LeaderHead}
	for _, c := range r.Claims {
		s.row(leaderCells(c)...)
		s.add("%s", claimLine(c))
		s.addStands(&c)
	}
	if more := r.Researches.Claims - len(r.Claims); more > 0 {
		s.add("And %d more: see `ktrdr leaderboard`.", more)
	}
	return s
}

// sinceLine is what the bars after a claim have shown, in a sentence; empty while there are none.
func sinceLine(l *ktrdr.ClaimLife) string {
	switch {
	case l == nil || l.Bars == 0:
		return ""
	case l.Rung == ktrdr.ClaimRetired:
		return fmt.Sprintf("retired at the bar of %s: %s after the claim speak against half of it.", text.Minute(l.Retired.Unix()),
			text.Counted(l.Bars, "bar"))
	case l.Rung == ktrdr.ClaimLiving:
		return fmt.Sprintf("living: %s after the claim, an edge since the bar of %s (e = %.3g).", text.Counted(l.Bars, "bar"),
			text.Minute(l.Detected.Unix()), l.E)
	}
	return fmt.Sprintf("%s after the claim, e = %.3g; 20 shows an edge.", text.Counted(l.Bars, "bar"), l.E)
}

func leaderSection(r Report) section {
	s := section{title: "The best, net of costs", head: LeaderHead}
	for _, l := range r.Leaders {
		s.row(leaderCells(l)...)
		if !l.Claim { // else it stands among the claims
			s.addStands(&l)
		}
	}
	if belowDefault(r.Leaders) {
		s.add(CostLegend)
	}
	return s
}

func failureSection(r Report) section {
	s := section{title: "What failed"}
	for _, f := range r.Failures {
		s.add("%d × %s", f.Count, f.Reason)
		s.add("    `%s`%s", f.Next, others(f))
	}
	return s
}

// others says how to find the rest of a group.
func others(f FailureReason) string {
	switch {
	case f.Resumable > 1:
		return "; all that can be continued: `ktrdr ops --resumable`"
	case f.Count > 1:
		return "; the others: `ktrdr ops --status failed`"
	}
	return ""
}

func machineSection(m Machine, zone *time.Location) section {
	s := section{title: "The machine"}
	var parts []string
	count := func(n int, one, many string) {
		if n > 0 {
			parts = append(parts, text.Counted(n, one, many))
		}
	}
	flush := func() {
		if len(parts) > 0 {
			s.add("%s.", strings.Join(parts, ", "))
		}
		parts = nil
	}
	count(m.BackendStarts, "backend start", "backend starts")
	count(m.BackendDeaths, "backend died", "backends died")
	count(m.WorkersJoined, "worker joined", "workers joined")
	count(m.WorkersLeft, "worker left", "workers left")
	count(m.WorkersLost, "worker was lost", "workers were lost")
	flush()
	count(m.Orphaned, "operation of a dead worker", "operations of dead workers")
	count(m.Interrupted, "ended with its backend", "ended with their backend")
	count(m.Requeued, "taken over from a dead backend", "taken over from dead backends")
	count(m.Reported, "outlived its backend", "outlived their backend")
	count(m.Released, "given back by a stop", "given back by stops")
	count(m.Resumed, "resumed", "resumed")
	count(m.Poisoned, "given up as poison", "given up as poison")
	flush()
	count(m.CheckpointsSkipped, "checkpoint could not be used", "checkpoints could not be used")
	count(m.WritesRefused, "write of an old claim refused", "writes of old claims refused")
	count(m.BreakerChanges, "circuit breaker change", "circuit breaker changes")
	flush()
	for _, p := range m.Pauses {
		end := "now: end the pause with `ktrdr unpause`"
		if !p.To.IsZero() {
			end = p.To.In(zone).Format("15:04 MST")
		}
		s.add("Paused from %s to %s.", p.From.In(zone).Format("15:04"), end)
	}
	return s
}

func modelSection(m *ModelCalls) section {
	if m == nil {
		return section{}
	}
	s := section{title: "Models"}
	s.add("%s, %d failed, %d not settled: $%.4f.", text.Counted(m.Calls, "call"), m.Failed, m.InFlight, m.USD)
	if len(m.ByModel) > 1 {
		s.head = []string{"MODEL", "CALLS", "FAILED", "USD"}
		for _, x := range m.ByModel {
			s.row(x.Model, x.Calls, x.Failed, fmt.Sprintf("%.4f", x.USD))
		}
	}
	return s
}

func nowSection(r Report) section {
	s := section{title: "Now"}
	for _, text := range r.Problems {
		s.add("%s", text)
	}
	for _, text := range r.Incomplete {
		s.add("This report is incomplete: %s.", text)
	}
	return s
}

// WriteText prints a report for a terminal.
func WriteText(w io.Writer, r Report, zone *time.Location) {
	for i, s := range sectionsOf(r, zone) {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintln(w, s.title)
		if len(s.rows) > 0 {
			term.Rows(w, "  "+strings.Join(s.head, "\t"), func(row func(...any)) {
				for _, r := range s.rows {
					cells := []any{"  " + r[0]}
					for _, c := range r[1:] {
						cells = append(cells, c)
					}
					row(cells...)
				}
			})
		}
		for _, l := range s.lines {
			fmt.Fprintln(w, " ", l)
		}
	}
}

// WriteMarkdown prints a report for a file.
func WriteMarkdown(w io.Writer, r Report, zone *time.Location) {
	for i, s := range sectionsOf(r, zone) {
		level := "##"
		if i == 0 {
			level = "#"
		}
		fmt.Fprintf(w, "%s %s\n\n", level, escaped(s.title))
		if len(s.rows) > 0 {
			fmt.Fprintf(w, "| %s |\n|%s\n", strings.Join(s.head, " | "), strings.Repeat("---|", len(s.head)))
			for _, r := range s.rows {
				for j := range r {
					r[j] = escaped(r[j])
				}
				fmt.Fprintf(w, "| %s |\n", strings.Join(r, " | "))
			}
			fmt.Fprintln(w)
		}
		for _, l := range s.lines {
			fmt.Fprintf(w, "- %s\n", escaped(strings.TrimSpace(l)))
		}
		if len(s.lines) > 0 {
			fmt.Fprintln(w)
		}
	}
}

// escaped keeps what others wrote from being a table, a link or HTML.
func escaped(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "[", `\[`, "\n", " ").Replace(text)
}
