package sqlstore

import (
	"database/sql"
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ktrdr/ktrdr"
)

// A column that a migration adds must be read, written or named as one that only
// statements use.
func TestColumns_AreThoseOfTheTable(t *testing.T) {
	eachStore(t, nil, func(t *testing.T, s *Store) {
		var tables []table
		err := s.read(t.Context(), func(r queryer) (err error) {
			tables, err = s.tables(t.Context(), r)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(tables, func(t table) bool { return t.Name == "operations" })
		var names []string
		for _, c := range operationTable {
			names = append(names, c.name)
		}
		slices.Sort(names)
		if diff := cmp.Diff(tables[at].Columns, names); diff != "" {
			t.Errorf("columns (-of the table +of the code):\n%s", diff)
		}
	})
}

// full is a row that has a value in each column.
type full struct{}

func (full) Scan(dest ...any) error {
	for _, d := range dest {
		if s, ok := d.(sql.Scanner); ok {
			for _, v := range []any{int64(1), `{"percentage":1,"class":"x","outcome":"x"}`} {
				if s.Scan(v) == nil {
					break
				}
			}
			continue
		}
		switch v := reflect.ValueOf(d).Elem(); v.Kind() {
		case reflect.String:
			v.SetString("x")
		case reflect.Int, reflect.Int64:
			v.SetInt(1)
		case reflect.Pointer:
			v.Set(reflect.New(v.Type().Elem()))
		}
	}
	return nil
}

func TestColumns_FillEveryFieldOfAnOperation(t *testing.T) {
	row, err := scanOperation(full{})
	if err != nil {
		t.Fatal(err)
	}
	op := reflect.ValueOf(row.Operation)
	for i := range op.NumField() {
		name := op.Type().Field(i).Name
		if derived := name == "Unschedulable" || name == "StalledSeconds" || name == "Deadline"; op.Field(i).IsZero() != derived {
			t.Errorf("field %s is %v after every column was read", name, op.Field(i))
		}
	}
}

func TestColumns_StoreEveryFieldOfANewRow(t *testing.T) {
	text := json.RawMessage(`{"a":1}`)
	n := ktrdr.NewOperation{
		Type: ktrdr.Dummy, Priority: 1, Parent: "p", Ordinal: 1, BackendLocal: true, HasPlan: true, RetryOf: "o", Trace: "t",
		Queue: &ktrdr.Queue{Name: "q"}, Spec: text, State: text, Metadata: text,
	}
	parent := &operationRow{Operation: ktrdr.Operation{Root: "r", Run: "run", Trace: "t"}, generation: 1, index: 1}
	row := (&Store{}).newRow("id", n, parent, 1, entered{trials: 1, look: "l"})
	for _, c := range operationTable {
		if c.field == nil {
			continue
		}
		field := c.field(row)
		if _, isParsed := field.(parsed); isParsed {
			continue
		}
		if set := !reflect.ValueOf(field).Elem().IsZero(); set != (c.insert == own) {
			t.Errorf("column %s: a new row has a value: %v, and it is stored: %v", c.name, set, c.insert == own)
		}
	}
}
