package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/market"
)

const importHelp = `Read price files (CSV, gzipped or not, or Parquet) into the library.

Symbol and timeframe come from a plain file name (EURUSD_1h.csv, EURUSDh1.csv.gz,
EURUSD-1h.parquet), or from --symbol and --timeframe. A file with anything wrong in
it is refused, and each finding is named with its line and the rule it breaks.
--normalise mends instead what can be mended and says what it did: it leaves out rows that
cannot be read or are not positive, sorts, keeps the last of several rows with one
time, and widens high and low to hold open and close. It never invents a bar.

With --zone the hour that comes twice when clocks are set back is told apart by the
order of the rows. Where that does not decide, the rows are a finding; --normalise
leaves them out. A file whose rows need more than 512 MiB (some 10 million rows) is
refused: split it.

Each file is imported whole or not at all; the exit code is 1 when one was not.

Prices that are known under another name, time zone, length or timeframe belong to
the same market: its trials and looks count for them too. Where too few returns are
shared to decide, --same-market-as or --new-market does, now or later with
"ktrdr data market".`

type importFlags struct {
	readFlags
	symbol    string
	normalise bool
	checkOnly bool
	choice    jobs.Choice
}

func newDataImport(a *app) *cobra.Command {
	var f importFlags
	cmd := &cobra.Command{
		Use: "import FILE…", Short: "Read price files into the library", Long: importHelp,
		Args: atLeastOne("FILE to read"),
	}
	cmd.Flags().StringVar(&f.symbol, "symbol", "", "`SYMBOL` of the bars (default: the file's name tells it)")
	f.add(cmd)
	cmd.Flags().BoolVar(&f.normalise, "normalise", false, "mend what is wrong instead of refusing the file")
	cmd.Flags().BoolVar(&f.checkOnly, "check-only", false, "read and report, import nothing")
	choiceFlags(cmd, &f.choice)
	file := storageFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, files []string) error {
		opt, err := f.options(cmd)
		if err != nil {
			return err
		}
		if f.normalise {
			opt.Mode = market.Normalise
		}
		targets, err := f.targets(files)
		if err != nil {
			return err
		}
		if err := f.choice.Validate(); err != nil {
			return &exitError{exitUsage, err}
		}
		return a.importAll(cmd, *file, targets, opt, f)
	}
	return cmd
}

// atLeastOne asks for arguments and names them when they are missing.
func atLeastOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usagef("`%s` takes at least one %s; see `%s --help`", cmd.CommandPath(), what, cmd.CommandPath())
		}
		return nil
	}
}

// target is a file and what it is imported as. Without a timeframe the file's
// times show it.
type target struct {
	file string
	series
}

// targets says what each file is imported as: what the flags say, else what
// its name tells.
func (f importFlags) targets(files []string) ([]target, error) {
	list := make([]target, len(files))
	for i, file := range files {
		s, ok := namedSeries(filepath.Base(file))
		if f.symbol == "" && !ok {
			return nil, usagef("the name of %s does not tell the symbol, as EURUSD_1h.csv does: give --symbol", file)
		}
		if f.symbol != "" {
			s.symbol = f.symbol
		}
		if f.timeframe != "" {
			s.timeframe = market.Timeframe(f.timeframe)
		}
		list[i] = target{file, s}
	}
	return list, nil
}

// imported is what became of one file.
type imported struct {
	File      string           `json:"file"`
	Symbol    string           `json:"symbol"`
	Timeframe market.Timeframe `json:"timeframe"`
	OK        bool             `json:"ok"`
	Error     string           `json:"error,omitempty"`
	Report    market.Report    `json:"report"`
	Stored    *stored          `json:"stored,omitempty"`
	Replaced  *stored          `json:"replaced,omitempty"` // what was current before
	Hint      string           `json:"hint,omitempty"`     // what is probably not meant

	refused bool // for the findings of the report
}

func (a *app) importAll(cmd *cobra.Command, file string, targets []target, opt market.ImportOptions, f importFlags) (err error) {
	ctx := cmd.Context()
	im := importer{opt: opt, from: map[series]string{}}
	if !f.checkOnly {
		lib, err := a.makeLibrary()
		if err != nil {
			return err
		}
		defer lib.Close()
		im.lib = lib
		if im.placing, err = a.placing(cmd, file, lib, f.choice); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, im.placing.close()) }()
		for _, t := range targets { // before a long file is read for nothing
			if _, err := lib.Path(t.symbol, market.H1); err != nil && !errors.Is(err, market.ErrNoData) {
				return usagef("%s: %w", t.file, err)
			}
		}
	}
	results := make([]imported, 0, len(targets))
	failed := false
	for _, t := range targets {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		r := im.one(ctx, t)
		if !r.OK && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		failed = failed || !r.OK
		results = append(results, r)
		if !a.json { // a long list is told as it goes
			a.printImported(r)
		}
	}
	if a.json {
		if err := a.print(results, nil); err != nil {
			return err
		}
	}
	if failed {
		return &exitError{code: exitFailed}
	}
	return nil
}

// importer reads files, and stores them where it has a library.
type importer struct {
	lib     *market.Library
	placing placing
	opt     market.ImportOptions
	from    map[series]string // the file that each series came from
}

func (im *importer) one(ctx context.Context, t target) imported {
	r := imported{File: t.file, Symbol: t.symbol, Timeframe: t.timeframe}
	opt := im.opt
	opt.Symbol, opt.Timeframe = t.symbol, t.timeframe
	b, rep, err := market.ReadFile(ctx, t.file, opt)
	r.Report = rep
	if err == nil {
		r.Timeframe = b.Timeframe
		r.Hint = points(b)
		err = im.store(ctx, b, &r)
	}
	if err != nil {
		_, r.refused = errors.AsType[*market.InvalidError](err)
		r.Error = err.Error()
		return r
	}
	r.OK = true
	return r
}

// pair is the name of a currency in another.
var pair = regexp.MustCompile(`^[A-Z]{6}$`)

// points says so when the prices of a pair look like points: no currency that
// is quoted this way is worth ten thousand of another.
func points(b *market.Bars) string {
	const many = 10_000
	if !pair.MatchString(b.Symbol) || b.Len() == 0 || b.Close[b.Len()-1] <= many {
		return ""
	}
	return fmt.Sprintf("the last price is %v: if prices are points, import it again with --divide 100000 (1000 for the yen)", b.Close[b.Len()-1])
}

func (im *importer) store(ctx context.Context, b *market.Bars, r *imported) error {
	s := series{b.Symbol, b.Timeframe}
	if other, twice := im.from[s]; twice {
		return fmt.Errorf("%s holds %s too, as %s does: of several files of one series only one can be used; join them first", r.File, s, other)
	}
	im.from[s] = r.File
	if im.lib == nil {
		return nil
	}
	placed, err := im.placing.place(ctx, b)
	if err != nil {
		return err
	}
	before := current(im.lib, s)
	e, err := im.lib.Import(b)
	if err != nil {
		return err
	}
	now := storedAs(e)
	now.inLedger = placed
	r.Stored = &now
	if before != nil && before.Hash != now.Hash {
		r.Replaced = before
	}
	return nil
}

// current describes the current series of the library, if it has one that can
// be read.
func current(lib *market.Library, s series) *stored {
	entries, _ := lib.List() // what cannot be read is about to be replaced
	for _, e := range entries {
		if e.Symbol == s.symbol && e.Timeframe == s.timeframe {
			was := storedAs(e)
			return &was
		}
	}
	return nil
}

func (a *app) printImported(r imported) {
	w, p := a.out, a.palette()
	switch {
	case r.refused:
		fmt.Fprintf(w, "%s %s: refused: %d findings in %d rows\n", p.bad("✗"), plain(r.File), r.Report.Wrong(), r.Report.Rows)
	case !r.OK:
		fmt.Fprintf(w, "%s %s\n", p.bad("✗"), plain(r.Error))
	case r.Stored == nil:
		fmt.Fprintf(w, "%s %s: %s %s, %d bars; nothing was imported\n", p.good("✔"), plain(r.File), r.Symbol, r.Timeframe, r.Report.Bars)
	default:
		fmt.Fprintf(w, "%s %s: %s %s, %d bars, %s, hash %s\n", p.good("✔"), plain(r.File), r.Symbol, r.Timeframe, r.Stored.Bars, r.Stored.span(), shortHash(r.Stored.Hash))
	}
	if r.Replaced != nil {
		fmt.Fprintf(w, "  takes the place of %d bars, %s, hash %s\n", r.Replaced.Bars, r.Replaced.span(), shortHash(r.Replaced.Hash))
	}
	if r.Stored != nil {
		fmt.Fprintln(w, " ", plain(r.Stored.sentence()))
	}
	printReport(w, &r.Report, a.verbose)
	if r.Hint != "" {
		fmt.Fprintln(w, "  →", r.Hint)
	}
	if r.refused {
		fmt.Fprintln(w, "  → correct the file, or let --normalise mend what can be mended")
	}
}
