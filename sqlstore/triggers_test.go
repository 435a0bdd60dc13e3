package sqlstore

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/storetest"
)

var rewrite = flag.Bool("update", false, "rewrite the generated part of the migrations")

// transitionPredicate is ktrdr.Transitions in SQL: the body of the condition
// under which a trigger lets a status change pass.
func transitionPredicate() string {
	var lines []string
	for _, from := range ktrdr.Statuses {
		to := ktrdr.Transitions[from]
		if len(to) == 0 {
			continue
		}
		names := make([]string, len(to))
		for i, status := range to {
			names[i] = "NEW.status = '" + string(status) + "'"
		}
		lines = append(lines, fmt.Sprintf("(OLD.status = '%s' AND (%s))", from, strings.Join(names, " OR ")))
	}
	return "        " + strings.Join(lines, "\n        OR ") + "\n"
}

func TestTriggers_AreGeneratedFromTheTransitions(t *testing.T) {
	const before, after = "-- transitions\n", "-- end of transitions\n"
	for _, folder := range []string{"sqlite", "postgres"} {
		path := filepath.Join("migrations", folder, "00001_operations.sql")
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		head, rest, ok1 := strings.Cut(string(text), before)
		got, tail, ok2 := strings.Cut(rest, after)
		if !ok1 || !ok2 {
			t.Fatalf("%s has no generated part", path)
		}
		want := transitionPredicate()
		if got == want {
			continue
		}
		if !*rewrite {
			t.Errorf("%s: the transitions are\n%s\nwant\n%s\nrun go test ./sqlstore -run TestTriggers -update", path, got, want)
			continue
		}
		if err := os.WriteFile(path, []byte(head+before+want+after+tail), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// eachStore runs a test on the whole schema of each database.
func eachStore(t *testing.T, types ktrdr.Types, test func(t *testing.T, s *Store)) {
	for name, url := range map[string]func(testing.TB) string{"SQLite": InstalledSQLite, "PostgreSQL": InstalledPostgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, openStore(t, url(t), types))
		})
	}
}

func openStore(t *testing.T, url string, types ktrdr.Types) *Store {
	t.Helper()
	if types == nil {
		types = storetest.Types(nil)
	}
	s, err := Open(t.Context(), Config{URL: url, Types: types})
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

// raw runs one statement that the program never would.
func raw(t *testing.T, s *Store, text query, args ...any) error {
	t.Helper()
	return s.write(t.Context(), normal, func(t2 *tx) error {
		_, err := t2.exec(t.Context(), text, args...)
		return err
	})
}

func mustRaw(t *testing.T, s *Store, text query, args ...any) {
	t.Helper()
	if err := raw(t, s, text, args...); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

// plant puts an operation into a status that it did not live its way to.
func plant(t *testing.T, s *Store, id ktrdr.OperationID, status ktrdr.Status) {
	t.Helper()
	mustRaw(t, s, `INSERT INTO meta (key, value) VALUES ('restoring', '1')`)
	mustRaw(t, s, `INSERT INTO operations (id, operation_type, status, epoch, root_id, root_created_at, spec, created_at, heartbeat_at,
		completed_at)
		VALUES ($1, 'dummy', $2, 7, $1, 1, '{}', 1, 1, CASE WHEN $3 = 1 THEN 1 END)`, id, status, bit(status.Terminal()))
	mustRaw(t, s, `DELETE FROM meta WHERE key = 'restoring'`)
}

// wantEvents waits until the log of an operation holds these and no other. On
// PostgreSQL an event becomes visible when every older transaction of the
// whole server has ended, those of other tests among them.
func wantEvents(t *testing.T, s *Store, id ktrdr.OperationID, want ...ktrdr.EventKind) []ktrdr.Event {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		events, err := s.Events(t.Context(), ktrdr.EventQuery{Operation: id})
		if err != nil {
			t.Fatal(err)
		}
		got := make([]ktrdr.EventKind, len(events))
		for i, e := range events {
			got[i] = e.Kind
		}
		if slices.Equal(got, want) {
			return events
		}
		if len(got) > len(want) || time.Now().After(deadline) {
			t.Fatalf("events of %s are %v, want %v", id, got, want)
		}
	}
}

// moved is the event that each legal transition leaves.
func moved(from, to ktrdr.Status) ktrdr.EventKind {
	switch {
	case from == ktrdr.Pending && to == ktrdr.Running:
		return ktrdr.EventClaimed
	case to == ktrdr.Running:
		return ktrdr.EventReported
	case to == ktrdr.Reconciling:
		return ktrdr.EventReconciling
	case to == ktrdr.Pending && from.Terminal():
		return ktrdr.EventResumed
	case to == ktrdr.Pending:
		return ktrdr.EventReleased
	default:
		return ktrdr.EventKind(strings.ToLower(string(to)))
	}
}

func TestTriggers_AllowTheTransitionsAndNoOther(t *testing.T) {
	eachStore(t, nil, func(t *testing.T, s *Store) {
		n := 0
		for _, from := range ktrdr.Statuses {
			for _, to := range ktrdr.Statuses {
				if from == to {
					continue
				}
				n++
				id := ktrdr.OperationID(fmt.Sprintf("op_dummy_%d", n))
				plant(t, s, id, from)
				err := raw(t, s, `UPDATE operations SET status = $2, epoch = epoch + $3, completed_at = CASE WHEN $4 = 1 THEN 1 END WHERE id = $1`,
					id, to, bit(from == ktrdr.Pending && to == ktrdr.Running), bit(to.Terminal()))
				if !slices.Contains(ktrdr.Transitions[from], to) {
					if err == nil {
						t.Errorf("%s to %s was allowed", from, to)
					}
					wantEvents(t, s, id)
					continue
				}
				if err != nil {
					t.Errorf("%s to %s: %v", from, to, err)
					continue
				}
				wantEvents(t, s, id, moved(from, to))
			}
		}
	})
}

func TestTriggers_RefuseWhatNoStatementMayDo(t *testing.T) {
	statements := map[string]struct {
		in   ktrdr.Status
		text query
	}{
		"claim without a new epoch":   {ktrdr.Pending, `UPDATE operations SET status = 'RUNNING' WHERE id = $1`},
		"claim that skips an epoch":   {ktrdr.Pending, `UPDATE operations SET status = 'RUNNING', epoch = epoch + 2 WHERE id = $1`},
		"epoch without a claim":       {ktrdr.Running, `UPDATE operations SET epoch = epoch + 1 WHERE id = $1`},
		"epoch that goes back":        {ktrdr.Running, `UPDATE operations SET epoch = epoch - 1 WHERE id = $1`},
		"release that mints an epoch": {ktrdr.Running, `UPDATE operations SET status = 'PENDING', epoch = epoch + 1 WHERE id = $1`},
		"another id":                  {ktrdr.Pending, `UPDATE operations SET id = 'op_dummy_other' WHERE id = $1`},
		"another type":                {ktrdr.Pending, `UPDATE operations SET operation_type = 'training' WHERE id = $1`},
		"another spec":                {ktrdr.Pending, `UPDATE operations SET spec = '{"steps":1}' WHERE id = $1`},
		"another parent":              {ktrdr.Pending, `UPDATE operations SET parent_id = 'op_dummy_parent' WHERE id = $1`},
		"another birthday":            {ktrdr.Pending, `UPDATE operations SET created_at = 2 WHERE id = $1`},
		"another queue":               {ktrdr.Pending, `UPDATE operations SET queue = 'q', session = 1 WHERE id = $1`},
		"another run":                 {ktrdr.Pending, `UPDATE operations SET run = 'r' WHERE id = $1`},
		"another generation":          {ktrdr.Pending, `UPDATE operations SET generation = 1 WHERE id = $1`},
		"another index":               {ktrdr.Pending, `UPDATE operations SET idx = 1 WHERE id = $1`},
		"deleting a running one":      {ktrdr.Running, `DELETE FROM operations WHERE id = $1`},
		"deleting a reconciling one":  {ktrdr.Reconciling, `DELETE FROM operations WHERE id = $1`},
		"being born running": {ktrdr.Failed, `INSERT INTO operations (id, operation_type, status, root_id, root_created_at, spec, created_at,
			heartbeat_at)
			SELECT 'op_dummy_new', 'dummy', 'RUNNING', 'op_dummy_new', 1, '{}', 1, 1 FROM operations WHERE id = $1`},
		"running without a heartbeat": {ktrdr.Running, `UPDATE operations SET heartbeat_at = NULL WHERE id = $1`},
		"waiting while running":       {ktrdr.Running, `UPDATE operations SET not_before = 1 WHERE id = $1`},
		"ending without an end":       {ktrdr.Running, `UPDATE operations SET status = 'FAILED' WHERE id = $1`},
	}
	eachStore(t, nil, func(t *testing.T, s *Store) {
		n := 0
		for name, c := range statements {
			n++
			id := ktrdr.OperationID(fmt.Sprintf("op_dummy_%d", n))
			plant(t, s, id, c.in)
			if err := raw(t, s, c.text, id); err == nil {
				t.Errorf("%s was allowed", name)
			}
			op, err := s.Operation(t.Context(), id)
			if err != nil || op.Status != c.in || op.Epoch != 7 {
				t.Errorf("%s: the operation is %s at epoch %d (%v), want it unchanged", name, op.Status, op.Epoch, err)
			}
		}
		mustRaw(t, s,
			`INSERT INTO notes (id, kind, key, run, generation, idx, operation_id, at, data) VALUES (1, 'k', 'a', '', 0, 0, '', 1, '{}')`)
		mustRaw(t, s,
			`INSERT INTO llm_calls (id, root_id, operation_id, epoch, key, model, status, charged, at)
				VALUES (1, 'r', 'o', 1, 'k', 'm', 'reserved', 9, 1)`)
		mustRaw(t, s, `INSERT INTO llm_calls (id, root_id, operation_id, epoch, key, model, status, charged, at, settled_at, answer)
			VALUES (2, 'r', 'o', 1, 'k', 'm', 'answered', 9, 1, 2, '{}')`)
		mustRaw(t, s,
			`INSERT INTO llm_spent (root_id, day, model, status, calls, charged, input_tokens, output_tokens)
				VALUES ('r', 0, 'm', 'failed', 1, 9, 0, 0)`)
		for _, text := range []query{
			`UPDATE notes SET data = '[]'`, `DELETE FROM notes`,
			`UPDATE llm_calls SET charged = 0 WHERE id = 2`,
			`UPDATE llm_calls SET status = 'reserved', settled_at = NULL, answer = NULL WHERE id = 2`,
			`UPDATE llm_calls SET charged = 0 WHERE id = 1`,
			`UPDATE llm_calls SET status = 'failed', settled_at = 2, root_id = 'another' WHERE id = 1`,
			`UPDATE llm_calls SET status = 'failed', settled_at = 2, charged = -1 WHERE id = 1`,
			`UPDATE llm_calls SET status = 'answered', settled_at = 2 WHERE id = 1`,
			`UPDATE llm_calls SET status = 'failed' WHERE id = 1`,
			`DELETE FROM llm_spent`,
		} {
			if err := raw(t, s, text); err == nil {
				t.Errorf("%s was allowed", text)
			}
		}
		mustRaw(t, s, `UPDATE llm_calls SET status = 'failed', settled_at = 2, charged = 0 WHERE id = 1`)
		plant(t, s, "op_dummy_done", ktrdr.Completed)
		if err := raw(t, s, `DELETE FROM operations WHERE id = $1`, "op_dummy_done"); err != nil {
			t.Errorf("deleting an ended operation: %v", err)
		}
	})
}
