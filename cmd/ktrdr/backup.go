package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/ktrdr/ktrdr/sqlstore"
)

const backupHelp = `Write everything (operations, events, checkpoints, tokens, blobs) into one file,
while the backend runs. The file is the same for SQLite and PostgreSQL, so that a
lab can move from one to the other with restore. "-" writes to standard output.
The file is as private as the database: it is readable by you only.`

func newBackup(a *app) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use: "backup FILE", Short: "Write everything into one file, online", Long: backupHelp,
		Args: exactly(1, "one FILE to write"),
	}
	cmd.Flags().BoolVar(&force, "force", false, "replace an existing file")
	file := storageFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		cfg, err := a.serveConfig(cmd, *file)
		if err != nil {
			return &exitError{exitUsage, err}
		}
		return a.backup(cmd.Context(), cfg, args[0], force)
	}
	return cmd
}

func (a *app) backup(ctx context.Context, cfg Config, name string, force bool) error {
	private()
	if err := a.sameVersion(ctx); err != nil {
		return err
	}
	if _, err := os.Lstat(name); name != "-" && !force && !errors.Is(err, fs.ErrNotExist) {
		return usagef("%s exists: choose another name, or replace it with --force", name)
	}
	st, err := openStorage(ctx, cfg)
	if err != nil {
		return err
	}
	if name == "-" {
		return errors.Join(sqlstore.Backup(ctx, st.store, st.blobs, a.out), st.close())
	}
	size, err := writeWhole(name, func(w io.Writer) error { return sqlstore.Backup(ctx, st.store, st.blobs, w) })
	if err := errors.Join(err, st.close()); err != nil {
		return err
	}
	return a.print(backedUp{name, size}, func(w io.Writer) {
		fmt.Fprintf(w, "%s written, %s. Restore it with `ktrdr restore %s --data DIR`.\n", name, bytesText(size), name)
	})
}

// backedUp is what backup prints as JSON.
type backedUp struct {
	File string `json:"file"`
	Size int64  `json:"size_bytes"`
}

// writeWhole writes a file durably and whole, or leaves what was there.
func writeWhole(name string, write func(io.Writer) error) (size int64, err error) {
	dir := filepath.Dir(name)
	f, err := os.CreateTemp(dir, "."+filepath.Base(name)+".*.tmp") // 0600 by itself
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	err = write(f)
	if err == nil {
		size, err = f.Seek(0, io.SeekCurrent)
	}
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return 0, err
	}
	if err := os.Rename(f.Name(), name); err != nil {
		return 0, err
	}
	d, err := os.Open(dir)
	if err != nil {
		return 0, err
	}
	return size, errors.Join(d.Sync(), d.Close())
}
