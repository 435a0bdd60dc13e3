package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/httpapi"
	"github.com/ktrdr/ktrdr/research"
)

func newCancel(a *app) *cobra.Command {
	var (
		reason, run string
		follow      bool
	)
	cmd := a.onOperation("cancel", "Stop an operation and everything below it", func(ctx context.Context, c *httpapi.Client, id ktrdr.OperationID) error {
		done, err := c.Cancel(ctx, id, reason)
		if err != nil {
			return err
		}
		err = a.print(done, func(w io.Writer) {
			fmt.Fprintf(w, "%s is %s", id, done.Status)
			if !done.Status.Terminal() {
				fmt.Fprint(w, " and will stop at its worker's next word")
			}
			if n := len(done.Children); n > 0 {
				fmt.Fprintf(w, "; %d below it too", n)
			}
			fmt.Fprintln(w, ".")
		})
		if err != nil || !follow {
			return err
		}
		return a.cancelled(a.follow(ctx, c, id))
	})
	one, checkOne := cmd.RunE, cmd.Args
	cmd.Use = "cancel OPERATION | --run RUN"
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if run != "" {
			return exactly(0, "either an OPERATION or --run")(cmd, args)
		}
		return checkOne(cmd, args)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if run == "" {
			return one(cmd, args)
		}
		return a.asking(func(ctx context.Context, c *httpapi.Client, _ []string) error { return a.cancelRun(ctx, c, run) })(cmd, args)
	}
	cmd.Flags().StringVar(&run, "run", "", "cancel what is open of this `RUN` of researches, and let it begin no more")
	cmd.Flags().StringVar(&reason, "reason", "", "`WHY`, for the record")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "wait until it has stopped")
	return cmd
}

// cancelRun cancels what is open of a run, those that wait first and the last of
// them before the others, so that hardly any begins meanwhile. Between two generations of a run that lasts there is
// nothing for a moment.
func (a *app) cancelRun(ctx context.Context, c *httpapi.Client, run string) error {
	const betweenGenerations = 5 * time.Second
	var gone []ktrdr.OperationID
	for deadline := time.Now().Add(betweenGenerations); len(gone) == 0; {
		st, err := c.ResearchStatus(ctx)
		if err != nil {
			return err
		}
		for _, waiting := range []bool{true, false} {
			var some []ktrdr.OperationID
			for _, r := range slices.Backward(st.Active) {
				if r.Run == run && (r.Status == ktrdr.Pending) == waiting {
					some = append(some, r.Operation)
				}
			}
			if err := cancelAll(ctx, c, some); err != nil {
				return err
			}
			gone = append(gone, some...)
		}
		if len(gone) == 0 && time.Now().After(deadline) {
			return fmt.Errorf("no research of a run %q is open; `ktrdr ops --type agent_research` lists what there was", run)
		}
		if len(gone) == 0 {
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(50 * time.Millisecond):
			}
		}
	}
	return a.print(gone, func(w io.Writer) {
		fmt.Fprintf(w, "Cancelled %s of %s, which begins no more.\n", numbered(len(gone), "research", "researches"), run)
	})
}

// cancelAll cancels researches of a run, some at a time: their commits are
// shared. One that has ended meanwhile is gone too.
func cancelAll(ctx context.Context, c *httpapi.Client, ids []ktrdr.OperationID) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(16)
	for _, id := range ids {
		g.Go(func() error {
			if _, err := c.Cancel(ctx, id, research.RunCancelled); err != nil && ktrdr.CodeOf(err) != ktrdr.CodeConflict {
				return err
			}
			return nil
		})
	}
	return g.Wait()
}

// cancelled turns the exit code of a cancelled operation into success: here it
// is what was asked for.
func (a *app) cancelled(err error) error {
	if exitCode(err) == exitCancelled {
		return nil
	}
	return err
}
