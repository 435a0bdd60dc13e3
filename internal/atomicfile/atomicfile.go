// Package atomicfile writes files durably: after a crash or a power failure
// there is the complete new file, or what was there before.
package atomicfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"runtime"
)

// Folder is where files are written. Names are relative to it.
type Folder interface {
	Create(name string) (File, error) // must not exist
	Rename(from, to string) error
	Remove(name string) error
	SyncDir(name string) error // makes the names in a folder durable
}

// File is a file that is being written.
type File interface {
	io.WriteCloser
	Sync() error
}

// Stage is a point of a write at which a test may end the process.
type Stage int

// The steps of a write, in order.
const (
	Created Stage = iota // the temporary file exists and is empty
	Written              // its content is written, not durable
	Synced               // its content is durable
	Renamed              // it has its name, which is not durable
	Durable              // its name is durable
)

// Write creates a temporary file, fills it, and gives it the name that fill
// returns. On an error it removes the temporary file. after is called after
// each step; it may be nil.
func Write(dir Folder, temp string, fill func(io.Writer) (name string, err error), after func(Stage)) error {
	if after == nil {
		after = func(Stage) {}
	}
	var name string
	err := create(dir, temp, func(w io.Writer) (err error) {
		name, err = fill(w)
		return err
	}, after)
	if err != nil {
		return err
	}
	if err := dir.Rename(temp, name); err != nil {
		_ = dir.Remove(temp)
		return err
	}
	after(Renamed)
	if err := dir.SyncDir(path.Dir(name)); err != nil {
		return err
	}
	after(Durable)
	return nil
}

// Create creates a file and makes its content durable, but not its name. On an
// error it removes the file.
func Create(dir Folder, name string, fill func(io.Writer) error) error {
	return create(dir, name, fill, func(Stage) {})
}

func create(dir Folder, name string, fill func(io.Writer) error, after func(Stage)) error {
	f, err := dir.Create(name)
	if err != nil {
		return err
	}
	after(Created)
	if err = fill(f); err == nil {
		after(Written)
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		_ = dir.Remove(name)
		return err
	}
	after(Synced)
	return nil
}

// Root is a Folder outside of which nothing can be reached.
type Root struct {
	*os.Root
	Perm fs.FileMode // of new files
}

// Create implements Folder.
func (r Root) Create(name string) (File, error) {
	return r.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, r.Perm)
}

// SyncDir implements Folder.
func (r Root) SyncDir(name string) error { return syncDir(r.Open, name) }

// Paths is the Folder whose names are paths. New files are for their user only.
type Paths struct{}

// Create implements Folder.
func (Paths) Create(name string) (File, error) {
	return os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}

// Rename implements Folder.
func (Paths) Rename(from, to string) error { return os.Rename(from, to) }

// Remove implements Folder.
func (Paths) Remove(name string) error { return os.Remove(name) }

// SyncDir implements Folder.
func (Paths) SyncDir(name string) error { return syncDir(os.Open, name) }

func syncDir(open func(string) (*os.File, error), name string) error {
	if runtime.GOOS == "windows" {
		return nil // it keeps names without being asked, and cannot sync a folder
	}
	d, err := open(name)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
