package backend

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWriteWhole_RemovesWhatAKilledWriterLeft(t *testing.T) {
	dir := t.TempDir()
	dead, alive := filepath.Join(dir, "monday.tar"+PartialSuffix), filepath.Join(dir, "tuesday.tar"+PartialSuffix)
	if err := os.WriteFile(dead, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := createPartial(alive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := WriteOnce(filepath.Join(dir, "wednesday.tar"), "whole"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dead); !os.IsNotExist(err) {
		t.Errorf("the leftover is still there: %v", err)
	}
	if _, err := os.Stat(alive); err != nil {
		t.Errorf("what another process is writing was removed: %v", err)
	}
	if err := WriteOnce(filepath.Join(dir, "tuesday.tar"), "other"); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("err = %v, want one that tells of the other writer", err)
	}
	if _, err := os.Stat(alive); err != nil {
		t.Errorf("what another process is writing was removed: %v", err)
	}
}
