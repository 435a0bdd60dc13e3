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
	span     time.Duration         // microseconds
	document json.RawMessage       // text; NULL for none
	nullText string                // NULL for ""
	nullInt  int64                 // NULL for 0
	digest   ktrdr.Hash            // text; NULL or "" for the zero hash
	parsed   struct{ into any }    // JSON; NULL leaves it as it is
	nullBool struct{ into **bool } // 0 or 1; NULL for nil
)

// readNumber reads an integer; 0 for NULL.
func readNumber(v any) (int64, error) {
	if n, ok := v.(int64); ok {
		return n, nil
	}
	var n sql.NullInt64
	err := n.Scan(v)
	return n.Int64, err
}

// readText reads text; nil for NULL.
func readText(v any) ([]byte, error) {
	if s, ok := v.(string); ok {
		return []byte(s), nil
	}
	var s sql.NullString
	if err := s.Scan(v); err != nil || !s.Valid {
		return nil, err
	}
	return []byte(s.String), nil
}

func (b *boolean) Scan(v any) error {
	n, err := readNumber(v)
	*b = n == 1
	return err
}

func (b boolean) Value() (driver.Value, error) { return int64(bit(bool(b))), nil }

func (m *moment) Scan(v any) error {
	n, err := readNumber(v)
	*m = moment(instant(n))
	return err
}

func (s *span) Scan(v any) error {
	n, err := readNumber(v)
	*s = span(n) * span(time.Microsecond)
	return err
}

func (d *document) Scan(v any) (err error) {
	*d, err = readText(v)
	return err
}

func (d document) Value() (driver.Value, error) { return optional(d).Value() }

func (t *nullText) Scan(v any) error {
	s, err := readText(v)
	*t = nullText(s)
	return err
}

func (t nullText) Value() (driver.Value, error) { return optional(t).Value() }

func (i *nullInt) Scan(v any) error {
	n, err := readNumber(v)
	*i = nullInt(n)
	return err
}

func (i nullInt) Value() (driver.Value, error) {
	return sql.NullInt64{Int64: int64(i), Valid: i != 0}.Value()
}

func (d *digest) Scan(v any) error {
	s, err := readText(v)
	if err != nil || len(s) == 0 {
		return err
	}
	h, err := ktrdr.ParseHash(string(s))
	*d = digest(h)
	return err
}

func fromJSON(into any) parsed { return parsed{into} }

func (p parsed) Scan(v any) error {
	s, err := readText(v)
	if err != nil || s == nil {
		return err
	}
	return json.Unmarshal(s, p.into)
}

func fromBit(into **bool) nullBool { return nullBool{into} }

func (b nullBool) Scan(v any) error {
	var n sql.NullBool
	err := n.Scan(v)
	if *b.into = nil; n.Valid {
		*b.into = &n.Bool
	}
	return err
}
