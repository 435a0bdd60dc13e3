package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/local"
)

const marketHelp = `Show the market of a series, or decide it.

Trials and looks at the holdout are counted on a market. A market is its prices, under
any name. Two series are one market when their returns correlate by 0.98 or more, in
either sign, over 2,000 shared returns. With fewer shared returns you decide:
--same-market-as joins the market of another symbol, --new-market makes a new one.
Until then no research, training or backtest uses the series.

--same-market-as also merges two markets that the prices do not show to be one. Their
trials and looks are added, and they stay merged.`

func newDataMarket(a *app) *cobra.Command {
	var choice jobs.Choice
	cmd := &cobra.Command{
		Use: "market SYMBOL TIMEFRAME", Short: "Show or decide the market of a series", Long: marketHelp,
		Args: exactly(2, seriesArgs), ValidArgsFunction: a.completeSeries,
	}
	choiceFlags(cmd, &choice)
	storageFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, err := local.NameOf(args)
		if err != nil {
			return err
		}
		if err := choice.Validate(); err != nil {
			return &exitError{exitUsage, err}
		}
		return a.decideMarket(cmd, s, choice)
	}
	return cmd
}

// choiceFlags adds the flags with which a user decides on a market.
func choiceFlags(cmd *cobra.Command, c *jobs.Choice) {
	cmd.Flags().StringVar(&c.SameAs, "same-market-as", "", "same market as `SYMBOL` (or the id of a market)")
	cmd.Flags().BoolVar(&c.New, "new-market", false, "new market, if the prices do not decide")
}

func (a *app) decideMarket(cmd *cobra.Command, n local.Name, c jobs.Choice) error {
	var shown local.StoredSeries
	err := a.withLab(cmd, func(l *local.Lab) error {
		e, p, err := l.Markets.PlaceSeries(cmd.Context(), l.Library, n.Symbol, n.Timeframe, c)
		shown = local.SeriesOf(e).In(p)
		return l.Missing(cmd.Context(), n, err)
	})
	return a.show(shown, noLab(err, n), func(w io.Writer) { printMarket(w, shown) })
}

func printMarket(w io.Writer, s local.StoredSeries) {
	fmt.Fprintf(w, "%s %s, %d bars, %s\n", s.Symbol, s.Timeframe, s.Bars, s.Span())
	fmt.Fprintln(w, term.Plain(s.Sentence()))
	if s.Market == "" {
		return
	}
	holdout := "no start of the holdout is set yet"
	if !s.HoldoutFrom.IsZero() {
		holdout = "holdout from " + term.Minute(s.HoldoutFrom.Unix())
	}
	fmt.Fprintf(w, "%s, trials %d, looks %d\n", holdout, s.Trials, s.Looks)
}
