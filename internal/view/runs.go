package view

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/report"
	"github.com/ktrdr/ktrdr/research"
)

// Runs prints a page of runs.
func Runs(w io.Writer, page ktrdr.RunPage, q ktrdr.RunQuery) {
	if len(page.Runs) == 0 {
		if len(q.State) > 0 || q.Cursor != "" {
			fmt.Fprintln(w, "No such run.")
			return
		}
		fmt.Fprintln(w, "No run yet. Start one with `ktrdr research \"a goal\"`.")
		return
	}
	term.Table(w, "RUN\tSTATE\tPRICES\tCREATED\tRESEARCHES\tOPEN\tFAILED\tFINALISTS\tLOOKS\tCLAIMS\tGOAL", page.Runs, func(r ktrdr.Run) []any {
		return []any{
			ktrdr.ShortRun(r.ID), r.State, term.Prices(r.MadeUp), term.Ago(r.CreatedAt), r.Created, r.Open, r.Failed, r.Finalists, r.Looks,
			r.Claims, term.Dash(r.Goal),
		}
	})
	if page.Next != "" {
		fmt.Fprintf(w, "There is more: add --cursor %s.\n", page.Next)
	}
}

// Run prints what there is to know of a run.
func Run(w io.Writer, r ktrdr.Run) {
	fmt.Fprintf(w, "%s  %s  %s\n", r.ID, r.State, term.Plain(term.Dash(r.Goal)))
	line := func(name, format string, args ...any) { term.Field(w, name, format, args...) }
	line("researches", "%s", RunCounts(r))
	line("generations", "%d of %d closed%s", r.Closed, r.Generations, eachGeneration(r))
	line("holdout", "%s, %s, %s", text.Counted(r.Finalists, "finalist"), text.Counted(r.Looks, "look"), text.Counted(r.Claims, "claim"))
	line("prices", "%s", term.Prices(r.MadeUp))
	if said := report.TestLine(r.Test); said != "" {
		line("factory test", "%s", said)
	}
	for _, h := range r.Heads {
		line("ledger head", "%s", h)
	}
	line("created", "%s", term.When(r.CreatedAt))
	if !r.Until.IsZero() {
		line("until", "%s", r.Until.Local().Format(time.DateTime))
	}
	if !r.CancelledAt.IsZero() {
		line("cancelled", "%s by %s%s", term.When(r.CancelledAt), term.Dash(r.CancelledBy), because(r.CancelReason))
	}
	if r.GivenUp != "" {
		line("given up", "%s", r.GivenUp)
	}
	if !r.EndedAt.IsZero() {
		line("ended", "%s", term.When(r.EndedAt))
		fmt.Fprintf(w, "See `ktrdr leaderboard --run %s` and `ktrdr report --run %s`.\n", ktrdr.ShortRun(r.ID), ktrdr.ShortRun(r.ID))
		return
	}
	fmt.Fprintf(w, "Watch it with `ktrdr follow %s`. End it with `ktrdr cancel %s`.\n", ktrdr.ShortRun(r.ID), ktrdr.ShortRun(r.ID))
}

// eachGeneration says how large the generations of a run are, where it may have
// several.
func eachGeneration(r ktrdr.Run) string {
	if r.Until.IsZero() && r.Planned <= r.Size {
		return ""
	}
	return fmt.Sprintf(", up to %s each", text.Counted(r.Size, "research", "researches"))
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

// RunCounts says how the researches of a run stand.
func RunCounts(r ktrdr.Run) string {
	parts := []string{fmt.Sprintf("%d created", r.Created)}
	for _, c := range []struct {
		n    int
		what string
	}{{r.Open, "open"}, {r.Completed, "completed"}, {r.Rejected, "gate rejected"}, {r.Failed, "failed"}, {r.Cancelled, "cancelled"}} {
		if c.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", c.n, c.what))
		}
	}
	return strings.Join(parts, ", ")
}

// shownWaiting bounds how many researches that wait are listed.
const shownWaiting = 5

// Researches prints what is being researched, and how the last one ended.
func Researches(w io.Writer, st research.Status) {
	fmt.Fprintf(w, "researches: %d of at most %d active, %d waiting\n", st.Capacity.Active, st.Capacity.Limit, st.Capacity.Waiting)
	if len(st.Active) > 0 {
		waiting := 0
		term.Rows(w, "  SESSION\tRESEARCH\tPHASE\tPROGRESS\tFOR\tSTRATEGY\tGOAL", func(row func(...any)) {
			for _, r := range st.Active {
				if r.Status == ktrdr.Pending {
					if waiting++; waiting > shownWaiting {
						continue
					}
				}
				row(fmt.Sprintf("  %d", r.Session), r.Operation.Tail(), r.Phase, fmt.Sprintf("%.0f%%", 100*PartOf(r)),
					term.Brief(time.Duration(r.Seconds*float64(time.Second))), term.Dash(r.Strategy), term.Plain(r.Brief))
			}
		})
		if more := st.Capacity.Waiting - shownWaiting; more > 0 {
			fmt.Fprintf(w, "  … and %d more wait\n", more)
		}
	}
	for _, r := range st.Lasting {
		fmt.Fprintf(w, "%s lasts until %s: generation %d, %d open; end it with `ktrdr cancel %s`\n",
			term.Plain(r.Run), r.Until.Local().Format("Mon 15:04 MST"), r.Generation, r.Open, term.Plain(r.Run))
	}
	if l := st.Last; l != nil {
		fmt.Fprintf(w, "last research: %s %s %s: %s\n", l.Operation.Tail(), term.OnMadeUp(string(l.Outcome), l.MadeUp), term.Ago(l.CompletedAt),
			term.Plain(cmp.Or(l.Summary, l.Error)))
	}
}

// PartOf is how much of a research is done: its phases count alike.
func PartOf(r research.Active) float64 {
	phases := len(research.Phases) - 2 // the first and the last take no time
	i := slices.Index(research.Phases[1:phases+1], r.Phase)
	if i < 0 {
		return 0
	}
	part := float64(i)
	if r.Progress != nil {
		part += min(max(r.Progress.Percentage/100, 0), 1)
	}
	return part / float64(phases)
}
