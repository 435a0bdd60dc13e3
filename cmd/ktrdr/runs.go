package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/internal/text"
)

// runPrefix begins the id of every run.
const runPrefix = "run_"

// isRunID says whether an argument names a run and not an operation.
func isRunID(text string) bool { return strings.HasPrefix(text, runPrefix) }

// resolveRun finds the run that a whole id, or the beginning of one, means.
func resolveRun(ctx context.Context, c *client.Client, text string) (ktrdr.Run, error) {
	run, err := c.Run(ctx, text)
	return run, unknownName(err)
}

// runID is the id of the run that a flag names; empty if it names none.
func runID(ctx context.Context, c *client.Client, text string) (string, error) {
	if text == "" {
		return "", nil
	}
	run, err := resolveRun(ctx, c, text)
	return run.ID, err
}

// onRunOrOperation makes a command whose argument is a run or an operation.
func (a *app) onRunOrOperation(use, short string,
	run func(context.Context, *client.Client, ktrdr.Run) error, op func(context.Context, *client.Client, ktrdr.OperationID) error,
) *cobra.Command {
	return &cobra.Command{
		Use: use + " RUN|OPERATION", Short: short,
		Args: exactly(1, "one RUN or OPERATION: its id, or enough of it"), ValidArgsFunction: a.completeRunsAndIDs,
		RunE: a.asking(func(ctx context.Context, c *client.Client, args []string) error {
			if isRunID(args[0]) {
				found, err := resolveRun(ctx, c, args[0])
				if err != nil {
					return err
				}
				return run(ctx, c, found)
			}
			id, err := resolve(ctx, c, args[0])
			if err != nil {
				return err
			}
			return op(ctx, c, id)
		}),
	}
}

// completeRunsAndIDs offers the newest runs and operations that an argument may
// mean.
func (a *app) completeRunsAndIDs(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	offers, directive := a.completeIDs(cmd, args, typed)
	if len(args) > 0 || !strings.HasPrefix(typed, runPrefix[:min(len(typed), len(runPrefix))]) {
		return offers, directive
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), shortly)
	defer cancel()
	c, err := a.connect()
	if err != nil {
		return offers, directive
	}
	page, err := c.Runs(ctx, ktrdr.RunQuery{Limit: 50})
	if err != nil {
		return offers, directive
	}
	var runs []string
	for _, r := range page.Runs {
		if strings.HasPrefix(r.ID, typed) {
			runs = append(runs, fmt.Sprintf("%s\t%s, created %s", r.ID, r.State, ago(r.CreatedAt)))
		}
	}
	return append(runs, offers...), directive
}

const runsHelp = `List runs, newest first. A run is all researches that one ` + "`ktrdr research`" + ` started.
OPEN counts researches that have not ended. FINALISTS passed every check on the test
part. LOOKS are confirmations on the holdout. CLAIMS are looks that confirmed an edge.`

func newRuns(a *app) *cobra.Command {
	var (
		states []string
		q      ktrdr.RunQuery
	)
	cmd := &cobra.Command{
		Use: "runs", Short: "List runs, newest first, with the counts of their researches", Long: runsHelp, Args: noArgs,
		RunE: a.asking(func(ctx context.Context, c *client.Client, _ []string) error {
			if q.Limit < 1 || q.Limit > 1000 {
				return usagef("--limit must be 1 to 1000, not %d", q.Limit)
			}
			if err := checkSort(q.Sort); err != nil {
				return err
			}
			for _, s := range states {
				state := ktrdr.RunState(strings.ToUpper(s))
				if !slices.Contains(ktrdr.RunStates, state) {
					return noneSuch("--state", s, names(ktrdr.RunStates))
				}
				q.State = append(q.State, state)
			}
			page, err := c.Runs(ctx, q)
			if err != nil {
				return err
			}
			return a.print(page, func(w io.Writer) { printRuns(w, page, q) })
		}),
	}
	cmd.Flags().StringSliceVar(&states, "state", nil, "only runs in this `STATE`: running, completed, cancelled, given_up")
	addSort(cmd, &q.Sort)
	cmd.Flags().IntVar(&q.Limit, "limit", 20, "largest number of rows")
	cmd.Flags().StringVar(&q.Cursor, "cursor", "", "start of the page, as the page before printed it")
	return cmd
}

func printRuns(w io.Writer, page ktrdr.RunPage, q ktrdr.RunQuery) {
	if len(page.Runs) == 0 {
		if len(q.State) > 0 || q.Cursor != "" {
			fmt.Fprintln(w, "No such run.")
			return
		}
		fmt.Fprintln(w, "No run yet. Start one with `ktrdr research \"a goal\"`.")
		return
	}
	table(w, "RUN\tSTATE\tPRICES\tCREATED\tRESEARCHES\tOPEN\tFAILED\tFINALISTS\tLOOKS\tCLAIMS\tGOAL", func(row func(...any)) {
		for _, r := range page.Runs {
			row(ktrdr.ShortRun(r.ID), r.State, pricesText(r.MadeUp), ago(r.CreatedAt), r.Created, r.Open, r.Failed, r.Finalists, r.Looks, r.Claims,
				text.Fit(dash(r.Goal), 24))
		}
	})
	if page.Next != "" {
		fmt.Fprintf(w, "There is more: add --cursor %s.\n", page.Next)
	}
}

// describeRun prints what there is to know of a run.
func describeRun(w io.Writer, r ktrdr.Run) {
	fmt.Fprintf(w, "%s  %s  %s\n", r.ID, r.State, plain(dash(r.Goal)))
	line := func(name, format string, args ...any) {
		fmt.Fprintf(w, "  %-12s %s\n", name, plain(fmt.Sprintf(format, args...)))
	}
	line("researches", "%s", runCounts(r))
	line("generations", "%d of %d closed%s", r.Closed, r.Generations, eachGeneration(r))
	line("holdout", "%s, %s, %s", text.Counted(r.Finalists, "finalist"), text.Counted(r.Looks, "look"), text.Counted(r.Claims, "claim"))
	line("prices", "%s", pricesText(r.MadeUp))
	line("created", "%s", when(r.CreatedAt))
	if !r.Until.IsZero() {
		line("until", "%s", r.Until.Local().Format(time.DateTime))
	}
	if !r.CancelledAt.IsZero() {
		line("cancelled", "%s by %s%s", when(r.CancelledAt), dash(r.CancelledBy), because(r.CancelReason))
	}
	if r.GivenUp != "" {
		line("given up", "%s", r.GivenUp)
	}
	if !r.EndedAt.IsZero() {
		line("ended", "%s", when(r.EndedAt))
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

// runCounts says how the researches of a run stand.
func runCounts(r ktrdr.Run) string {
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
