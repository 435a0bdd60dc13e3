package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/backend"
	"github.com/ktrdr/ktrdr/instrument"
	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/library"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/quality"
)

// PriceFile is a file of prices that the user named.
func PriceFile(name string) backend.UserFile {
	return backend.UserFile{What: "price file", Name: name, Next: "name a CSV or Parquet file with prices"}
}

// mostFiles is how many files one import reads.
const mostFiles = 10_000

// Files puts the price files of a folder in place of the folder, in the order of
// their names: of two that differ in the copy number of a browser, the newer one last. What
// else is in it is passed over: other files and folders.
func Files(names []string) (files, passed []string, err error) {
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil || !info.IsDir() {
			files = append(files, name)
			continue
		}
		entries, err := os.ReadDir(name)
		if err != nil {
			return nil, nil, err
		}
		slices.SortStableFunc(entries, func(a, b os.DirEntry) int { return market.CompareNames(a.Name(), b.Name()) })
		before := len(files)
		for _, e := range entries {
			switch at := filepath.Join(name, e.Name()); {
			case e.Type().IsRegular() && market.IsPriceName(e.Name()):
				files = append(files, at)
			case !strings.HasPrefix(e.Name(), "."):
				passed = append(passed, at)
			}
		}
		if len(files) == before {
			return nil, nil, invalid("%s is a directory and no price file is in it: no name there ends in .csv, .txt, .tsv, .parquet or .zip", name)
		}
	}
	if len(files) > mostFiles {
		return nil, nil, invalid("these are %d files; import at most %d at once", len(files), mostFiles)
	}
	return files, passed, nil
}

// PassedOver says which parts of a folder an import does not read.
func PassedOver(names []string) string {
	const named = 5
	list := text.Map(names[:min(named, len(names))], filepath.Base)
	if more := len(names) - len(list); more > 0 {
		list = append(list, fmt.Sprintf("%d more", more))
	}
	return "not read: " + strings.Join(list, ", ") +
		" (files end in .csv, .txt, .tsv, .parquet, .pq or .zip, or these with .gz or .zst; save a spreadsheet as CSV)"
}

// Imported is the result of one file.
type Imported struct {
	File      string            `json:"file"`
	Symbol    string            `json:"symbol"`
	Timeframe market.Timeframe  `json:"timeframe"`
	OK        bool              `json:"ok"`
	Error     string            `json:"error,omitempty"`
	Report    market.DataReport `json:"report"`
	Stored    *StoredSeries     `json:"stored,omitempty"`
	Replaced  *StoredSeries     `json:"replaced,omitempty"` // what was current before
	Same      bool              `json:"same,omitempty"`     // the lab had exactly these bars already
	Files     []Merged          `json:"files,omitempty"`    // of several files of one series, how each was added to those before it
	Merged    *market.Merged    `json:"merged,omitempty"`   // how all of it was added to the series that was current before
	Hint      string            `json:"hint,omitempty"`     // what is probably not meant
	Question  string            `json:"question,omitempty"` // of a dry run: what the user must decide about its market

	Findings []quality.ContentFinding `json:"findings,omitempty"` // what is doubtful in the content

	Exists bool `json:"-"` // refused: there is such a series, and no flag says what to do with it

	asked   bool   // a flag says which market it belongs to
	refused bool   // for the findings of the report
	then    string // the result of a file that was read, where nothing is stored for it
	merged  bool   // another file of the series comes after it
	alike   bool   // it was recognised as the file before it of the same series
}

// Merged tells how a file was added to those of the same series before it.
type Merged struct {
	File string `json:"file"`
	market.Merged
}

// Importer reads files, and stores them unless it only tries.
type Importer struct {
	Lab     *Lab // nil: not made yet
	DryRun  bool // store nothing, and say what an import would find
	Options market.ImportOptions
	Mode    jobs.ImportMode
	Choice  library.Choice

	Instruments instrument.File // whose splits, dividends and rolls the bars are adjusted for
	Holdout     float64         // share of the bars that is the holdout of a market without one; 0: the usual one

	open []io.Closer // the files of the group whose bars are in use
}

// closeAll gives up the bars of a group.
func (im *Importer) closeAll() {
	for _, c := range im.open {
		_ = c.Close() // of files without names, that were only read
	}
	im.open = nil
}

// Import imports the files of each series together, in the order of the first of
// each, and reports each file. It ends early when ctx does.
func (im *Importer) Import(ctx context.Context, targets []Target, tell func(Imported)) error {
	var order []Name
	groups := map[Name][]Target{}
	for _, t := range targets {
		if t.Problem != "" {
			tell(Imported{File: t.String(), Error: t.Problem})
			continue
		}
		if groups[t.Name] == nil {
			order = append(order, t.Name)
		}
		groups[t.Name] = append(groups[t.Name], t)
	}
	for _, n := range order {
		list := im.group(ctx, groups[n])
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		for _, r := range list {
			tell(r)
		}
	}
	return nil
}

// group imports files that are said to be of one series. The last result says
// what was stored. When one file is refused, nothing is stored.
func (im *Importer) group(ctx context.Context, files []Target) []Imported {
	defer im.closeAll()
	var all *market.Bars
	var how []Merged
	var names []string
	results := make([]Imported, 0, len(files))
	wrong := ""
	for _, t := range files {
		r, b := im.read(ctx, t)
		if b != nil && all != nil {
			joined, m, err := market.Merge(all, b)
			if err == nil {
				all, how = joined, append(how, Merged{t.String(), m})
			} else {
				r.OK, r.Error = false, t.String()+": "+err.Error()
			}
		} else if b != nil {
			all = b
		}
		if !r.OK && wrong == "" {
			wrong = t.String()
		}
		if n := len(results); n > 0 {
			results[n-1].merged = true
			r.alike = r.OK && results[n-1].OK && r.Report.Recognised.String() == results[n-1].Report.Recognised.String()
		}
		names, results = append(names, filepath.Base(t.String())), append(results, r)
	}
	last := &results[len(results)-1]
	if len(results) > 1 && wrong == "" {
		last.Report.GapsOf(all)
	}
	if ctx.Err() != nil {
		return results
	}
	if im.DryRun {
		if wrong == "" {
			im.try(ctx, all, last)
		}
		return results
	}
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
		if im.Mode == jobs.ImportNew && ktrdr.CodeOf(err) == ktrdr.CodeConflict {
			_, err := im.Lab.Library.Info(ctx, all.Symbol, all.Timeframe)
			if last.Exists = err == nil; last.Exists { // one of several files
				last.Error = last.File + ": " + last.Error
			}
		}
	}
	return results
}

// read reads one file; nil bars when it is refused.
func (im *Importer) read(ctx context.Context, t Target) (Imported, *market.Bars) {
	r := Imported{File: t.String(), Symbol: t.Symbol, Timeframe: t.Timeframe, asked: im.Choice != library.Choice{}}
	opt := im.Options
	opt.Symbol, opt.Timeframe, opt.Inside = t.Symbol, t.Timeframe, t.Inside
	if t.Inside != "" {
		opt.Source = t.String()
	}
	b, c, rep, err := market.ReadLarge(ctx, t.File, opt)
	if r.Report = rep; err == nil {
		im.open = append(im.open, c)
	} else {
		_, r.refused = errors.AsType[*market.InvalidError](err)
		r.Error = PriceFile(t.File).Trouble(err).Error()
		return r, nil
	}
	r.OK, r.Timeframe, r.Hint, r.then = true, b.Timeframe, pointsHint(b), "; it is merged with the next file"
	if im.DryRun {
		r.then = "; nothing was imported"
	}
	return r, b
}

// try says of bars what an import would find.
func (im *Importer) try(ctx context.Context, b *market.Bars, r *Imported) {
	w, err := im.would(ctx, b)
	r.Findings, r.Merged, r.Question = w.Findings, w.Merged, w.Question
	if w.Same {
		r.then = ": the lab has exactly these bars already" + r.then
	}
	if r.Exists = w.Refused != ""; r.Exists {
		r.OK, r.Error = false, r.File+": "+w.Refused
	} else if err != nil {
		r.OK, r.Error = false, err.Error()
	}
}

func (im *Importer) would(ctx context.Context, b *market.Bars) (library.Would, error) {
	about := im.Instruments.Find(b.Symbol)
	if im.Lab == nil {
		found, err := library.WouldFind(b, about, im.Holdout)
		return library.Would{Findings: found}, err
	}
	return im.Lab.Library.WouldImport(ctx, library.Import{
		Bars: b, Mode: im.Mode, Instrument: about, Markets: im.Lab.Markets, Choice: im.Choice, Holdout: im.Holdout,
	})
}

func (im *Importer) store(ctx context.Context, b *market.Bars, source string, r *Imported) error {
	done, err := im.Lab.Library.Import(ctx, library.Import{
		Bars: b, Mode: im.Mode, Origin: ktrdr.BarsFromFile, Source: source, MadeUp: new(false),
		Record: library.RecordOf(r.Report, im.Options.Adjusted), Instrument: im.Instruments.Find(b.Symbol),
		Markets: im.Lab.Markets, Choice: im.Choice, Holdout: im.Holdout,
	})
	if err != nil {
		return err
	}
	r.Stored, r.Merged, r.Same, r.Findings = new(SeriesOf(done.Entry).In(done.Placement)), done.Merged, done.Same, done.Entry.Findings
	if done.Replaced != nil {
		r.Replaced = new(SeriesOf(*done.Replaced))
	}
	return nil
}

// Print prints the result for people; verbose prints all findings and changes.
func (r Imported) Print(w io.Writer, p term.Palette, verbose bool) {
	said := r.Error
	switch {
	case r.refused:
		said = fmt.Sprintf("%s: refused: %s in %s", r.File, text.Counted(r.Report.Wrong(), "finding"), text.Counted(r.Report.Rows, "row"))
	case !r.OK:
	case r.Stored == nil:
		said = fmt.Sprintf("%s: %s %s, %s%s", r.File, r.Symbol, r.Timeframe, text.Counted(r.Report.Bars, "bar"), r.then)
	case r.Same:
		said = fmt.Sprintf("%s: %s %s, %d bars: the lab has exactly these bars already; nothing changed", r.File, r.Symbol, r.Timeframe,
			r.Stored.Bars)
	default:
		said = fmt.Sprintf("%s: %s %s, %s", r.File, r.Symbol, r.Timeframe, r.Stored.Facts())
	}
	fmt.Fprintln(w, p.Mark(r.OK), term.Plain(said))
	for _, m := range r.Files {
		if m.Same+m.Changed == 0 && !verbose {
			continue // the usual case: one file for each month
		}
		printMerged(w, m.File+" was merged with the files before it", &m.Merged, verbose)
	}
	if r.Merged != nil {
		what := "added to the series"
		if r.Stored == nil {
			what = "compared with the series"
		}
		printMerged(w, what, r.Merged, verbose)
	}
	if r.Replaced != nil {
		fmt.Fprintln(w, "  takes the place of", r.Replaced.Facts())
	}
	if r.Stored != nil && (!r.Same || r.asked || r.Stored.Question != "") {
		fmt.Fprintln(w, " ", term.Plain(r.Stored.Sentence()))
	}
	PrintFindings(w, r.printed(verbose), verbose)
	printContent(w, r.Findings, nil, verbose)
	if r.Stored != nil {
		printBlocked(w, r.Stored.SeriesInfo)
	}
	if r.Question != "" {
		fmt.Fprintln(w, "  →", term.Plain(r.Question))
	}
	if r.Hint != "" {
		fmt.Fprintln(w, "  →", r.Hint)
	}
	switch {
	case r.refused && r.Report.Unreadable():
		fmt.Fprintln(w, "  → no row can be read: compare the first row with the line \"recognised\"")
	case r.refused:
		fmt.Fprintln(w, "  → correct the file, or let --normalise mend what can be mended")
	}
}

// printed is the report without what the line of the file before or after it tells.
func (r Imported) printed(verbose bool) *market.DataReport {
	rep := r.Report
	if r.alike && !verbose {
		rep.Recognised = nil
	}
	if r.merged && !verbose {
		rep.GapsOf(nil)
	}
	return &rep
}

// printedChanges is how many changed bars are printed without -v.
const printedChanges = 5

func printMerged(w io.Writer, what string, m *market.Merged, verbose bool) {
	fmt.Fprintf(w, "  %s: %s, %d as they were, %d changed\n", term.Plain(what), text.Counted(m.Added, "new bar"), m.Same, m.Changed)
	if m.AddedInHoldout > 0 {
		fmt.Fprintf(w, "    %d of the new bars are after the holdout begins\n", m.AddedInHoldout)
	}
	most := printedChanges
	if verbose {
		most = len(m.First)
	}
	for _, c := range m.First[:min(most, len(m.First))] {
		fmt.Fprintln(w, "    "+c.String())
	}
	if m.InHoldout > 0 {
		fmt.Fprintf(w, "    %d of the changed bars are in the holdout and are not shown\n", m.InHoldout)
	}
	if more := m.Changed - m.InHoldout - min(most, len(m.First)); more > 0 {
		fmt.Fprintf(w, "    and %s more; -v shows up to %s\n", text.Grouped(more), text.Grouped(market.MaxChanges))
	}
	if m.Changed > m.Same {
		fmt.Fprintln(w,
			"  → most bars that both have differ: are --zone, --divide and the symbol right? `ktrdr data list --all` shows the series before")
	}
}
