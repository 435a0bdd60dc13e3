package sqlstore

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr"
)

// A research whose rows cannot be compacted, however often it is tried, keeps no
// other from being compacted, not even if a whole batch is like that.
func TestCompact_GoesPastWhatCannotBeCompacted(t *testing.T) {
	refuse := map[string][]query{
		"SQLite": {`CREATE TRIGGER stuck BEFORE UPDATE OF compacted ON operations WHEN NEW.id < 'op_research_025' AND NEW.id > 'op_research_'
			BEGIN SELECT RAISE(ABORT, 'stuck'); END`},
		"PostgreSQL": {
			`CREATE FUNCTION stuck() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'stuck'; END $$`,
			`CREATE TRIGGER stuck BEFORE UPDATE OF compacted ON operations FOR EACH ROW
				WHEN (NEW.id < 'op_research_025' AND NEW.id > 'op_research_') EXECUTE FUNCTION stuck()`,
		},
	}
	const researches, stuck = 30, 25
	onInstalled(t, func(t *testing.T, s *Store) {
		err := s.write(t.Context(), normal, func(x *tx) error {
			if _, err := x.exec(t.Context(), `INSERT INTO meta (key, value) VALUES ($1, '1')`, metaRestoring); err != nil { // past the triggers
				return err
			}
			for i := range researches {
				if err := insertResearch(t.Context(), x, i); err != nil {
					return err
				}
			}
			_, err := x.exec(t.Context(), deleteMeta, metaRestoring)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range refuse[strings.TrimPrefix(t.Name(), "TestCompact_GoesPastWhatCannotBeCompacted/")] {
			mustRaw(t, s, text)
		}
		compacted := 0
		for n := 1; n > 0; compacted += n {
			var err error
			n, _, err = s.Compact(t.Context())
			if text := fmt.Sprint(err); !strings.Contains(text, "cannot be compacted: 25") || !strings.Contains(text, "op_research_000: ") {
				t.Errorf("the error is %v, want one that counts %d researches and names the first", err, stuck)
			}
		}
		if compacted != researches-stuck {
			t.Errorf("%d researches were compacted, want %d", compacted, researches-stuck)
		}
		for i, want := range map[int]bool{0: false, stuck - 1: false, stuck: true, researches - 1: true} {
			op, err := s.Operation(t.Context(), ktrdr.OperationID(fmt.Sprintf("op_research_%03d", i)))
			if err != nil || op.Compacted != want {
				t.Errorf("research %d is compacted: %v, %v; want %v", i, op.Compacted, err, want)
			}
		}
	})
}
