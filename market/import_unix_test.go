//go:build unix

package market

import (
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestReadFile_DoesNotWaitForAPipe would hang where it does.
func TestReadFile_DoesNotWaitForAPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe.csv")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := ReadFile(t.Context(), pipe, ImportOptions{}); err == nil || !strings.Contains(err.Error(), "is not a regular file") {
		t.Errorf("err = %v, want that it is not a regular file", err)
	}
}
