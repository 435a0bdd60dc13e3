package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr/compute"
	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/library"
	"github.com/ktrdr/ktrdr/local"
	"github.com/ktrdr/ktrdr/market"
)

const dataHelp = `Prices belong to the lab: one series for each symbol and timeframe. The database lists
them, and the blob store holds the bytes. Every backend of the lab has them. These
commands work with and without a running backend. An existing series is never replaced
without a flag. Operations that started with the old series keep it.

Each series belongs to a market, on which trials and looks at the holdout are counted.
The market is recognised by its prices: see "ktrdr data market --help".`

func newData(a *app) *cobra.Command {
	cmd := group("data", "Prices: import, fetch, list, check, accept, resample, export, make up",
		newDataImport(a), newDataFetch(a), newDataFollow(a), newDataUnfollow(a), newDataList(a), newDataMarket(a), newDataShow(a),
		newDataCheck(a), newDataAccept(a), newDataSynth(a), newDataResample(a),
		newDataExport(a), newDataRename(a), newDataDelete(a))
	cmd.Long = dataHelp
	return cmd
}

// withLab opens the lab for a command that reads it. Where there is no lab yet the
// error is market.ErrNoData.
func (a *app) withLab(cmd *cobra.Command, use func(*local.Lab) error) error {
	return a.openLab(cmd, false, use)
}

// withNewLab is withLab that makes the lab if it does not exist.
func (a *app) withNewLab(cmd *cobra.Command, use func(*local.Lab) error) error {
	return a.openLab(cmd, true, use)
}

func (a *app) openLab(cmd *cobra.Command, create bool, use func(*local.Lab) error) error {
	cfg, err := a.configOf(cmd)
	if err != nil {
		return err
	}
	l, err := local.Open(cmd.Context(), cfg, local.Options{Make: create, Ready: a.sameVersion, Taken: func(t library.TakenOver) {
		if t.Err != nil {
			fmt.Fprintf(a.err, "warning: %s stays in %s: %s\n", term.Plain(t.What), term.Plain(t.Path), term.Plain(t.Err.Error()))
		}
	}})
	if err != nil {
		return err
	}
	return errors.Join(use(l), l.Close())
}

// inLab is what with, which is withLab or withNewLab, lets a command ask of the lab.
func inLab[T any](with func(*cobra.Command, func(*local.Lab) error) error, cmd *cobra.Command,
	ask func(context.Context, *local.Lab) (T, error),
) (answer T, err error) {
	err = with(cmd, func(l *local.Lab) (err error) {
		answer, err = ask(cmd.Context(), l)
		return err
	})
	return answer, err
}

// listLibrary lists the series of the library; none where there is no lab yet.
func (a *app) listLibrary(cmd *cobra.Command,
	list func(context.Context, *local.Lab) ([]local.StoredSeries, error),
) ([]local.StoredSeries, error) {
	all, err := inLab(a.withLab, cmd, list)
	if errors.Is(err, market.ErrNoData) {
		return []local.StoredSeries{}, nil // an empty list in JSON, not null
	}
	return all, err
}

func newDataList(a *app) *cobra.Command {
	var old bool
	cmd := &cobra.Command{Use: "list", Short: "List the series of the library and their markets", Args: noArgs}
	cmd.Flags().BoolVar(&old, "all", false, "also replaced series, which older operations still use")
	storageFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		var follows []jobs.Followed
		list, err := a.listLibrary(cmd, func(ctx context.Context, l *local.Lab) (_ []local.StoredSeries, err error) {
			if follows, err = compute.FollowedSeries(ctx, l.Library, l.Store); err != nil {
				return nil, err
			}
			return l.ListInMarkets(ctx, old)
		})
		return a.show(list, err, func(w io.Writer) {
			printList(w, list)
			for _, f := range follows {
				if trouble := f.Trouble(); trouble != "" {
					fmt.Fprintln(w, "→", term.Plain(trouble))
				}
			}
		})
	}
	return cmd
}

func printList(w io.Writer, list []local.StoredSeries) {
	if len(list) == 0 {
		fmt.Fprintln(w, "No data. Add some with `ktrdr data import FILE`, or make some up with `ktrdr data synth`.")
		return
	}
	const header = "SYMBOL\tTIMEFRAME\tBARS\tFIRST\tLAST\tSIZE\tHASH\tPRICES\tQUALITY\tFROM\tMARKET\tHOLDOUT FROM\tTRIALS\tLOOKS"
	term.Table(w, header, list, func(s local.StoredSeries) []any {
		id, holdout, trials, looks := "-", "-", "-", "-"
		if s.Question != "" {
			id = "undecided"
		}
		if s.Market != "" {
			id, trials, looks = s.Market, strconv.Itoa(s.Trials), strconv.Itoa(s.Looks)
		}
		if !s.HoldoutFrom.IsZero() {
			holdout = term.Minute(s.HoldoutFrom.Unix())
		}
		return []any{
			s.Symbol, s.Timeframe, s.Bars, term.Minute(s.First), term.Minute(s.Last), term.Bytes(s.Size), term.ShortHash(s.Hash),
			term.Prices(s.MadeUp), s.Quality(), s.From(), id, holdout, trials, looks,
		}
	})
	for _, s := range list {
		if s.Question != "" {
			fmt.Fprintln(w, "→", term.Plain(s.Question))
		}
	}
}

// openSeries reads a series of the library and its row.
func (a *app) openSeries(cmd *cobra.Command, n local.Name) (e jobs.SeriesInfo, b *market.Bars, err error) {
	b, err = inLab(a.withLab, cmd, func(ctx context.Context, l *local.Lab) (b *market.Bars, err error) {
		e, b, err = l.Open(ctx, n)
		return b, err
	})
	return e, b, noLab(err, n)
}

// noLab explains that a series is missing where there is no lab yet.
func noLab(err error, n local.Name) error {
	if errors.Is(err, market.ErrNoData) {
		return local.Missing(nil, n)
	}
	return err
}

// completeSeries offers the symbols of the library, then the timeframes of the
// one that was chosen.
func (a *app) completeSeries(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	list, _ := a.listLibrary(cmd, func(ctx context.Context, l *local.Lab) ([]local.StoredSeries, error) {
		return l.List(ctx, false)
	}) // shell completion shows no errors
	var offers []string
	for _, e := range list {
		word := e.Symbol
		switch {
		case len(args) > 1, len(args) == 1 && e.Symbol != args[0]:
			continue
		case len(args) == 1:
			word = string(e.Timeframe)
		}
		if strings.HasPrefix(word, typed) && !slices.Contains(offers, word) {
			offers = append(offers, word)
		}
	}
	return offers, cobra.ShellCompDirectiveNoFileComp
}

const seriesArgs = "a SYMBOL and a TIMEFRAME, such as EURUSD 1h"
