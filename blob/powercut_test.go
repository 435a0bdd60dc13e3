package blob

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr/internal/atomicfile"
)

// journal remembers what a disk was told and was not yet told to keep. A power
// cut may lose any of that; here it loses all of the names or all of the data.
type journal struct {
	dir   string
	dirty map[string]bool // files with unsynced bytes, by their present names
	names []change        // changes of names whose directory was not synced, in order

	aside   string // keeps files that a rename replaced
	renames int
}

type change struct {
	in   string // the directory that must be synced
	undo func() error
}

type loss string

const (
	loseNames loss = "names"
	loseData  loss = "data"
)

func (j *journal) cut(t *testing.T, what loss) {
	t.Helper()
	if what == loseData {
		for name := range j.dirty {
			if err := os.Truncate(filepath.Join(j.dir, name), 0); err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
		}
		return
	}
	for _, c := range slices.Backward(j.names) {
		if err := c.undo(); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
}

// journaledDisk keeps the journal. From its k-th call on the process is dead:
// nothing more is done.
type journaledDisk struct {
	faultyDisk
	journal *journal
}

var errDead = errors.New("process is dead")

func newJournaledDisk(root *os.Root, j *journal, k int) *journaledDisk {
	return &journaledDisk{faultyDisk: faultyDisk{disk: unsynced{newRootDisk(root)}, k: k, err: errDead, dead: true}, journal: j}
}

// unsynced is the real disk but for the syncs, which here are only noted.
type unsynced struct{ rootDisk }

func (unsynced) SyncDir(string) error { return nil }

func (d unsynced) Create(name string) (atomicfile.File, error) {
	f, err := d.rootDisk.Create(name)
	return unsyncedFile{f}, err
}

type unsyncedFile struct{ atomicfile.File }

func (unsyncedFile) Sync() error { return nil }

func (d *journaledDisk) path(name string) string { return filepath.Join(d.journal.dir, name) }

func (d *journaledDisk) Create(name string) (atomicfile.File, error) {
	f, err := d.faultyDisk.Create(name)
	return &journaledFile{File: f, name: name, journal: d.journal}, err
}

func (d *journaledDisk) Mkdir(name string) error {
	_, err := os.Lstat(d.path(name))
	if err := d.faultyDisk.Mkdir(name); err != nil {
		return err
	}
	if errors.Is(err, fs.ErrNotExist) {
		d.journal.names = append(d.journal.names, change{in: path.Dir(name), undo: func() error { return os.RemoveAll(d.path(name)) }})
	}
	return nil
}

func (d *journaledDisk) Rename(from, to string) error {
	// What the new name replaces is there again when the new name is lost.
	replaced := filepath.Join(d.journal.aside, strconv.Itoa(d.journal.renames))
	d.journal.renames++
	if err := os.Link(d.path(to), replaced); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := d.faultyDisk.Rename(from, to); err != nil {
		return err
	}
	if delete(d.journal.dirty, to); d.journal.dirty[from] {
		delete(d.journal.dirty, from)
		d.journal.dirty[to] = true
	}
	d.journal.names = append(d.journal.names, change{in: path.Dir(to), undo: func() error {
		if err := os.Rename(d.path(to), d.path(from)); err != nil {
			return err
		}
		return os.Rename(replaced, d.path(to))
	}})
	return nil
}

func (d *journaledDisk) Link(from, to string) error {
	if err := d.faultyDisk.Link(from, to); err != nil {
		return err
	}
	if d.journal.dirty[from] {
		d.journal.dirty[to] = true
	}
	d.journal.names = append(d.journal.names, change{in: path.Dir(to), undo: func() error { return os.Remove(d.path(to)) }})
	return nil
}

func (d *journaledDisk) SyncDir(name string) error {
	if err := d.faultyDisk.SyncDir(name); err != nil {
		return err
	}
	d.journal.names = slices.DeleteFunc(d.journal.names, func(c change) bool { return c.in == name })
	return nil
}

type journaledFile struct {
	atomicfile.File
	name    string
	journal *journal
}

func (f *journaledFile) Write(p []byte) (int, error) {
	f.journal.dirty[f.name] = true
	return f.File.Write(p)
}

func (f *journaledFile) Sync() error {
	err := f.File.Sync()
	if err == nil {
		delete(f.journal.dirty, f.name)
	}
	return err
}

// answer is what a process told its caller, when it got that far.
type answer = string

// atEveryCut kills a process at each of its disk calls, lets a second one continue,
// and cuts the power at each of that one's calls: a k2 past its last call cuts
// after it has answered. The check sees the answers that were given.
func atEveryCut(t *testing.T, first, second func(d *Dir) (answer, error), check func(t *testing.T, given []answer, d *Dir)) {
	for _, what := range []loss{loseNames, loseData} {
		t.Run("losing "+string(what), func(t *testing.T) {
			t.Parallel()
			for k1, more1 := 1, true; more1; k1++ {
				for k2, more2 := 1, true; more2; k2++ {
					more1, more2 = cutAt(t, what, k1, k2, first, second, check)
					if t.Failed() {
						t.Fatalf("killed at call %d, then power cut at call %d", k1, k2)
					}
				}
			}
		})
	}
}

// cutAt says whether the first process had a k1-th call and the second a k2-th.
func cutAt(t *testing.T, what loss, k1, k2 int, first, second func(d *Dir) (answer, error),
	check func(t *testing.T, given []answer, d *Dir),
) (bool, bool) {
	t.Helper()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	j := &journal{dir: dir, aside: t.TempDir(), dirty: map[string]bool{}}
	disk1, disk2 := newJournaledDisk(root, j, k1), newJournaledDisk(root, j, k2)
	var given []answer
	if a, err := first(newDir(disk1, Config{})); err == nil {
		given = append(given, a)
	}
	if a, err := second(newDir(disk2, Config{})); err == nil {
		given = append(given, a)
	}
	j.cut(t, what)
	check(t, given, openDir(t, dir))
	return disk1.fired, disk2.fired
}

func TestDir_AcknowledgedBlobSurvivesAPowerCut(t *testing.T) {
	b := bytesOf(1, 40<<10)
	put := func(d *Dir) (answer, error) {
		_, err := d.Put(t.Context(), hashOf(b), inPieces(b))
		return "stored", err
	}
	trash := func(d *Dir) (answer, error) {
		if _, err := put(d); err != nil {
			return "", err
		}
		return "stored", d.Trash(t.Context(), hashOf(b), time.Now())
	}
	stat := func(d *Dir) (answer, error) {
		_, err := d.Stat(t.Context(), hashOf(b))
		return "it is there", err
	}
	check := func(t *testing.T, given []answer, d *Dir) {
		t.Helper()
		switch err := readBlob(t.Context(), d, hashOf(b), io.Discard); {
		case err == nil:
		case len(given) > 0:
			t.Errorf("told %q, but after the cut: %v", given, err)
		case len(listed(t, d)) > 0:
			t.Errorf("neither whole nor absent: %v", err)
		}
	}
	t.Run("put again", func(t *testing.T) { atEveryCut(t, put, put, check) })
	t.Run("found by stat", func(t *testing.T) { atEveryCut(t, put, stat, check) })
	t.Run("trashed and found", func(t *testing.T) { atEveryCut(t, trash, stat, check) })
}

func TestDir_RetryAfterAFaultSurvivesAPowerCut(t *testing.T) {
	b := bytesOf(1, 40<<10)
	for k, more := 1, true; more; k++ {
		dir := t.TempDir()
		root, err := os.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		j := &journal{dir: dir, aside: t.TempDir(), dirty: map[string]bool{}}
		disk := newJournaledDisk(root, j, k)
		disk.dead = false
		d := newDir(disk, Config{})
		_, _ = putBytes(t.Context(), d, b)
		more, disk.healed = disk.fired, true
		put(t, d, b)
		j.cut(t, loseNames)
		if err := readBlob(t.Context(), openDir(t, dir), hashOf(b), io.Discard); err != nil {
			t.Errorf("fault at call %d, then stored, then the cut: %v", k, err)
		}
		root.Close()
	}
}

func TestDir_IdentityOnceToldSurvivesAPowerCut(t *testing.T) {
	ask := func(d *Dir) (answer, error) { return d.Identity(t.Context()) }
	atEveryCut(t, ask, ask, func(t *testing.T, given []answer, d *Dir) {
		t.Helper()
		now, err := d.Identity(t.Context())
		if err != nil {
			t.Errorf("after the cut: %v", err)
		}
		for _, told := range given {
			if told != now {
				t.Errorf("told %q, after the cut %q", told, now)
			}
		}
	})
}
