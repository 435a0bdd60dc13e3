package main

import (
	"context"
	"fmt"
	"io"

	"github.com/ktrdr/ktrdr/client"
	"github.com/spf13/cobra"
)

func newPause(a *app) *cobra.Command {
	return a.pausing("pause", "Start no new operations anywhere until unpaused", true,
		"Paused: what runs goes on, nothing new is started. Go on with `ktrdr unpause`.")
}

func newUnpause(a *app) *cobra.Command {
	return a.pausing("unpause", "Start operations again", false, "Operations are started again.")
}

func (a *app) pausing(use, short string, paused bool, said string) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: noArgs,
		RunE: a.asking(func(ctx context.Context, c *client.Client, _ []string) error {
			if err := c.SetPaused(ctx, paused); err != nil {
				return err
			}
			return a.print(pausedNow{paused}, func(w io.Writer) { fmt.Fprintln(w, said) })
		}),
	}
}

// pausedNow is what pause and unpause print as JSON.
type pausedNow struct {
	Paused bool `json:"paused"`
}
