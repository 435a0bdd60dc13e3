package export

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/atomicfile"
)

// Format is what tables are written as.
type Format string

// The formats. Their names are the endings of files.
const (
	CSV     Format = "csv"
	Parquet Format = "parquet"
)

// Written is a file of an export.
type Written struct {
	File string `json:"file"`
	Rows int    `json:"rows"`
}

// Write writes tables as files of a folder, which it makes if it does not exist. No
// file gets its name before all are written. Existing files are refused unless
// force replaces them: CodeConflict.
func Write(dir string, as Format, force bool, tables []Table) (_ []Written, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // as a shell would make it
		return nil, fmt.Errorf("folder of the export: %w", err)
	}
	list := make([]Written, len(tables))
	for i, t := range tables {
		list[i] = Written{filepath.Join(dir, t.Name()+"."+string(as)), t.Len()}
		if err := free(list[i].File, force); err != nil {
			return nil, err
		}
	}
	temp, err := os.MkdirTemp(dir, ".export-*.partial")
	if err != nil {
		return nil, fmt.Errorf("folder of the export: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	for i, t := range tables {
		if err := write(t, as, filepath.Join(temp, filepath.Base(list[i].File))); err != nil {
			return nil, fmt.Errorf("%s: %w", list[i].File, err)
		}
	}
	for i := range list {
		if err := free(list[i].File, force); err != nil { // another export may have been faster
			return nil, err
		}
		if err := os.Rename(filepath.Join(temp, filepath.Base(list[i].File)), list[i].File); err != nil {
			return nil, err
		}
	}
	return list, atomicfile.Paths{}.SyncDir(dir)
}

func write(t Table, as Format, name string) error {
	return atomicfile.Create(atomicfile.Paths{}, name, func(w io.Writer) error {
		buffered := bufio.NewWriterSize(w, 1<<16)
		do := t.writeCSV
		if as == Parquet {
			do = t.writeParquet
		}
		if err := do(buffered); err != nil {
			return err
		}
		return buffered.Flush()
	})
}

func free(name string, force bool) error {
	info, err := os.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return ktrdr.Errorf(ktrdr.CodeConflict, "%s exists and is no file: name another folder", name)
	case !force:
		return ktrdr.Errorf(ktrdr.CodeConflict, "%s exists: name another folder, or replace it with --force", name)
	}
	return nil
}
