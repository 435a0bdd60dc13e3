package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/backend"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/market"
)

const importHelp = `Read price files (CSV, gzipped or not, or Parquet) into the library.

Symbol and timeframe come from a plain file name (EURUSD_1h.csv, EURUSDh1.csv.gz,
EURUSD-1h.parquet), or from --symbol and --timeframe. A file with anything wrong in
it is refused, and each finding is printed with its line and rule. --normalise repairs
instead and reports it: it leaves out rows that cannot be read or are not positive,
sorts, keeps the last of several rows with one time, and widens high and low to
include open and close. It adds no bar.

With --zone the hour that a clock change repeats is resolved by the order of the rows.
Where the order does not decide, the rows are a finding; --normalise leaves them out. A
file whose rows need more than 512 MiB (about 10 million rows) is refused: split it.

A series that exists is refused, unless the bars are the same. --append adds the new
bars. --replace replaces the series. Several files of one series are merged first.
Where two have a bar of the same time, the later file wins, and the differences are
shown. The old series stays readable for operations that started with it; see
"ktrdr data list --all".

A series is imported completely or not at all. The exit code is 1 when one was not.

Prices that are known under another name, time zone, length or timeframe belong to the
same market, with the same trials and looks. If too few returns are shared to decide,
use --same-market-as or --new-market, now or later with "ktrdr data market".`

type importFlags struct {
	readFlags
	symbol    string
	normalise bool
	checkOnly bool
	replace   bool
	append    bool
	choice    jobs.Choice
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
		Use: "import FILE…", Short: "Read price files into the library", Long: importHelp,
		Args: atLeastOne("FILE to read"),
	}
	cmd.Flags().StringVar(&f.symbol, "symbol", "", "`SYMBOL` of the bars (default: from the file name)")
	f.add(cmd)
	cmd.Flags().BoolVar(&f.normalise, "normalise", false, "repair errors instead of refusing the file")
	cmd.Flags().BoolVar(&f.checkOnly, "check-only", false, "read and report, import nothing")
	cmd.Flags().BoolVar(&f.replace, "replace", false, "replace a series that exists")
	cmd.Flags().BoolVar(&f.append, "append", false, "add the bars to a series that exists")
	choiceFlags(cmd, &f.choice)
	storageFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, files []string) error {
		opt, err := f.options(cmd)
		if err != nil {
			return err
		}
		if f.normalise {
			opt.Mode = market.Normalise
		}
		for _, name := range files {
			if err := fileOfPrices(name).Check(); err != nil {
				return err
			}
		}
		targets, err := f.targets(files)
		if err != nil {
			return err
		}
		if err := f.choice.Validate(); err != nil {
			return &exitError{exitUsage, err}
		}
		if f.replace && f.append {
			return usagef("--replace and --append contradict each other: give one of them")
		}
		return a.importAll(cmd, targets, opt, f)
	}
	return cmd
}

func fileOfPrices(name string) backend.UserFile {
	return backend.UserFile{What: "price file", Name: name, Next: "name a CSV or Parquet file with prices"}
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
	File      string            `json:"file"`
	Symbol    string            `json:"symbol"`
	Timeframe market.Timeframe  `json:"timeframe"`
	OK        bool              `json:"ok"`
	Error     string            `json:"error,omitempty"`
	Report    market.DataReport `json:"report"`
	Stored    *stored           `json:"stored,omitempty"`
	Replaced  *stored           `json:"replaced,omitempty"` // what was current before
	Same      bool              `json:"same,omitempty"`     // the lab had exactly these bars already
	Files     []merged          `json:"files,omitempty"`    // of several files of one series, how each was added to those before it
	Merged    *market.Merged    `json:"merged,omitempty"`   // how all of it was added to the series that was current before
	Hint      string            `json:"hint,omitempty"`     // what is probably not meant

	asked   bool   // a flag says which market it belongs to
	exists  bool   // refused, as there is such a series and no flag says what to do with it
	refused bool   // for the findings of the report
	then    string // what became of a file that was read, where nothing is stored for it
}

// merged tells how a file was added to those of the same series before it.
type merged struct {
	File string `json:"file"`
	market.Merged
}

func (a *app) importAll(cmd *cobra.Command, targets []target, opt market.ImportOptions, f importFlags) error {
	im := importer{opt: opt, mode: f.mode(), choice: f.choice}
	if f.checkOnly {
		return a.importGroups(cmd.Context(), &im, targets)
	}
	for _, t := range targets { // before a long file is read for nothing
		if err := market.CheckSymbol(t.symbol); err != nil {
			return usagef("%s: %w", t.file, err)
		}
	}
	return a.withNewLedger(cmd, func(l *ledger) error {
		im.ledger = l
		return a.importGroups(cmd.Context(), &im, targets)
	})
}

// importGroups imports the files of each series together, in the order of the
// first of each.
func (a *app) importGroups(ctx context.Context, im *importer, targets []target) error {
	var order []series
	groups := map[series][]target{}
	for _, t := range targets {
		if groups[t.series] == nil {
			order = append(order, t.series)
		}
		groups[t.series] = append(groups[t.series], t)
	}
	var results []imported
	failed, exists := false, true
	for _, s := range order {
		list := im.group(ctx, groups[s])
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		for _, r := range list {
			failed, exists = failed || !r.OK, exists && (r.OK || r.exists)
			if !a.json { // a long list is told as it goes
				a.printImported(r)
			}
		}
		results = append(results, list...)
	}
	if a.json {
		if err := a.print(results, nil); err != nil {
			return err
		}
	}
	switch {
	case failed && exists: // only a flag is missing
		return &exitError{code: exitUsage}
	case failed:
		return &exitError{code: exitFailed}
	}
	return nil
}

// importer reads files, and stores them where it has a ledger.
type importer struct {
	ledger *ledger
	opt    market.ImportOptions
	mode   jobs.ImportMode
	choice jobs.Choice
}

// group imports files that are said to be of one series. The last result tells
// of what was stored. When one file is refused, nothing is stored.
func (im *importer) group(ctx context.Context, files []target) []imported {
	var all *market.Bars
	var how []merged
	var names []string
	results := make([]imported, 0, len(files))
	wrong := ""
	for _, t := range files {
		r, b := im.read(ctx, t)
		if b != nil && all != nil {
			joined, m, err := market.Merge(all, b)
			if err == nil {
				all, how = joined, append(how, merged{t.file, m})
			} else {
				r.OK, r.Error = false, t.file+": "+err.Error()
			}
		} else if b != nil {
			all = b
		}
		if !r.OK && wrong == "" {
			wrong = t.file
		}
		names, results = append(names, filepath.Base(t.file)), append(results, r)
	}
	if im.ledger == nil || ctx.Err() != nil {
		return results
	}
	last := &results[len(results)-1]
	if wrong != "" {
		for i := range results {
			if r := &results[i]; r.OK {
				r.OK, r.Error = false, fmt.Sprintf("%s: nothing of %s %s was imported, because %s was refused", r.File, r.Symbol, r.Timeframe, wrong)
			}
		}
		return results
	}
	last.Files = how
	if err := im.store(ctx, all, strings.Join(names, ", "), last); err != nil {
		_, last.refused = errors.AsType[*market.InvalidError](err)
		last.OK, last.Error = false, err.Error()
		if im.mode == jobs.ImportNew && ktrdr.CodeOf(err) == ktrdr.CodeConflict {
			_, err := im.ledger.library.Entry(ctx, all.Symbol, all.Timeframe)
			last.exists = err == nil
		}
	}
	return results
}

// read reads one file; nil bars when it is refused.
func (im *importer) read(ctx context.Context, t target) (imported, *market.Bars) {
	r := imported{File: t.file, Symbol: t.symbol, Timeframe: t.timeframe, asked: im.choice != jobs.Choice{}}
	opt := im.opt
	opt.Symbol, opt.Timeframe = t.symbol, t.timeframe
	b, rep, err := market.ReadFile(ctx, t.file, opt)
	r.Report = rep
	if err != nil {
		_, r.refused = errors.AsType[*market.InvalidError](err)
		r.Error = fileOfPrices(t.file).Trouble(err).Error()
		return r, nil
	}
	r.OK, r.Timeframe, r.Hint, r.then = true, b.Timeframe, points(b), "; it is merged with the next file"
	if im.ledger == nil {
		r.then = "; nothing was imported"
	}
	return r, b
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
	return fmt.Sprintf("the last price is %v: if prices are points, import it again with --divide 100000 (1000 for the yen)",
		b.Close[b.Len()-1])
}

func (im *importer) store(ctx context.Context, b *market.Bars, source string, r *imported) error {
	done, err := im.ledger.library.Import(ctx, jobs.Import{
		Bars: b, Mode: im.mode, Origin: ktrdr.BarsFromFile, Source: source, MadeUp: new(false),
		Markets: im.ledger.markets, Choice: im.choice,
	})
	if err != nil {
		return err
	}
	now := inMarket(storedAs(done.Entry), done.Placement)
	r.Stored, r.Merged, r.Same = &now, done.Merged, done.Same
	if done.Replaced != nil {
		was := storedAs(*done.Replaced)
		r.Replaced = &was
	}
	return nil
}

func (a *app) printImported(r imported) {
	w, p := a.out, a.palette()
	switch {
	case r.refused:
		fmt.Fprintf(w, "%s %s: refused: %s in %s\n", p.bad("✗"), plain(r.File), text.Counted(r.Report.Wrong(), "finding"),
			text.Counted(r.Report.Rows, "row"))
	case !r.OK:
		fmt.Fprintf(w, "%s %s\n", p.bad("✗"), plain(r.Error))
	case r.Stored == nil:
		fmt.Fprintf(w, "%s %s: %s %s, %d bars%s\n", p.good("✔"), plain(r.File), r.Symbol, r.Timeframe, r.Report.Bars, r.then)
	case r.Same:
		fmt.Fprintf(w, "%s %s: %s %s, %d bars: the lab has exactly these bars already; nothing changed\n", p.good("✔"), plain(r.File), r.Symbol,
			r.Timeframe, r.Stored.Bars)
	default:
		fmt.Fprintf(w, "%s %s: %s %s, %d bars, %s, hash %s\n", p.good("✔"), plain(r.File), r.Symbol, r.Timeframe, r.Stored.Bars, r.Stored.span(),
			shortHash(r.Stored.Hash))
	}
	for _, m := range r.Files {
		printMerged(w, m.File+" was merged with the files before it", &m.Merged, a.verbose)
	}
	if r.Merged != nil {
		printMerged(w, "added to the series", r.Merged, a.verbose)
	}
	if r.Replaced != nil {
		fmt.Fprintf(w, "  takes the place of %d bars, %s, hash %s\n", r.Replaced.Bars, r.Replaced.span(), shortHash(r.Replaced.Hash))
	}
	if r.Stored != nil && (!r.Same || r.asked || r.Stored.Question != "") {
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

// printedChanges is how many changed bars are printed without -v.
const printedChanges = 5

// printMerged tells what a merge did, and which bars it changed.
func printMerged(w io.Writer, what string, m *market.Merged, verbose bool) {
	fmt.Fprintf(w, "  %s: %s, %d as they were, %d changed\n", plain(what), text.Counted(m.Added, "new bar"), m.Same, m.Changed)
	most := printedChanges
	if verbose {
		most = len(m.First)
	}
	for _, c := range m.First[:min(most, len(m.First))] {
		fmt.Fprintln(w, "    "+c.String())
	}
	if more := m.Changed - min(most, len(m.First)); more > 0 {
		fmt.Fprintf(w, "    and %d more; -v shows up to %d\n", more, market.MaxChanges)
	}
	if m.Changed > m.Same {
		fmt.Fprintln(w,
			"  → most bars that both have differ: are --zone, --divide and the symbol right? `ktrdr data list --all` shows the series before")
	}
}
