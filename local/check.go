package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/library"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/quality"
)

// Checked is the result of checking a series or a file.
type Checked struct {
	Path   string             `json:"path"`
	OK     bool               `json:"ok"`
	Error  string             `json:"error,omitempty"`
	Hash   string             `json:"hash,omitempty"` // of bars that were imported
	Report *market.DataReport `json:"report,omitempty"`

	Findings []quality.ContentFinding `json:"findings,omitempty"` // what is doubtful in the content
	Accepted []ktrdr.AcceptedFinding  `json:"accepted,omitempty"` // of those, by name

	series   *jobs.SeriesInfo
	question string // what the user must decide about its market
	what     string
	fix      string
}

// Check reads a price file as an import would, and judges it with the bars that it would join.
func (im *Importer) Check(ctx context.Context, file string) Checked {
	r := Checked{Path: file, fix: "correct the file, or import it with --normalise"}
	opt := im.Options
	if to, err := Targets(ctx, []string{file}, Name{Timeframe: opt.Timeframe}, opt); err == nil && len(to) == 1 {
		opt.Symbol, opt.Timeframe = to[0].Symbol, to[0].Timeframe
	}
	b, c, rep, err := market.ReadLarge(ctx, file, opt)
	if err == nil {
		defer c.Close()
	}
	r.Report = &rep
	_, invalid := errors.AsType[*market.InvalidError](err)
	switch {
	case invalid:
		r.Error = fmt.Sprintf("%s: %s in %s", file, text.Counted(rep.Wrong(), "finding"), text.Counted(rep.Rows, "row"))
		return r
	case err != nil:
		r.Error, r.fix = PriceFile(file).Trouble(err).Error(), ""
		return r
	}
	w, err := im.would(ctx, b)
	if err != nil {
		r.Error, r.fix = fmt.Sprintf("%s: %v", file, err), ""
		return r
	}
	r.what = fmt.Sprintf("%s: %d bars of %s", file, b.Len(), b.Timeframe)
	switch {
	case w.Same:
		r.what += fmt.Sprintf(": the lab has exactly these bars of %s already", b.Symbol)
	case w.Was != nil:
		r.what += fmt.Sprintf(", judged with the %d bars of %s %s that the lab has", w.Was.Bars, b.Symbol, b.Timeframe)
	}
	r.Findings, r.Accepted, r.question = w.Findings, w.Accepted, w.Question
	open := jobs.Unaccepted(w.Findings, w.Accepted)
	if r.OK = len(open) == 0; !r.OK {
		r.fix = "no research would begin on these bars. Mend the file, or import it and, if the bars are right: " +
			library.AcceptCommand(b.Symbol, string(b.Timeframe), open)
	}
	return r
}

// CheckBars checks a bars file to its last byte.
func CheckBars(path string) Checked {
	b, c, err := market.OpenVerified(path)
	if err == nil {
		defer c.Close()
	}
	r := CheckSeries(path, b, err)
	if r.OK {
		r.Findings = quality.Judge(b, quality.Options{})
		r.OK = quality.Worst(r.Findings) != quality.Severe
	}
	return r
}

// Judged is the result of checking a series of the library, with its findings. It is
// in order where a person accepts all that are severe.
func (r Checked) Judged(e jobs.SeriesInfo) Checked {
	r.Findings, r.Accepted, r.series = e.Findings, e.Accepted, &e
	if len(e.Unaccepted()) > 0 {
		r.OK, r.fix = false, ""
	}
	return r
}

// CheckSeries checks bars that were read, or tells why they were not.
func CheckSeries(name string, b *market.Bars, err error) Checked {
	r := Checked{Path: name, fix: "import the data again"}
	if err != nil {
		r.Error = err.Error()
		return r
	}
	rep, err := market.Check(b, name)
	if err != nil {
		r.Error = err.Error()
		return r
	}
	r.OK, r.Report, r.Hash = true, &rep, fmt.Sprintf("%x", b.Hash())
	r.what = fmt.Sprintf("%s %s: %d bars as they were written, hash %s", b.Symbol, b.Timeframe, b.Len(), term.ShortHash(r.Hash))
	return r
}

// Print prints the result for people; verbose prints all findings.
func (r Checked) Print(w io.Writer, p term.Palette, verbose bool) {
	fmt.Fprintln(w, p.Mark(r.OK), term.Plain(cmp.Or(r.what, r.Error)))
	if r.Report != nil {
		PrintFindings(w, r.Report, verbose)
	}
	printContent(w, r.Findings, r.Accepted, verbose)
	if r.series != nil {
		printBlocked(w, *r.series)
	}
	if r.question != "" {
		fmt.Fprintln(w, "  →", term.Plain(r.question))
	}
	if !r.OK && r.fix != "" {
		fmt.Fprintln(w, "  →", r.fix)
	}
}

// printContent prints what is doubtful in the content of a series. Without verbose it
// leaves out what is only worth knowing.
func printContent(w io.Writer, found []quality.ContentFinding, accepted []ktrdr.AcceptedFinding, verbose bool) {
	for _, f := range found {
		if f.Severity == quality.Info && !verbose {
			continue
		}
		fmt.Fprintln(w, "  "+term.Plain(f.String()))
		i := slices.IndexFunc(accepted, func(a ktrdr.AcceptedFinding) bool { return a.Finding == string(f.Rule) })
		if i >= 0 && f.Severity == quality.Severe {
			fmt.Fprintf(w, "    accepted by %s at %s\n", term.Plain(accepted[i].By), term.Minute(accepted[i].At.Unix()))
			continue
		}
		if f.Severity == quality.Severe || verbose {
			fmt.Fprintln(w, "    → "+f.Do)
		}
	}
}

// printBlocked says that no research begins on a series, and what lets it.
func printBlocked(w io.Writer, e jobs.SeriesInfo) {
	if open := e.Unaccepted(); len(open) > 0 {
		fmt.Fprintf(w, "  → no research begins on these bars. Mend them and import them with --replace, or, if they are right: %s\n",
			library.AcceptCommand(e.Symbol, string(e.Timeframe), open))
	}
}

// printedFindings is how many findings of a file are printed without -v, and
// printedUnreadable how many of a file of which no row can be read.
const printedFindings, printedUnreadable = 20, 3

// PrintFindings tells what was recognised of a file and what it showed: gaps as
// figures, everything else finding by finding. verbose prints all that the report
// kept, gaps included.
func PrintFindings(w io.Writer, r *market.DataReport, verbose bool) {
	if r.Recognised != nil {
		fmt.Fprintln(w, "  recognised: "+term.Plain(r.Recognised.String()))
	}
	wrong, most := 0, printedFindings
	if r.Unreadable() {
		most = printedUnreadable
	}
	for _, f := range r.Findings {
		gap := f.Rule == market.Missing
		if !verbose && (gap || wrong == most) {
			continue
		}
		fmt.Fprintln(w, "  "+term.Plain(f.String()))
		if !gap {
			wrong++
		}
	}
	if more := r.Wrong() - wrong; more > 0 {
		said := ""
		if !verbose {
			said = fmt.Sprintf("; -v shows up to %d", market.KeptFindings)
		}
		fmt.Fprintf(w, "  and %s more%s\n", text.Grouped(more), said)
	}
	for _, line := range []string{mended(r), gaps(r)} {
		if line != "" {
			fmt.Fprintln(w, "  "+line)
		}
	}
}

func mended(r *market.DataReport) string {
	var done []string
	say := func(n int, format string) {
		if n > 0 {
			done = append(done, fmt.Sprintf(format, text.Counted(n, "row")))
		}
	}
	say(r.Dropped, "left out %s")
	say(r.Widened, "moved high or low to hold open and close in %s")
	say(r.Cleared, "set a negative volume to 0 in %s")
	if r.Sorted {
		done = append(done, "sorted by time")
	}
	if done == nil {
		return ""
	}
	return "normalised: " + strings.Join(done, "; ")
}

func gaps(r *market.DataReport) string {
	holes := r.Counts[market.Missing]
	if holes == 0 {
		return ""
	}
	bars, atLeast := 0, ""
	for _, g := range r.Holes {
		bars += g.Bars
	}
	if holes > len(r.Holes) {
		atLeast = "at least "
	}
	return fmt.Sprintf("%s while the market trades, %s%s in all; closed %s", text.Counted(holes, "gap"), atLeast,
		text.Counted(bars, "bar"), text.Counted(r.Closed, "time"))
}
