package blob

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
)

// Trash implements Store.
func (d *Dir) Trash(_ context.Context, h ktrdr.Hash, at time.Time) error {
	to := trashName(h, at)
	if err := d.settle(path.Dir(to)); err != nil {
		return fmt.Errorf("trash blob %s: %w", h, diskError(err))
	}
	if err := d.disk.Rename(blobName(h), to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("trash blob %s: %w", h, diskError(err))
	}
	return nil
}

// Trashed implements Store, in the order of the hashes.
func (d *Dir) Trashed(ctx context.Context) iter.Seq2[Trashed, error] {
	return func(yield func(Trashed, error) bool) {
		for f, err := range d.files(ctx, trashDir) {
			if err != nil {
				yield(Trashed{}, fmt.Errorf("list trashed blobs: %w", err))
				return
			}
			t, ok := parseTrash(f.name)
			t.Size = f.Size()
			if ok && !yield(t, nil) {
				return
			}
		}
	}
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
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // when it is gone, somebody else was first
		return diskError(err)
	}
	return nil
}

// Identity implements ktrdr.Blobs. Two processes that ask an empty directory at
// once get the same answer: a hard link, unlike a rename, does not replace.
func (d *Dir) Identity(context.Context) (string, error) {
	id, err := d.readIdentity()
	if errors.Is(err, fs.ErrNotExist) {
		if err = d.makeIdentity(); err == nil {
			id, err = d.readIdentity()
		}
	}
	if err == nil {
		err = d.disk.SyncDir(".") // also for one who linked it and died: what is told once must stay
	}
	if err != nil {
		return "", fmt.Errorf("identity of the blob directory: %w", err)
	}
	return id, nil
}

func (d *Dir) readIdentity() (string, error) {
	f, err := d.disk.Open(identityName)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 1<<10))
	if err != nil {
		return "", err
	}
	return parseIdentity(b)
}

func (d *Dir) makeIdentity() error {
	if err := d.settle(tempDir); err != nil {
		return diskError(err)
	}
	temp := path.Join(tempDir, rand.Text())
	defer func() { _ = d.disk.Remove(temp) }() // what stays is swept at a later start
	f, err := d.disk.Create(temp)
	if err != nil {
		return diskError(err)
	}
	_, err = io.WriteString(f, newIdentity())
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = d.disk.Link(temp, identityName)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return diskError(err)
	}
	return nil
}

func newIdentity() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails since Go 1.24
	return hex.EncodeToString(b[:]) + "\n"
}

// parseIdentity refuses what we did not write: a root whose identity changes
// would no longer be the one that the database knows.
func parseIdentity(b []byte) (string, error) {
	id := strings.TrimSuffix(string(b), "\n")
	if raw, err := hex.DecodeString(id); err != nil || len(raw) != 16 {
		return "", ktrdr.Errorf(ktrdr.CodeCorrupt, "%q holds something else than 32 hex digits; put back the one that was there", identityName)
	}
	return id, nil
}
