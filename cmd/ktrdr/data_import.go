package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"
	_ "time/tzdata" // --zone must work where the system has no zone files

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr/backend"
	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/library"
	"github.com/ktrdr/ktrdr/local"
	"github.com/ktrdr/ktrdr/market"
)

const importHelp = `Read price files into the library: CSV and text in the forms of many programs and
services, plain or in gzip, zstd or zip, and Parquet. "ktrdr help data" lists them. A
folder stands for the price files in it.

Symbol and timeframe come from the file name (EURUSD_1h.csv, EURUSDh1.csv.gz,
EURUSD-1h.parquet), or from --symbol and --timeframe. Separator, header, columns,
decimal mark, order of dates and time zone are recognised, and one line says how. Try it
with --dry-run. Columns: time, open, high, low, close, and optionally volume and spread.
Quotes (time, bid, ask) and trades are made into bars of 1m, or of --timeframe.

  ktrdr data import EURUSD_1h.csv --dry-run
  ktrdr data import Downloads/prices
  ktrdr data import EURUSDh1.csv.gz --divide 100000 --zone Europe/Athens

A file with an error is refused. Each error is printed with its line and rule.
--normalise repairs errors instead, and reports the repairs. It leaves out rows that
cannot be read or have a price of 0 or less, sorts the rows, keeps the last of several
rows with the same time, and widens high and low to include open and close. It adds no
bar.

When clocks go back, one local hour occurs twice. With --zone the order of the rows
decides which of the two is meant. If the order does not decide, the rows are errors;
--normalise leaves them out. A file of more than 20 million rows is refused: split it.
So is one of more than 10 million (512 MiB) that is not text in the order of time.

If the series exists already, the import is refused, unless the bars are the same.
--append adds the new bars. --replace replaces the series. Several files of one series
are merged first. If two files have a bar of the same time, the later file wins, and
the differences are shown. The old series stays readable for operations that started
with it; see "ktrdr data list --all".

A series is imported completely or not at all. The exit code is 1 if one was
refused, and 2 if only --append or --replace was missing.

If the lab knows the same prices under another name, time zone, length or timeframe,
the series belongs to the same market, with the same trials and looks. If too few
returns are shared to decide, use --same-market-as or --new-market, now or later with
"ktrdr data market".`

type importFlags struct {
	readFlags
	symbol    string
	normalise bool
	dryRun    bool
	replace   bool
	append    bool
	choice    library.Choice
}

// mode is what to do where the series exists.
func (f importFlags) mode() jobs.ImportMode {
	switch {
	case f.replace:
		return jobs.ImportReplace
	case f.append:
		return jobs.ImportAppend
	}
	return jobs.ImportNew
}

func newDataImport(a *app) *cobra.Command {
	var f importFlags
	cmd := &cobra.Command{
		Use: "import FILE|FOLDER…", Short: "Read price files into the library", Long: importHelp,
		Args: atLeastOne("FILE to read"),
	}
	cmd.Flags().StringVar(&f.symbol, "symbol", "", "`SYMBOL` of the bars (default: from the file name)")
	f.add(cmd)
	cmd.Flags().BoolVar(&f.normalise, "normalise", false, "repair errors instead of refusing the file")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "read and report, import nothing")
	cmd.Flags().BoolVar(&f.replace, "replace", false, "replace a series that exists")
	cmd.Flags().BoolVar(&f.append, "append", false, "add the bars to a series that exists")
	choiceFlags(cmd, &f.choice)
	storageFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		opt, err := f.options(cmd)
		if err != nil {
			return err
		}
		files, passed, err := local.Files(args)
		if err != nil {
			return err
		}
		if f.normalise {
			opt.Mode = market.Normalise
		}
		for _, name := range files {
			if err := local.PriceFile(name).Check(); err != nil {
				return err
			}
		}
		targets, err := local.Targets(cmd.Context(), files, local.Name{Symbol: f.symbol, Timeframe: opt.Timeframe}, opt)
		if err != nil {
			return err
		}
		if err := f.choice.Validate(); err != nil {
			return &exitError{exitUsage, err}
		}
		if f.replace && f.append {
			return usagef("--replace and --append contradict each other: give one of them")
		}
		if len(passed) > 0 {
			fmt.Fprintln(a.err, term.Plain(local.PassedOver(passed)))
		}
		return a.importAll(cmd, targets, opt, f)
	}
	return cmd
}

func (a *app) importAll(cmd *cobra.Command, targets []local.Target, opt market.ImportOptions, f importFlags) error {
	im := &local.Importer{Options: opt, Mode: f.mode(), Choice: f.choice}
	if f.dryRun {
		return a.tried(cmd, im, func() error { return a.imported(cmd.Context(), im, targets) })
	}
	for _, t := range targets { // before a long file is read for nothing
		if err := market.CheckSymbol(t.Symbol); err != nil && t.Problem == "" {
			return usagef("%s: %w", t.File, err)
		}
	}
	return a.withNewLab(cmd, func(l *local.Lab) error {
		if err := a.importInto(cmd, im, l); err != nil {
			return err
		}
		return a.imported(cmd.Context(), im, targets)
	})
}

// importInto gives an Importer what the lab says of instruments and holdouts; l is nil where there is no lab yet.
func (a *app) importInto(cmd *cobra.Command, im *local.Importer, l *local.Lab) error {
	cfg, err := a.configOf(cmd)
	if err != nil {
		return err
	}
	var known *library.Library
	if im.Lab, im.Holdout = l, cfg.Holdout; l != nil {
		known = l.Library
	}
	im.Instruments, _, err = backend.InstrumentsOf(cmd.Context(), cfg, known)
	return err
}

// tried tries an import in the lab, if there is one. It makes none.
func (a *app) tried(cmd *cobra.Command, im *local.Importer, try func() error) error {
	im.DryRun = true
	in := func(l *local.Lab) error {
		if err := a.importInto(cmd, im, l); err != nil {
			return err
		}
		return try()
	}
	err := a.withLab(cmd, in)
	if im.Lab == nil && errors.Is(err, market.ErrNoData) {
		return in(nil)
	}
	return err
}

// imported imports files and prints a line for each.
func (a *app) imported(ctx context.Context, im *local.Importer, targets []local.Target) error {
	var results []local.Imported
	failed, exists := false, true
	err := im.Import(ctx, targets, func(r local.Imported) {
		failed, exists = failed || !r.OK, exists && (r.OK || r.Exists)
		if results = append(results, r); !a.json {
			r.Print(term.Words(a.out), a.palette(), a.verbose)
		}
	})
	if err == nil && a.json {
		err = a.print(results, nil)
	}
	if err == nil && failed && exists { // only a flag is missing
		return &exitError{code: exitUsage}
	}
	return failedIf(err, failed)
}

// readFlags say what a price file does not say itself.
type readFlags struct {
	timeframe string
	zone      string
	dates     string
	decimal   string
	adjusted  bool
	divide    float64
}

func (f *readFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.timeframe, "timeframe", "", "`TIMEFRAME` of the bars, such as 1h (default: from the file name or the times)")
	cmd.Flags().StringVar(&f.zone, "zone", "",
		"time `ZONE` of times that name no zone, such as Europe/Athens (default: that of the format, else UTC)")
	cmd.Flags().StringVar(&f.dates, "dates", "",
		"`ORDER` of day and month in the dates: day-first or month-first (default: what the dates show)")
	cmd.Flags().StringVar(&f.decimal, "decimal", "", "decimal `MARK` of the numbers: comma or point (default: what the numbers show)")
	cmd.Flags().BoolVar(&f.adjusted, "adjusted", false, "scale the prices to the adjusted close of the file")
	cmd.Flags().Float64Var(&f.divide, "divide", 0,
		"divide prices by this `NUMBER`, for files in points: 100000 for most currencies, 1000 for the yen")
	_ = cmd.RegisterFlagCompletionFunc("timeframe", completeTimeframes)
}

var completeTimeframes = cobra.FixedCompletions(text.Strings(market.Timeframes),
	cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveKeepOrder)

func (f *readFlags) options(cmd *cobra.Command) (market.ImportOptions, error) {
	var opt market.ImportOptions
	var err error
	if f.timeframe != "" {
		if opt.Timeframe, err = market.ParseTimeframe(f.timeframe); err != nil {
			return opt, usagef("--timeframe: %w", err)
		}
	}
	if f.zone != "" {
		if opt.Zone, err = time.LoadLocation(f.zone); err != nil {
			return opt, usagef("--zone %q is no time zone: give one like Europe/Athens or UTC", f.zone)
		}
	}
	if opt.Dates, err = market.ParseDateOrder(f.dates); err != nil {
		return opt, usagef("--dates: %w", err)
	}
	if opt.Decimal, err = market.ParseDecimal(f.decimal); err != nil {
		return opt, usagef("--decimal: %w", err)
	}
	opt.Adjusted = f.adjusted
	if cmd.Flags().Changed("divide") && (!(f.divide > 0) || math.IsInf(f.divide, 0)) {
		return opt, usagef("--divide %v: must be a positive number, such as 100000", f.divide)
	}
	opt.Divide = f.divide
	return opt, nil
}
