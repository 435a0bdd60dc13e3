package blob

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/atomicfile"
)

// disk is what Dir asks of the operating system, by names relative to its root. Tests put another
// one in its place to fail or to lose what was not yet synced, at every call.
type disk interface {
	atomicfile.Folder
	Open(name string) (*os.File, error)
	Lstat(name string) (fs.FileInfo, error)
	ReadDir(name string) ([]fs.DirEntry, error)
	Mkdir(name string) error // may exist
	Link(from, to string) error
	Touch(name string, at time.Time) error
	Close() error
}

// rootDisk is the real disk under one directory. Nothing it is asked for can
// lie outside, symbolic links included.
type rootDisk struct{ atomicfile.Root }

func newRootDisk(root *os.Root) rootDisk { return rootDisk{atomicfile.Root{Root: root, Perm: 0o600}} }

func (d rootDisk) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(d.FS(), name) }
func (d rootDisk) Touch(name string, at time.Time) error      { return d.Chtimes(name, at, at) }

func (d rootDisk) Mkdir(name string) error {
	err := d.Root.Mkdir(name, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// makeDir makes a directory and those above it that are missing, each durable before the next.
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
	return atomicfile.Paths{}.SyncDir(parent)
}

// diskError gives a failed call its code where it has one: with a full disk
// there is something to do.
func diskError(err error) error {
	full := errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
	if full && ktrdr.CodeOf(err) != ktrdr.CodeNoSpace {
		return ktrdr.Errorf(ktrdr.CodeNoSpace, "no space left for blobs; free some, then repeat the request: %w", err)
	}
	return err
}
