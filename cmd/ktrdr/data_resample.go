package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr/market"
)

const resampleHelp = `Make longer bars of shorter ones and store them beside those, on the UTC calendar:
weeks begin on Monday, months on the first. A last bar that is not finished is left
out. Markets whose day ends at another hour have other daily bars: import those.`

func newDataResample(a *app) *cobra.Command {
	var replace bool
	cmd := &cobra.Command{
		Use: "resample SYMBOL FROM TO", Short: "Make longer bars of shorter ones", Long: resampleHelp,
		Args: exactly(3, "a SYMBOL and two timeframes, such as EURUSD 1h 4h"), ValidArgsFunction: a.completeSeries,
	}
	cmd.Flags().BoolVar(&replace, "replace", false, "take the place of a series that is there")
	file := storageFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		from, err := seriesNamed(args[:2])
		if err != nil {
			return err
		}
		to, err := market.ParseTimeframe(args[2])
		if err != nil {
			return usagef("%w", err)
		}
		if to == from.timeframe || !to.MadeOf(from.timeframe) {
			return usagef("bars of %s cannot be made of whole bars of %s", to, from.timeframe)
		}
		return a.resample(cmd, *file, from, to, replace)
	}
	return cmd
}

func (a *app) resample(cmd *cobra.Command, file string, from series, to market.Timeframe, replace bool) error {
	b, c, err := a.openSeries(from)
	if err != nil {
		return err
	}
	defer c.Close()
	longer, err := market.Resample(b, to)
	if err != nil {
		return err
	}
	s := series{from.symbol, to}
	if longer.Len() == 0 {
		return fmt.Errorf("the %d bars of %s do not fill one of %s", b.Len(), from, to)
	}
	lib, err := a.makeLibrary()
	if err != nil {
		return err
	}
	defer lib.Close()
	hash := fmt.Sprintf("%x", longer.Hash())
	if was := current(lib, s); was != nil && was.Hash != hash && !replace {
		return usagef("%s is there already, %d bars, %s: let this take its place with --replace", s, was.Bars, was.span())
	}
	made, err := a.addMade(cmd, file, lib, longer)
	if err != nil {
		return err
	}
	return a.print(made, func(w io.Writer) {
		fmt.Fprintf(w, "%s made of %d bars of %s: %d bars, %s, hash %s\n  %s\n", s, b.Len(), from.timeframe, made.Bars, made.span(), shortHash(made.Hash), plain(made.sentence()))
	})
}
