package atomicfile_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/ktrdr/ktrdr/internal/atomicfile"
)

// recorder notes the calls of a write and fails one of them.
type recorder struct {
	atomicfile.Paths

	calls []string
	fail  string
}

var errDisk = errors.New("the disk fails")

func (r *recorder) did(call string) error {
	if r.calls = append(r.calls, call); call == r.fail {
		return errDisk
	}
	return nil
}

func (r *recorder) Create(name string) (atomicfile.File, error) {
	if err := r.did("create"); err != nil {
		return nil, err
	}
	f, err := r.Paths.Create(name)
	return recordedFile{f, r}, err
}

func (r *recorder) Rename(from, to string) error {
	if err := r.did("rename"); err != nil {
		return err
	}
	return r.Paths.Rename(from, to)
}

func (r *recorder) SyncDir(name string) error {
	return errors.Join(r.did("sync folder "+filepath.Base(name)), r.Paths.SyncDir(name))
}

type recordedFile struct {
	atomicfile.File

	*recorder
}

func (f recordedFile) Write(b []byte) (int, error) {
	if err := f.did("write"); err != nil {
		return 0, err
	}
	return f.File.Write(b)
}

func (f recordedFile) Sync() error  { return errors.Join(f.did("sync"), f.File.Sync()) }
func (f recordedFile) Close() error { return errors.Join(f.did("close"), f.File.Close()) }

func TestWrite_IsDurableBeforeItHasAName(t *testing.T) {
	dir := t.TempDir()
	r := &recorder{}
	name := filepath.Join(dir, "f")
	var steps []atomicfile.Stage
	err := atomicfile.Write(r, filepath.Join(dir, "temp"), func(w io.Writer) (string, error) {
		_, err := io.WriteString(w, "new")
		return name, err
	}, func(s atomicfile.Stage) { steps = append(steps, s) })
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"create", "write", "sync", "close", "rename", "sync folder " + filepath.Base(dir)}
	if !slices.Equal(r.calls, want) {
		t.Errorf("calls %q, want %q", r.calls, want)
	}
	if fmt.Sprint(steps) != "[0 1 2 3 4]" {
		t.Errorf("steps %v, want all five in order", steps)
	}
	if b, err := os.ReadFile(name); string(b) != "new" || err != nil {
		t.Errorf("the file holds %q, %v", b, err)
	}
}

func TestWrite_AnyFailureLeavesWhatWasThere(t *testing.T) {
	for _, fail := range []string{"create", "write", "sync", "close", "rename"} {
		dir := t.TempDir()
		name := filepath.Join(dir, "f")
		if err := os.WriteFile(name, []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
		err := atomicfile.Write(&recorder{fail: fail}, filepath.Join(dir, "temp"), func(w io.Writer) (string, error) {
			_, err := io.WriteString(w, "new")
			return name, err
		}, nil)
		if !errors.Is(err, errDisk) {
			t.Errorf("%s fails: err = %v, want the disk's", fail, err)
		}
		isAlone(t, name, "old")
	}
}

func TestWriteFile_AFailedWriterLeavesWhatWasThere(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	write(t, name, "old")
	_, err := atomicfile.WriteFile(name, func(w io.Writer) error {
		_, err := io.WriteString(w, "half of the new")
		return errors.Join(err, syscall.ENOSPC)
	})
	if !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("err = %v, want the writer's", err)
	}
	isAlone(t, name, "old")
	write(t, name, "new")
	isAlone(t, name, "new")
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v, want 0600", info.Mode(), err)
	}
}

func TestWriteFile_RemovesWhatAKilledWriterLeft(t *testing.T) {
	dir := t.TempDir()
	dead, alive := filepath.Join(dir, "monday"+atomicfile.PartialSuffix), filepath.Join(dir, "tuesday"+atomicfile.PartialSuffix)
	if err := os.WriteFile(dead, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := atomicfile.WriteFile(filepath.Join(dir, "tuesday"), func(io.Writer) error {
		write(t, filepath.Join(dir, "wednesday"), "complete") // meanwhile, in the same folder
		if _, err := os.Stat(dead); !os.IsNotExist(err) {
			t.Errorf("the leftover is still there: %v", err)
		}
		_, err := atomicfile.WriteFile(filepath.Join(dir, "tuesday"), func(io.Writer) error { return nil })
		if err == nil || !strings.Contains(err.Error(), "another process") {
			t.Errorf("err = %v, want one that names the other writer", err)
		}
		if _, err := os.Stat(alive); err != nil {
			t.Errorf("what another process is writing was removed: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	size, err := atomicfile.WriteFile(name, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
	if err != nil || size != int64(len(text)) {
		t.Fatalf("wrote %d bytes, %v, want %d", size, err, len(text))
	}
}

// isAlone checks that the folder of a file holds nothing else.
func isAlone(t *testing.T, name, want string) {
	t.Helper()
	text, err := os.ReadFile(name)
	entries, _ := os.ReadDir(filepath.Dir(name))
	if err != nil || string(text) != want || len(entries) != 1 {
		t.Errorf("the file holds %q (%v), its folder %v; want %q alone", text, err, entries, want)
	}
}
