package sqlstore

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/sqlstore/pgtest"
)

// openedHere names the database that this process only opens and closes.
const openedHere = "KTRDR_TEST_OPENS"

func TestOpen_InAProcessOfItsOwn(t *testing.T) {
	where := os.Getenv(openedHere)
	if where == "" { // alone, it opens a database of its own
		where = filepath.Join(t.TempDir(), "ktrdr.db")
	}
	s, err := Open(t.Context(), Config{URL: where})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestOpen_SeveralProcessesMigrateOnce(t *testing.T) {
	for name, last := range map[string]string{"new": "", "old": "00010~"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			where := filepath.Join(dir, "ktrdr.db")
			if last != "" {
				old, err := open(t.Context(), Config{URL: where}, stepsUpTo(t, last))
				if err != nil {
					t.Fatal(err)
				}
				if err := old.Close(); err != nil {
					t.Fatal(err)
				}
			}
			var work sync.WaitGroup
			for range 6 {
				work.Go(func() {
					c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestOpen_InAProcessOfItsOwn$", "-test.count=1")
					c.Env = append(os.Environ(), openedHere+"="+where)
					if out, err := c.CombinedOutput(); err != nil {
						t.Errorf("%v: %s", err, out)
					}
				})
			}
			work.Wait()
			left, err := filepath.Glob(filepath.Join(dir, "*"))
			if err != nil || len(left) != 1 {
				t.Errorf("the folder has %q, %v; want the database only", left, err)
			}
		})
	}
}

func TestLockMigration_SaysWhyItWaits(t *testing.T) {
	name := filepath.Join(t.TempDir(), "ktrdr.db.migrating")
	unlock, err := lockMigration(t.Context(), name, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	_, err = lockMigration(t.Context(), name, time.Millisecond)
	if ktrdr.CodeOf(err) != ktrdr.CodeUnavailable || !strings.Contains(err.Error(), "another process has been migrating it for 1ms") {
		t.Errorf("beside another: %v, want a sentence that says so", err)
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, nil, 0o600); err != nil { // a process was killed
		t.Fatal(err)
	}
	if unlock, err = lockMigration(t.Context(), name, time.Minute); err != nil {
		t.Fatalf("beside a file that is left over: %v", err)
	}
	if err := unlock(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the lock file: %v, want none", err)
	}
}

func TestOpen_AsksBeforeItMigrates(t *testing.T) {
	no := errors.New("a backend is running")
	for name, url := range map[string]func(testing.TB) string{"SQLite": sqlitePath, "PostgreSQL": pgtest.URL} {
		t.Run(name, func(t *testing.T) {
			where := url(t)
			var asked []int64
			refuse := Config{URL: where, MayMigrate: func(from, to int64) error {
				asked = append(asked, from, to)
				return no
			}}
			steps := testSteps(`ALTER TABLE counters ADD COLUMN m BIGINT NOT NULL DEFAULT 7;`)
			first, err := open(t.Context(), refuse, testSteps())
			if err != nil || len(asked) > 0 {
				t.Fatalf("a new database: %v, and asked %v", err, asked)
			}
			if err := first.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := open(t.Context(), refuse, steps); !errors.Is(err, no) || len(asked) != 2 || asked[0] != 1 || asked[1] != 2 {
				t.Errorf("an old one: %v after asking about %v, want %v after 1 and 2", err, asked, no)
			}
			same, err := open(t.Context(), refuse, testSteps()) // it is as it was
			if err != nil {
				t.Fatal(err)
			}
			if err := same.Close(); err != nil {
				t.Fatal(err)
			}
			openTest(t, where, steps)
			now, err := open(t.Context(), refuse, steps)
			if err != nil || len(asked) != 2 {
				t.Fatalf("one that is up to date: %v, and asked %v", err, asked)
			}
			if err := now.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}
