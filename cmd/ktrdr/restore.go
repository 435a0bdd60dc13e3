package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/backend"
	"github.com/ktrdr/ktrdr/internal/term"
)

const restoreHelp = `Load a backup into a new SQLite file or an empty PostgreSQL database, of the same or
the other kind. No backend may be running on them. "-" reads standard input.

The backup is verified before anything is changed. If a restore is interrupted, no
other command accepts the folder and the database: repeat the restore.`

func newRestore(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "restore FILE", Short: "Load a backup into an empty store", Long: restoreHelp,
		Args: exactly(1, "one FILE to read"),
	}
	storageFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		cfg, err := a.configOf(cmd)
		if err != nil {
			return err
		}
		if args[0] != "-" {
			if err := fileOfBackup(args[0]).Check(); err != nil {
				return err
			}
		}
		return a.restore(cmd.Context(), cfg, args[0])
	}
	return cmd
}

func fileOfBackup(name string) backend.UserFile {
	return backend.UserFile{What: "backup file", Name: name, Next: "name one that `ktrdr backup` wrote"}
}

func (a *app) restore(ctx context.Context, cfg backend.Config, name string) (err error) {
	backend.Private()
	in := os.Stdin
	if name != "-" {
		if in, err = fileOfBackup(name).Open(); err != nil {
			return err
		}
		defer in.Close()
	}
	damaged, err := backend.Restore(ctx, cfg, in)
	if err != nil {
		return err
	}
	err = a.print(restored{cfg.Data, cfg.ServeCommand(), damaged}, func(w io.Writer) {
		fmt.Fprintf(w, "Restored. Start a backend on it with `%s`", term.Plain(cfg.ServeCommand()))
		if hidden := cfg.HiddenSettings(); hidden != "" {
			fmt.Fprintf(w, ", with %s as you gave it", hidden)
		}
		fmt.Fprintln(w, ".")
	})
	return cmp.Or(err, damage("restored", damaged))
}

// restored is what restore prints as JSON.
type restored struct {
	Data    string       `json:"data"`
	Serve   string       `json:"serve"` // the command that starts a backend on it, without secrets
	Damaged []ktrdr.Hash `json:"damaged_blobs,omitempty"`
}
