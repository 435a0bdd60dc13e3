package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/internal/view"
)

const claimsHelp = `List the claims of the lab and what the bars after each have shown, newest first.
A claim freezes model, costs and date. When bars of its market are imported or
appended, its model trades them, and two e-values grow or shrink:

  E       against "it earns nothing"; from 20 on the claim is living
  RETIRE  against "it earns at least half of what was claimed"; from 20 on the
          claim is retired

Under its null hypothesis an e-value reaches 20 with a probability of at most 5 %,
however often you look. SINCE is the bar at which that happened. FDR says whether the
claim is a discovery among all claims, with a false-discovery rate of at most 5 %.
HOLD says why a claim is not followed: "revised", "changed", "missing" or
"severe_finding". Under the table is what to do.
Assistants and designers see nothing of this. ` + "`ktrdr help research`" + ` has the formulas.`

func newClaims(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "claims", Short: "Claims, and what the bars after each have shown", Long: claimsHelp, Args: noArgs,
		RunE: a.asking(func(ctx context.Context, c *client.Client, _ []string) error {
			list, err := c.Claims(ctx)
			return a.show(list, err, func(w io.Writer) { view.Claims(term.Words(w), list) })
		}),
	}
}
