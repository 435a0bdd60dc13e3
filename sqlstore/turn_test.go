package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
)

// While another process writes, the caller whose turn it is can give up in time,
// others wait, and reads are answered.
func TestWriter_WhoHasTheTurnStillHasADeadline(t *testing.T) {
	path := sqlitePath(t)
	s, other := openTest(t, path, testSteps()), openTest(t, path, testSteps())
	release := holdWriter(t, other)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	begun := time.Now()
	if err := put(ctx, s, normal, "short"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("err = %v, want that its time is over", err)
	}
	if waited := time.Since(begun); waited > busyTimeout/2 {
		t.Errorf("with a deadline of 200ms it waited %v", waited)
	}
	patient := make(chan error, 1)
	go func() { patient <- put(t.Context(), s, normal, "patient") }()
	w := sqliteOf(t, s).writer
	eventually(t, "it has the turn", func() bool { return len(w.turn) == 1 })
	if err := s.peek(t.Context(), func(r queryer) error {
		var n int
		return r.row(t.Context(), `SELECT COUNT(*) FROM counters`).Scan(&n)
	}); err != nil {
		t.Errorf("a look meanwhile: %v", err)
	}
	select {
	case err := <-patient:
		t.Errorf("it did not wait: %v", err)
	default:
	}
	if err := errors.Join(release(), <-patient); err != nil {
		t.Error(err)
	}
	if got := count(t, s); got != 1 {
		t.Errorf("%d rows, want that of who waited", got)
	}
}

// A disk stalls, the queue fills with callers, and all of them give up.
func TestWriter_CallersThatGaveUpDelayNoOther(t *testing.T) {
	s := openTest(t, sqlitePath(t), testSteps())
	w := sqliteOf(t, s).writer
	stalls, ends := make(chan struct{}), make(chan struct{})
	stall := sync.OnceFunc(func() { close(stalls); <-ends })
	w.interpose = func(commit func() error) error {
		stall()
		return commit()
	}
	first := make(chan error, 1)
	go func() { first <- put(t.Context(), s, normal, "first") }()
	<-stalls
	ctx, cancel := context.WithCancel(t.Context())
	var crowd sync.WaitGroup
	for i := range queueLength + 10 {
		crowd.Go(func() {
			if err := put(ctx, s, normal, fmt.Sprint("gone ", i)); !errors.Is(err, context.Canceled) {
				t.Errorf("err = %v, want context.Canceled", err)
			}
		})
	}
	eventually(t, "the queue is full", func() bool { return waiting(s, normal) == queueLength })
	cancel()
	crowd.Wait()
	close(ends)
	if err := <-first; err != nil {
		t.Error(err)
	}
	late, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := put(late, s, normal, "late"); err != nil {
		t.Errorf("the next caller: %v", err)
	}
	if got := count(t, s); got != 2 {
		t.Errorf("%d rows, want 2", got)
	}
}

func TestCommit_ABatchThatCannotBeNumberedIsNotWritten(t *testing.T) {
	s := openTest(t, sqlitePath(t), testSteps())
	mustPut(t, s, "a")
	w := sqliteOf(t, s).writer
	err := s.write(t.Context(), normal, func(tx *tx) error {
		_ = w.conn.stmts[sqlChanges].Close() // as if there were no memory to ask
		_, err := tx.exec(t.Context(), `INSERT INTO counters (id, n) VALUES ('b', 1)`)
		return err
	})
	delete(w.conn.stmts, sqlChanges)
	if ktrdr.CodeOf(err) != ktrdr.CodeUnavailable {
		t.Errorf("err = %v, want CodeUnavailable", err)
	}
	mustPut(t, s, "c")
	if got := count(t, s); got != 2 {
		t.Errorf("%d rows, want 2", got)
	}
}

// SQLite ends a transaction by itself, and the body in which it happens says
// nothing. What came before it is lost and what came after is there.
func TestCommit_ATransactionThatEndedUnnoticedIsUnknown(t *testing.T) {
	s := openTest(t, sqlitePath(t), testSteps())
	release := holdWriter(t, s)
	results := make(chan error, 3)
	for i, id := range []string{"before", "", "after"} {
		go func() {
			results <- s.write(t.Context(), normal, func(tx *tx) error {
				if id == "" {
					_, _ = tx.exec(t.Context(), `ROLLBACK`)
					return nil
				}
				_, err := tx.exec(t.Context(), `INSERT INTO counters (id, n) VALUES ($1, 1)`, id)
				return err
			})
		}()
		eventually(t, "it waits", func() bool { return waiting(s, normal) == i+1 })
	}
	for _, err := range []error{release(), <-results, <-results, <-results} {
		if ktrdr.CodeOf(err) != ktrdr.CodeUnknownResult {
			t.Errorf("err = %v, want CodeUnknownResult", err)
		}
	}
	mustPut(t, s, "next")
}

// A body that ends its goroutine ends the store, but leaves the file to others.
func TestWriter_ABodyThatNeverReturnsLeavesTheFileFree(t *testing.T) {
	path := sqlitePath(t)
	s := openTest(t, path, testSteps())
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_ = s.write(t.Context(), normal, func(tx *tx) error {
			if _, err := tx.exec(t.Context(), `INSERT INTO counters (id, n) VALUES ('half', 1)`); err != nil {
				t.Error(err)
			}
			runtime.Goexit()
			return nil
		})
	}()
	<-gone
	if err := put(t.Context(), s, normal, "more"); !errors.Is(err, errClosed) {
		t.Errorf("err = %v, want %v", err, errClosed)
	}
	other := openTest(t, path, testSteps())
	mustPut(t, other, "theirs")
	if got := count(t, other); got != 1 {
		t.Errorf("%d rows, want 1", got)
	}
}
