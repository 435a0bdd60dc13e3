package backend

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/fault"
	"github.com/ktrdr/ktrdr/internal/atomicfile"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/resilience"
	"github.com/ktrdr/ktrdr/sqlstore"
)

// Restore loads a backup into the empty store that the configuration names. The
// backup is read to its end and proved before anything is changed. It returns the
// blobs that are missing or damaged in the backup.
func Restore(ctx context.Context, cfg Config, in *os.File) (damaged []ktrdr.Hash, err error) {
	if err := MakeFolder(cfg.Data); err != nil {
		return nil, err
	}
	unlock, err := sqlstore.LockFolder(cfg.Data)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	left, err := leftBehind(cfg.Data)
	if err != nil {
		return nil, err
	}
	if err := refuseDatabase(ctx, cfg, &left); err != nil {
		return nil, err
	}
	// Marked before the backup is read: a kill meanwhile must not leave a
	// folder that looks like a new lab.
	unmark, err := markRestore(cfg.Data)
	if err != nil {
		return nil, err
	}
	var undo resilience.Undo
	undo.Did("marking the folder", func(context.Context) error { return unmark() })
	fault.Hit(fault.RestoreMarked)
	in, done, err := proved(ctx, in, cfg.Data)
	if err != nil {
		return nil, undo.Rollback(ctx, err)
	}
	defer func() { err = errors.Join(err, done()) }()
	fault.Hit(fault.RestoreProved)
	if err := beginRestore(cfg, left); err != nil {
		return nil, err
	}
	undo.Did("the restore", func(context.Context) error { return undoRestore(cfg.Data) })
	fault.Hit(fault.RestoreBegun)
	damaged, err = load(ctx, cfg, in)
	if err != nil && (ktrdr.CodeOf(err) == ktrdr.CodeConflict || used(cfg.Data)) {
		// The database or the folder is complete without this restore. A new
		// folder, in contrast, must not be taken for a lab.
		err = undo.Rollback(ctx, err)
	}
	return damaged, err
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
	st, err := openStorageWith(ctx, cfg, sqlstore.Config{URL: cfg.Database(), Types: Types(), Restoring: true})
	if err != nil {
		return nil, err
	}
	fault.Hit(fault.RestoreOpened)
	damaged, err := sqlstore.Restore(ctx, st.Store, st.Blobs, bufio.NewReaderSize(in, 1<<20))
	for _, step := range []struct {
		passed fault.Point
		do     func() error
	}{
		{fault.RestoreLoaded, func() error { return st.Bind(ctx) }},
		{fault.RestoreBound, func() error { return endRestore(cfg.Data) }},
		{fault.RestoreUnmarked, func() error { return st.Store.FinishRestore(ctx) }},
	} {
		if err == nil {
			fault.Hit(step.passed)
			err = step.do()
		}
	}
	return damaged, errors.Join(err, st.Close())
}

// ServeCommand starts a backend on what this configuration names: everything
// that is not the default is in it, but no secret.
func (c Config) ServeCommand() string {
	words := []string{"ktrdr", "serve", "--data", ShellWord(c.Data)}
	if c.DB != "" {
		words = append(words, "--db", ShellWord(WithoutSecrets(c.DB)))
	}
	if c.Blobs != "" {
		words = slices.Insert(words, 0, "CHECKPOINT_DIR="+ShellWord(WithoutQuery(c.Blobs)))
	}
	return strings.Join(words, " ")
}

// HiddenSettings names what serveCommand leaves out because it may be a secret.
func (c Config) HiddenSettings() string {
	var names []string
	if c.DB != "" && WithoutSecrets(c.DB) != c.DB {
		names = append(names, "the database's address")
	}
	if c.Blobs != "" && WithoutQuery(c.Blobs) != c.Blobs {
		names = append(names, "CHECKPOINT_DIR")
	}
	return text.List(names, "and")
}

// ShellWord is text as a shell takes it for one word.
func ShellWord(text string) string {
	if text != "" && strings.IndexFunc(text, func(r rune) bool {
		return !strings.ContainsRune("%+,-./:=@_", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) < 0 {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
