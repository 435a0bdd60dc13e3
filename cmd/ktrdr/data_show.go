package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr/local"
)

func newDataShow(a *app) *cobra.Command {
	var head, tail int
	cmd := &cobra.Command{
		Use: "show SYMBOL TIMEFRAME", Short: "Show a series: span, gaps, figures, some of its bars",
		Args: exactly(2, seriesArgs), ValidArgsFunction: a.completeSeries,
	}
	cmd.Flags().IntVar(&head, "head", 3, "`NUMBER` of bars to show from the start")
	cmd.Flags().IntVar(&tail, "tail", 3, "`NUMBER` of bars to show from the end")
	storageFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if head < 0 || tail < 0 {
			return usagef("--head and --tail are numbers of bars, 0 or more")
		}
		s, err := local.NameOf(args)
		if err != nil {
			return err
		}
		e, b, err := a.openSeries(cmd, s)
		if err != nil {
			return err
		}
		shown, err := local.Describe(b, head, tail)
		if err != nil {
			return err
		}
		shown.MadeUp, shown.Origin, shown.Source = e.MadeUp, e.Origin, e.Source
		return a.print(shown, func(w io.Writer) { shown.Print(w) })
	}
	return cmd
}
