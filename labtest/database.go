package labtest

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/ktrdr/ktrdr/sqlstore"
	"github.com/ktrdr/ktrdr/sqlstore/pgtest"
)

// original is a database as a first start leaves it: all tables, and nothing in
// them. Every lab has a copy, because making the tables takes longer than most of
// what is done to them.
var original struct {
	postgres pgtest.Template
	sqlite   sync.Once
	file     []byte
	err      error
}

func install(ctx context.Context, url string) error {
	s, err := sqlstore.Open(ctx, sqlstore.Config{URL: url})
	if err != nil {
		return err
	}
	return s.Close()
}

// Database is the address of such a database in PostgreSQL.
func Database(t testing.TB) string {
	t.Helper()
	return original.postgres.URL(t, func(url string) error { return install(t.Context(), url) })
}

// databaseFile makes such a database of SQLite in a data folder.
func databaseFile(t testing.TB, data string) {
	t.Helper()
	original.sqlite.Do(func() {
		path := filepath.Join(t.TempDir(), "original.db")
		if original.err = install(t.Context(), path); original.err == nil {
			original.file, original.err = os.ReadFile(path)
		}
	})
	err := original.err
	if err == nil {
		err = os.MkdirAll(data, 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(data, "ktrdr.db"), original.file, 0o600)
	}
	if err != nil {
		t.Fatalf("the database of a lab: %v", err)
	}
}
