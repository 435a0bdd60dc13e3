package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr/sqlstore"
)

const restoreHelp = `Load a backup into an empty database and blob folder, of this or the other kind of
database. No backend may be running on them. "-" reads standard input.`

func newRestore(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "restore FILE", Short: "Load a backup into an empty store", Long: restoreHelp,
		Args: exactly(1, "one FILE to read"),
	}
	file := storageFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		cfg, err := a.serveConfig(cmd, *file)
		if err != nil {
			return &exitError{exitUsage, err}
		}
		return a.restore(cmd.Context(), cfg, args[0])
	}
	return cmd
}

func (a *app) restore(ctx context.Context, cfg Config, name string) (err error) {
	private()
	in := os.Stdin
	if name != "-" {
		if in, err = os.Open(name); err != nil {
			return err
		}
		defer in.Close()
	}
	if err := makeFolder(cfg.Data); err != nil {
		return err
	}
	unlock, err := sqlstore.LockFolder(cfg.Data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	st, err := makeStorage(ctx, cfg)
	if err != nil {
		return err
	}
	err = sqlstore.Restore(ctx, st.store, st.blobs, bufio.NewReaderSize(in, 1<<20))
	if err := errors.Join(err, st.close()); err != nil {
		return err
	}
	return a.print(restored{cfg.Data}, func(w io.Writer) {
		fmt.Fprintf(w, "Restored. Start a backend on it with `ktrdr serve --data %s`.\n", cfg.Data)
	})
}

// restored is what restore prints as JSON.
type restored struct {
	Data string `json:"data"`
}
