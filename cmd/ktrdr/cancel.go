package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/internal/text"
)

const cancelHelp = `Cancel a run, or one operation and everything below it. A cancelled run
starts nothing more. Its open researches are then cancelled in batches. Running work
stops at its worker's next heartbeat. --follow waits for it.`

func newCancel(a *app) *cobra.Command {
	var (
		reason string
		follow bool
	)
	cmd := a.onRunOrOperation("cancel", "Stop a run, or an operation and everything below it",
		func(ctx context.Context, c *client.Client, run ktrdr.Run) error {
			if err := a.cancelRun(ctx, c, run.ID, reason); err != nil || !follow {
				return err
			}
			return a.cancelled(a.followRun(ctx, c, run.ID))
		},
		func(ctx context.Context, c *client.Client, id ktrdr.OperationID) error {
			if err := a.cancelOperation(ctx, c, id, reason); err != nil || !follow {
				return err
			}
			return a.cancelled(a.follow(ctx, c, id))
		})
	cmd.Long = cancelHelp
	cmd.Flags().StringVar(&reason, "reason", "", "`WHY`, for the record")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "wait until it has stopped")
	return cmd
}

func (a *app) cancelOperation(ctx context.Context, c *client.Client, id ktrdr.OperationID, reason string) error {
	done, err := c.Cancel(ctx, id, reason)
	if err != nil {
		return err
	}
	return a.print(done, func(w io.Writer) {
		fmt.Fprintf(w, "%s is %s", id, done.Status)
		if !done.Status.Terminal() {
			fmt.Fprint(w, " and will stop at its worker's next heartbeat")
		}
		if n := len(done.Children); n > 0 {
			fmt.Fprintf(w, "; %d below it too", n)
		}
		fmt.Fprintln(w, ".")
	})
}

// cancelRun marks a run as cancelled. The server then ends its open operations.
func (a *app) cancelRun(ctx context.Context, c *client.Client, id, reason string) error {
	run, err := c.CancelRun(ctx, id, reason)
	if err != nil {
		return err
	}
	return a.print(run, func(w io.Writer) {
		fmt.Fprintf(w, "%s is %s: it starts nothing more.", run.ID, run.State)
		if run.Open > 0 {
			fmt.Fprintf(w, " %s open and will be cancelled.", text.Counted(run.Open, "research is", "researches are"))
		}
		fmt.Fprintln(w)
	})
}

// cancelled turns the exit code of a cancelled operation into success: here it
// is what was asked for.
func (a *app) cancelled(err error) error {
	if exitCode(err) == exitCancelled {
		return nil
	}
	return err
}
