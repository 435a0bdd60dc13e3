package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/httpapi"
)

func newCancel(a *app) *cobra.Command {
	var (
		reason string
		follow bool
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
	cmd.Flags().StringVar(&reason, "reason", "", "`WHY`, for the record")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "wait until it has stopped")
	return cmd
}

// cancelled turns the exit code of a cancelled operation into success: here it
// is what was asked for.
func (a *app) cancelled(err error) error {
	if exitCode(err) == exitCancelled {
		return nil
	}
	return err
}
