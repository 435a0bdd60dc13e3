package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/export"
	"github.com/ktrdr/ktrdr/internal/text"
)

// exportFlags say where tables are written, and as what.
type exportFlags struct {
	csv, parquet string // folders
	force        bool
}

func (f *exportFlags) add(cmd *cobra.Command, tables string) {
	cmd.Flags().StringVar(&f.csv, "csv", "", "write "+tables+" as CSV files into the folder `DIR`")
	cmd.Flags().StringVar(&f.parquet, "parquet", "", "write "+tables+" as Parquet files into the folder `DIR`")
	cmd.Flags().BoolVar(&f.force, "force", false, "replace files that exist in DIR")
}

func (f *exportFlags) wanted() bool { return f.csv != "" || f.parquet != "" }

// exportTables writes what read returns into each folder.
func (a *app) exportTables(f *exportFlags, read func() ([]export.Table, error)) error {
	tables, err := read()
	if err != nil {
		return err
	}
	var all []export.Written
	for _, to := range []struct {
		dir string
		as  export.Format
	}{{f.csv, export.CSV}, {f.parquet, export.Parquet}} {
		if to.dir == "" {
			continue
		}
		written, err := export.Write(to.dir, to.as, f.force, tables)
		if err != nil {
			return err
		}
		all = append(all, written...)
	}
	return a.print(all, func(w io.Writer) {
		for _, x := range all {
			fmt.Fprintf(w, "%s: %s\n", x.File, text.Counted(x.Rows, "row"))
		}
	})
}

const memoryExportHelp = `Write the ledger (every trial), the looks at holdouts and the experiments as tables for
pandas, DuckDB and spreadsheets. "ktrdr help formats" says what each column means.
Existing files are kept unless --force is given.`

func newMemoryExport(a *app) *cobra.Command {
	var f exportFlags
	var run string
	cmd := &cobra.Command{
		Use: "export", Short: "Write trials, looks and experiments as CSV or Parquet files", Long: memoryExportHelp, Args: noArgs,
	}
	cmd.RunE = a.asking(func(ctx context.Context, c *client.Client, _ []string) error {
		if !f.wanted() {
			return usagef("say where to: --parquet DIR or --csv DIR")
		}
		id, err := runID(ctx, c, run)
		if err != nil {
			return err
		}
		return a.exportTables(&f, func() ([]export.Table, error) { return export.Ledger(ctx, c, id) })
	})
	cmd.Flags().StringVar(&run, "run", "", "only those of this `RUN`")
	f.add(cmd, "trials, looks and experiments")
	return cmd
}
