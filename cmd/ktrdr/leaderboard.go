package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/report"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/text"
)

const leaderboardHelp = `Rank researches: claims first, then by the deflated Sharpe ratio on the test part.
The Sharpe ratio of every row is deflated by the number of trials on the market today.
ALPHA is the return per year that the market does not explain: the intercept of a
regression on buy-and-hold. TRIALS and LOOKS are those of the market today. PRICES are
imported, made up (by "ktrdr data synth" or the demo), or unknown. "ktrdr help
research.md" defines each figure.`

func newLeaderboard(a *app) *cobra.Command {
	var q report.LeaderboardQuery
	cmd := &cobra.Command{
		Use: "leaderboard", Short: "The best researches: claims first, then by deflated Sharpe ratio", Long: leaderboardHelp, Args: noArgs,
		RunE: a.asking(func(ctx context.Context, c *client.Client, _ []string) error {
			if q.Limit < 1 || q.Limit > report.MostRanked {
				return usagef("--limit must be 1 to %d, not %d", report.MostRanked, q.Limit)
			}
			if !slices.Contains(report.Sorts, q.Sort) {
				return noneSuch("--sort", q.Sort, report.Sorts)
			}
			var err error
			if q.Run, err = runID(ctx, c, q.Run); err != nil {
				return err
			}
			b, err := c.Leaderboard(ctx, q)
			if err != nil {
				return err
			}
			return a.print(leaderboardPage{b, b.Next}, func(w io.Writer) {
				if len(b.Rows) == 0 {
					noLeaders(w, q)
					return
				}
				printLeaderboard(w, b)
				if b.Next != "" {
					fmt.Fprintf(w, "There is more: add --cursor %s.\n", b.Next)
				}
			})
		}),
	}
	cmd.Flags().StringVar(&q.Run, "run", "", "only those of this `RUN`")
	cmd.Flags().StringVar(&q.Symbol, "symbol", "", "only those that trade this `SYMBOL`")
	cmd.Flags().StringVar(&q.Timeframe, "timeframe", "", "only those that use bars of this `TIMEFRAME`")
	cmd.Flags().StringVar(&q.Sort, "sort", "rank", "`ORDER`: "+strings.Join(report.Sorts, ", "))
	cmd.Flags().IntVar(&q.Limit, "limit", 20, "largest number of rows")
	cmd.Flags().StringVar(&q.Cursor, "cursor", "", "start of the page, as the page before printed it")
	_ = cmd.RegisterFlagCompletionFunc("timeframe", completeTimeframes)
	return cmd
}

func printLeaderboard(w io.Writer, b report.Leaderboard) {
	fmt.Fprintln(w, b.Summary)
	printLeaders(w, b.Rows)
	printCostLegend(w, cheapLeaders(b.Rows))
	printClaims(w, b.Rows)
	fmt.Fprintln(w, b.Thresholds)
}

// leaderHead are the columns that leaderCells fills.
var leaderHead = []string{
	"RESEARCH", "STRATEGY", "MARKET", "PRICES", "RUN", "SHARPE", "ALPHA", "DEFL", "RETURN", "TRIALS", "LOOKS", "RESULT",
}

func leaderCells(l report.Leader) []any {
	if l.CheapCosts {
		l.Standing += " *"
	}
	return []any{
		tail(l.Operation), text.Fit(dash(l.Strategy), 16), l.Symbols + " " + l.Timeframes, pricesText(l.MadeUp), dash(ktrdr.ShortRun(l.Run)),
		hundredths(l.Sharpe), percentOf(l.Alpha), hundredths(l.Deflated), percentOf(l.NetReturn), l.MarketTrials, l.MarketLooks, l.Standing,
	}
}

// cheapLeaders says whether a row has a marked cost.
func cheapLeaders(rows []report.Leader) bool {
	return slices.ContainsFunc(rows, func(l report.Leader) bool { return l.CheapCosts })
}

func printLeaders(w io.Writer, rows []report.Leader) {
	table(w, strings.Join(leaderHead, "\t"), func(row func(...any)) {
		for _, l := range rows {
			row(leaderCells(l)...)
		}
	})
}

// printClaims prints, beside the Sharpe ratio that each claim showed on its
// holdout, how far it can be trusted.
func printClaims(w io.Writer, rows []report.Leader) {
	for _, l := range rows {
		if l.Claim {
			fmt.Fprintln(w, plain(claimLine(l)))
		}
	}
}

func claimLine(l report.Leader) string {
	said := fmt.Sprintf("%s: edge claimed, p = %s after adjustment", tail(l.Operation), significant(l.Adjusted))
	if h := l.Holdout; h != nil {
		said += "; holdout Sharpe " + holdoutText(h)
	}
	return ofMadeUp(said, l.MadeUp) + "."
}

func significant(x *float64) string {
	if x == nil {
		return "unknown"
	}
	return fmt.Sprintf("%.2g", *x)
}
