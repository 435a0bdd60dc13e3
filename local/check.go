package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/market"
)

// Checked is the result of checking a series or a file.
type Checked struct {
	Path   string             `json:"path"`
	OK     bool               `json:"ok"`
	Error  string             `json:"error,omitempty"`
	Hash   string             `json:"hash,omitempty"` // of bars that were imported
	Report *market.DataReport `json:"report,omitempty"`

	what string
	fix  string
}

// CheckFile reads a price file as an import would.
func CheckFile(ctx context.Context, file string, opt market.ImportOptions) Checked {
	r := Checked{Path: file, fix: "correct the file, or import it with --normalise"}
	if named, ok := NamedSeries(filepath.Base(file)); ok && opt.Timeframe == "" {
		opt.Timeframe = named.Timeframe
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
	case err != nil:
		r.Error, r.fix = PriceFile(file).Trouble(err).Error(), ""
	default:
		r.OK, r.what = true, fmt.Sprintf("%s: %d bars of %s", file, b.Len(), b.Timeframe)
	}
	return r
}

// CheckBars checks a bars file to its last byte.
func CheckBars(path string) Checked {
	b, c, err := market.OpenVerified(path)
	if err == nil {
		defer c.Close()
	}
	return CheckSeries(path, b, err)
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
	if !r.OK && r.fix != "" {
		fmt.Fprintln(w, "  →", r.fix)
	}
}

// printedFindings is how many findings of a file are printed without -v.
const printedFindings = 20

// PrintFindings tells what was recognised of a file and what it showed: gaps as
// figures, everything else finding by finding. verbose prints all that the report
// kept, gaps included.
func PrintFindings(w io.Writer, r *market.DataReport, verbose bool) {
	if r.Recognised != nil {
		fmt.Fprintln(w, "  recognised: "+term.Plain(r.Recognised.String()))
	}
	wrong := 0
	for _, f := range r.Findings {
		gap := f.Rule == market.Missing
		if !verbose && (gap || wrong == printedFindings) {
			continue
		}
		fmt.Fprintln(w, "  "+term.Plain(f.String()))
		if !gap {
			wrong++
		}
	}
	if more := r.Wrong() - wrong; more > 0 {
		fmt.Fprintf(w, "  and %d more; -v shows up to 1000\n", more)
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
