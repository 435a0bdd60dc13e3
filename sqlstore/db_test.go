package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/sqlstore/pgtest"
	"github.com/ktrdr/ktrdr/storetest"
)

// testSteps is a small schema, the same on both databases, for what the store
// promises about any schema.
func testSteps(more ...string) fs.FS {
	steps := fstest.MapFS{}
	for i, up := range append([]string{`CREATE TABLE counters (id TEXT NOT NULL PRIMARY KEY, n BIGINT NOT NULL);`}, more...) {
		text := &fstest.MapFile{Data: []byte("-- +goose Up\n" + up + "\n")}
		for _, folder := range folders {
			steps[fmt.Sprintf("migrations/%s/%05d_test.sql", folder, i+1)] = text
		}
	}
	return steps
}

func openTest(t testing.TB, url string, steps fs.FS) *Store {
	t.Helper()
	s, err := open(t.Context(), Config{URL: url, Types: storetest.Types(nil), Log: testLog(t)}, steps)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

func sqlitePath(t testing.TB) string { return filepath.Join(t.TempDir(), "a b?#%.db") } // a name that needs escaping

// onBoth runs a test on each database, on the small schema.
func onBoth(t *testing.T, test func(t *testing.T, s *Store)) {
	t.Run("SQLite", func(t *testing.T) { test(t, openTest(t, sqlitePath(t), testSteps())) })
	t.Run("PostgreSQL", func(t *testing.T) { test(t, openTest(t, pgtest.URL(t), testSteps())) })
}

const (
	sqlPut   query = `INSERT INTO counters (id, n) VALUES ($1, $2)`
	sqlCount query = `SELECT count(*) FROM counters`
)

func put(ctx context.Context, s *Store, l lane, id string) error {
	return s.write(ctx, l, func(t *tx) error {
		_, err := t.exec(ctx, sqlPut, id, 1)
		return err
	})
}

func mustPut(t *testing.T, s *Store, id string) {
	t.Helper()
	if err := put(t.Context(), s, normal, id); err != nil {
		t.Fatalf("put %s: %v", id, err)
	}
}

func count(t *testing.T, s *Store) (n int) {
	t.Helper()
	err := s.readOne(t.Context(), func(r queryer) error { return r.row(t.Context(), sqlCount).Scan(&n) })
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// eventually polls until ok, or fails the test.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(20 * time.Second)
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

func TestWrite_IsThereAfterReopening(t *testing.T) {
	for name, url := range map[string]func(testing.TB) string{"SQLite": sqlitePath, "PostgreSQL": pgtest.URL} {
		t.Run(name, func(t *testing.T) {
			where := url(t)
			first, err := open(t.Context(), Config{URL: where}, testSteps())
			if err != nil {
				t.Fatal(err)
			}
			mustPut(t, first, "a")
			if err := first.Close(); err != nil {
				t.Fatal(err)
			}
			if got := count(t, openTest(t, where, testSteps())); got != 1 {
				t.Errorf("%d rows after reopening, want 1", got)
			}
		})
	}
}

func TestWrite_ErrorOfTheBodyUndoesOnlyItself(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store) {
		refused := errors.New("refused")
		var work sync.WaitGroup
		var wrong atomic.Int64
		for i := range 100 {
			work.Go(func() {
				err := s.write(t.Context(), normal, func(tx *tx) error {
					if _, err := tx.exec(t.Context(), sqlPut, fmt.Sprint(i), i); err != nil {
						return err
					}
					if i%3 == 0 {
						return refused
					}
					return nil
				})
				if (i%3 == 0) != errors.Is(err, refused) || (i%3 != 0) != (err == nil) {
					wrong.Add(1)
				}
			})
		}
		work.Wait()
		if got, want := count(t, s), 66; got != want || wrong.Load() != 0 {
			t.Errorf("%d rows and %d wrong answers, want %d and 0", got, wrong.Load(), want)
		}
	})
}

func TestWrite_PanicIsTheCallersError(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store) {
		err := s.write(t.Context(), normal, func(tx *tx) error {
			if _, err := tx.exec(t.Context(), sqlPut, "p", 1); err != nil {
				return err
			}
			panic("boom")
		})
		if ktrdr.CodeOf(err) != ktrdr.CodeInternal || !strings.Contains(err.Error(), "boom") {
			t.Errorf("err = %v, want an internal one that says boom", err)
		}
		mustPut(t, s, "after")
		if got := count(t, s); got != 1 {
			t.Errorf("%d rows, want only the one after the panic", got)
		}
	})
}

func TestWrite_BodyThatForgetsItsRowsHarmsNoOther(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store) {
		mustPut(t, s, "a")
		mustPut(t, s, "b")
		err := s.write(t.Context(), normal, func(tx *tx) error {
			rows, err := tx.rows(t.Context(), `SELECT id FROM counters`) //nolint:sqlclosecheck,rowserrcheck // the point
			if err == nil && !rows.Next() {
				err = errors.New("no rows")
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		mustPut(t, s, "c")
		if got := count(t, s); got != 3 {
			t.Errorf("%d rows, want 3", got)
		}
	})
}

func TestWrite_EndedContextChangesNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := put(ctx, s, normal, "a"); !errors.Is(err, context.Canceled) {
			t.Errorf("err = %v, want context.Canceled", err)
		}
		// The context that ends inside the body takes back only that body.
		ctx, cancel = context.WithCancel(t.Context())
		defer cancel()
		err := s.write(ctx, normal, func(tx *tx) error {
			if _, err := tx.exec(ctx, sqlPut, "b", 1); err != nil {
				return err
			}
			cancel()
			_, err := tx.exec(ctx, sqlPut, "c", 1)
			return err
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("err = %v, want context.Canceled", err)
		}
		mustPut(t, s, "d")
		if got := count(t, s); got != 1 {
			t.Errorf("%d rows, want 1", got)
		}
	})
}

func TestWrite_FiftyWritersAndReadersNeverCollide(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store) {
		const writers, each = 50, 20
		mustPut(t, s, "sum")
		var work sync.WaitGroup
		errs := make(chan error, 2*writers*each)
		for range writers {
			work.Go(func() {
				for range each {
					errs <- s.write(t.Context(), normal, func(tx *tx) error {
						var n int
						if err := tx.row(t.Context(), `SELECT n FROM counters WHERE id = 'sum' {lock}`).Scan(&n); err != nil {
							return err
						}
						_, err := tx.exec(t.Context(), `UPDATE counters SET n = $1 WHERE id = 'sum'`, n+1)
						return err
					})
				}
			})
			work.Go(func() {
				for range each {
					errs <- s.read(t.Context(), func(r queryer) error {
						var one, two int
						if err := r.row(t.Context(), `SELECT n FROM counters`).Scan(&one); err != nil {
							return err
						}
						if err := r.row(t.Context(), `SELECT n + 0 FROM counters`).Scan(&two); err != nil {
							return err
						}
						if one != two {
							return fmt.Errorf("one snapshot held both %d and %d", one, two)
						}
						return nil
					})
				}
			})
		}
		work.Wait()
		close(errs)
		for err := range errs {
			if err != nil {
				t.Fatal(err)
			}
		}
		var n int
		if err := s.readOne(t.Context(), func(r queryer) error {
			return r.row(t.Context(), `SELECT n FROM counters`).Scan(&n)
		}); err != nil || n != 1+writers*each {
			t.Errorf("sum = %d, %v, want %d: a write was lost", n, err, 1+writers*each)
		}
	})
}

func TestRead_CannotWrite(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store) {
		err := s.read(t.Context(), func(r queryer) error {
			return r.row(t.Context(), `INSERT INTO counters (id, n) VALUES ('a', 1) RETURNING n`).Scan(new(int))
		})
		if err == nil || count(t, s) != 0 {
			t.Errorf("err = %v and %d rows, want an error and none", err, count(t, s))
		}
	})
}

func TestRead_LoopsMayNestOverTheSameTextOnSQLite(t *testing.T) {
	s := openTest(t, sqlitePath(t), testSteps())
	for i := range 3 {
		mustPut(t, s, fmt.Sprint(i))
	}
	const all query = `SELECT id FROM counters ORDER BY id`
	var seen []string
	var loop func(r queryer, depth int) error
	loop = func(r queryer, depth int) error {
		rows, err := r.rows(t.Context(), all)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var id string
			if err := rows.Scan(&id); err != nil {
				return err
			}
			seen = append(seen, id)
			if depth == 0 {
				if err := loop(r, 1); err != nil {
					return err
				}
			}
		}
		return rows.Err()
	}
	if err := s.read(t.Context(), func(r queryer) error { return loop(r, 0) }); err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(seen, ""), "001210122012"; got != want {
		t.Errorf("saw %s, want %s", got, want)
	}
}

func TestWords_NowIsTheDatabasesClockInMicroseconds(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store) {
		before := time.Now().Add(-time.Second)
		var now int64
		if err := s.readOne(t.Context(), func(r queryer) error { return r.row(t.Context(), `SELECT {now}`).Scan(&now) }); err != nil {
			t.Fatal(err)
		}
		if got := instant(now); got.Before(before) || got.After(time.Now().Add(time.Second)) {
			t.Errorf("{now} = %v, want about %v", got, time.Now())
		}
		if got := micros(instant(now)); got != now {
			t.Errorf("micros(instant(x)) = %d, want %d", got, now)
		}
	})
}

func TestChanged_ClosesAfterACommitThatWakes(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store) {
		wake := func(ctx context.Context, id string, wake bool, result error) {
			_ = s.write(ctx, normal, func(tx *tx) error {
				if wake {
					tx.wake()
				}
				if _, err := tx.exec(ctx, sqlPut, id, 1); err != nil {
					return err
				}
				return result
			})
		}
		ch := s.Changed()
		wake(t.Context(), "a", false, nil)
		if isClosed(ch) {
			t.Error("closed by a write that wakes no reader")
		}
		wake(t.Context(), "b", true, errors.New("refused"))
		if isClosed(ch) {
			t.Error("closed by a write that was undone")
		}
		wake(t.Context(), "c", true, nil)
		if !isClosed(ch) {
			t.Error("still open after a write that wakes")
		}
		if isClosed(s.Changed()) {
			t.Error("the next channel is closed already")
		}
	})
}

func TestClose_RefusesWhatComesLater(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store) {
		// openTest closes the store at the end: this must be harmless too.
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if err := put(t.Context(), s, normal, "late"); ktrdr.CodeOf(err) != ktrdr.CodeUnavailable {
			t.Errorf("write: %v, want CodeUnavailable", err)
		}
		err := s.read(t.Context(), func(queryer) error { return nil })
		if ktrdr.CodeOf(err) != ktrdr.CodeUnavailable {
			t.Errorf("read: %v, want CodeUnavailable", err)
		}
	})
}
