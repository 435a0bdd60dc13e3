package blob

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/fault"
	"github.com/ktrdr/ktrdr/internal/atomicfile"
)

// maxKnown bounds what is remembered of durable blobs; to forget one costs a
// sync, nothing else.
const maxKnown = 10_000

// Put implements ktrdr.Blobs. CodeCorrupt, CodeTooLarge, CodeNoSpace.
//
// It writes a temporary file, makes it durable, and only then gives it its name and
// makes the name durable: after a crash at any instant there is the complete blob or
// none. What stays of a temporary file is removed at a later start.
func (d *Dir) Put(ctx context.Context, want ktrdr.Hash, r io.Reader) (size int64, err error) {
	if err = d.settle(tempDir); err == nil {
		err = atomicfile.Write(d.disk, path.Join(tempDir, rand.Text()), func(w io.Writer) (string, error) {
			got, n, err := receive(ctx, w, r, d.maxSize)
			if size = n; err == nil {
				err = match(want, got)
			}
			if err == nil {
				err = d.settle(shard(want))
			}
			return blobName(want), err
		}, func(s atomicfile.Stage) { fault.Hit(blobPoints[s]) })
	}
	if errors.Is(err, fs.ErrNotExist) {
		d.settled.Clear() // directories were removed; make them again next time
	}
	if err != nil {
		return 0, fmt.Errorf("put blob %s: %w", want, diskError(err))
	}
	d.remember(want)
	return size, nil
}

var blobPoints = [...]fault.Point{
	atomicfile.Created: fault.BlobCreated, atomicfile.Written: fault.BlobWritten, atomicfile.Synced: fault.BlobSynced,
	atomicfile.Renamed: fault.BlobRenamed, atomicfile.Durable: fault.BlobDurable,
}

// secure makes a blob's name durable, unless it is known to be. The process that
// gave it its name may have died before it synced, or be about to sync. No row may
// name the blob before.
func (d *Dir) secure(h ktrdr.Hash) error {
	d.mu.Lock()
	known := d.known[h]
	d.mu.Unlock()
	if known {
		return nil
	}
	if err := d.settle(shard(h)); err != nil {
		return err
	}
	if err := d.disk.SyncDir(shard(h)); err != nil {
		return err
	}
	d.remember(h)
	return nil
}

func (d *Dir) remember(h ktrdr.Hash) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.known) >= maxKnown {
		clear(d.known)
	}
	d.known[h] = true
}

func (d *Dir) forget(h ktrdr.Hash) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.known, h)
}

// settle makes a directory and those above it, durably. One that is there
// already may have been made by a process that died before it synced, so each
// is synced once in the life of this process.
func (d *Dir) settle(dir string) error {
	if dir == "." {
		return nil
	}
	if _, ok := d.settled.Load(dir); ok {
		return nil
	}
	parent := path.Dir(dir)
	if err := d.settle(parent); err != nil {
		return err
	}
	if err := d.disk.Mkdir(dir); err != nil {
		return err
	}
	if err := d.disk.SyncDir(parent); err != nil {
		return err
	}
	d.settled.Store(dir, true)
	return nil
}
