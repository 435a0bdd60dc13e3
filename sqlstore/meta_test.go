package sqlstore

import (
	"path/filepath"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/sqlstore/pgtest"
)

func TestSame_ComparesDatabasesNotAddresses(t *testing.T) {
	dir := t.TempDir()
	places := map[string][3]string{
		"SQLite": {filepath.Join(dir, "a.db"), "sqlite:" + dir + "/./a.db", filepath.Join(dir, "b.db")},
	}
	url := pgtest.URL(t)
	places["PostgreSQL"] = [3]string{url, url + "&application_name=another", pgtest.URL(t)}
	for name, urls := range places {
		t.Run(name, func(t *testing.T) {
			a, alias, b := openStore(t, urls[0], nil), openStore(t, urls[1], nil), openStore(t, urls[2], nil)
			for _, c := range []struct {
				one, other *Store
				want       bool
			}{{a, a, true}, {a, alias, true}, {alias, a, true}, {a, b, false}, {b, alias, false}} {
				if same, err := c.one.Same(t.Context(), c.other); err != nil || same != c.want {
					t.Errorf("same = %t, %v; want %t", same, err, c.want)
				}
			}
			if n := rowCount(t, a, "meta"); n != 0 {
				t.Errorf("%d rows were left in meta", n)
			}
		})
	}
}

func TestFresh_IsADatabaseThatNeverHadBlobs(t *testing.T) {
	eachStore(t, nil, func(t *testing.T, s *Store) {
		fresh := func(want bool) {
			t.Helper()
			if got, err := s.Fresh(t.Context()); err != nil || got != want {
				t.Errorf("fresh = %t, %v; want %t", got, err, want)
			}
		}
		fresh(true)
		x := &saved{T: t, s: s}
		if _, err := s.Create(t.Context(), ktrdr.NewOperation{Type: ktrdr.Dummy}, ktrdr.IdempotencyKey{}); err != nil {
			t.Fatal(err)
		}
		fresh(false)
		x.sql(`DELETE FROM operations`)
		fresh(true)
		if err := s.BindBlobRoot(t.Context(), "root"); err != nil {
			t.Fatal(err)
		}
		fresh(false)
	})
}
