package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"os/user"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/local"
	"github.com/ktrdr/ktrdr/market"
)

const checkDataHelp = `Check a series, a price file or a bars file. A series is read to its last byte and
checked by the rules of an import. A price file is checked like with
` + "`ktrdr data import --append --dry-run`" + `: with the bars of its series that the lab has,
the instruments.yaml of the lab and the holdout of its market. The exit code is 1 if
something is wrong. Gaps are reported, but are not errors.

The content is judged too: jumps of the unit, missed splits, spikes, shifted clocks,
repeated days, bars on weekends and others. A severe finding is an error: no research
begins on the series until you import better bars, or accept the finding by its name
with "ktrdr data accept".`

const acceptHelp = `Let research begin on a series in spite of severe findings, if the bars are right.
Name each finding as "ktrdr data check" does. Your name and the time are stored. What is
accepted holds for these bars, and for longer ones made with --append as long as the
finding has no new case.

  ktrdr data accept AAPL 1d split-missed`

func newDataAccept(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "accept SYMBOL TIMEFRAME FINDING…", Short: "Accept severe findings of a series", Long: acceptHelp,
		ValidArgsFunction: a.completeSeries,
		Args:              takes(3, math.MaxInt, seriesArgs+", and the findings to accept, such as split-missed"),
	}
	storageFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		n, err := local.NameOf(args[:2])
		if err != nil {
			return err
		}
		shown, err := inLab(a.withLab, cmd, func(ctx context.Context, l *local.Lab) (local.StoredSeries, error) {
			return l.Accept(ctx, n, args[2:], "user "+userName())
		})
		return a.show(shown, noLab(err, n), func(w io.Writer) {
			fmt.Fprintf(w, "%s %s: accepted %s\n", shown.Symbol, shown.Timeframe, strings.Join(args[2:], ", "))
			for _, f := range shown.Unaccepted() {
				fmt.Fprintln(w, "  still refused: "+term.Plain(f.String()))
			}
		})
	}
	return cmd
}

// userName is the name of the person who runs the command.
func userName() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return cmp.Or(os.Getenv("USER"), "unknown")
}

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
			im := &local.Importer{Options: opt, Mode: jobs.ImportAppend}
			return a.tried(cmd, im, func() error { return a.printChecked(im.Check(cmd.Context(), args[0])) })
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
		var b *market.Bars
		e, err := inLab(a.withLab, cmd, func(ctx context.Context, l *local.Lab) (e local.StoredSeries, err error) {
			e, b, err = l.Judged(ctx, s)
			return e, err
		})
		if err != nil && ktrdr.CodeOf(err) != ktrdr.CodeCorrupt {
			return noLab(err, s)
		}
		if b != nil {
			s.Symbol = b.Symbol
		}
		return a.printChecked(local.CheckSeries(s.String(), b, err).Judged(e.SeriesInfo))
	}
	return cmd
}

func (a *app) printChecked(r local.Checked) error {
	err := a.print(r, func(w io.Writer) { r.Print(w, a.palette(), a.verbose) })
	return failedIf(err, !r.OK)
}
