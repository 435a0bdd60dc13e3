package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"maps"
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
// a test can see what the callers that came meanwhile share.
func holdWriter(t *testing.T, s *Store) (release func() error) {
	t.Helper()
	in, out, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	holds := sync.OnceFunc(func() { close(in) })
	go func() {
		done <- s.write(t.Context(), normal, func(*tx) error {
			holds()
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
			_, err := tx.exec(t.Context(), `UPDATE counters SET n = 1 WHERE id = 'unknown'`)
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

// Of the callers that share a commit, one fails after it has written. What the others
// wrote is there, once; what cannot be done again was not.
func TestWriter_OneThatFailsUndoesNoOther(t *testing.T) {
	s := openTest(t, sqlitePath(t), testSteps())
	w := sqliteOf(t, s).writer
	before := w.commits.Load()
	release := holdWriter(t, s)
	runs := map[string]int{} // only who has the turn touches it
	body := func(id string, answer error) func(*tx) error {
		return func(tx *tx) error {
			runs[id]++
			_, err := tx.exec(t.Context(), `INSERT INTO counters (id, n) VALUES ($1, 1)`, id)
			return errors.Join(err, answer)
		}
	}
	refused := errors.New("refused")
	results := map[string]chan error{}
	for i, id := range []string{"a", "guilty", "b", "guilty too", "once", "after"} {
		result := make(chan error, 1)
		results[id] = result
		j := &job{body: body(id, nil), once: id == "once"}
		if strings.HasPrefix(id, "guilty") {
			j.body = body(id, refused)
		}
		go func() { result <- w.do(t.Context(), normal, j) }()
		eventually(t, "it waits", func() bool { return waiting(s, normal) == i+1 })
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	for id, result := range results {
		if err := <-result; errors.Is(err, refused) != strings.HasPrefix(id, "guilty") || err != nil && !errors.Is(err, refused) {
			t.Errorf("%s: err = %v", id, err)
		}
	}
	if want := map[string]int{"a": 2, "guilty": 1, "b": 1, "guilty too": 1, "once": 1, "after": 1}; !maps.Equal(runs, want) {
		t.Errorf("the bodies ran %v times, want %v", runs, want)
	}
	if got := count(t, s); got != 4 {
		t.Errorf("%d rows, want 4", got)
	}
	if got := w.commits.Load() - before; got != 2 {
		t.Errorf("%d commits, want one, and one for who came after what is done once", got)
	}
}

func TestWriter_PeekSeesWhatWasWrittenAndNothingElse(t *testing.T) {
	s := openTest(t, sqlitePath(t), testSteps())
	peek := func() (n int) {
		t.Helper()
		if err := s.peek(t.Context(), func(r queryer) error {
			return r.row(t.Context(), `SELECT COUNT(*) FROM counters`).Scan(&n)
		}); err != nil {
			t.Fatal(err)
		}
		return n
	}
	mustPut(t, s, "a")
	refused := errors.New("refused")
	if err := s.write(t.Context(), normal, func(tx *tx) error {
		_, err := tx.exec(t.Context(), `INSERT INTO counters (id, n) VALUES ('b', 1)`)
		return errors.Join(err, refused)
	}); !errors.Is(err, refused) {
		t.Fatal(err)
	}
	if n := peek(); n != 1 {
		t.Errorf("peek sees %d rows, want 1", n)
	}
	release := holdWriter(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.peek(ctx, func(queryer) error { t.Error("it had no turn"); return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v, want context.Canceled", err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.peek(t.Context(), func(queryer) error { t.Error("it is closed"); return nil }); !errors.Is(err, errClosed) {
		t.Errorf("err = %v, want %v", err, errClosed)
	}
}

func TestWriter_LostTransactionIsTheErrorOfAllCallers(t *testing.T) {
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
	if got := count(t, s); got != 0 { // readers do not wait
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
