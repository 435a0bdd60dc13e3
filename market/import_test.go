package market

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadFile_StopsWithItsContext(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.csv")
	if err := os.WriteFile(file, []byte("time,open,high,low,close\n2020-01-02,1,1,1,1\n2020-01-03,1,1,1,1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := ReadFile(t.Context(), file, ImportOptions{}); err != nil {
		t.Fatalf("before: %v", err)
	}
	stop := errors.New("stopped by the test")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stop)
	if _, _, err := ReadFile(ctx, file, ImportOptions{}); !errors.Is(err, stop) {
		t.Errorf("err = %v, want the cause", err)
	}
}

func TestReadFile_RefusesAFolder(t *testing.T) {
	_, _, err := ReadFile(t.Context(), t.TempDir(), ImportOptions{})
	if err == nil || !strings.Contains(err.Error(), "is a directory: name the files in it") {
		t.Errorf("err = %v, want that it is a directory", err)
	}
}
