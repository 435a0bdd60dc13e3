package main

import (
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/local"
	"github.com/ktrdr/ktrdr/market"
)

const checkDataHelp = `Check a series, a price file or a bars file. A series is read to its last byte and
checked by the rules of an import. A price file is checked like with
` + "`ktrdr data import --dry-run`" + `. The exit code is 1 if something is wrong. Gaps are
reported, but are not errors.`

func newDataCheck(a *app) *cobra.Command {
	var f readFlags
	cmd := &cobra.Command{
		Use: "check SYMBOL TIMEFRAME | FILE", Short: "Check a series or a price file", Long: checkDataHelp,
		ValidArgsFunction: a.completeSeries,
		Args:              oneOrTwo(seriesArgs + ", or one FILE"),
	}
	f.add(cmd)
	storageFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		opt, err := f.options(cmd)
		if err != nil {
			return err
		}
		if len(args) == 1 {
			if err := local.PriceFile(args[0]).Check(); err != nil {
				if args[0] == filepath.Base(args[0]) && filepath.Ext(args[0]) == "" {
					return usagef("%w; to check a series, name its timeframe too: `ktrdr data check %s 1h`; `ktrdr data list` shows what there is", err,
						args[0])
				}
				return err
			}
		}
		if len(args) == 1 && !strings.HasSuffix(args[0], market.Suffix) {
			return a.printChecked(local.CheckFile(cmd.Context(), args[0], opt))
		}
		for _, flag := range []string{"timeframe", "zone", "dates", "decimal", "adjusted", "divide"} {
			if cmd.Flags().Changed(flag) {
				return usagef("--%s is for price files: bars that were imported know it", flag)
			}
		}
		if len(args) == 1 {
			return a.printChecked(local.CheckBars(args[0]))
		}
		s, err := local.NameOf(args)
		if err != nil {
			return err
		}
		_, b, err := a.openSeries(cmd, s)
		if err != nil && ktrdr.CodeOf(err) != ktrdr.CodeCorrupt {
			return err
		}
		if b != nil {
			s.Symbol = b.Symbol
		}
		return a.printChecked(local.CheckSeries(s.String(), b, err))
	}
	return cmd
}

func (a *app) printChecked(r local.Checked) error {
	err := a.print(r, func(w io.Writer) { r.Print(w, a.palette(), a.verbose) })
	return failedIf(err, !r.OK)
}
