package main

import (
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

const exportHelp = `Write a series as CSV, to standard output or with --csv to a file: times in UTC,
numbers with every digit they have. Importing it again gives the same bars.`

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
			return usagef("--json tells about the file that was written: name one with --csv FILE")
		}
		return a.export(cmd, s, file)
	}
	return cmd
}

// exported is what export prints as JSON.
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
	if err != nil {
		return err
	}
	return a.print(exported{file, size, b.Len()}, func(w io.Writer) {
		fmt.Fprintf(w, "%s written: %d bars of %s, %s\n", term.Plain(file), b.Len(), s, term.Bytes(size))
	})
}
