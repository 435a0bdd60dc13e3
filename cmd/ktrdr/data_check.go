package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/market"
)

const checkDataHelp = `Check a series of the library, to its last byte and by the rules of an import; or
a price file, as ` + "`ktrdr data import --check-only`" + ` does; or a bars file.
The exit code is 1 when something is wrong. Gaps are reported, but are not an error.`

func newDataCheck(a *app) *cobra.Command {
	var f readFlags
	cmd := &cobra.Command{
		Use: "check SYMBOL TIMEFRAME | FILE", Short: "Check a series or a price file", Long: checkDataHelp,
		ValidArgsFunction: a.completeSeries,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return exactly(2, seriesArgs+", or one FILE")(cmd, args)
			}
			return nil
		},
	}
	f.add(cmd)
	storageFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		opt, err := f.options(cmd)
		if err != nil {
			return err
		}
		if len(args) == 1 {
			if err := fileOfPrices(args[0]).Check(); err != nil {
				if args[0] == filepath.Base(args[0]) && filepath.Ext(args[0]) == "" {
					return usagef("%w; to check a series, name its timeframe too: `ktrdr data check %s 1h`; `ktrdr data list` shows what there is", err,
						args[0])
				}
				return err
			}
		}
		if len(args) == 1 && !strings.HasSuffix(args[0], market.Suffix) {
			return a.printChecked(checkFile(cmd.Context(), args[0], opt))
		}
		for _, flag := range []string{"timeframe", "zone", "divide"} {
			if cmd.Flags().Changed(flag) {
				return usagef("--%s is for price files: bars that were imported know it", flag)
			}
		}
		if len(args) == 1 {
			return a.printChecked(checkBars(args[0]))
		}
		s, err := seriesNamed(args)
		if err != nil {
			return err
		}
		b, err := a.openSeries(cmd, s)
		if err != nil && ktrdr.CodeOf(err) != ktrdr.CodeCorrupt {
			return err
		}
		if b != nil {
			s.symbol = b.Symbol
		}
		return a.printChecked(checkSeries(s.String(), b, err))
	}
	return cmd
}

// checked is the result of checking a series or a file.
type checked struct {
	Path   string             `json:"path"`
	OK     bool               `json:"ok"`
	Error  string             `json:"error,omitempty"`
	Hash   string             `json:"hash,omitempty"` // of bars that were imported
	Report *market.DataReport `json:"report,omitempty"`

	what string
	fix  string
}

// checkFile reads a price file as an import would.
func checkFile(ctx context.Context, file string, opt market.ImportOptions) checked {
	r := checked{Path: file, fix: "correct the file, or import it with --normalise"}
	if named, ok := namedSeries(filepath.Base(file)); ok && opt.Timeframe == "" {
		opt.Timeframe = named.timeframe
	}
	b, rep, err := market.ReadFile(ctx, file, opt)
	r.Report = &rep
	_, invalid := errors.AsType[*market.InvalidError](err)
	switch {
	case invalid:
		r.Error = fmt.Sprintf("%s: %s in %s", file, text.Counted(rep.Wrong(), "finding"), text.Counted(rep.Rows, "row"))
	case err != nil:
		r.Error, r.fix = fileOfPrices(file).Trouble(err).Error(), ""
	default:
		r.OK, r.what = true, fmt.Sprintf("%s: %d bars of %s", file, b.Len(), b.Timeframe)
	}
	return r
}

// checkBars checks a bars file to its last byte.
func checkBars(path string) checked {
	b, c, err := market.OpenVerified(path)
	if err == nil {
		defer c.Close()
	}
	return checkSeries(path, b, err)
}

// checkSeries checks bars that were read, or tells why they were not.
func checkSeries(name string, b *market.Bars, err error) checked {
	r := checked{Path: name, fix: "import the data again"}
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
	r.what = fmt.Sprintf("%s %s: %d bars as they were written, hash %s", b.Symbol, b.Timeframe, b.Len(), shortHash(r.Hash))
	return r
}

func (a *app) printChecked(r checked) error {
	err := a.print(r, func(w io.Writer) {
		if p := a.palette(); r.OK {
			fmt.Fprintln(w, p.good("✔"), plain(r.what))
		} else {
			fmt.Fprintln(w, p.bad("✗"), plain(r.Error))
		}
		if r.Report != nil {
			printReport(w, r.Report, a.verbose)
		}
		if !r.OK && r.fix != "" {
			fmt.Fprintln(w, "  →", r.fix)
		}
	})
	if err == nil && !r.OK {
		return &exitError{code: exitFailed}
	}
	return err
}
