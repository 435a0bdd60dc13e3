package sqlstore

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/ktrdr/ktrdr/sqlstore/pgtest"
)

// Most tests want a database as the program leaves it after its first start.
// Installing takes longer than most of them, so it is done once for all and they
// are given copies. What is said of installing itself is said of real ones.

var installed struct {
	postgres pgtest.Template
	sqlite   sync.Once
	file     []byte
	err      error
}

func install(ctx context.Context, url string) error {
	s, err := Open(ctx, Config{URL: url})
	if err != nil {
		return err
	}
	return s.Close()
}

// InstalledPostgres is the address of an installed database of the test's own.
func InstalledPostgres(t testing.TB) string {
	t.Helper()
	return installed.postgres.URL(t, func(url string) error { return install(t.Context(), url) })
}

// InstalledSQLite is the same of SQLite.
func InstalledSQLite(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ktrdr.db")
	installed.sqlite.Do(func() {
		original := filepath.Join(t.TempDir(), "original.db")
		if installed.err = install(t.Context(), original); installed.err == nil {
			installed.file, installed.err = os.ReadFile(original)
		}
	})
	if installed.err != nil {
		t.Fatalf("install: %v", installed.err)
	}
	if err := os.WriteFile(path, installed.file, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
