package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/client"
)

func newResume(a *app) *cobra.Command {
	var follow bool
	cmd := a.onOperation("resume", "Continue a failed or cancelled operation from its checkpoint",
		func(ctx context.Context, c *client.Client, id ktrdr.OperationID) error {
			r, err := c.Resume(ctx, id)
			if err != nil {
				return err
			}
			if follow {
				return a.follow(ctx, c, id)
			}
			return a.print(r, func(w io.Writer) {
				fmt.Fprintf(w, "%s is %s", id, r.Status)
				if r.ResumedFrom != nil {
					fmt.Fprintf(w, " and goes on from the checkpoint at step %d", r.ResumedFrom.Step)
				}
				fmt.Fprintf(w, ".\nWatch it with `ktrdr follow %s`.\n", id)
			})
		})
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "follow it to its end")
	return cmd
}
