package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/report"
)

const compareHelp = `Compare 2 to 5 researches: figures of the holdout and of the test part side by side,
the correlation of their daily returns, and the fields in which their designs differ.
A holdout that was not opened is "sealed". "needed" is about the Sharpe ratio that the
look needed for a claim. --json also has daily returns and all looks in order.`

func newCompare(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "compare RESEARCH RESEARCH…", Short: "Compare 2 to 5 researches side by side", Long: compareHelp,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < report.FewestCompared || len(args) > report.MostCompared {
				return usagef("compare takes %d to %d researches, not %d: `ktrdr leaderboard` lists them", report.FewestCompared, report.MostCompared,
					len(args))
			}
			return nil
		},
		RunE: a.asking(func(ctx context.Context, c *client.Client, args []string) error {
			out, err := c.Compare(ctx, args...)
			return a.show(out, err, func(w io.Writer) { report.PrintCompared(w, out) })
		}),
	}
}
