package blob

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"slices"
	"time"

	"github.com/ktrdr/ktrdr"
)

// Trash implements Store.
func (d *Dir) Trash(_ context.Context, h ktrdr.Hash, at time.Time) error {
	to := trashName(h, at)
	if err := d.settle(path.Dir(to)); err != nil {
		return fmt.Errorf("trash blob %s: %w", h, diskError(err))
	}
	d.forget(h)
	if err := d.disk.Rename(blobName(h), to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("trash blob %s: %w", h, diskError(err))
	}
	return nil
}

// Trashed implements Store, in the order of the hashes.
func (d *Dir) Trashed(ctx context.Context) iter.Seq2[Trashed, error] {
	return parsedAs("trashed blobs", d.files(ctx, trashDir), func(f foundFile) (Trashed, bool) {
		t, ok := parseTrash(f.name)
		t.Size = f.Size()
		return t, ok
	})
}

// Purge implements Store.
func (d *Dir) Purge(_ context.Context, t Trashed) error {
	if err := d.remove(trashName(t.Hash, t.At)); err != nil {
		return fmt.Errorf("purge blob %s: %w", t.Hash, err)
	}
	return nil
}

// trashedAs returns the trashings of one blob, newest last.
func (d *Dir) trashedAs(h ktrdr.Hash) ([]Trashed, error) {
	dir := path.Join(trashDir, shard(h))
	entries, err := d.disk.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var all []Trashed
	for _, e := range entries {
		if t, ok := parseTrash(path.Join(dir, e.Name())); ok && t.Hash == h && e.Type().IsRegular() {
			all = append(all, t)
		}
	}
	slices.SortFunc(all, func(a, b Trashed) int { return a.At.Compare(b.At) })
	return all, nil
}

// restore moves the newest trashing of a blob back, if there is one, and makes
// it young again. Nothing is synced: in the trash it is as safe.
func (d *Dir) restore(h ktrdr.Hash) error {
	all, err := d.trashedAs(h)
	if err != nil || len(all) == 0 {
		return err
	}
	from := trashName(h, all[len(all)-1].At)
	if err := d.settle(shard(h)); err != nil {
		return diskError(err)
	}
	err = d.disk.Touch(from, time.Now())
	if err == nil {
		err = d.disk.Rename(from, blobName(h))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // when it is gone, another process was first
		return diskError(err)
	}
	return nil
}
