//go:build unix

package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// PartialSuffix ends the name of a file that is being written. Its writer
// holds a lock on it: one without is what a killed process left.
const PartialSuffix = ".ktrdr-partial"

// WriteFile replaces a file, for its user only, and returns its size. It removes
// what killed writers left in the same folder.
func WriteFile(name string, write func(io.Writer) error) (size int64, err error) {
	removePartials(filepath.Dir(name))
	dir := locking{}
	defer func() { _ = dir.file.Close() }() // after the rename: no process takes a locked file for a leftover
	err = Write(&dir, name+PartialSuffix, func(w io.Writer) (string, error) {
		err := write(w)
		if err == nil {
			size, err = dir.file.Seek(0, io.SeekCurrent)
		}
		return name, err
	}, nil)
	return size, err
}

// locking creates files that stay locked until the process that made them
// closes them.
type locking struct {
	Paths

	file *os.File
}

// Create implements Folder.
func (l *locking) Create(name string) (_ File, err error) {
	l.file, err = createPartial(name)
	return openFile{l.file}, err
}

// openFile is a file that Write does not close.
type openFile struct{ *os.File }

func (openFile) Close() error { return nil }

// createPartial makes a file and locks it. Where there are no locks, leftovers
// are not removed either.
func createPartial(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("%s is being written by another process: wait for it, or remove the file if no such process runs", name)
	}
	if err != nil {
		return nil, err
	}
	_ = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	ours, err := f.Stat()
	if err == nil {
		var there os.FileInfo
		if there, err = os.Lstat(name); err == nil && !os.SameFile(ours, there) {
			err = fs.ErrNotExist
		}
	}
	if err != nil { // another process took it for a leftover in the moment before it was locked
		return nil, errors.Join(fmt.Errorf("%s is being written by another process too: %w; try again", name, err), f.Close())
	}
	return f, nil
}

// removePartials removes what killed writers left in a folder. A file that cannot
// be removed does no harm.
func removePartials(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if !e.Type().IsRegular() || !strings.HasSuffix(e.Name(), PartialSuffix) {
			continue
		}
		name := filepath.Join(dir, e.Name())
		f, err := os.OpenFile(name, os.O_RDWR|syscall.O_NOFOLLOW, 0)
		if err != nil {
			continue
		}
		if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			_ = os.Remove(name)
		}
		_ = f.Close()
	}
}
