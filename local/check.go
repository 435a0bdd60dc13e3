package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/market"
)

// Checked is the result of checking a series or a file.
type Checked struct {
	Path   string         `json:"path"`
	OK     bool           `json:"ok"`
	Error  string         `json:"error,omitempty"`
	Hash   string         `json:"hash,omitempty"` // of bars that were imported
	Report *market.Report `json:"report,omitempty"`

	what string
	fix  string
}

// CheckFile reads a price file as an import would.
func CheckFile(ctx context.Context, file string, opt market.ImportOptions) Checked {
	r := Checked{Path: file, fix: "correct the file, or import it with --normalise"}
	if named, ok := NamedSeries(filepath.Base(file)); ok && opt.Timeframe == "" {
		opt.Timeframe = named.Timeframe
	}
	b, rep, err := market.ReadFile(ctx, file, opt)
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
