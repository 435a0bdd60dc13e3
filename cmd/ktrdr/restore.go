package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/fault"
	"github.com/ktrdr/ktrdr/internal/atomicfile"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/resilience"
	"github.com/ktrdr/ktrdr/sqlstore"
)

const restoreHelp = `Load a backup into a new SQLite file or an empty PostgreSQL database, of the same or
the other kind. No backend may be running on them. "-" reads standard input.

The backup is read to its end and proved before anything is changed. A restore that
was stopped leaves a folder and a database that no other command takes; repeat it.`

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
		if args[0] != "-" {
			if err := mustExist(args[0]); err != nil {
				return err
			}
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
	left, err := leftBehind(cfg.Data)
	if err != nil {
		return err
	}
	if err := refuseDatabase(ctx, cfg, &left); err != nil {
		return err
	}
	// Marked before the backup is read: a kill meanwhile must not leave a
	// folder that looks like a new lab.
	unmark, err := markRestore(cfg.Data)
	if err != nil {
		return err
	}
	var undo resilience.Undo
	undo.Did("marking the folder", func(context.Context) error { return unmark() })
	fault.Hit(fault.RestoreMarked)
	in, done, err := proved(ctx, in, cfg.Data)
	if err != nil {
		return undo.Rollback(ctx, err)
	}
	defer func() { err = errors.Join(err, done()) }()
	fault.Hit(fault.RestoreProved)
	if err := beginRestore(cfg, left); err != nil {
		return err
	}
	undo.Did("the restore", func(context.Context) error { return undoRestore(cfg.Data) })
	fault.Hit(fault.RestoreBegun)
	damaged, err := load(ctx, cfg, in)
	if err != nil && (ktrdr.CodeOf(err) == ktrdr.CodeConflict || used(cfg.Data)) {
		// The database or the folder is complete without this restore. A new
		// folder, in contrast, must not be taken for a lab.
		return undo.Rollback(ctx, err)
	}
	if err != nil {
		return err
	}
	err = a.print(restored{cfg.Data, cfg.serveCommand(), damaged}, func(w io.Writer) {
		fmt.Fprintf(w, "Restored. Start a backend on it with `%s`", plain(cfg.serveCommand()))
		if hidden := cfg.hidden(); hidden != "" {
			fmt.Fprintf(w, ", with %s as you gave it", hidden)
		}
		fmt.Fprintln(w, ".")
	})
	return cmp.Or(err, damage("restored", damaged))
}

// proved reads a backup to its end, refuses one that is not whole, and returns
// it to be read again. What cannot be read twice is kept in the folder
// meanwhile, without a name, so that it goes with this process.
func proved(ctx context.Context, in *os.File, dir string) (again *os.File, done func() error, err error) {
	done = func() error { return nil }
	info, err := in.Stat()
	if err != nil {
		return nil, nil, err
	}
	var from io.Reader = in
	if again = in; !info.Mode().IsRegular() {
		if again, err = os.CreateTemp(dir, "*"+atomicfile.PartialSuffix); err != nil {
			return nil, nil, err
		}
		done = again.Close
		if err := os.Remove(again.Name()); err != nil {
			return nil, nil, errors.Join(err, done())
		}
		from = io.TeeReader(in, again)
	}
	err = sqlstore.VerifyBackup(ctx, bufio.NewReaderSize(from, 1<<20))
	if err == nil {
		_, err = again.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("restore: %w", err), done())
	}
	return again, done, nil
}

// load makes the database and the blobs of what a backup holds, and takes the
// marks away. The database's goes last: with the folder's still there, another
// restore would remove blobs that a database in use names.
func load(ctx context.Context, cfg Config, in io.Reader) ([]ktrdr.Hash, error) {
	st, err := openStorageWith(ctx, cfg, sqlstore.Config{URL: cfg.database(), Plans: plans(), Restoring: true})
	if err != nil {
		return nil, err
	}
	fault.Hit(fault.RestoreOpened)
	damaged, err := sqlstore.Restore(ctx, st.store, st.blobs, bufio.NewReaderSize(in, 1<<20))
	for _, step := range []struct {
		passed fault.Point
		do     func() error
	}{
		{fault.RestoreLoaded, func() error { return st.bind(ctx) }},
		{fault.RestoreBound, func() error { return endRestore(cfg.Data) }},
		{fault.RestoreUnmarked, func() error { return st.store.FinishRestore(ctx) }},
	} {
		if err == nil {
			fault.Hit(step.passed)
			err = step.do()
		}
	}
	return damaged, errors.Join(err, st.close())
}

// serveCommand starts a backend on what this configuration names: everything
// that is not the default is in it, but no secret.
func (c Config) serveCommand() string {
	words := []string{"ktrdr", "serve", "--data", shellWord(c.Data)}
	if c.DB != "" {
		words = append(words, "--db", shellWord(withoutSecrets(c.DB)))
	}
	if c.Blobs != "" {
		words = slices.Insert(words, 0, "CHECKPOINT_DIR="+shellWord(withoutQuery(c.Blobs)))
	}
	return strings.Join(words, " ")
}

// hidden names what serveCommand leaves out because it may be a secret.
func (c Config) hidden() string {
	var names []string
	if c.DB != "" && withoutSecrets(c.DB) != c.DB {
		names = append(names, "the database's address")
	}
	if c.Blobs != "" && withoutQuery(c.Blobs) != c.Blobs {
		names = append(names, "CHECKPOINT_DIR")
	}
	return text.List(names, "and")
}

// shellWord is text as a shell takes it for one word.
func shellWord(text string) string {
	if text != "" && strings.IndexFunc(text, func(r rune) bool {
		return !strings.ContainsRune("%+,-./:=@_", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) < 0 {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// restored is what restore prints as JSON.
type restored struct {
	Data    string       `json:"data"`
	Serve   string       `json:"serve"` // the command that starts a backend on it, without secrets
	Damaged []ktrdr.Hash `json:"damaged_blobs,omitempty"`
}
