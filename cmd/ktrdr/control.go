package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/internal/text"
)

const cancelHelp = `Cancel a run, or one operation and all its children. A cancelled run starts nothing
more. Its open researches are then cancelled in batches. Running work stops at the next
heartbeat of its worker. --follow waits until it has stopped.`

func newCancel(a *app) *cobra.Command {
	var reason string
	var follow bool
	cmd := a.onRunOrOperation("cancel", "Stop a run, or an operation and all its children",
		func(ctx context.Context, c *client.Client, run ktrdr.Run) error {
			run, err := c.CancelRun(ctx, run.ID, reason)
			if err := a.show(run, err, func(w io.Writer) { printCancelledRun(w, run) }); err != nil || !follow {
				return err
			}
			return wasCancelled(a.followRun(ctx, c, run.ID))
		},
		func(ctx context.Context, c *client.Client, id ktrdr.OperationID) error {
			done, err := c.Cancel(ctx, id, reason)
			if err := a.show(done, err, func(w io.Writer) { printCancelled(w, id, done) }); err != nil || !follow {
				return err
			}
			return wasCancelled(a.follow(ctx, c, id))
		})
	cmd.Long = cancelHelp
	cmd.Flags().StringVar(&reason, "reason", "", "`WHY`, for the record")
	followFlag(cmd, &follow, "wait until it has stopped")
	return cmd
}

func printCancelled(w io.Writer, id ktrdr.OperationID, done api.CancelReply) {
	fmt.Fprintf(w, "%s is %s", id, done.Status)
	if !done.Status.Terminal() {
		fmt.Fprint(w, " and will stop at its worker's next heartbeat")
	}
	if n := len(done.Children); n > 0 {
		fmt.Fprintf(w, "; %d below it too", n)
	}
	fmt.Fprintln(w, ".")
}

func printCancelledRun(w io.Writer, run ktrdr.Run) {
	fmt.Fprintf(w, "%s is %s: it starts nothing more.", run.ID, run.State)
	if run.Open > 0 {
		fmt.Fprintf(w, " %s open and will be cancelled.", text.Counted(run.Open, "research is", "researches are"))
	}
	fmt.Fprintln(w)
}

// wasCancelled turns the exit code of a cancelled operation into success: here
// that is what the user wants.
func wasCancelled(err error) error {
	if exitCode(err) == exitCancelled {
		return nil
	}
	return err
}

func newResume(a *app) *cobra.Command {
	var follow bool
	var checkpoint string
	cmd := a.onOperation("resume", "Continue a failed or cancelled operation from its checkpoint",
		func(ctx context.Context, c *client.Client, id ktrdr.OperationID) error {
			r, err := c.ResumeFrom(ctx, id, checkpoint)
			if err == nil && follow {
				return a.follow(ctx, c, id)
			}
			return a.show(r, err, func(w io.Writer) {
				fmt.Fprintf(w, "%s is %s", id, r.Status)
				if r.ResumedFrom != nil {
					fmt.Fprintf(w, " and resumes from the checkpoint at step %d", r.ResumedFrom.Step)
				}
				fmt.Fprintf(w, ".\nWatch it with `ktrdr follow %s`.\n", id)
			})
		})
	cmd.Flags().StringVar(&checkpoint, "checkpoint", "", "resume from this `CHECKPOINT` and leave newer ones out (default: the newest)")
	followFlag(cmd, &follow, "follow it to its end")
	return cmd
}

func newRetry(a *app) *cobra.Command {
	var start startFlags
	cmd := a.onOperation("retry", "Repeat an ended operation as a new one",
		func(ctx context.Context, c *client.Client, id ktrdr.OperationID) error {
			started, err := c.Retry(ctx, id, start.key)
			return a.started(ctx, c, started, err, start.follow)
		})
	start.add(cmd, "follow the new one to its end")
	return cmd
}

const pinHelp = `Keep the files of a research: its model, trades and equity curve. OPERATION is the
research or one of its operations.

Finalists always keep their files. Any other research keeps only its figures and daily
returns after its generation has ended. Its other files are computed again on demand.
A pinned research keeps them too; missing files are first computed again.`

func newPin(a *app) *cobra.Command {
	cmd := a.onOperation("pin", "Keep the files of a research", func(ctx context.Context, c *client.Client, id ktrdr.OperationID) error {
		r, err := c.Pin(ctx, id)
		return a.show(r, err, func(w io.Writer) { fmt.Fprintf(w, "%s is pinned: its files are kept.\n", r.Operation) })
	})
	cmd.Long = pinHelp
	return cmd
}

func newUnpin(a *app) *cobra.Command {
	return a.onOperation("unpin", "Stop keeping the files of a research",
		func(ctx context.Context, c *client.Client, id ktrdr.OperationID) error {
			r, err := c.Unpin(ctx, id)
			return a.show(r, err, func(w io.Writer) {
				fmt.Fprintf(w, "%s is not pinned: if it claims nothing, it keeps only its figures.\n", r.Operation)
			})
		})
}

func newPause(a *app) *cobra.Command {
	return a.pausing("pause", "Start no new operations until `ktrdr unpause`; running ones finish", true,
		"Paused: running operations finish, and no new one starts. End the pause with `ktrdr unpause`.")
}

func newUnpause(a *app) *cobra.Command {
	return a.pausing("unpause", "Start operations again", false, "Operations are started again.")
}

type pausedNow struct {
	Paused bool `json:"paused"`
}

func (a *app) pausing(use, short string, paused bool, said string) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: noArgs,
		RunE: a.asking(func(ctx context.Context, c *client.Client, _ []string) error {
			return a.show(pausedNow{paused}, c.SetPaused(ctx, paused), func(w io.Writer) { fmt.Fprintln(w, said) })
		}),
	}
}
