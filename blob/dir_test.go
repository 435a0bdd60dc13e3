package blob

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
)

func writeFile(t *testing.T, dir, name string, b []byte) {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func openDir(t *testing.T, dir string) *Dir {
	t.Helper()
	d, err := OpenDir(dir, Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func TestDir_MakesItsFilesForItsOwnerOnly(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "not", "there", "yet")
	d := openDir(t, dir)
	h := put(t, d, []byte("x"))
	if _, err := d.Identity(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := d.Trash(t.Context(), h, time.Now()); err != nil {
		t.Fatal(err)
	}
	put(t, d, []byte("x"))
	err := filepath.WalkDir(filepath.Dir(filepath.Dir(dir)), func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := e.Info()
		want := fs.FileMode(0o600)
		if e.IsDir() {
			want = 0o700
		}
		if fi.Mode().Perm() != want {
			t.Errorf("%s has mode %v, want %v", name, fi.Mode().Perm(), want)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestOpenDir_RefusesAFileInItsPlace(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, dir, "blobs", nil)
	if _, err := OpenDir(filepath.Join(dir, "blobs"), Config{}); err == nil {
		t.Error("opened a file as a directory")
	}
}

func TestOpenDir_RemovesOldLeftoversOnly(t *testing.T) {
	dir := t.TempDir()
	put(t, openDir(t, dir), []byte("x"))
	writeFile(t, dir, "tmp/dead", []byte("half a bl"))
	writeFile(t, dir, "tmp/alive", []byte("half a bl"))
	old := time.Now().Add(-tempAge - time.Minute)
	if err := os.Chtimes(filepath.Join(dir, "tmp/dead"), old, old); err != nil {
		t.Fatal(err)
	}
	openDir(t, dir)
	left, err := filepath.Glob(filepath.Join(dir, "tmp", "*"))
	if err != nil || len(left) != 1 || filepath.Base(left[0]) != "alive" {
		t.Errorf("left %v, %v, want only tmp/alive", left, err)
	}
}

func TestDir_FailedPutLeavesNoTemporaryFile(t *testing.T) {
	dir := t.TempDir()
	d := openDir(t, dir)
	_, err := d.Put(t.Context(), hashOf([]byte("x")), strings.NewReader("y"))
	wantCode(t, err, ktrdr.CodeCorrupt)
	if left, err := os.ReadDir(filepath.Join(dir, "tmp")); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

func TestDir_PutMakesAnOldBlobYoung(t *testing.T) {
	dir := t.TempDir()
	d := openDir(t, dir)
	h := put(t, d, []byte("x"))
	old := time.Now().Add(-100 * time.Hour)
	if err := os.Chtimes(filepath.Join(dir, blobName(h)), old, old); err != nil {
		t.Fatal(err)
	}
	put(t, d, []byte("x"))
	info, err := d.Stat(t.Context(), h)
	if err != nil || time.Since(info.ModTime) > time.Minute {
		t.Errorf("Stat = %+v, %v, want a young blob", info, err)
	}
}

func TestDir_WhatIsNoRegularFileIsRefused(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	b := []byte("outside")
	if err := os.WriteFile(secret, b, 0o600); err != nil {
		t.Fatal(err)
	}
	plant := map[string]func(name string) error{
		"a link to the outside": func(name string) error { return os.Symlink(secret, name) },
		"a link to the inside":  func(name string) error { return os.Symlink("../../identity", name) },
		"a directory":           func(name string) error { return os.Mkdir(name, 0o700) },
		"a pipe":                func(name string) error { return syscall.Mkfifo(name, 0o600) },
	}
	for what, plant := range plant {
		t.Run(what, func(t *testing.T) {
			dir := t.TempDir()
			d := openDir(t, dir)
			name := filepath.Join(dir, blobName(hashOf(b)))
			if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := plant(name); err != nil {
				t.Fatal(err)
			}
			_, err := d.Open(t.Context(), hashOf(b))
			wantCode(t, err, ktrdr.CodeCorrupt)
			_, err = d.Stat(t.Context(), hashOf(b))
			wantCode(t, err, ktrdr.CodeCorrupt)
			if got := listed(t, d); len(got) > 0 {
				t.Errorf("listed %v", got)
			}
		})
	}
}

func TestDir_NothingIsReadOrWrittenOutside(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	b := []byte("x")
	writeFile(t, outside, blobName(hashOf(b))[3:], b)
	d := openDir(t, dir)
	if err := os.Symlink(outside, filepath.Join(dir, blobName(hashOf(b))[:2])); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Open(t.Context(), hashOf(b)); err == nil {
		t.Error("read a blob from outside the root")
	}
	if _, err := putBytes(t.Context(), d, b); err == nil {
		t.Error("wrote a blob outside the root")
	}
	if got := listed(t, d); len(got) > 0 {
		t.Errorf("listed %v from outside the root", got)
	}
}

func TestDir_MakesRemovedDirectoriesAgain(t *testing.T) {
	dir := t.TempDir()
	d := openDir(t, dir)
	put(t, d, []byte("x"))
	for _, gone := range []string{tempDir, blobName(hashOf([]byte("x")))[:2]} {
		if err := os.RemoveAll(filepath.Join(dir, gone)); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // the first may find out, the second must do
		_, _ = putBytes(t.Context(), d, []byte("x"))
	}
	mustRead(t, d, []byte("x"))
}

func TestDir_MoreThanTheDiskHoldsIsNoSpace(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full here")
	}
	defer full.Close()
	_, _, err = receive(t.Context(), full, bytes.NewReader([]byte("x")), 10)
	wantCode(t, err, ktrdr.CodeNoSpace)
}
