package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/market"
)

const deleteDataHelp = `Delete a series, and the series that it replaced. Without a TIMEFRAME all series of the
symbol are deleted. Operations that started with a series keep it. The market keeps
every trial and every look: they count again when the prices return, under any name.`

func newDataDelete(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "delete SYMBOL [TIMEFRAME]", Short: "Delete a series", Long: deleteDataHelp, ValidArgsFunction: a.completeSeries,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return nil
			}
			return exactly(2, "a SYMBOL, and a TIMEFRAME unless all are meant")(cmd, args)
		},
	}
	storageFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		only := market.Timeframe("")
		if len(args) == 2 {
			s, err := seriesNamed(args)
			if err != nil {
				return err
			}
			only = s.timeframe
		}
		return a.deleteSeries(cmd, args[0], only)
	}
	return cmd
}

// deletedSeries is what `data delete` prints.
type deletedSeries struct {
	Deleted []stored `json:"deleted"`
}

func (a *app) deleteSeries(cmd *cobra.Command, symbol string, only market.Timeframe) error {
	var gone deletedSeries
	err := a.withLedger(cmd, func(l *ledger) error {
		ctx := cmd.Context()
		all, err := l.list(ctx, true)
		if err != nil {
			return err
		}
		if err := l.addMarkets(ctx, all); err != nil {
			return err
		}
		if i := slices.IndexFunc(all, func(s stored) bool { return strings.EqualFold(s.Symbol, symbol) }); i >= 0 {
			symbol = all[i].Symbol // the store has at most one that differs by capitals only
		}
		done := map[market.Timeframe]bool{}
		for _, s := range all {
			if s.Symbol != symbol || only != "" && s.Timeframe != only {
				continue
			}
			if !done[s.Timeframe] {
				if _, err := l.library.Delete(ctx, symbol, s.Timeframe); err != nil {
					return err
				}
				done[s.Timeframe] = true
			}
			gone.Deleted = append(gone.Deleted, s)
		}
		if len(gone.Deleted) == 0 {
			return noneOf(all, symbol, only)
		}
		return nil
	})
	if errors.Is(err, market.ErrNoData) {
		err = noneOf(nil, symbol, only)
	}
	if err != nil {
		return err
	}
	return a.print(gone, func(w io.Writer) {
		for _, s := range gone.Deleted {
			fmt.Fprintf(w, "%s %s deleted: %d bars, %s, hash %s\n", s.Symbol, s.Timeframe, s.Bars, s.span(), term.ShortHash(s.Hash))
			if s.Market != "" && s.Current {
				fmt.Fprintf(w, "  market %s keeps its %s and %s\n", s.Market, text.Counted(s.Trials, "trial"), text.Counted(s.Looks, "look"))
			}
		}
	})
}

// noneOf says that a symbol has no such series.
func noneOf(all []stored, symbol string, tf market.Timeframe) error {
	if tf != "" {
		return missing(all, series{symbol, tf})
	}
	symbols := make([]string, len(all))
	for i, s := range all {
		symbols[i] = s.Symbol
	}
	if near := text.Nearest(symbol, symbols); near != "" {
		return usagef("there are no bars of %s; did you mean %s?", symbol, near)
	}
	return usagef("there are no bars of %s: `ktrdr data list` shows what there is", symbol)
}

const renameDataHelp = `Rename all series of a symbol. They stay in their markets, so every trial and every
look still counts. Operations that started with the old name keep their bars. Change
strategies that name the old symbol by hand.`

func newDataRename(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "rename SYMBOL NEW", Short: "Rename the series of a symbol", Long: renameDataHelp,
		Args: exactly(2, "a SYMBOL and its NEW name"), ValidArgsFunction: a.completeRename,
	}
	storageFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var entries []jobs.Entry
		err := a.withLedger(cmd, func(l *ledger) (err error) {
			entries, err = l.library.Rename(cmd.Context(), l.markets, args[0], args[1])
			return err
		})
		if errors.Is(err, market.ErrNoData) {
			err = noneOf(nil, args[0], "")
		}
		if err != nil {
			return unknownName(err)
		}
		list := make([]stored, len(entries))
		for i, e := range entries {
			list[i] = storedAs(e)
		}
		return a.print(list, func(w io.Writer) {
			for _, s := range list {
				fmt.Fprintf(w, "%s is now %s %s: %d bars, %s, hash %s\n", s.Source, s.Symbol, s.Timeframe, s.Bars, s.span(), term.ShortHash(s.Hash))
			}
		})
	}
	return cmd
}

// completeRename offers the symbols of the library for the first word.
func (a *app) completeRename(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.completeSeries(cmd, nil, typed)
}
