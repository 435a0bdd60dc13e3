package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ktrdr/ktrdr"
)

// testLog writes to the test's own log.
func testLog(t testing.TB) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
}

func sqliteOf(t *testing.T, s *Store) *sqlite {
	t.Helper()
	db, ok := s.db.(*sqlite)
	if !ok {
		t.Fatal("not SQLite")
	}
	return db
}

// holdWriter occupies the writer with a body until release is called, so that
// a test can see what those who came meanwhile share.
func holdWriter(t *testing.T, s *Store) (release func() error) {
	t.Helper()
	in, out, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- s.write(t.Context(), normal, func(*tx) error {
			close(in)
			<-out
			return nil
		})
	}()
	<-in
	return func() error {
		close(out)
		return <-done
	}
}

func waiting(s *Store, l lane) int { return len(s.db.(*sqlite).writer.queues[l]) }

func TestWriter_ManyShareACommit(t *testing.T) {
	s := openTest(t, sqlitePath(t), testSteps())
	w := sqliteOf(t, s).writer
	before := w.commits.Load()
	release := holdWriter(t, s)
	var work sync.WaitGroup
	const writers = 100
	for i := range writers {
		work.Go(func() {
			if err := put(t.Context(), s, normal, fmt.Sprint(i)); err != nil {
				t.Error(err)
			}
		})
	}
	eventually(t, "all writers wait", func() bool { return waiting(s, normal) == writers })
	if err := release(); err != nil {
		t.Fatal(err)
	}
	work.Wait()
	// All may join the batch under way, or, when its time is up, the next.
	if got := w.commits.Load() - before; got > 3 {
		t.Errorf("%d commits for %d writers, want at most 3", got, writers)
	}
	if got := count(t, s); got != writers {
		t.Errorf("%d rows, want %d", got, writers)
	}
}

func TestWriter_UrgentGoesFirst(t *testing.T) {
	s := openTest(t, sqlitePath(t), testSteps())
	release := holdWriter(t, s)
	var mu sync.Mutex
	var order []lane
	var work sync.WaitGroup
	enqueue := func(l lane) {
		work.Go(func() {
			if err := s.write(t.Context(), l, func(*tx) error {
				mu.Lock()
				defer mu.Unlock()
				order = append(order, l)
				return nil
			}); err != nil {
				t.Error(err)
			}
		})
	}
	for range 10 {
		enqueue(normal)
	}
	eventually(t, "the normal ones wait", func() bool { return waiting(s, normal) == 10 })
	for range 10 {
		enqueue(urgent)
	}
	eventually(t, "the urgent ones wait", func() bool { return waiting(s, urgent) == 10 })
	if err := release(); err != nil {
		t.Fatal(err)
	}
	work.Wait()
	if !slices.IsSortedFunc(order, func(a, b lane) int { return int(b - a) }) {
		t.Errorf("order = %v, want the urgent ones (%d) first", order, urgent)
	}
}

func TestWriter_CallerWhoGivesUpInTheQueueIsNotWritten(t *testing.T) {
	s := openTest(t, sqlitePath(t), testSteps())
	release := holdWriter(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() { result <- put(ctx, s, normal, "gone") }()
	eventually(t, "it waits", func() bool { return waiting(s, normal) == 1 })
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) { // while the writer is still held
		t.Errorf("err = %v, want context.Canceled", err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	mustPut(t, s, "stays")
	if got := count(t, s); got != 1 {
		t.Errorf("%d rows, want 1", got)
	}
}

func TestWriter_BatchThatChangesNothingIsNotWritten(t *testing.T) {
	s := openTest(t, sqlitePath(t), testSteps())
	w := sqliteOf(t, s).writer
	mustPut(t, s, "a")
	before := w.mark
	for range 10 {
		if err := s.write(t.Context(), normal, func(tx *tx) error {
			_, err := tx.exec(t.Context(), `UPDATE counters SET n = 1 WHERE id = 'nobody'`)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	mustPut(t, s, "b")
	if got := w.mark - before; got != 1 {
		t.Errorf("%d batches were written, want 1", got)
	}
}

func TestWriter_LostTransactionIsEverybodysError(t *testing.T) {
	s := openTest(t, sqlitePath(t), testSteps())
	release := holdWriter(t, s)
	innocent, guilty := make(chan error, 1), make(chan error, 1)
	go func() { innocent <- put(t.Context(), s, normal, "innocent") }()
	eventually(t, "one waits", func() bool { return waiting(s, normal) == 1 })
	go func() {
		guilty <- s.write(t.Context(), normal, func(tx *tx) error {
			_, err := tx.exec(t.Context(), `ROLLBACK`) // as SQLite does by itself when the disk is full
			return errors.Join(err, errors.New("no more"))
		})
	}()
	eventually(t, "two wait", func() bool { return waiting(s, normal) == 2 })
	held := release()
	for _, err := range []error{held, <-innocent, <-guilty} {
		if ktrdr.CodeOf(err) != ktrdr.CodeUnavailable {
			t.Errorf("err = %v, want CodeUnavailable", err)
		}
	}
	mustPut(t, s, "after")
	if got := count(t, s); got != 1 {
		t.Errorf("%d rows, want only the one after", got)
	}
}

func TestWriter_WaitsForAnotherProcess(t *testing.T) {
	path := sqlitePath(t)
	s := openTest(t, path, testSteps())
	other, err := sql.Open("sqlite", dsn(path, "query_only(0)"))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	conn, err := other.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.ExecContext(t.Context(), `BEGIN IMMEDIATE; INSERT INTO counters (id, n) VALUES ('theirs', 1)`); err != nil {
		t.Fatal(err)
	}
	result := make(chan error, 1)
	go func() { result <- put(t.Context(), s, normal, "ours") }()
	if got := count(t, s); got != 0 { // readers wait for nobody
		t.Errorf("%d rows, want 0", got)
	}
	if _, err := conn.ExecContext(t.Context(), `COMMIT`); err != nil {
		t.Fatal(err)
	}
	if err := <-result; err != nil {
		t.Error(err)
	}
	if got := count(t, s); got != 2 {
		t.Errorf("%d rows, want 2", got)
	}
}

func TestWriter_RefusesAFileThatWasReplaced(t *testing.T) {
	path := sqlitePath(t)
	s := openTest(t, path, testSteps())
	mustPut(t, s, "a")
	if err := os.Rename(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	for _, replaced := range []bool{false, true} {
		if replaced {
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		err := put(t.Context(), s, normal, "b")
		if ktrdr.CodeOf(err) != ktrdr.CodeUnavailable || !strings.Contains(err.Error(), path) {
			t.Errorf("replaced %v: err = %v, want CodeUnavailable that names the file", replaced, err)
		}
		if _, err := s.Info(t.Context()); err == nil {
			t.Errorf("replaced %v: Info says that all is well", replaced)
		}
	}
	if err := os.Rename(path+".away", path); err != nil {
		t.Fatal(err)
	}
	mustPut(t, s, "c")
}
