package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/backend"
	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/library"
	"github.com/ktrdr/ktrdr/local"
	"github.com/ktrdr/ktrdr/sqlstore"
)

const backupHelp = `Write everything (operations, events, checkpoints, tokens, bars, strategies,
instruments, blobs) into one file. The backend may keep running. The data folder's own
strategies/ and instruments.yaml are copied into the lab first, so that the backup
contains them. A backup of SQLite can be restored into PostgreSQL, and the reverse.
"-" writes to standard output. Only the owner can read the file. If a blob is missing
or damaged, everything else is saved and the exit code is 1.

To restore: ktrdr restore FILE --data DIR`

func newBackup(a *app) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use: "backup FILE", Short: "Write the whole lab into one file, while the backend runs", Long: backupHelp,
		Args: exactly(1, "one FILE to write"),
	}
	cmd.Flags().BoolVar(&force, "force", false, "replace an existing file")
	storageFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		cfg, err := a.configOf(cmd)
		if err != nil {
			return err
		}
		return a.backup(cmd.Context(), cfg, args[0], force)
	}
	return cmd
}

func (a *app) backup(ctx context.Context, cfg backend.Config, name string, force bool) error {
	backend.Private()
	if err := a.sameVersion(ctx); err != nil {
		return err
	}
	if _, err := os.Lstat(name); name != "-" && !force && !errors.Is(err, fs.ErrNotExist) {
		return usagef("%s exists: choose another name, or replace it with --force", name)
	}
	st, err := backend.OpenStorage(ctx, cfg)
	if err != nil {
		return err
	}
	if err := st.Join(ctx, cfg); err != nil {
		return errors.Join(err, st.Close())
	}
	if err := a.copyFolder(ctx, local.Of(st), cfg); err != nil {
		return errors.Join(err, st.Close())
	}
	var damaged []ktrdr.Hash
	write := func(w io.Writer) (err error) {
		damaged, err = sqlstore.Backup(ctx, st.Store, st.Blobs, w)
		return err
	}
	if name == "-" {
		if err := errors.Join(write(a.out), st.Close()); err != nil {
			return err
		}
		return damage("backup written", damaged)
	}
	size, err := backend.WriteFile(name, write)
	if err := errors.Join(err, st.Close()); err != nil {
		return err
	}
	err = a.print(backedUp{name, size, damaged}, func(w io.Writer) {
		fmt.Fprintf(w, "%s written, %s. Restore it with `ktrdr restore %s --data DIR`.\n", term.Plain(name), term.Bytes(size), term.Plain(name))
	})
	return cmp.Or(err, damage("backup written", damaged))
}

// copyFolder brings what is only in the data folder into the lab, so that the
// backup holds it. What it cannot hold is told.
func (a *app) copyFolder(ctx context.Context, l *local.Lab, cfg backend.Config) error {
	tell := func(t library.TakenOver) {
		if t.Err != nil {
			fmt.Fprintf(a.err, "warning: %s is not in the backup: %s: %s\n", term.Plain(t.Path), term.Plain(t.What), term.Plain(t.Err.Error()))
		}
	}
	if err := l.Library.TakeOverBars(ctx, cfg.Data, tell); err != nil {
		return err
	}
	return l.Library.Copy(ctx, cfg.Folder(backend.OwnerOf(cfg.Data)), tell)
}

type backedUp struct {
	File    string       `json:"file"`
	Size    int64        `json:"size_bytes"`
	Damaged []ktrdr.Hash `json:"damaged_blobs,omitempty"`
}

// damage says, after something was done, which blobs it had to do without.
func damage(done string, blobs []ktrdr.Hash) error {
	const most = 5
	if len(blobs) == 0 {
		return nil
	}
	list := text.Join(text.Map(blobs[:min(len(blobs), most)], ktrdr.Hash.String))
	if more := len(blobs) - most; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	const then = "`ktrdr doctor --deep` tells whose they are; an operation resumes from the checkpoint before, " +
		"a thread's checkpoint cannot be read without"
	return ktrdr.Errorf(ktrdr.CodeCorrupt, "%s, but %s missing or damaged: %s; %s", done, text.Counted(len(blobs), "blob is", "blobs are"),
		list, then)
}

const restoreHelp = `Load a backup into a new data folder, or into an empty PostgreSQL database (--db). A
backup of SQLite can be restored into PostgreSQL, and the reverse. Stop a backend that
runs on the target first. "-" reads standard input.

  ktrdr restore lab.backup --data DIR
  ktrdr serve --data DIR

The backup is verified before anything is changed. If a restore is interrupted, repeat
it. Until then other commands refuse this folder and database.`

func newRestore(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "restore FILE", Short: "Load a backup into a new folder or an empty database", Long: restoreHelp,
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

type restored struct {
	Data    string       `json:"data"`
	Serve   string       `json:"serve"` // the command that starts a backend on it, without secrets
	Damaged []ktrdr.Hash `json:"damaged_blobs,omitempty"`
}
