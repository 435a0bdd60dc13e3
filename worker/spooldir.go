package worker

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/fault"
	"github.com/ktrdr/ktrdr/internal/atomicfile"
	"github.com/ktrdr/ktrdr/internal/backoff"
)

// unreadable is the folder for entries that could not be read back. It is
// evidence for a person; no worker looks into it.
const unreadable = "unreadable"

// Another worker that looks for dead ones' folders may hold a lock for a
// moment; one that is held for longer belongs to a living worker.
const (
	lockTries = 100
	lockPause = 10 * time.Millisecond
)

// openSpool makes the folder of a new life and locks it.
func openSpool(ctx context.Context, root string, id ktrdr.WorkerID, log *slog.Logger) (*spool, error) {
	s := &spool{root: root, dir: filepath.Join(root, string(id)), log: log}
	for range lockTries {
		if err := os.MkdirAll(s.dir, 0o700); err != nil {
			return nil, fmt.Errorf("spool: %w", err)
		}
		ok, err := s.acquire(os.O_CREATE)
		if ok {
			return s, atomicfile.Paths{}.SyncDir(root)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // gone: the empty folder was taken for a dead worker's
			return nil, fmt.Errorf("spool: %w", err)
		}
		if !backoff.Sleep(ctx, lockPause) {
			return nil, fmt.Errorf("spool: lock %s: %w", s.dir, context.Cause(ctx))
		}
	}
	return nil, fmt.Errorf("spool: worker id %s is in use in %s; an id is for one life only", id, root)
}

// acquire locks the folder; false means that another process holds it, or that it was
// replaced while it was being locked, and fs.ErrNotExist that it is gone.
func (s *spool) acquire(flag int) (ok bool, err error) {
	s.lock, err = atomicfile.Lock(s.path("lock"), flag)
	return s.lock != nil, err
}

// deadSpools locks and loads the folders whose worker is gone.
func deadSpools(root string, log *slog.Logger) ([]*spool, error) {
	folders, err := os.ReadDir(root)
	if err != nil {
		return nil, fmt.Errorf("spool: %w", err)
	}
	var dead []*spool
	for _, f := range folders {
		if !f.IsDir() || f.Name() == unreadable {
			continue
		}
		s := &spool{root: root, dir: filepath.Join(root, f.Name()), log: log}
		ok, err := s.acquire(0)
		if errors.Is(err, fs.ErrNotExist) {
			_ = os.Remove(s.dir) // killed before it could lock; does nothing unless empty
			continue
		}
		if err != nil {
			log.Warn("spool folder cannot be locked", "folder", f.Name(), "err", err)
			continue
		}
		if !ok {
			continue
		}
		if err := s.load(); err != nil {
			log.Warn("spool folder cannot be read", "folder", f.Name(), "err", err)
			_ = s.lock.Close()
			continue
		}
		dead = append(dead, s)
	}
	return dead, nil
}

// load finds the entries of a dead worker.
func (s *spool) load() error {
	files, err := os.ReadDir(s.dir)
	if err != nil {
		return err
	}
	for _, f := range files { // sorted by name, hence by number
		digits, isEntry := strings.CutSuffix(f.Name(), ".json")
		seq, err := strconv.ParseUint(digits, 10, 64)
		if !isEntry || err != nil || entryName(seq) != f.Name() {
			continue
		}
		s.next = seq
		data, err := os.ReadFile(s.path(f.Name()))
		if err != nil {
			return err
		}
		e, err := unseal(data)
		if err != nil {
			s.setAside(f.Name(), err)
			continue
		}
		s.waiting = append(s.waiting, remember(seq, e))
	}
	return nil
}

// read returns an entry whose blobs were checked; their bytes stay on disk.
func (s *spool) read(x *spooled) (*entry, error) {
	if x.held != nil {
		return x.held, nil
	}
	data, err := os.ReadFile(s.path(entryName(x.seq)))
	if err != nil {
		return nil, err
	}
	e, err := unseal(data)
	if err != nil {
		return nil, err
	}
	if e.claim() != x.claim {
		return nil, errors.New("the entry has changed since it was written")
	}
	e.dir = s.dir
	for _, a := range e.artifacts() {
		err := e.check(a)
		if err == nil {
			continue
		}
		if e.Finished == nil {
			return nil, fmt.Errorf("artifact %s: %w", a.Name, err)
		}
		s.log.Warn("last checkpoint cannot be read back; delivering the result without it", "op", x.claim.op, "epoch", x.claim.epoch, "err", err)
		e.Finished.Checkpoint = nil // the result does not depend on it
		break
	}
	return e, nil
}

// setAside keeps an unreadable entry where a person can look at it.
func (s *spool) setAside(name string, why error) {
	folder := filepath.Join(s.root, unreadable)
	to := filepath.Join(folder, filepath.Base(s.dir)+"-"+name)
	err := os.MkdirAll(folder, 0o700)
	if err == nil {
		err = os.Rename(s.path(name), to)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.log.Error("unreadable spool entry cannot be set aside", "file", name, "err", err)
		return
	}
	s.log.Error("unreadable spool entry set aside", "file", to, "err", why)
}

// writeFile makes data durable under dir/name before it returns: all of it or,
// after a crash at any point, nothing under that name.
func writeFile(dir, name string, data []byte) error {
	return atomicfile.Write(atomicfile.Paths{}, filepath.Join(dir, "tmp-"+rand.Text()), func(w io.Writer) (string, error) {
		_, err := w.Write(data)
		return filepath.Join(dir, name), err
	}, func(s atomicfile.Stage) { fault.Hit(spoolPoints[s]) })
}

var spoolPoints = [...]fault.Point{
	atomicfile.Written: fault.SpoolWritten, atomicfile.Synced: fault.SpoolSynced,
	atomicfile.Renamed: fault.SpoolRenamed, atomicfile.Durable: fault.SpoolDurable,
}

// validName says whether an id can be the name of a folder.
func validName(id ktrdr.WorkerID) bool {
	const allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
	return len(id) > 0 && len(id) <= 64 && id != unreadable &&
		!slices.ContainsFunc([]rune(string(id)), func(r rune) bool { return !strings.ContainsRune(allowed, r) })
}
