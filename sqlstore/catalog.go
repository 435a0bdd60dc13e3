package sqlstore

import (
	"context"
	"slices"
	"strings"
)

// table is one table as a backup sees it: what the database's own catalog
// says, so that a new migration needs no new line here.
type table struct {
	Name     string   `json:"name"`
	Columns  []string `json:"columns"` // by name, the order of a row's values
	Sequence int64    `json:"sequence,omitempty"`

	counter  string   // the column whose numbers the database gives out, if any
	booleans []string // columns that hold true and false here, and 1 and 0 in a backup
}

// Tables that are no data: goose's record, the writers' marks, who is signed in, and who is
// connected, which is true only of the place it was written in.
const notBackedUp = `('goose_db_version', 'commit_mark', 'backends', 'workers', 'breaker_probes', 'sessions')`

const (
	sqliteColumns query = `SELECT m.name, c.name, c.type, c.pk = 1 AND m.sql LIKE '%AUTOINCREMENT%'
		FROM sqlite_schema m JOIN pragma_table_xinfo(m.name) c
		WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' AND m.name NOT IN ` + notBackedUp + ` AND c.hidden = 0
		ORDER BY m.name, c.name`
	postgresColumns query = `SELECT c.table_name::text, c.column_name::text, c.data_type::text, (c.is_identity = 'YES')::int
		FROM information_schema.columns c JOIN information_schema.tables t USING (table_schema, table_name)
		WHERE t.table_schema = current_schema() AND t.table_type = 'BASE TABLE' AND c.is_generated = 'NEVER'
			AND c.table_name NOT IN ` + notBackedUp + `
		ORDER BY c.table_name::text COLLATE "C", c.column_name::text COLLATE "C"`

	sqliteSequence   query = `SELECT seq FROM sqlite_sequence WHERE name = $1`
	postgresSequence query = `SELECT COALESCE(pg_sequence_last_value(pg_get_serial_sequence($1, $2)::regclass), 0)`
)

// tables lists what a backup holds, sorted.
func (s *Store) tables(ctx context.Context, r queryer) ([]table, error) {
	columns := sqliteColumns
	if s.isPostgres() {
		columns = postgresColumns
	}
	var all []table
	err := eachRow(ctx, r, func(row scanner) error {
		var name, column, kind string
		var counter bool
		if err := row.Scan(&name, &column, &kind, &counter); err != nil {
			return err
		}
		if len(all) == 0 || all[len(all)-1].Name != name {
			all = append(all, table{Name: name})
		}
		t := &all[len(all)-1]
		t.Columns = append(t.Columns, column)
		if counter {
			t.counter = column
		}
		if kind == "boolean" {
			t.booleans = append(t.booleans, column)
		}
		return nil
	}, columns)
	return all, err
}

// loadSequence reads the last number given out, which may be that of a row
// that is gone: it must not be given out again.
func (s *Store) loadSequence(ctx context.Context, r queryer, t *table) error {
	if t.counter == "" {
		return nil
	}
	text, args := sqliteSequence, []any{t.Name}
	if s.isPostgres() {
		text, args = postgresSequence, []any{t.quoted(), t.counter}
	}
	return ifNoRow(r.row(ctx, text, args...).Scan(&t.Sequence), nil)
}

// storeSequence makes the next number of a table follow last.
func (s *Store) storeSequence(ctx context.Context, tx *tx, t table, last int64) error {
	if last == 0 {
		return nil
	}
	if s.isPostgres() {
		tx.later(ctx, `SELECT setval(pg_get_serial_sequence($1, $2), $3)`, t.quoted(), t.counter, last)
		return nil
	}
	n, err := tx.exec(ctx, `UPDATE sqlite_sequence SET seq = $2 WHERE name = $1`, t.Name, last)
	if err == nil && n == 0 { // a table that has had rows, but is empty
		_, err = tx.exec(ctx, `INSERT INTO sqlite_sequence (name, seq) VALUES ($1, $2)`, t.Name, last)
	}
	return err
}

// quoted is the table's name as SQL. It comes from the catalog, not from
// people.
func (t table) quoted() string { return quote(t.Name) }

func (t table) columnList() string { return strings.Join(fieldOf(t.Columns, quote), ", ") }

func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// same says whether rows of one fit the other.
func (t table) same(u table) bool { return t.Name == u.Name && slices.Equal(t.Columns, u.Columns) }
