package sqlstore

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/sqlstore/pgtest"
)

// onInstalled runs a test on each database, on the real schema.
func onInstalled(t *testing.T, test func(t *testing.T, s *Store)) {
	for name, url := range map[string]func(testing.TB) string{"SQLite": InstalledSQLite, "PostgreSQL": InstalledPostgres} {
		t.Run(name, func(t *testing.T) { test(t, openTest(t, url(t), migrations)) })
	}
}

// letter is a blob that is told by a letter.
func letter(c byte) ktrdr.Hash { return ktrdr.Hash{c} }

// insertNaming adds a checkpoint of an operation that names blobs by artifacts and
// one by its state.
func insertNaming(t *testing.T, s *Store, op, id string, state byte, artifacts ...byte) {
	t.Helper()
	var texts []string
	for _, c := range artifacts {
		texts = append(texts, fmt.Sprintf(`{"name":"a%c","sha256":%q,"size":1}`, c, letter(c)))
	}
	mustRaw(t, s,
		`INSERT INTO checkpoints (tenant, thread_id, ns, id, put_at, checkpoint_type, artifacts, state_blob)
			VALUES ('', $1, '', $2, 1, 'periodic', $3, $4)`,
		op, id, "["+strings.Join(texts, ",")+"]", fmt.Sprintf(`{"name":"state","sha256":%q,"size":1}`, letter(state)))
}

// namedLetters is which of the blobs checkpoints name.
func namedLetters(t *testing.T, s *Store, asked string) string {
	t.Helper()
	blobs := make([]ktrdr.Hash, len(asked))
	for i := range asked {
		blobs[i] = letter(asked[i])
	}
	named, err := s.BlobsNamed(t.Context(), blobs, true)
	if err != nil {
		t.Fatal(err)
	}
	var found strings.Builder
	for i := range asked {
		if named[blobs[i]] {
			found.WriteByte(asked[i])
		}
	}
	return found.String()
}

// Whether a checkpoint names a blob is answered without the rows of checkpoints:
// the table is out of the way when it is asked.
func TestBlobsNamed_DoesNotReadCheckpoints(t *testing.T) {
	onInstalled(t, func(t *testing.T, s *Store) {
		insertNaming(t, s, "op_dummy_1", "1", 's', 'a', 'b')
		insertNaming(t, s, "op_dummy_2", "1", 's', 'a', 'a') // two names for the same bytes
		insertNaming(t, s, "op_dummy_2", "2", 'a', 'c')
		mustRaw(t, s, `ALTER TABLE checkpoints RENAME TO away`)
		if got := namedLetters(t, s, "abcsx"); got != "abcs" {
			t.Errorf("named are %q, want %q", got, "abcs")
		}
		mustRaw(t, s, `ALTER TABLE away RENAME TO checkpoints`)
		mustRaw(t, s, `DELETE FROM checkpoints WHERE thread_id = 'op_dummy_2'`)
		if got := namedLetters(t, s, "abcsx"); got != "abs" {
			t.Errorf("after the second operation is gone, named are %q, want %q", got, "abs")
		}
		mustRaw(t, s, `UPDATE checkpoints SET artifacts = '[{"na', state_blob = 'x'`) // which must not keep it from being deleted
		mustRaw(t, s, `DELETE FROM checkpoints`)
	})
}

// insertOdd adds checkpoints whose texts are no lists of artifacts. They name
// nothing, and may be there like any other.
func insertOdd(t *testing.T, s *Store, op string) {
	t.Helper()
	odd := []string{`null`, `5`, `"x"`, `["x"]`, `[null]`, `[{"name":"x"}]`, `[{"sha256":null}]`, `{"sha256":7}`, `{"name":"x"}`, `[{`, ``}
	err := s.write(t.Context(), normal, func(x *tx) error {
		for i, text := range odd {
			if _, err := x.exec(t.Context(), `INSERT INTO checkpoints (tenant, thread_id, ns, id, put_at, checkpoint_type, artifacts, state_blob)
				VALUES ('', $1, '', $2, 1, 'periodic', $3, $4)`, op, fmt.Sprint(i), text, text); err != nil {
				return fmt.Errorf("%s: %w", text, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// What checkpoints of an earlier version name is known after the upgrade.
func TestMigration_KnowsWhatCheckpointsName(t *testing.T) {
	for name, url := range map[string]func(testing.TB) string{"SQLite": sqlitePath, "PostgreSQL": pgtest.URL} {
		t.Run(name, func(t *testing.T) {
			where := url(t)
			old, err := open(t.Context(), Config{URL: where}, stepsUpTo(t, "00023~"))
			if err != nil {
				t.Fatal(err)
			}
			insertNaming(t, old, "op_dummy_1", "1", 's', 'a', 'a')
			mustRaw(t, old, `INSERT INTO checkpoints (tenant, thread_id, ns, id, put_at, checkpoint_type, artifacts, state_blob)
				VALUES ('', 'op_dummy_3', '', '2', 1, 'periodic', '[{', 'x')`) // damaged
			insertOdd(t, old, "op_dummy_4")
			mustRaw(t, old,
				`INSERT INTO checkpoints (tenant, thread_id, ns, id, put_at, checkpoint_type) VALUES ('', 'op_dummy_1', '', '2', 1, 'periodic')`)
			mustRaw(t, old,
				`INSERT INTO checkpoints (tenant, thread_id, ns, id, put_at, slots, checkpoint) VALUES ('', 'foreign', '', '1', 1, '{}', '{}')`)
			if err := old.Close(); err != nil {
				t.Fatal(err)
			}
			s := openTest(t, where, migrations)
			if got := namedLetters(t, s, "asx"); got != "as" {
				t.Errorf("named are %q, want %q", got, "as")
			}
			mustRaw(t, s, `DELETE FROM checkpoints WHERE thread_id = 'op_dummy_1'`)
			if got := namedLetters(t, s, "asx"); got != "" {
				t.Errorf("without the checkpoint, named are %q", got)
			}
			insertOdd(t, s, "op_dummy_5")
			mustRaw(t, s, `DELETE FROM checkpoints`)
		})
	}
}

// fillNaming adds n checkpoints, each naming a blob of its own.
func fillNaming(b *testing.B, s *Store, n int) {
	b.Helper()
	const fill query = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1)
		INSERT INTO checkpoints (tenant, thread_id, ns, id, put_at, checkpoint_type, artifacts)
		SELECT '', 'op_dummy_' || CAST(i AS TEXT), '', '1', 1, 'periodic',
			'[{"name":"a","size":1,"sha256":"' || substr($2 || CAST(i AS TEXT), length(CAST(i AS TEXT)) + 1) || '"}]' FROM n`
	must(b, s.write(b.Context(), normal, func(t *tx) error {
		_, err := t.exec(b.Context(), fill, n, strings.Repeat("0", 64))
		return err
	}))
}

// BenchmarkBlobsNamed asks about 64 blobs, half of which are named, beside 1,000
// and beside 100,000 checkpoints; "ratio" is the second time by the first.
func BenchmarkBlobsNamed(b *testing.B) {
	for name, url := range map[string]func(testing.TB) string{"SQLite": sqlitePath, "PostgreSQL": pgtest.URL} {
		b.Run(name, func(b *testing.B) {
			var asked []ktrdr.Hash
			for i := range 64 {
				h, err := ktrdr.ParseHash(fmt.Sprintf("%064d", 1+i*15))
				must(b, err)
				if i%2 == 1 {
					h[0] = 0xff
				}
				asked = append(asked, h)
			}
			sizes := []int{1000, 100_000}
			var stores []*Store
			for _, n := range sizes {
				s := openTest(b, url(b), migrations)
				fillNaming(b, s, n)
				stores = append(stores, s)
			}
			var took [2]time.Duration
			for b.Loop() {
				for i, s := range stores {
					from := time.Now()
					named, err := s.BlobsNamed(b.Context(), asked, true)
					took[i] += time.Since(from)
					if must(b, err); len(named) != 32 {
						b.Fatalf("%d are named, want 32", len(named))
					}
				}
			}
			b.ReportMetric(float64(took[1])/float64(took[0]), "ratio")
			for i, n := range sizes {
				b.ReportMetric(float64(took[i].Microseconds())/float64(b.N), fmt.Sprintf("µs/%d", n))
			}
		})
	}
}
