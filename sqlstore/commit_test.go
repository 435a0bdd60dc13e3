package sqlstore

import (
	"errors"
	"fmt"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/sqlstore/pgtest"
)

func TestCommit_AmbiguousOnSQLite(t *testing.T) {
	lost := errors.New("the answer was lost")
	for name, c := range map[string]struct {
		interpose func(calls int, commit func() error) error
		code      ktrdr.Code
		rows      int
	}{
		"it had committed": {
			interpose: func(_ int, commit func() error) error {
				if err := commit(); err != nil {
					return err
				}
				return lost
			},
			rows: 1,
		},
		"it had not, and the next commit proves it": {
			interpose: func(calls int, commit func() error) error {
				if calls == 1 {
					return lost
				}
				return commit()
			},
			code: ktrdr.CodeUnavailable,
		},
		"it had not, but nothing can be written to prove it": {
			interpose: func(int, func() error) error { return lost },
			code:      ktrdr.CodeUnknownResult,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := openTest(t, sqlitePath(t), testSteps())
			w, calls := sqliteOf(t, s).writer, 0
			w.interpose = func(commit func() error) error {
				calls++
				return c.interpose(calls, commit)
			}
			err := put(t.Context(), s, normal, "a")
			if ktrdr.CodeOf(err) != c.code || err != nil && !errors.Is(err, lost) {
				t.Errorf("err = %v, want code %q because of %q", err, c.code, lost)
			}
			if got := count(t, s); got != c.rows {
				t.Errorf("%d rows, want %d", got, c.rows)
			}
			w.interpose = nil
			mustPut(t, s, "b")
		})
	}
}

func TestCommit_AnotherWriterIsNoProof(t *testing.T) {
	path := sqlitePath(t)
	s, other := openTest(t, path, testSteps()), openTest(t, path, testSteps())
	lost := errors.New("the answer was lost")
	for _, committed := range []bool{true, false} {
		calls := 0
		sqliteOf(t, s).writer.interpose = func(commit func() error) error {
			if calls++; calls > 1 {
				return commit()
			}
			if !committed {
				if _, err := sqliteOf(t, s).writer.conn.exec(t.Context(), `ROLLBACK`); err != nil {
					t.Error(err)
				}
			} else if err := commit(); err != nil {
				t.Error(err)
			}
			mustPut(t, other, fmt.Sprint("theirs ", committed)) // before we can look
			return lost
		}
		err := put(t.Context(), s, normal, fmt.Sprint("ours ", committed))
		if committed != (err == nil) || !committed && ktrdr.CodeOf(err) != ktrdr.CodeUnavailable {
			t.Errorf("committed %v: err = %v", committed, err)
		}
	}
	if got := count(t, s); got != 3 {
		t.Errorf("%d rows, want 3", got)
	}
}

func TestCommit_AmbiguousOnPostgres(t *testing.T) {
	for name, c := range map[string]struct {
		cut  cut
		code ktrdr.Code
		rows int // after one put
	}{
		"it had committed":                    {cut: cutAnswer, rows: 1},
		"it had not, and is done again":       {cut: cutRequest, rows: 1},
		"it never arrived and no caller hung": {cut: swallowRequest, rows: 1},
	} {
		for _, together := range []bool{false, true} { // the row and its COMMIT sent at once, as owed, or one after the other
			t.Run(fmt.Sprintf("%s, together %v", name, together), func(t *testing.T) {
				proxy := newProxy(t, pgtest.URL(t))
				s := openTest(t, proxy.url, testSteps())
				proxy.atCommit(c.cut)
				err := s.write(t.Context(), normal, func(tx *tx) error {
					if together {
						tx.later(t.Context(), sqlPut, "a", 1)
						return nil
					}
					_, err := tx.exec(t.Context(), sqlPut, "a", 1)
					return err
				})
				if ktrdr.CodeOf(err) != c.code {
					t.Errorf("err = %v, want code %q", err, c.code)
				}
				if got := count(t, s); got != c.rows {
					t.Errorf("%d rows, want %d: %v", got, c.rows, err)
				}
				if got := proxy.cuts(); got != 1 {
					t.Errorf("%d commits were cut, want 1", got)
				}
			})
		}
	}
}

func TestCommit_ErrorOfWhatIsOwedUndoesEverything(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store) {
		err := s.write(t.Context(), normal, func(tx *tx) error {
			if _, err := tx.exec(t.Context(), sqlPut, "a", 1); err != nil {
				return err
			}
			tx.later(t.Context(), sqlPut, "a", 1) // the same key again: PostgreSQL refuses it together with COMMIT
			return nil
		})
		if !isDuplicate(err) || count(t, s) != 0 {
			t.Errorf("err = %v and %d rows, want a duplicate and none", err, count(t, s))
		}
		mustPut(t, s, "b") // on the same connection
	})
}

func TestCommit_NothingIsRunAfterWhatFailed(t *testing.T) {
	onBoth(t, func(t *testing.T, s *Store) {
		err := s.write(t.Context(), normal, func(tx *tx) error {
			tx.later(t.Context(), sqlPut, "a", 1)
			tx.later(t.Context(), sqlPut, "a", 1)
			tx.later(t.Context(), sqlPut, "b", 1)
			if _, err := tx.exec(t.Context(), sqlPut, "c", 1); !isDuplicate(err) {
				t.Errorf("a statement after the duplicate: %v, want the error of the duplicate", err)
			}
			return nil
		})
		if err == nil || count(t, s) != 0 {
			t.Errorf("err = %v and %d rows, want an error and none", err, count(t, s))
		}
	})
}

func TestCommit_AllConnectionsLostAtOnce(t *testing.T) {
	proxy := newProxy(t, pgtest.URL(t))
	s, err := open(t.Context(), Config{URL: proxy.url, Conns: 1}, testSteps())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	proxy.atCommit(cutAnswer)
	if err := put(t.Context(), s, normal, "a"); err != nil {
		t.Errorf("err = %v, want nil: the only connection was lost after the commit", err)
	}
}

func TestCommit_WithoutAWitnessCommittedIsNotBelieved(t *testing.T) {
	proxy := newProxy(t, pgtest.URL(t))
	s := openTest(t, proxy.url, testSteps())
	bus := s.db.(*postgres).bus
	proxy.atCommit(cutAnswer)
	err := s.write(t.Context(), normal, func(tx *tx) error {
		if _, err := tx.exec(t.Context(), sqlPut, "a", 1); err != nil {
			return err
		}
		// After a crash of the server the witness would be gone; so wait until it is.
		_, err := tx.exec(t.Context(), `SELECT pg_terminate_backend($1, 20000)`, int64(bus.witness.Load().pid))
		return err
	})
	if ktrdr.CodeOf(err) != ktrdr.CodeUnknownResult {
		t.Errorf("err = %v, want CodeUnknownResult", err)
	}
}

func TestCommit_IDThatWasNeverGivenOutDidNotCommit(t *testing.T) {
	s := openTest(t, pgtest.URL(t), testSteps())
	p, lost := s.db.(*postgres), errors.New("lost")
	tr := transaction{id: "999999999", witness: p.bus.witness.Load()}
	if err := p.resolve(t.Context(), tr, lost); ktrdr.CodeOf(err) != ktrdr.CodeUnavailable || !errors.Is(err, lost) {
		t.Errorf("err = %v, want CodeUnavailable because of %q", err, lost)
	}
}

func TestCommit_IgnoredErrorIsNotACommit(t *testing.T) {
	s := openTest(t, pgtest.URL(t), testSteps())
	err := s.write(t.Context(), normal, func(tx *tx) error {
		_, _ = tx.exec(t.Context(), sqlPut, "a", 1)
		_, _ = tx.exec(t.Context(), sqlPut, "a", 1) // the same key again
		return nil
	})
	if err == nil || count(t, s) != 0 {
		t.Errorf("err = %v and %d rows, want an error and none", err, count(t, s))
	}
}
