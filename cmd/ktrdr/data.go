package main

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/spelling"
)

const dataHelp = `Prices are kept in the data folder, one series for each symbol and timeframe.
These commands work on the folder and its database: no backend is needed, and one that
runs is not disturbed. A series that is imported again replaces the one before it. Work
that has noted the hash of the old one still finds it.

Each series belongs to a market, on which trials and looks at the holdout are counted.
The market is recognised by its prices: see "ktrdr data market --help".`

func newData(a *app) *cobra.Command {
	cmd := group("data", "Import, check, list, show, resample, export and make up prices",
		newDataImport(a), newDataList(a), newDataMarket(a), newDataShow(a), newDataCheck(a), newDataSynth(a), newDataResample(a), newDataExport(a))
	cmd.Long = dataHelp
	return cmd
}

// libraryFolder is where the data folder keeps prices.
const libraryFolder = "data"

// dataFolder is the data folder, which has to be known.
func (a *app) dataFolder() (string, error) {
	dir := a.dataDir()
	if dir == "" {
		return "", usagef("there is no data folder: give one with --data or KTRDR_DATA")
	}
	return dir, nil
}

// readLibrary opens the library of those who only look: where there is none,
// none is made, and the error is market.ErrNoData.
func (a *app) readLibrary() (*market.Library, error) {
	dir, err := a.dataFolder()
	if err != nil {
		return nil, err
	}
	dir = filepath.Join(dir, libraryFolder)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", dir, market.ErrNoData)
	}
	return market.OpenLibrary(dir)
}

// makeLibrary opens the library, and makes it where there is none.
func (a *app) makeLibrary() (*market.Library, error) {
	dir, err := a.dataFolder()
	if err != nil {
		return nil, err
	}
	if err := makeFolder(dir); err != nil {
		return nil, err
	}
	return market.OpenLibrary(filepath.Join(dir, libraryFolder))
}

// listLibrary lists what the library holds; nothing where there is none. The
// error tells of series that cannot be read.
func (a *app) listLibrary() ([]stored, error) {
	lib, err := a.readLibrary()
	if errors.Is(err, market.ErrNoData) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer lib.Close()
	entries, err := lib.List()
	list := make([]stored, len(entries))
	for i, e := range entries {
		list[i] = storedAs(e)
	}
	return list, err
}

// stored is a series of the library as commands print it.
type stored struct {
	market.Entry
	Hash string `json:"hash"`
	inLedger
}

func storedAs(e market.Entry) stored { return stored{Entry: e, Hash: hex.EncodeToString(e.Hash[:])} }

// span tells from when to when the series reaches.
func (s stored) span() string { return minute(s.First) + " to " + minute(s.Last) }

// minute is an instant as tables of prices show it.
func minute(t int64) string { return time.Unix(t, 0).UTC().Format("2006-01-02 15:04") }

// shortHash is enough of a hash to tell series apart by eye.
func shortHash(hash string) string { return hash[:min(len(hash), 12)] }

func newDataList(a *app) *cobra.Command {
	cmd := &cobra.Command{Use: "list", Short: "List the series of the library and their markets", Args: noArgs}
	file := storageFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		list, damaged := a.listLibrary()
		if len(list) == 0 && damaged != nil {
			return damaged
		}
		if list == nil {
			list = []stored{} // an empty list in JSON, not null
		}
		if err := a.addMarkets(cmd, *file, list); err != nil {
			damaged = errors.Join(damaged, fmt.Errorf("markets are not shown: %w", err))
		}
		return errors.Join(a.print(list, func(w io.Writer) { printList(w, list) }), damaged)
	}
	return cmd
}

func printList(w io.Writer, list []stored) {
	if len(list) == 0 {
		fmt.Fprintln(w, "No data. Add some with `ktrdr data import FILE`, or make some up with `ktrdr data synth`.")
		return
	}
	const header = "SYMBOL\tTIMEFRAME\tBARS\tFIRST\tLAST\tSIZE\tHASH\tMARKET\tHOLDOUT FROM\tTRIALS\tLOOKS"
	table(w, header, func(row func(...any)) {
		for _, s := range list {
			id, holdout, trials, looks := "-", "-", "-", "-"
			if s.Question != "" {
				id = "undecided"
			}
			if s.Market != "" {
				id, trials, looks = s.Market, strconv.Itoa(s.Trials), strconv.Itoa(s.Looks)
			}
			if !s.HoldoutFrom.IsZero() {
				holdout = minute(s.HoldoutFrom.Unix())
			}
			row(s.Symbol, s.Timeframe, s.Bars, minute(s.First), minute(s.Last), bytesText(s.Size), shortHash(s.Hash), id, holdout, trials, looks)
		}
	})
	for _, s := range list {
		if s.Question != "" {
			fmt.Fprintln(w, "→", plain(s.Question))
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

// openSeries opens a series of the library.
func (a *app) openSeries(s series) (*market.Bars, io.Closer, error) {
	lib, err := a.readLibrary()
	if err == nil {
		defer lib.Close()
		var b *market.Bars
		var c io.Closer
		if b, c, err = lib.Get(s.symbol, s.timeframe); err == nil {
			return b, c, nil
		}
	}
	if errors.Is(err, market.ErrNoData) {
		err = a.missing(s)
	}
	return nil, nil, err
}

// missing says that a series is not there, and what is.
func (a *app) missing(s series) error {
	list, _ := a.listLibrary() // damage elsewhere is not what was asked about
	var frames, symbols []string
	for _, e := range list {
		symbols = append(symbols, e.Symbol)
		if e.Symbol == s.symbol {
			frames = append(frames, string(e.Timeframe))
		}
	}
	spelt := spelling.Nearest(s.symbol, symbols)
	switch {
	case frames != nil:
		return usagef("there are no bars of %s, only of %s %s: import them with `ktrdr data import`", s, s.symbol, strings.Join(frames, ", "))
	case spelt != "":
		return usagef("there are no bars of %s; did you mean %s?", s, spelt)
	}
	return usagef("there are no bars of %s: `ktrdr data list` shows what there is, `ktrdr data import FILE` adds to it, `ktrdr data synth` makes some up", s)
}

// completeSeries offers the symbols of the library, then the timeframes of the
// one that was chosen.
func (a *app) completeSeries(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	const none = cobra.ShellCompDirectiveNoFileComp
	list, _ := a.listLibrary() // completion has nobody to complain to
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
