package blob

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/atomicfile"
)

// faultyDisk fails the k-th call, and with dead every one after it.
type faultyDisk struct {
	disk
	k, calls int
	err      error
	short    bool // a failing write writes half of what it was given
	dead     bool
	fired    bool
	healed   bool // no fault from now on
}

func (d *faultyDisk) fails() bool {
	d.calls++
	if d.healed || d.calls < d.k || d.calls > d.k && !d.dead {
		return false
	}
	d.fired = true
	return true
}

// do runs a call, or fails in its place.
func (d *faultyDisk) do(call func() error) error {
	if d.fails() {
		return d.err
	}
	return call()
}

func (d *faultyDisk) Create(name string) (atomicfile.File, error) {
	if d.fails() {
		return nil, d.err
	}
	f, err := d.disk.Create(name)
	return &faultyFile{File: f, disk: d}, err
}

func (d *faultyDisk) Open(name string) (*os.File, error) {
	if d.fails() {
		return nil, d.err
	}
	return d.disk.Open(name)
}

func (d *faultyDisk) Lstat(name string) (fs.FileInfo, error) {
	if d.fails() {
		return nil, d.err
	}
	return d.disk.Lstat(name)
}

func (d *faultyDisk) ReadDir(name string) ([]fs.DirEntry, error) {
	if d.fails() {
		return nil, d.err
	}
	return d.disk.ReadDir(name)
}

func (d *faultyDisk) Mkdir(name string) error {
	return d.do(func() error { return d.disk.Mkdir(name) })
}

func (d *faultyDisk) Remove(name string) error {
	return d.do(func() error { return d.disk.Remove(name) })
}

func (d *faultyDisk) SyncDir(name string) error {
	return d.do(func() error { return d.disk.SyncDir(name) })
}

func (d *faultyDisk) Rename(from, to string) error {
	return d.do(func() error { return d.disk.Rename(from, to) })
}

func (d *faultyDisk) Link(from, to string) error {
	return d.do(func() error { return d.disk.Link(from, to) })
}

func (d *faultyDisk) Touch(name string, at time.Time) error {
	return d.do(func() error { return d.disk.Touch(name, at) })
}

type faultyFile struct {
	atomicfile.File
	disk *faultyDisk
}

func (f *faultyFile) Write(p []byte) (int, error) {
	if !f.disk.fails() {
		return f.File.Write(p)
	}
	if !f.disk.short {
		return 0, f.disk.err
	}
	n, _ := f.File.Write(p[:len(p)/2])
	return n, f.disk.err
}

func (f *faultyFile) Sync() error { return f.disk.do(f.File.Sync) }

func (f *faultyFile) Close() error {
	failed := f.disk.do(func() error { return nil })
	return errors.Join(failed, f.File.Close())
}

var faults = map[string]faultyDisk{
	"EIO":               {err: syscall.EIO},
	"ENOSPC":            {err: syscall.ENOSPC},
	"EDQUOT":            {err: syscall.EDQUOT},
	"short write":       {err: io.ErrShortWrite, short: true},
	"EIO, then nothing": {err: syscall.EIO, dead: true},
}

// atEveryCall runs a scenario with a fault at its first disk call, at its
// second, and each after that, until it has no more calls.
func atEveryCall(t *testing.T, scenario func(t *testing.T, dir string, k *faultyDisk)) {
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for k := 1; ; k++ {
				dir := t.TempDir()
				root, err := os.OpenRoot(dir)
				if err != nil {
					t.Fatal(err)
				}
				d := fault
				d.disk, d.k = newRootDisk(root), k
				scenario(t, dir, &d)
				root.Close()
				if t.Failed() {
					t.Fatalf("with the fault at call %d", k)
				}
				if !d.fired {
					if k < 5 {
						t.Fatalf("only %d calls were made: the seam is not in use", k-1)
					}
					return
				}
			}
		})
	}
}

// inPieces hides everything but Read, so that a copy needs several writes.
func inPieces(b []byte) io.Reader { return struct{ io.Reader }{bytes.NewReader(b)} }

func TestDir_PutThatFailsAtAnyCallLeavesAllOrNothing(t *testing.T) {
	b := bytesOf(1, 100<<10)
	h := hashOf(b)
	atEveryCall(t, func(t *testing.T, dir string, k *faultyDisk) {
		d := newDir(k, Config{})
		_, err := d.Put(t.Context(), h, inPieces(b))
		if k.fired != (err != nil) {
			t.Fatalf("fault fired: %v, but err = %v", k.fired, err)
		}
		if full := errors.Is(k.err, syscall.ENOSPC) || errors.Is(k.err, syscall.EDQUOT); err != nil && full {
			wantCode(t, err, ktrdr.CodeNoSpace)
		}
		switch seen := readBlob(t.Context(), openDir(t, dir), h, io.Discard); {
		case err == nil && seen != nil:
			t.Fatalf("acknowledged, but: %v", seen)
		case seen != nil && ktrdr.CodeOf(seen) != ktrdr.CodeNotFound:
			t.Fatalf("neither whole nor absent: %v", seen)
		}
		if k.dead {
			d = openDir(t, dir)
		}
		k.healed = true
		if _, err := d.Put(t.Context(), h, inPieces(b)); err != nil {
			t.Fatalf("a second try: %v", err)
		}
		mustRead(t, openDir(t, dir), b)
	})
}

func TestDir_TrashingThatFailsAtAnyCallLosesNothing(t *testing.T) {
	b := bytesOf(1, 1000)
	atEveryCall(t, func(t *testing.T, dir string, k *faultyDisk) {
		put(t, openDir(t, dir), b)
		d := newDir(k, Config{})
		trashErr := d.Trash(t.Context(), hashOf(b), time.Now())
		_, statErr := d.Stat(t.Context(), hashOf(b))
		if err := errors.Join(trashErr, statErr); k.fired != (err != nil) {
			t.Fatalf("fault fired: %v, but err = %v", k.fired, err)
		}
		if ktrdr.CodeOf(statErr) == ktrdr.CodeNotFound {
			t.Fatalf("a failing disk made a blob look missing: %v", statErr)
		}
		mustRead(t, openDir(t, dir), b)
	})
}

func TestDir_IdentityThatFailsAtAnyCallIsCompleteOrAbsent(t *testing.T) {
	atEveryCall(t, func(t *testing.T, dir string, k *faultyDisk) {
		told, err := newDir(k, Config{}).Identity(t.Context())
		again, err2 := openDir(t, dir).Identity(t.Context())
		if err2 != nil {
			t.Fatalf("a second try: %v (the first: %v)", err2, err)
		}
		if err == nil && told != again {
			t.Fatalf("told %q, then %q", told, again)
		}
	})
}

func TestCheck_UnreadableBlobIsCorrupt(t *testing.T) {
	h := hashOf([]byte("x"))
	err := verify(t.Context(), h, io.Discard, badSector{})
	wantCode(t, err, ktrdr.CodeCorrupt)
	if !errors.Is(err, syscall.EIO) {
		t.Errorf("err = %v, want it to say EIO", err)
	}
}

// badSector is a file that can be opened but not read.
type badSector struct{ io.ReadSeekCloser }

func (badSector) Size() int64 { return 1 }

func (badSector) Read([]byte) (int, error) {
	return 0, fmt.Errorf("read: %w", syscall.EIO)
}
