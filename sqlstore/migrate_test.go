package sqlstore

import (
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/sqlstore/pgtest"
)

func TestOpen_MigratesWhatAnOlderBinaryMade(t *testing.T) {
	for name, url := range map[string]func(testing.TB) string{"SQLite": sqlitePath, "PostgreSQL": pgtest.URL} {
		t.Run(name, func(t *testing.T) {
			where := url(t)
			old, err := open(t.Context(), Config{URL: where}, testSteps())
			if err != nil {
				t.Fatal(err)
			}
			mustPut(t, old, "kept")
			if err := old.Close(); err != nil {
				t.Fatal(err)
			}
			now := openTest(t, where, testSteps(`ALTER TABLE counters ADD COLUMN m BIGINT NOT NULL DEFAULT 7;`))
			var m int
			if err := now.readOne(t.Context(), func(r queryer) error {
				return r.row(t.Context(), `SELECT m FROM counters WHERE id = 'kept'`).Scan(&m)
			}); err != nil || m != 7 {
				t.Errorf("m = %d, %v, want 7", m, err)
			}
			if info, err := now.db.info(t.Context()); err != nil || info.Schema != 2 {
				t.Errorf("schema = %d, %v, want 2", info.Schema, err)
			}
		})
	}
}

func TestOpen_RefusesANewerSchema(t *testing.T) {
	for name, url := range map[string]func(testing.TB) string{"SQLite": sqlitePath, "PostgreSQL": pgtest.URL} {
		t.Run(name, func(t *testing.T) {
			where := url(t)
			openTest(t, where, testSteps(`CREATE TABLE later (id TEXT);`))
			_, err := open(t.Context(), Config{URL: where}, testSteps())
			if err == nil || !strings.Contains(err.Error(), "the schema is version 2 and this ktrdr knows only 1") {
				t.Errorf("err = %v, want a sentence with both versions", err)
			}
		})
	}
}

func TestOpen_SeveralAtOnceMigrateOnce(t *testing.T) {
	where := pgtest.URL(t)
	var work sync.WaitGroup
	for range 4 {
		work.Go(func() {
			s, err := open(t.Context(), Config{URL: where, Conns: 2}, testSteps())
			if err != nil {
				t.Error(err)
				return
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	work.Wait()
}

func TestOpen_RefusesWhatIsNotADatabase(t *testing.T) {
	for url, want := range map[string]string{
		"":                              "no database was named",
		":memory:":                      "must be a file",
		"sqlite::memory:":               "must be a file",
		"mysql://u:hush@h/db":           "mysql://u@h/db",
		"postgres://u:hush@:notaport/x": "cannot be read",
		"postgres://u:hush@127.0.0.1:1/x?sslmode=disable&password=hush": "postgres://u@127.0.0.1:1/x",
		t.TempDir() + "/no/such/folder/x.db":                            "there is no directory",
	} {
		_, err := open(t.Context(), Config{URL: url}, testSteps())
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hush") {
			t.Errorf("open %q: %v, want it to say %q and no password", url, err, want)
		}
	}
}

func TestOpen_RefusesADamagedFile(t *testing.T) {
	path := sqlitePath(t)
	s, err := open(t.Context(), Config{URL: path}, testSteps())
	if err != nil {
		t.Fatal(err)
	}
	for range 200 {
		if err := s.write(t.Context(), normal, func(tx *tx) error {
			_, err := tx.exec(t.Context(), `INSERT INTO counters (id, n) VALUES (hex(randomblob(100)), 1)`)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	bytes, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := 5 * 4096; i < 8*4096; i++ {
		bytes[i] ^= 0x5a
	}
	if err := os.WriteFile(path, bytes, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err = open(t.Context(), Config{URL: path}, testSteps()); ktrdr.CodeOf(err) != ktrdr.CodeCorrupt {
		t.Errorf("err = %v, want CodeCorrupt", err)
	}
}

func TestOpen_KeepsTheFileToItsOwner(t *testing.T) {
	path := sqlitePath(t)
	s := openTest(t, path, testSteps())
	mustPut(t, s, "a")
	for _, name := range []string{path, path + "-wal"} {
		if f, err := os.Stat(name); err != nil || f.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v, want mode 0600", name, f.Mode(), err)
		}
	}
}

func TestOlder_ComparesVersionsByNumber(t *testing.T) {
	for _, c := range []struct {
		version string
		older   bool
	}{
		{"3.51.2", true},
		{"3.51.3", false},
		{"3.51.10", false},
		{"3.9.99", true},
		{"3.52", false},
		{"3.51", true},
		{"4.0.0", false},
		{"2.99.99", true},
		{"", true},
		{"x.y", true},
	} {
		if got := older(c.version, "3.51.3"); got != c.older {
			t.Errorf("older(%q) = %v, want %v", c.version, got, c.older)
		}
	}
}

func TestSQLite_IsConfiguredForDurability(t *testing.T) {
	s := openTest(t, sqlitePath(t), testSteps())
	db := sqliteOf(t, s)
	for pragma, want := range map[string]string{
		"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1", "mmap_size": "0", "query_only": "0",
	} {
		var got string
		if err := s.write(t.Context(), normal, func(tx *tx) error {
			return tx.row(t.Context(), query("PRAGMA "+pragma)).Scan(&got)
		}); err != nil || got != want {
			t.Errorf("%s = %s, %v, want %s", pragma, got, err, want)
		}
	}
	if older(db.version, oldestSQLite) {
		t.Errorf("SQLite %s passed the check for %s", db.version, oldestSQLite)
	}
}
