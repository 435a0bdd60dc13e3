package main

import (
	"context"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/internal/view"
	"github.com/ktrdr/ktrdr/report"
)

const leaderboardHelp = `Rank researches: claims first, then by the deflated Sharpe ratio on the test part.
DEFL is the deflated Sharpe ratio: the Sharpe ratio adjusted for the number of trials
on the market until today, as a probability from 0 to 1. ALPHA is the return per year
that the market does not explain: the intercept of a regression on buy-and-hold.
TRIALS and LOOKS are those of the market today. PRICES are imported, made up (by
"ktrdr data synth" or the demo), or unknown. "ktrdr help research" defines each
figure.`

func newLeaderboard(a *app) *cobra.Command {
	var q report.LeaderboardQuery
	cmd := &cobra.Command{
		Use: "leaderboard", Short: "The best researches: claims first, then by deflated Sharpe ratio", Long: leaderboardHelp, Args: noArgs,
		RunE: a.asking(func(ctx context.Context, c *client.Client, _ []string) error {
			if !slices.Contains(report.Sorts, q.Sort) {
				return noneSuch("--sort", string(q.Sort), names(report.Sorts))
			}
			var err error
			if q.Run, err = runID(ctx, c, q.Run); err != nil {
				return err
			}
			b, err := c.Leaderboard(ctx, q)
			return a.show(leaderboardPage{b, b.Next}, err, func(w io.Writer) {
				if len(b.Rows) == 0 {
					view.NoLeaders(w, q)
					return
				}
				report.PrintLeaderboard(w, b)
				more(w, b.Next)
			})
		}),
	}
	cmd.Flags().StringVar(&q.Run, "run", "", "only those of this `RUN`")
	cmd.Flags().StringVar(&q.Symbol, "symbol", "", "only those that trade this `SYMBOL`")
	cmd.Flags().StringVar(&q.Timeframe, "timeframe", "", "only those that use bars of this `TIMEFRAME`")
	cmd.Flags().StringVar((*string)(&q.Sort), "sort", "rank", "`ORDER`, the best first: "+strings.Join(names(report.Sorts), ", "))
	cmd.Flags().BoolVar(&q.Reverse, "reverse", false, "the opposite order")
	cmd.Flags().BoolVar(&q.Details, "details", false, "also buy-and-hold, the costs and the checks of each row")
	cmd.Flags().IntVar(&q.Limit, "limit", 20, "largest number of rows")
	bounded(cmd, "limit", &q.Limit, 1, report.MostRanked)
	cursorFlag(cmd, &q.Cursor)
	_ = cmd.RegisterFlagCompletionFunc("timeframe", completeTimeframes)
	return cmd
}

type leaderboardPage struct {
	report.Leaderboard
	Next string `json:"next_cursor,omitempty"`
}
