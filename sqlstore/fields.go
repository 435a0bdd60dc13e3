package sqlstore

import (
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"time"

	"github.com/ktrdr/ktrdr"
)

// fields is the scan of a row whose columns are the given fields.
func fields[T any](of func(*T) []any) func(scanner) (T, error) {
	return func(row scanner) (one T, err error) {
		err = row.Scan(of(&one)...)
		return one, err
	}
}

// The types of fields that a database does not hold as Go does.
type (
	boolean  bool                  // 0 or 1
	moment   time.Time             // microseconds since 1970; NULL or 0 for the zero time
	document json.RawMessage       // text; NULL for none
	nullText string                // NULL for ""
	nullInt  int64                 // NULL for 0
	digest   ktrdr.Hash            // text; NULL or "" for the zero hash
	parsed   struct{ into any }    // JSON; NULL leaves it as it is
	nullBool struct{ into **bool } // 0 or 1; NULL for nil
)

func (b *boolean) Scan(v any) error {
	var n sql.NullInt64
	err := n.Scan(v)
	*b = n.Int64 == 1
	return err
}

func (b boolean) Value() (driver.Value, error) { return int64(bit(bool(b))), nil }

func (m *moment) Scan(v any) error {
	var n sql.NullInt64
	err := n.Scan(v)
	*m = moment(instant(n.Int64))
	return err
}

func (d *document) Scan(v any) error {
	var s sql.NullString
	err := s.Scan(v)
	*d = document(rawJSON(s))
	return err
}

func (d document) Value() (driver.Value, error) { return optional(d).Value() }

func (t *nullText) Scan(v any) error {
	var s sql.NullString
	err := s.Scan(v)
	*t = nullText(s.String)
	return err
}

func (t nullText) Value() (driver.Value, error) { return optional(t).Value() }

func (i *nullInt) Scan(v any) error {
	var n sql.NullInt64
	err := n.Scan(v)
	*i = nullInt(n.Int64)
	return err
}

func (i nullInt) Value() (driver.Value, error) {
	return sql.NullInt64{Int64: int64(i), Valid: i != 0}.Value()
}

func fromJSON(into any) parsed { return parsed{into} }

func (p parsed) Scan(v any) error {
	var s sql.NullString
	if err := s.Scan(v); err != nil || !s.Valid {
		return err
	}
	return json.Unmarshal([]byte(s.String), p.into)
}

func (d *digest) Scan(v any) error {
	var s sql.NullString
	if err := s.Scan(v); err != nil || s.String == "" {
		return err
	}
	h, err := ktrdr.ParseHash(s.String)
	*d = digest(h)
	return err
}

func fromBit(into **bool) nullBool { return nullBool{into} }

func (b nullBool) Scan(v any) error {
	var n sql.NullBool
	err := n.Scan(v)
	*b.into = optionalBool(n)
	return err
}
