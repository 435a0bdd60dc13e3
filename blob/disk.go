package blob

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/ktrdr/ktrdr"
)

// disk is what Dir asks of the operating system, by names relative to its
// root. Tests put another one in its place to fail or to lose what was not yet
// synced, at every call.
type disk interface {
	Create(name string) (diskFile, error) // must not exist
	Open(name string) (*os.File, error)
	Lstat(name string) (fs.FileInfo, error)
	ReadDir(name string) ([]fs.DirEntry, error)
	Mkdir(name string) error // may exist
	Rename(from, to string) error
	Link(from, to string) error
	Remove(name string) error
	Touch(name string, at time.Time) error
	SyncDir(name string) error
	Close() error
}

type diskFile interface {
	io.WriteCloser
	Sync() error
}

// rootDisk is the real disk under one directory. Nothing it is asked for can
// lie outside, symbolic links included.
type rootDisk struct{ root *os.Root }

func (d rootDisk) Create(name string) (diskFile, error) {
	return d.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}

func (d rootDisk) Open(name string) (*os.File, error)         { return d.root.Open(name) }
func (d rootDisk) Lstat(name string) (fs.FileInfo, error)     { return d.root.Lstat(name) }
func (d rootDisk) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(d.root.FS(), name) }
func (d rootDisk) Rename(from, to string) error               { return d.root.Rename(from, to) }
func (d rootDisk) Link(from, to string) error                 { return d.root.Link(from, to) }
func (d rootDisk) Remove(name string) error                   { return d.root.Remove(name) }
func (d rootDisk) Touch(name string, at time.Time) error      { return d.root.Chtimes(name, at, at) }
func (d rootDisk) Close() error                               { return d.root.Close() }

func (d rootDisk) Mkdir(name string) error {
	err := d.root.Mkdir(name, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

func (d rootDisk) SyncDir(name string) error {
	f, err := d.root.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// makeDir makes a directory and those above it that are missing, each durable
// before the next.
func makeDir(dir string) error {
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	parent := filepath.Dir(dir)
	if err := makeDir(parent); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	f, err := os.Open(parent)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// diskError gives a failed call its code where it has one: with a full disk
// there is something to do.
func diskError(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return ktrdr.Errorf(ktrdr.CodeNoSpace, "no space left for blobs; free some, then repeat the request: %w", err)
	}
	return err
}
