package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/library"
	"github.com/ktrdr/ktrdr/local"
)

const deleteDataHelp = `Delete a series, and the series that it replaced. Without a TIMEFRAME all series of the
symbol are deleted. Operations that started with a series keep it. The market keeps
every trial and every look. If you import the same prices again, under any name, they
still count. A series that is kept current is refused: it would come back. End that first
with "ktrdr data unfollow".`

func newDataDelete(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "delete SYMBOL [TIMEFRAME]", Short: "Delete a series", Long: deleteDataHelp, ValidArgsFunction: a.completeSeries,
		Args: oneOrTwo("a SYMBOL, and a TIMEFRAME unless all are meant"),
	}
	storageFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		n := local.Name{Symbol: args[0]}
		if len(args) == 2 {
			var err error
			if n, err = local.NameOf(args); err != nil {
				return err
			}
		}
		return a.deleteSeries(cmd, n)
	}
	return cmd
}

type deletedSeries struct {
	Deleted []local.StoredSeries `json:"deleted"`
}

func (a *app) deleteSeries(cmd *cobra.Command, n local.Name) error {
	gone, err := inLab(a.withLab, cmd, func(ctx context.Context, l *local.Lab) ([]local.StoredSeries, error) { return l.Delete(ctx, n) })
	return a.show(deletedSeries{gone}, noLab(err, n), func(w io.Writer) {
		for _, s := range gone {
			fmt.Fprintf(w, "%s %s deleted: %s\n", s.Symbol, s.Timeframe, s.Facts())
			if s.Market != "" && s.Current {
				fmt.Fprintf(w, "  market %s keeps its %s and %s\n", s.Market, text.Counted(s.Trials, "trial"), text.Counted(s.Looks, "look"))
			}
		}
	})
}

const renameDataHelp = `Rename all series of a symbol. They stay in their markets, so every trial and every
look still counts. Operations that started with the old name keep their bars.
Strategies are not changed: edit those that name the old symbol. A symbol that is kept
current is refused: end that first with "ktrdr data unfollow".`

func newDataRename(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "rename SYMBOL NEW", Short: "Rename the series of a symbol", Long: renameDataHelp,
		Args: exactly(2, "a SYMBOL and its NEW name"), ValidArgsFunction: a.completeRename,
	}
	storageFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		entries, err := inLab(a.withLab, cmd, func(ctx context.Context, l *local.Lab) ([]jobs.SeriesInfo, error) {
			return l.Library.Rename(ctx, l.Markets, args[0], args[1])
		})
		list := local.AllOf(entries)
		return a.show(list, unknownName(noLab(err, local.Name{Symbol: args[0]})), func(w io.Writer) {
			for _, s := range list {
				fmt.Fprintf(w, "%s is now %s %s: %s\n", s.Source, s.Symbol, s.Timeframe, s.Facts())
			}
		})
	}
	return cmd
}

func (a *app) completeRename(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.completeSeries(cmd, nil, typed)
}

const marketHelp = `Show the market of a series, or decide it.

Trials and looks at the holdout are counted per market. A market is recognised by its
prices, not by its name. Two series are one market if their returns correlate by 0.98
or more, in either sign, over at least 2,000 shared returns. With fewer, you decide:
--same-market-as joins the market of another symbol, --new-market makes a new one.
Until then no research, training or backtest uses the series.

--same-market-as also merges two existing markets, if you know that they are the same
although the prices do not show it. Their trials and looks are added up, and the
markets stay merged.`

func newDataMarket(a *app) *cobra.Command {
	var choice library.Choice
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
func choiceFlags(cmd *cobra.Command, c *library.Choice) {
	cmd.Flags().StringVar(&c.SameAs, "same-market-as", "", "same market as `SYMBOL` (or the id of a market)")
	cmd.Flags().BoolVar(&c.New, "new-market", false, "make a new market, if the prices do not decide")
}

func (a *app) decideMarket(cmd *cobra.Command, n local.Name, c library.Choice) error {
	shown, err := inLab(a.withLab, cmd, func(ctx context.Context, l *local.Lab) (local.StoredSeries, error) {
		e, p, err := l.Markets.PlaceSeries(ctx, l.Library, n.Symbol, n.Timeframe, c)
		return local.SeriesOf(e).In(p), l.Missing(ctx, n, err)
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
	if len(s.Holdouts) > 1 {
		for _, h := range s.Holdouts {
			fmt.Fprintf(w, "holdout %s\n", h)
		}
	}
}
