package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr/backend"
	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/local"
	"github.com/ktrdr/ktrdr/market"
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
		var b *market.Bars
		e, err := inLab(a.withLab, cmd, func(ctx context.Context, l *local.Lab) (e local.StoredSeries, err error) {
			e, b, err = l.Judged(ctx, s)
			return e, err
		})
		if err != nil {
			return noLab(err, s)
		}
		shown, err := local.Describe(b, head, tail)
		if err != nil {
			return err
		}
		shown.MadeUp, shown.Origin, shown.Source = e.MadeUp, e.Origin, e.Source
		shown.Record, shown.Findings, shown.Accepted = e.Record, e.Findings, e.Accepted
		return a.print(shown, func(w io.Writer) { shown.Print(w) })
	}
	return cmd
}

const exportHelp = `Write a series as CSV, to standard output or with --csv to a file: times in UTC,
numbers with all their digits. Importing the file again gives the same bars.`

func newDataExport(a *app) *cobra.Command {
	var file string
	var force bool
	cmd := &cobra.Command{
		Use: "export SYMBOL TIMEFRAME", Short: "Write a series as CSV", Long: exportHelp,
		Args: exactly(2, seriesArgs), ValidArgsFunction: a.completeSeries,
	}
	cmd.Flags().StringVar(&file, "csv", "-", "`FILE` to write; - is standard output")
	cmd.Flags().BoolVar(&force, "force", false, "replace an existing file")
	storageFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, err := local.NameOf(args)
		if err != nil {
			return err
		}
		if _, err := os.Lstat(file); file != "-" && !force && !errors.Is(err, fs.ErrNotExist) {
			return usagef("%s exists: choose another name, or replace it with --force", file)
		}
		if file == "-" && a.json {
			return usagef("--json describes the file that is written: name it with --csv FILE")
		}
		return a.export(cmd, s, file)
	}
	return cmd
}

type exported struct {
	File string `json:"file"`
	Size int64  `json:"size_bytes"`
	Bars int    `json:"bars"`
}

func (a *app) export(cmd *cobra.Command, s local.Name, file string) error {
	_, b, err := a.openSeries(cmd, s)
	if err != nil {
		return err
	}
	s.Symbol = b.Symbol
	if file == "-" {
		return market.WriteCSV(a.out, b)
	}
	size, err := backend.WriteFile(file, func(w io.Writer) error { return market.WriteCSV(w, b) })
	return a.show(exported{file, size, b.Len()}, err, func(w io.Writer) {
		fmt.Fprintf(w, "%s written: %d bars of %s, %s\n", term.Plain(file), b.Len(), s, term.Bytes(size))
	})
}
