package sqlstore

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr/sqlstore/pgtest"
)

// People open ktrdr.db with the sqlite3 of their system. The oldest one that
// must read it is 3.40, of Debian 12.

// newerSyntax holds what SQLite 3.40 cannot read in a schema and a newer one
// can: a newer sqlite3 on the testing machine would not notice.
var newerSyntax = map[string]*regexp.Regexp{
	"an alias of an INSERT's table": regexp.MustCompile(`(?i)\binsert\s+(or\s+\w+\s+)?into\s+\w+\s+as\b`),
	"a function newer than 3.40": regexp.MustCompile(
		`(?i)\b(unhex|octet_length|timediff|concat|concat_ws|string_agg|json_error_position|json_pretty|unistr|unistr_quote|if|jsonb\w*)\s*\(`),
	"an ORDER BY within an aggregate": regexp.MustCompile(`(?i)\b(group_concat|json_group_\w+|sum|count)\s*\([^()]*\border\s+by\b`),
	"digits apart":                    regexp.MustCompile(`[0-9]_[0-9]`),
}

func TestSQLite_SchemaIsReadByVersion340(t *testing.T) {
	s := openTest(t, InstalledSQLite(t), migrations)
	schema, err := objects(t, s)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range schema {
		for what, found := range newerSyntax {
			if at := found.FindString(text); at != "" {
				t.Errorf("%s has %s: %q", name, what, at)
			}
		}
	}
	if len(schema) < 50 {
		t.Errorf("%d tables, indexes and triggers were looked at, want all of them", len(schema))
	}
}

// objects is the SQL of everything in the schema.
func objects(t *testing.T, s *Store) (map[string]string, error) {
	t.Helper()
	all := map[string]string{}
	err := s.readOne(t.Context(), func(r queryer) error {
		rows, err := r.rows(t.Context(), `SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL`)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var name, text string
			if err := rows.Scan(&name, &text); err != nil {
				return err
			}
			all[name] = text
		}
		return rows.Err()
	})
	return all, err
}

// TestSQLite_OpensInTheSystemsOwn asks the program: it reads the file, and a
// deletion there goes through the trigger that keeps what was paid.
func TestSQLite_OpensInTheSystemsOwn(t *testing.T) {
	program, err := exec.LookPath("sqlite3")
	if err != nil {
		if os.Getenv(pgtest.Require) == "all" {
			t.Fatal("sqlite3 is not installed (Debian: apt-get install sqlite3)")
		}
		t.Skip("sqlite3 is not installed (Debian: apt-get install sqlite3)")
	}
	path := InstalledSQLite(t)
	call := `INSERT INTO llm_calls (id, root_id, operation_id, epoch, key, model, status, charged, input_tokens, output_tokens, at, settled_at)
		VALUES (ID, 'r', 'o', 1, 'k', 'm', 'failed', 9, 3, 4, 5, 6);`
	for _, c := range []struct{ ask, want string }{
		{"PRAGMA integrity_check; SELECT count(*) FROM operations;", "ok\n0\n"},
		{
			strings.ReplaceAll(call, "ID", "1") + strings.ReplaceAll(call, "ID", "2") + `DELETE FROM llm_calls;
				SELECT root_id, day, model, status, calls, charged, input_tokens, output_tokens FROM llm_spent;`,
			"r|0|m|failed|2|18|6|8\n",
		},
	} {
		out, err := exec.CommandContext(t.Context(), program, path, c.ask).CombinedOutput()
		if err != nil || string(out) != c.want {
			t.Errorf("sqlite3 %s: %v\n%s, want %s", c.ask, err, out, c.want)
		}
	}
}
