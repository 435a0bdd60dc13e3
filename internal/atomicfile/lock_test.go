package atomicfile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/ktrdr/ktrdr/internal/atomicfile"
)

func TestLock_IsHeldByOneUntilItIsClosed(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lock")
	if f, err := atomicfile.Lock(name, 0); f != nil || !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("a file that is not there: %v, %v, want fs.ErrNotExist", f, err)
	}
	first, err := atomicfile.Lock(name, os.O_CREATE)
	if err != nil || first == nil {
		t.Fatalf("the first lock: %v, %v", first, err)
	}
	if second, err := atomicfile.Lock(name, os.O_CREATE); second != nil || err != nil {
		t.Errorf("a second lock beside the first: %v, %v, want neither", second, err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := atomicfile.Lock(name, 0)
	if err != nil || again == nil {
		t.Fatalf("after the first was closed: %v, %v", again, err)
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
}
