package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/local"
	"github.com/ktrdr/ktrdr/market"
)

const resampleHelp = `Make longer bars from shorter ones, on the UTC calendar: weeks begin on Monday, months
on the first. An unfinished last bar is left out. If the day of your market ends at
another hour, import its daily bars instead.`

func newDataResample(a *app) *cobra.Command {
	var replace bool
	cmd := &cobra.Command{
		Use: "resample SYMBOL FROM TO", Short: "Make longer bars from shorter ones", Long: resampleHelp,
		Args: exactly(3, "a SYMBOL and two timeframes, such as EURUSD 1h 4h"), ValidArgsFunction: a.completeSeries,
	}
	cmd.Flags().BoolVar(&replace, "replace", false, "replace a series that exists")
	storageFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		from, err := local.NameOf(args[:2])
		if err != nil {
			return err
		}
		to, err := market.ParseTimeframe(args[2])
		if err != nil {
			return usagef("%w", err)
		}
		if to == from.Timeframe || !to.MadeOf(from.Timeframe) {
			return usagef("bars of %s cannot be made of whole bars of %s", to, from.Timeframe)
		}
		return a.resample(cmd, from, to, replace)
	}
	return cmd
}

func (a *app) resample(cmd *cobra.Command, from local.Name, to market.Timeframe, replace bool) error {
	source, b, err := a.openSeries(cmd, from)
	if err != nil {
		return err
	}
	from.Symbol = b.Symbol
	longer, err := market.Resample(b, to)
	if err != nil {
		return err
	}
	s := local.Name{Symbol: from.Symbol, Timeframe: to}
	if longer.Len() == 0 {
		return fmt.Errorf("the %d bars of %s do not fill one of %s", b.Len(), from, to)
	}
	var made local.StoredSeries
	err = a.withNewLab(cmd, func(l *local.Lab) (err error) {
		im := jobs.Import{Bars: longer, Origin: ktrdr.BarsResampled, Source: from.String(), MadeUp: source.MadeUp}
		made, err = l.Add(cmd.Context(), im, replace, "")
		return err
	})
	if err != nil {
		return err
	}
	return a.print(made, func(w io.Writer) {
		fmt.Fprintf(w, "%s made of %d bars of %s: %s\n  %s\n", s, b.Len(), from.Timeframe, made.Facts(), term.Plain(made.Sentence()))
	})
}
