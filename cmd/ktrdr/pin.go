package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/client"
)

const pinHelp = `Keep the files of a research: its model, trades and equity curve. OPERATION is the
research or one of its operations.

A research without a claim keeps only its figures and daily returns after its
generation has ended. Its other files are computed again on demand. A pinned research
keeps them; missing files are computed again first. Finalists and claims always keep
their files.`

func newPin(a *app) *cobra.Command {
	cmd := a.onOperation("pin", "Keep the files of a research", func(ctx context.Context, c *client.Client, id ktrdr.OperationID) error {
		r, err := c.Pin(ctx, id)
		if err != nil {
			return err
		}
		return a.print(r, func(w io.Writer) { fmt.Fprintf(w, "%s is pinned: its files are kept.\n", r.Operation) })
	})
	cmd.Long = pinHelp
	return cmd
}

func newUnpin(a *app) *cobra.Command {
	return a.onOperation("unpin", "Stop keeping the files of a research",
		func(ctx context.Context, c *client.Client, id ktrdr.OperationID) error {
			r, err := c.Unpin(ctx, id)
			if err != nil {
				return err
			}
			return a.print(r, func(w io.Writer) {
				fmt.Fprintf(w, "%s is not pinned: if it claims nothing, it keeps only its figures.\n", r.Operation)
			})
		})
}
