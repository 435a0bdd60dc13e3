package blob

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"sync"
	"time"

	"github.com/ktrdr/ktrdr"
)

// tempAge is how long a temporary file may lie without a write before it is
// taken for the leftover of a process that died.
const tempAge = time.Hour

// looks is how often a blob is looked for in its place and in the trash before
// it is called missing.
const looks = 3

// Config is how a directory is kept.
type Config struct {
	MaxSize int64 // largest blob accepted; 0 means DefaultMaxSize
}

// Dir is a Store in a directory of the local disk, or of a mount that several backends share. Files
// are 0600 and directories 0700; whatever is not a regular file is refused.
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
	d := newDir(newRootDisk(root), c)
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
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		fi, err := e.Info()
		if err != nil || !fi.Mode().IsRegular() || fi.ModTime().After(before) {
			continue // gone meanwhile, not ours, or being written
		}
		if err := d.remove(path.Join(tempDir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// Open implements ktrdr.Blobs. CodeNotFound; CodeCorrupt when something that is
// no regular file stands in the blob's place.
func (d *Dir) Open(ctx context.Context, h ktrdr.Hash) (ktrdr.BlobReader, error) {
	var f *os.File
	err := d.find(ctx, h, func() (err error) {
		if _, err = d.lstat(h); err == nil {
			f, err = d.disk.Open(blobName(h))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	fi, err := f.Stat()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("blob %s: %w", h, err), f.Close())
	}
	return &fileReader{File: f, size: fi.Size()}, nil
}

// fileReader embeds the file, so that net/http can hand it to sendfile.
type fileReader struct {
	*os.File
	size int64
}

func (r *fileReader) Size() int64 { return r.size }

// Stat implements ktrdr.Blobs. A blob that it finds is as durable as one that
// was just put: a row may name it. CodeNotFound, CodeCorrupt as Open.
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

// find runs look on a live blob, bringing it back from the trash if it is there. A collector or
// another reader may move it between our two looks, so one miss is not believed.
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
	d.forget(h)
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
// synced: after a crash the same deletion is made again.
func (d *Dir) remove(name string) error {
	if err := d.disk.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// List implements ktrdr.Blobs, in the order of the hashes. Files that are no
// blobs of ours are passed over.
func (d *Dir) List(ctx context.Context) iter.Seq2[ktrdr.BlobInfo, error] {
	return parsedAs("blobs", d.files(ctx, "."), func(f foundFile) (ktrdr.BlobInfo, bool) {
		h, ok := parseBlob(f.name)
		return ktrdr.BlobInfo{Hash: h, Size: f.Size(), ModTime: f.ModTime()}, ok
	})
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

// walk visits the given number of shard levels. It returns false to stop the listing.
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
