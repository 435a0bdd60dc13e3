package pgtest

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestRemoveLeft_RemovesOnlyFoldersOfEndedServers(t *testing.T) {
	old := time.Now().Add(-2 * startTimeout)
	for name, c := range map[string]struct {
		file  string
		made  time.Time
		stays bool
	}{
		"ended":    {"PG_VERSION", old, false},
		"running":  {"postmaster.pid", old, true},
		"starting": {"PG_VERSION", time.Now(), true},
	} {
		dir := filepath.Join(t.TempDir(), "pgtest-1")
		file := filepath.Join(dir, "data", c.file)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(dir, c.made, c.made); err != nil {
			t.Fatal(err)
		}
		removeLeft(dir)
		if _, err := os.Stat(dir); (err == nil) != c.stays {
			t.Errorf("%s: %v, want it to stay: %v", name, err, c.stays)
		}
	}
}
