package blob

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"sync"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/fault"
)

// tempAge is how long a temporary file may lie without a write before it is
// taken for the leftover of a process that died.
const tempAge = time.Hour

// maxKnown bounds what is remembered of durable blobs; to forget one costs a
// sync, nothing else.
const maxKnown = 10_000

// looks is how often a blob is looked for in its place and in the trash before
// it is called missing.
const looks = 3

// Config is how a directory is kept.
type Config struct {
	MaxSize int64 // largest blob accepted; 0 means DefaultMaxSize
}

// Dir is a Store in a directory of the local disk, or of a mount that several
// backends share. Files are 0600 and directories 0700; whatever is not a
// regular file is refused.
type Dir struct {
	disk    disk
	maxSize int64
	settled sync.Map // directories known to be durable; see settle

	mu    sync.Mutex
	known map[ktrdr.Hash]bool // blobs known to be durable; see secure
}

var _ Store = (*Dir)(nil)

// OpenDir opens the store in a directory, which is made if it is missing, and
// removes what dead processes left half-written in it.
func OpenDir(dir string, c Config) (*Dir, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("blob directory %s: %w", dir, err)
	}
	if err := makeDir(abs); err != nil {
		return nil, fmt.Errorf("blob directory: %w", diskError(err))
	}
	root, err := os.OpenRoot(abs)
	if err != nil {
		return nil, fmt.Errorf("blob directory: %w", err)
	}
	d := newDir(rootDisk{root}, c)
	if err := d.sweepTemp(time.Now().Add(-tempAge)); err != nil {
		return nil, errors.Join(fmt.Errorf("blob directory %s: %w", dir, err), root.Close())
	}
	return d, nil
}

func newDir(k disk, c Config) *Dir {
	return &Dir{disk: k, maxSize: cmp.Or(c.MaxSize, DefaultMaxSize), known: make(map[ktrdr.Hash]bool)}
}

// sweepTemp removes temporary files last written before the instant.
func (d *Dir) sweepTemp(before time.Time) error {
	entries, err := d.disk.ReadDir(tempDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		fi, err := e.Info()
		if err != nil || fi.ModTime().After(before) {
			continue // gone meanwhile, or somebody's
		}
		if err := d.disk.Remove(path.Join(tempDir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return err
}

// Put implements ktrdr.Blobs. CodeCorrupt, CodeTooLarge, CodeNoSpace.
func (d *Dir) Put(ctx context.Context, want ktrdr.Hash, r io.Reader) (int64, error) {
	_, size, err := d.put(ctx, r, func(got ktrdr.Hash) error { return match(want, got) })
	if err != nil {
		return 0, fmt.Errorf("put blob %s: %w", want, err)
	}
	return size, nil
}

// PutAny implements Store. CodeTooLarge, CodeNoSpace.
func (d *Dir) PutAny(ctx context.Context, r io.Reader) (ktrdr.Hash, int64, error) {
	h, size, err := d.put(ctx, r, func(ktrdr.Hash) error { return nil })
	if err != nil {
		return ktrdr.Hash{}, 0, fmt.Errorf("put blob: %w", err)
	}
	return h, size, nil
}

// put writes a temporary file, makes it durable, and only then gives it its
// name and makes the name durable: after a crash at any instant there is the
// whole blob or none.
func (d *Dir) put(ctx context.Context, r io.Reader, accept func(ktrdr.Hash) error) (h ktrdr.Hash, size int64, err error) {
	temp := path.Join(tempDir, rand.Text())
	defer func() {
		if err != nil {
			_ = d.disk.Remove(temp) // what stays is swept at a later start
		}
		if errors.Is(err, fs.ErrNotExist) {
			d.settled.Clear() // somebody removed directories; make them anew next time
		}
	}()
	if err := d.settle(tempDir); err != nil {
		return h, 0, diskError(err)
	}
	if h, size, err = d.write(ctx, temp, r, accept); err != nil {
		return h, 0, err
	}
	if err := d.place(temp, h); err != nil {
		return h, 0, diskError(err)
	}
	return h, size, nil
}

// place gives a durable file the name of its blob, durably.
func (d *Dir) place(temp string, h ktrdr.Hash) error {
	if err := d.settle(shard(h)); err != nil {
		return err
	}
	if err := d.disk.Rename(temp, blobName(h)); err != nil {
		return err
	}
	fault.Hit(fault.BlobRenamed)
	if err := d.disk.SyncDir(shard(h)); err != nil {
		return err
	}
	fault.Hit(fault.BlobDurable)
	d.remember(h)
	return nil
}

// secure makes a blob's name durable, unless it is known to be. Whoever gave it
// its name may have died before syncing, or be about to sync; a row must not
// name it before.
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

// write fills a new file with what r holds and, if its hash is accepted, syncs
// it.
func (d *Dir) write(ctx context.Context, name string, r io.Reader, accept func(ktrdr.Hash) error) (ktrdr.Hash, int64, error) {
	f, err := d.disk.Create(name)
	if err != nil {
		return ktrdr.Hash{}, 0, diskError(err)
	}
	fault.Hit(fault.BlobCreated)
	h, size, err := receive(ctx, f, r, d.maxSize)
	if err == nil {
		fault.Hit(fault.BlobWritten)
		err = accept(h)
	}
	if err == nil {
		err = diskError(f.Sync())
	}
	if closed := f.Close(); err == nil {
		err = diskError(closed)
	}
	if err == nil {
		fault.Hit(fault.BlobSynced)
	}
	return h, size, err
}

// settle makes a directory and those above it, durably. One that is there
// already may have been made by a process that died before it synced, so each
// is synced once in the life of this process, whoever made it.
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

// Open implements ktrdr.Blobs. CodeNotFound; CodeCorrupt when something that is
// no regular file stands in the blob's place.
func (d *Dir) Open(ctx context.Context, h ktrdr.Hash) (ktrdr.BlobReader, error) {
	var r *fileReader
	err := d.find(ctx, h, func() error {
		fi, err := d.lstat(h)
		if err != nil {
			return err
		}
		f, err := d.disk.Open(blobName(h))
		if err != nil {
			return err
		}
		r = &fileReader{File: f, size: fi.Size()}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// fileReader embeds the file, so that net/http can hand it to sendfile.
type fileReader struct {
	*os.File
	size int64
}

func (r *fileReader) Size() int64 { return r.size }

// Stat implements ktrdr.Blobs. A blob it tells of is as durable as one that was
// just put: a row may name it. CodeNotFound, CodeCorrupt as Open.
func (d *Dir) Stat(ctx context.Context, h ktrdr.Hash) (info ktrdr.BlobInfo, err error) {
	err = d.find(ctx, h, func() error {
		fi, err := d.lstat(h)
		if err != nil {
			return err
		}
		info = ktrdr.BlobInfo{Hash: h, Size: fi.Size(), ModTime: fi.ModTime()}
		return d.secure(h)
	})
	return info, err
}

func (d *Dir) lstat(h ktrdr.Hash) (fs.FileInfo, error) {
	fi, err := d.disk.Lstat(blobName(h))
	if err != nil {
		return nil, err
	}
	if !fi.Mode().IsRegular() {
		return nil, ktrdr.Errorf(ktrdr.CodeCorrupt, "a %v stands in its place; remove it", fi.Mode().Type())
	}
	return fi, nil
}

// find runs look on a live blob, bringing it back from the trash if it is
// there. A collector or another reader may move it between our two looks, so
// one miss is not believed.
func (d *Dir) find(ctx context.Context, h ktrdr.Hash, look func() error) error {
	for range looks {
		if ctx.Err() != nil {
			return fmt.Errorf("blob %s: %w", h, context.Cause(ctx))
		}
		err := look()
		if err == nil {
			return nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("blob %s: %w", h, err)
		}
		if err := d.restore(h); err != nil {
			return fmt.Errorf("restore blob %s: %w", h, err)
		}
	}
	return notFound(h)
}

// Delete implements ktrdr.Blobs: at once, the trash included. It is for what is
// known to be unwanted; garbage is for Collect.
func (d *Dir) Delete(ctx context.Context, h ktrdr.Hash) error {
	trashed, err := d.trashedAs(h)
	if err != nil {
		return fmt.Errorf("delete blob %s: %w", h, err)
	}
	if err := d.remove(blobName(h)); err != nil {
		return fmt.Errorf("delete blob %s: %w", h, err)
	}
	for _, t := range trashed {
		if err := d.Purge(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

// remove removes a file; that it is gone already is no error. Nothing is
// synced: a deletion undone by a crash is repeated by whoever wanted it.
func (d *Dir) remove(name string) error {
	if err := d.disk.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// List implements ktrdr.Blobs, in the order of the hashes. Files that are no
// blobs of ours are passed over.
func (d *Dir) List(ctx context.Context) iter.Seq2[ktrdr.BlobInfo, error] {
	return func(yield func(ktrdr.BlobInfo, error) bool) {
		for f, err := range d.files(ctx, ".") {
			if err != nil {
				yield(ktrdr.BlobInfo{}, fmt.Errorf("list blobs: %w", err))
				return
			}
			h, ok := parseBlob(f.name)
			if ok && !yield(ktrdr.BlobInfo{Hash: h, Size: f.Size(), ModTime: f.ModTime()}, nil) {
				return
			}
		}
	}
}

// foundFile is a regular file and its name from the root.
type foundFile struct {
	fs.FileInfo
	name string
}

// files yields the regular files in the shards under a directory.
func (d *Dir) files(ctx context.Context, base string) iter.Seq2[foundFile, error] {
	return func(yield func(foundFile, error) bool) { d.walk(ctx, base, 2, yield) }
}

// walk goes down the given number of shard levels. It says whether to go on.
func (d *Dir) walk(ctx context.Context, dir string, levels int, yield func(foundFile, error) bool) bool {
	if ctx.Err() != nil {
		yield(foundFile{}, context.Cause(ctx))
		return false
	}
	entries, err := d.disk.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		yield(foundFile{}, err)
		return false
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		if levels > 0 {
			if e.IsDir() && isShard(e.Name()) && !d.walk(ctx, name, levels-1, yield) {
				return false
			}
			continue
		}
		fi, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) || err == nil && !fi.Mode().IsRegular() {
			continue
		}
		if !yield(foundFile{FileInfo: fi, name: name}, err) || err != nil {
			return false
		}
	}
	return true
}

// Close releases the directory.
func (d *Dir) Close() error { return d.disk.Close() }
