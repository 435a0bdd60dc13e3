package main

import (
	"context"
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/internal/top"
)

const topHelp = `Show the lab live on a terminal: runs, researches, workers, circuit breakers and the
log of events. The last line names the keys that do something: 1 to 5 choose a view,
/ filters its rows, Enter opens one, Esc goes back, q quits. If the server does not
answer, top says so and continues when it does.`

func newTop(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "top", Short: "Show runs, researches, workers, circuit breakers and the log live", Long: topHelp, Args: noArgs,
		RunE: a.asking(func(ctx context.Context, c *client.Client, _ []string) error {
			if a.json || !term.IsTerminal(a.out) || !term.IsTerminal(os.Stdin) {
				return usagef("`ktrdr top` needs a terminal: elsewhere use `ktrdr status` or `ktrdr events`")
			}
			err := top.Run(ctx, c, os.Stdout, a.out, a.palette())
			if errors.Is(err, top.ErrInterrupted) {
				return &exitError{code: exitInterrupted}
			}
			return err
		}),
	}
}
