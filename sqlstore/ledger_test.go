package sqlstore

import (
	"encoding/json"
	"testing"

	"github.com/ktrdr/ktrdr"
)

// noting is a ledger that remembers every dummy by its spec.
func noting(op ktrdr.Operation) []ktrdr.Note {
	return []ktrdr.Note{{Kind: "trial", Key: string(op.Spec), Data: op.Result}}
}

func notesOf(t *testing.T, s *Store) []ktrdr.Note {
	t.Helper()
	page, err := s.Notes(t.Context(), ktrdr.NoteQuery{Order: ktrdr.NotesOldest})
	if err != nil {
		t.Fatal(err)
	}
	return page.Notes
}

func TestLedger_NotesWhatCompletesWithoutAParentAndOnce(t *testing.T) {
	eachStore(t, plansOf(fanOut(1)), func(t *testing.T, s *Store) {
		s.ledger = ktrdr.Ledger{ktrdr.Dummy: noting}
		run := func(spec string) *ktrdr.Task {
			create(t, s, ktrdr.NewOperation{Type: ktrdr.Dummy, Spec: json.RawMessage(spec)})
			return claimDummy(t, s, "")
		}
		end := func(task *ktrdr.Task, outcome ktrdr.Status) {
			t.Helper()
			f := ktrdr.Finished{Operation: task.Operation, Epoch: task.Epoch, Outcome: outcome, Result: json.RawMessage(`{"n":1}`)}
			if _, err := s.Finish(t.Context(), f); err != nil {
				t.Fatal(err)
			}
		}
		end(run(`"fails"`), ktrdr.Failed)
		stopped := run(`"cancelled"`)
		if _, _, err := s.Cancel(t.Context(), stopped.Operation, "enough"); err != nil {
			t.Fatal(err)
		}
		end(stopped, ktrdr.Completed)
		createParent(t, s)
		end(claimDummy(t, s, ""), ktrdr.Completed) // its parent's plan has the word
		if got := notesOf(t, s); len(got) != 0 {
			t.Fatalf("notes %+v of what failed, was cancelled or has a parent, want none", got)
		}

		first := run(`"a"`)
		end(first, ktrdr.Completed)
		end(first, ktrdr.Completed)      // its answer was lost
		end(run(`"a"`), ktrdr.Completed) // the same thing again
		end(run(`"b"`), ktrdr.Completed) // and another
		got := notesOf(t, s)
		if len(got) != 2 || got[0].Operation != first.Operation || string(got[0].Data) != `{"n":1}` || got[1].Key != `"b"` {
			t.Errorf("notes %+v, want one of each, for the operation that was first", got)
		}
	})
}

func TestLedger_ANoteThatCannotBeStoredUndoesTheEnd(t *testing.T) {
	eachStore(t, nil, func(t *testing.T, s *Store) {
		s.ledger = ktrdr.Ledger{ktrdr.Dummy: func(ktrdr.Operation) []ktrdr.Note { return []ktrdr.Note{{Kind: "trial"}} }}
		op := create(t, s, ktrdr.NewOperation{Type: ktrdr.Dummy})
		task := claimDummy(t, s, "")
		if _, err := s.Finish(t.Context(), ktrdr.Finished{Operation: op.ID, Epoch: task.Epoch, Outcome: ktrdr.Completed}); err == nil {
			t.Error("a result was stored without what the ledger says of it")
		}
		wantStatus(t, s, op.ID, ktrdr.Running)
	})
}
