package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/internal/view"
	"github.com/ktrdr/ktrdr/research"
)

const runPrefix = "run_"

func isRunID(text string) bool { return strings.HasPrefix(text, runPrefix) }

// resolveRun finds the run that a whole id, or the beginning of one, means, with or without run_.
func resolveRun(ctx context.Context, c *client.Client, text string) (ktrdr.Run, error) {
	if text != "" && !isRunID(text) {
		text = runPrefix + text
	}
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
			return runOrOperation(ctx, c, args[0], run, op)
		}),
	}
}

func runOrOperation(ctx context.Context, c *client.Client, arg string,
	run func(context.Context, *client.Client, ktrdr.Run) error, op func(context.Context, *client.Client, ktrdr.OperationID) error,
) error {
	if isRunID(arg) {
		found, err := resolveRun(ctx, c, arg)
		if err != nil {
			return err
		}
		return run(ctx, c, found)
	}
	id, err := resolve(ctx, c, arg)
	if err != nil {
		return err
	}
	return op(ctx, c, id)
}

// completeRunsAndIDs offers the newest runs and operations that an argument may
// mean.
func (a *app) completeRunsAndIDs(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	offers, directive := a.completeIDs(cmd, args, typed)
	if len(args) > 0 || !strings.HasPrefix(typed, runPrefix[:min(len(typed), len(runPrefix))]) {
		return offers, directive
	}
	runs := a.offers(cmd, func(ctx context.Context, c *client.Client) (runs []string) {
		page, _ := c.Runs(ctx, ktrdr.RunQuery{Limit: 50})
		for _, r := range page.Runs {
			if strings.HasPrefix(r.ID, typed) {
				runs = append(runs, fmt.Sprintf("%s\t%s, created %s", r.ID, r.State, term.Ago(r.CreatedAt)))
			}
		}
		return runs
	})
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
			if err := checkSort(q.Sort); err != nil {
				return err
			}
			var err error
			if q.State, err = chosen("--state", states, ktrdr.RunStates); err != nil {
				return err
			}
			page, err := c.Runs(ctx, q)
			return a.show(page, err, func(w io.Writer) { view.Runs(w, page, q) })
		}),
	}
	cmd.AddCommand(newTestRun(a))
	cmd.Flags().StringSliceVar(&states, "state", nil, "only runs in this `STATE`: running, completed, cancelled, given_up")
	addSort(cmd, &q.Sort)
	limitFlag(cmd, &q.Limit, 20)
	cursorFlag(cmd, &q.Cursor)
	return cmd
}

const testRunHelp = `Test a whole run on permuted copies of its bars. The same search runs on the bars
before the holdout and on copies of them that have no edge. The p-value is the rank of the
best score among those of the copies. If it is at most 0.05/((r+1)(r+2)), the strategy with
that score is a candidate. r counts the earlier runs on this market that began without
memory, tested or not: so a run that is chosen for its result has no advantage.

The run must have started without memory (--fresh), and with the built-in designer. A run
is tested once. The test does not decide about a look at the holdout. Nothing of the
copies is counted in the ledger or remembered.

  flips    each bar goes up or down by a fair coin: no direction can be foreseen (default)
  blocks   weeks change places: an edge that is shorter than a week stays
  both     blocks, then flips

A test has a low priority: everything else goes first. It survives crashes, and is spread
over all workers. It ends early when enough copies have reached the score.`

func newTestRun(a *app) *cobra.Command {
	var (
		r      research.RunTestRequest
		null   string
		follow bool
	)
	cmd := &cobra.Command{
		Use: "test RUN", Short: "Test a run on permuted copies of its bars", Long: testRunHelp,
		Args: exactly(1, "one RUN: its id, or enough of it"), ValidArgsFunction: a.completeRunsAndIDs,
	}
	cmd.RunE = a.asking(func(ctx context.Context, c *client.Client, args []string) error {
		run, err := resolveRun(ctx, c, args[0])
		if err != nil {
			return err
		}
		r.ID, r.Null = run.ID, research.Null(null)
		started, err := c.TestRun(ctx, r)
		return a.started(ctx, c, started, err, follow)
	})
	cmd.Flags().StringVar(&null, "null", "", "how copies are made: flips, blocks or both (default flips)")
	cmd.Flags().IntVar(&r.Copies, "copies", 0, "copies that are searched at most (default 5/threshold - 1: 199 for the first run of a market)")
	notZero(cmd.Flags(), "copies")
	followFlag(cmd, &follow, "follow it to its end")
	return cmd
}
