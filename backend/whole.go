package backend

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

// WriteWhole writes a file durably and whole, for its user only, or leaves
// what was there. Leftovers of killed writers in the same folder are removed.
func WriteWhole(name string, write func(io.Writer) error) (size int64, err error) {
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return 0, wrong("%s is a directory; name a file in it", name)
	}
	dir := filepath.Dir(name)
	removePartials(dir)
	f, err := createPartial(name + PartialSuffix)
	if err != nil {
		return 0, unwritable(name, err)
	}
	defer f.Close()
	err = write(f)
	if err == nil {
		size, err = f.Seek(0, io.SeekCurrent)
	}
	if err = errors.Join(err, f.Sync()); err == nil {
		err = os.Rename(f.Name(), name) // while it is locked, so that nobody takes it for a leftover
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return 0, err
	}
	return size, syncFolder(dir)
}

// createPartial makes a file and locks it. Where there are no locks, leftovers
// are not removed either.
func createPartial(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("%s is being written by another process: wait for it, or remove it if there is none", name)
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
	if err != nil { // somebody took it for a leftover in the moment before it was locked
		return nil, errors.Join(fmt.Errorf("%s is being written by another process too: %w; try again", name, err), f.Close())
	}
	return f, nil
}

// removePartials removes what killed writers left in a folder. What cannot be
// removed is in nobody's way.
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

// syncFolder makes durable which names a folder holds.
func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
