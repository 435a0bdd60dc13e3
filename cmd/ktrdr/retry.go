package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/client"
)

func newRetry(a *app) *cobra.Command {
	var (
		follow bool
		key    string
	)
	cmd := a.onOperation("retry", "Repeat an ended operation as a new one",
		func(ctx context.Context, c *client.Client, id ktrdr.OperationID) error {
			started, err := c.Retry(ctx, id, key)
			if err != nil {
				return err
			}
			return a.started(ctx, c, started, follow)
		})
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "follow the new one to its end")
	cmd.Flags().StringVar(&key, "key", "", "idempotency `KEY`: the same key again starts nothing new")
	return cmd
}
