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

	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/market"
)

const dataHelp = `Prices belong to the lab: one series for each symbol and timeframe. The database lists
them, and the blob store holds the bytes. Every backend of the lab has them. These
commands need no backend, and a running one is not disturbed. A series that exists is
never replaced without a flag. Operations that started with the old series keep it.

Each series belongs to a market, on which trials and looks at the holdout are counted.
The market is recognised by its prices: see "ktrdr data market --help".`

func newData(a *app) *cobra.Command {
	cmd := group("data", "Prices: import, list, check, resample, export, make up",
		newDataImport(a), newDataList(a), newDataMarket(a), newDataShow(a), newDataCheck(a), newDataSynth(a), newDataResample(a),
		newDataExport(a),
		newDataRename(a), newDataDelete(a))
	cmd.Long = dataHelp
	return cmd
}

// listLibrary lists what the library holds; nothing where there is no lab yet.
// With old it lists what was replaced too.
func (a *app) listLibrary(cmd *cobra.Command, old bool) ([]stored, error) {
	list := []stored{}
	err := a.withLedger(cmd, func(l *ledger) (err error) {
		list, err = l.list(cmd.Context(), old)
		return err
	})
	if errors.Is(err, market.ErrNoData) {
		return list, nil
	}
	return list, err
}

func (l *ledger) list(ctx context.Context, old bool) ([]stored, error) {
	read := l.library.List
	if old {
		read = l.library.History
	}
	entries, err := read(ctx)
	list := make([]stored, len(entries))
	for i, e := range entries {
		list[i] = storedAs(e)
	}
	return list, err
}

// stored is a series of the library as commands print it.
type stored struct {
	jobs.Entry
	Hash string `json:"hash"`
	inLedger
}

func storedAs(e jobs.Entry) stored { return stored{Entry: e, Hash: e.Hash.String()} }

// from tells how the series came into the lab.
func (s stored) from() string {
	if !s.Current {
		return string(s.Origin) + ", replaced"
	}
	return string(s.Origin)
}

// span tells from when to when the series reaches.
func (s stored) span() string { return term.Minute(s.First) + " to " + term.Minute(s.Last) }

func newDataList(a *app) *cobra.Command {
	var old bool
	cmd := &cobra.Command{Use: "list", Short: "List the series of the library and their markets", Args: noArgs}
	cmd.Flags().BoolVar(&old, "all", false, "also series that were replaced; operations that started with them keep them")
	storageFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		list := []stored{} // an empty list in JSON, not null
		err := a.withLedger(cmd, func(l *ledger) (err error) {
			if list, err = l.list(cmd.Context(), old); err != nil {
				return err
			}
			return l.addMarkets(cmd.Context(), list)
		})
		if err != nil && !errors.Is(err, market.ErrNoData) {
			return err
		}
		return a.print(list, func(w io.Writer) { printList(w, list) })
	}
	return cmd
}

func printList(w io.Writer, list []stored) {
	if len(list) == 0 {
		fmt.Fprintln(w, "No data. Add some with `ktrdr data import FILE`, or make some up with `ktrdr data synth`.")
		return
	}
	const header = "SYMBOL\tTIMEFRAME\tBARS\tFIRST\tLAST\tSIZE\tHASH\tPRICES\tFROM\tMARKET\tHOLDOUT FROM\tTRIALS\tLOOKS"
	term.Table(w, header, func(row func(...any)) {
		for _, s := range list {
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
			row(s.Symbol, s.Timeframe, s.Bars, term.Minute(s.First), term.Minute(s.Last), term.Bytes(s.Size), term.ShortHash(s.Hash), term.Prices(s.MadeUp), s.from(),
				id, holdout, trials, looks)
		}
	})
	for _, s := range list {
		if s.Question != "" {
			fmt.Fprintln(w, "→", term.Plain(s.Question))
		}
	}
}

// series is a symbol and a timeframe, as arguments name them.
type series struct {
	symbol    string
	timeframe market.Timeframe
}

func (s series) String() string { return s.symbol + " " + string(s.timeframe) }

// seriesNamed reads the arguments SYMBOL TIMEFRAME.
func seriesNamed(args []string) (series, error) {
	tf, err := market.ParseTimeframe(args[1])
	if err != nil {
		return series{}, usagef("%w", err)
	}
	return series{args[0], tf}, nil
}

// openSeries reads a series of the library.
func (a *app) openSeries(cmd *cobra.Command, s series) (*market.Bars, error) {
	_, b, err := a.openEntry(cmd, s)
	return b, err
}

// openEntry reads a series of the library and its row. A symbol in other capitals
// than the library's is understood.
func (a *app) openEntry(cmd *cobra.Command, s series) (e jobs.Entry, b *market.Bars, err error) {
	err = a.withLedger(cmd, func(l *ledger) error {
		ctx := cmd.Context()
		if e, err = l.library.Entry(ctx, s.symbol, s.timeframe); errors.Is(err, market.ErrNoData) {
			if e, err = l.entrySpelt(ctx, s); errors.Is(err, market.ErrNoData) {
				err = l.missing(ctx, s)
			}
		}
		if err == nil {
			b, err = l.library.Open(ctx, e)
		}
		return err
	})
	if errors.Is(err, market.ErrNoData) {
		err = missing(nil, s)
	}
	return e, b, err
}

// entrySpelt finds a series whose symbol differs by capitals only. The store has
// at most one. Without a match the error is market.ErrNoData.
func (l *ledger) entrySpelt(ctx context.Context, s series) (jobs.Entry, error) {
	all, err := l.library.List(ctx)
	if err != nil {
		return jobs.Entry{}, err
	}
	i := slices.IndexFunc(all, func(e jobs.Entry) bool { return strings.EqualFold(e.Symbol, s.symbol) && e.Timeframe == s.timeframe })
	if i < 0 {
		return jobs.Entry{}, market.ErrNoData
	}
	return all[i], nil
}

// missing says that a series is not there, and what is.
func (l *ledger) missing(ctx context.Context, s series) error {
	list, _ := l.list(ctx, false) // without it the message is shorter
	return missing(list, s)
}

func missing(list []stored, s series) error {
	var frames, symbols []string
	for _, e := range list {
		symbols = append(symbols, e.Symbol)
		if e.Symbol == s.symbol {
			frames = append(frames, string(e.Timeframe))
		}
	}
	spelt := text.Nearest(s.symbol, symbols)
	switch {
	case frames != nil:
		return usagef("there are no bars of %s, only of %s %s: import them with `ktrdr data import`", s, s.symbol, strings.Join(frames, ", "))
	case spelt != "":
		return usagef("there are no bars of %s; did you mean %s?", s, spelt)
	}
	return usagef("there are no bars of %s: `ktrdr data list` shows what there is, `ktrdr data import FILE` adds to it, "+
		"`ktrdr data synth` makes some up", s)
}

// completeSeries offers the symbols of the library, then the timeframes of the
// one that was chosen.
func (a *app) completeSeries(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	const none = cobra.ShellCompDirectiveNoFileComp
	list, _ := a.listLibrary(cmd, false) // shell completion shows no errors
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
	return offers, none
}

const seriesArgs = "a SYMBOL and a TIMEFRAME, such as EURUSD 1h"
