package sqlstore

import (
	"slices"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
)

// hold begins a transaction that writes one event when it is told to and
// commits when it is told again.
func hold(t *testing.T, s *Store, op ktrdr.OperationID) (write, commit func()) {
	begun, release, wrote, end := make(chan bool), make(chan bool), make(chan bool), make(chan bool)
	done := make(chan error, 1)
	go func() {
		done <- s.write(t.Context(), normal, func(x *tx) error {
			reach(t, x)
			begun <- true
			<-release
			insertEvent(t.Context(), x, op, ktrdr.EventCheckpoint, 1, struct{}{})
			reach(t, x)
			wrote <- true
			<-end
			return nil
		})
	}()
	<-begun
	write = func() {
		release <- true
		<-wrote
	}
	commit = func() {
		end <- true
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	return write, commit
}

// reach makes the server know all that the transaction has said so far.
func reach(t *testing.T, x *tx) {
	if _, err := x.exec(t.Context(), `SELECT 1`); err != nil {
		t.Error(err)
	}
}

// Two transactions overlap; whichever of them writes first, and whichever
// commits first, a reader with a cursor gets both.
func TestEvents_LateCommitIsNotSkipped(t *testing.T) {
	s := openStore(t, InstalledPostgres(t), nil)
	const older, younger = ktrdr.OperationID("op_dummy_older"), ktrdr.OperationID("op_dummy_younger")
	for name, olderWritesFirst := range map[string]bool{"the first to write commits last": true, "the first to begin writes last": false} {
		want := []ktrdr.OperationID{younger, older}
		if olderWritesFirst {
			slices.Reverse(want)
		}
		t.Run(name, func(t *testing.T) {
			after, err := s.LastEvent(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var got []ktrdr.OperationID
			read := func() {
				events, err := s.Events(t.Context(), ktrdr.EventQuery{After: after})
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range events {
					got, after = append(got, e.Operation), e.Cursor
				}
			}

			write1, commit1 := hold(t, s, older)
			write2, commit2 := hold(t, s, younger)
			if olderWritesFirst {
				write1()
				write2()
			} else {
				write2()
			}
			commit2()
			read()
			if len(got) != 0 {
				t.Errorf("a reader saw %v while an older transaction could still write", got)
			}
			if !olderWritesFirst {
				write1()
			}
			commit1()
			for deadline := time.Now().Add(10 * time.Second); len(got) < 2 && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
				read()
			}
			if !slices.Equal(got, want) {
				t.Errorf("a reader saw %v, want both as they were written, %v", got, want)
			}
		})
	}
}

// A transaction that began first may have to wait for its turn at a row. The
// log tells the row's life, not the transactions' age.
func TestEvents_TellOneOperationsLifeInItsOrder(t *testing.T) {
	s := openStore(t, InstalledPostgres(t), nil)
	op := create(t, s, ktrdr.NewOperation{Type: ktrdr.Dummy})
	begun, claimed := make(chan bool), make(chan bool)
	released := make(chan error, 1)
	go func() {
		released <- s.write(t.Context(), normal, func(x *tx) error {
			reach(t, x)
			begun <- true
			<-claimed
			_, err := scanOperation(x.row(t.Context(), releaseOne, cancelledFailure, "", noWait, ktrdr.ReleasedByWorker, op.ID, 1))
			return err
		})
	}()
	<-begun
	claimDummy(t, s, "")
	close(claimed)
	if err := <-released; err != nil {
		t.Fatal(err)
	}
	wantEvents(t, s, op.ID, ktrdr.EventCreated, ktrdr.EventClaimed, ktrdr.EventReleased)
}

func TestEvents_PruningTakesTheOldOnly(t *testing.T) {
	eachStore(t, nil, func(t *testing.T, s *Store) {
		for range 3 {
			mustRaw(t, s, `INSERT INTO events (operation_id, kind, at, epoch, data) VALUES ('op_old', 'created', {now} - 3600000000, 0, '{}')`)
		}
		fresh := create(t, s, ktrdr.NewOperation{Type: ktrdr.Dummy})
		n, err := s.PruneEvents(t.Context(), time.Minute)
		if err != nil || n != 3 {
			t.Errorf("pruned %d, %v; want 3", n, err)
		}
		wantEvents(t, s, "op_old")
		wantEvents(t, s, fresh.ID, ktrdr.EventCreated)
	})
}
