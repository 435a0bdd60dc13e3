package cli

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ktrdr/ktrdr/sqlstore"
	"github.com/ktrdr/ktrdr/sqlstore/pgtest"
)

// files are the contents of a folder by name, but for the lock, which names the
// last process that had it.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, e os.DirEntry, err error) error {
		if err != nil || e.Name() == "lock" {
			return err
		}
		all[name] = "a folder"
		if !e.IsDir() {
			text, err := os.ReadFile(name)
			all[name] = string(text)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A database and blobs that do not belong together are refused, and nothing is
// made of what is missing.
func TestRefused_ACommandOnTheWrongBlobsChangesNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(l *lab) error
		says  string
	}{
		"no blobs": {
			func(l *lab) error { return os.Rename(filepath.Join(l.data, "blobs"), l.data+"-blobs") }, "does not exist",
		},
		"no identity": {
			func(l *lab) error { return os.Remove(filepath.Join(l.data, "blobs", "identity")) }, "no file named identity",
		},
		"another identity": {
			func(l *lab) error {
				return os.WriteFile(filepath.Join(l.data, "blobs", "identity"), []byte(strings.Repeat("0", 32)+"\n"), 0o600)
			}, "is another",
		},
	} {
		for kind, db := range map[string]func(t *testing.T) []string{
			"SQLite":     func(*testing.T) []string { return nil },
			"PostgreSQL": func(t *testing.T) []string { return []string{"KTRDR_DB=" + pgtest.URL(t)} },
		} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				l := newLab(t, append(db(t), "KTRDR_ADDR=127.0.0.1:0")...)
				l.must("data", "synth", "--symbol", "EURUSD", "--timeframe", "1h", "--bars", "200")
				backend, _ := l.serve("--workers", "0")
				backend.End(syscall.SIGTERM)
				l.url = "http://127.0.0.1:1"
				if err := c.spoil(l); err != nil {
					t.Fatal(err)
				}
				before := files(t, l.data)
				for _, command := range [][]string{
					{"serve"},
					{"backup", filepath.Join(t.TempDir(), "b")},
					{"data", "list"},
					{"data", "synth", "--symbol", "GBPUSD", "--timeframe", "1h", "--bars", "200"},
				} {
					l.refused(exitFailed, c.says, command...)
					if after := files(t, l.data); !maps.Equal(before, after) {
						t.Fatalf("%v was refused and changed the folder", command)
					}
				}
			})
		}
	}
}

// A new database gets no tables beside blobs of another.
func TestRefused_ANewDatabaseBesideBlobsIsNotMade(t *testing.T) {
	t.Parallel()
	l := newLab(t, "KTRDR_ADDR=127.0.0.1:0")
	l.must("data", "synth", "--symbol", "EURUSD", "--timeframe", "1h", "--bars", "200")
	before := files(t, l.data)
	file, url := filepath.Join(t.TempDir(), "new.db"), pgtest.URL(t)
	for _, db := range []string{file, url} {
		for _, command := range [][]string{{"serve"}, {"data", "synth", "--symbol", "GBPUSD", "--timeframe", "1h", "--bars", "200"}} {
			l.refused(exitFailed, "holds blobs of another database", append(command, "--db", db)...)
		}
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("%s was made: %v", file, err)
	}
	if status, err := sqlstore.Look(t.Context(), url); err != nil || status.Schema != 0 {
		t.Errorf("the PostgreSQL database is at schema %d, %v; want no tables", status.Schema, err)
	}
	if after := files(t, l.data); !maps.Equal(before, after) {
		t.Error("the folder was changed")
	}
}
