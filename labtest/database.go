package labtest

import (
	"testing"

	"github.com/ktrdr/ktrdr/sqlstore"
	"github.com/ktrdr/ktrdr/sqlstore/pgtest"
)

var original pgtest.Template

// Database is the address of a PostgreSQL database as a first start leaves it:
// all tables, and nothing in them. Every lab has a copy, because making the
// tables takes longer than most of what is done to them.
func Database(t testing.TB) string {
	t.Helper()
	return original.URL(t, func(url string) error {
		s, err := sqlstore.Open(t.Context(), sqlstore.Config{URL: url})
		if err != nil {
			return err
		}
		return s.Close()
	})
}
