package sqlstore

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestLockFolder_RefusesASecondAndSaysWho(t *testing.T) {
	dir := t.TempDir()
	unlock, err := LockFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("already running here as pid %d;", os.Getpid())
	if _, err := LockFolder(dir); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("second lock: %v, want %q", err, want)
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	again, err := LockFolder(dir)
	if err != nil {
		t.Fatalf("after unlocking: %v", err)
	}
	if err := again(); err != nil {
		t.Fatal(err)
	}
}

func TestLockFolder_NamesAFolderThatIsNotThere(t *testing.T) {
	dir := t.TempDir() + "/missing"
	if _, err := LockFolder(dir); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("err = %v, want it to name %s", err, dir)
	}
}
