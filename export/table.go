package export

import (
	"encoding/csv"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/ktrdr/ktrdr"
)

// Table is rows of one kind with a name.
type Table interface {
	// Name is that of the file, without its ending.
	Name() string
	// Len is the number of rows.
	Len() int
	writeCSV(w io.Writer) error
	writeParquet(w io.Writer) error
}

// rows is a table of structs. The tag `parquet` of a field names its column. A
// field is text, a number, a bool, a time, or a pointer to a number or a bool.
type rows[T any] struct {
	name string
	list []T
}

func (r rows[T]) Name() string { return r.name }
func (r rows[T]) Len() int     { return len(r.list) }

func (r rows[T]) writeCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	t := reflect.TypeFor[T]()
	record := make([]string, t.NumField())
	for i := range record {
		record[i], _, _ = strings.Cut(t.Field(i).Tag.Get("parquet"), ",")
	}
	if err := out.Write(record); err != nil {
		return err
	}
	for i := range r.list {
		v := reflect.ValueOf(&r.list[i]).Elem()
		for k := range record {
			record[k] = cell(v.Field(k))
		}
		if err := out.Write(record); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// WriteCSV writes a table as CSV for spreadsheets.
func WriteCSV(w io.Writer, t Table) error { return t.writeCSV(w) }

// cell writes a value for a spreadsheet. A missing one is empty. Numbers stay
// numbers, and no text is a formula.
func cell(v reflect.Value) string {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return ""
		}
		v = v.Elem()
	}
	switch x := v.Interface().(type) {
	case time.Time:
		if x.IsZero() {
			return ""
		}
		return x.UTC().Format(time.RFC3339)
	case string:
		return inert(x)
	case bool:
		return strconv.FormatBool(x)
	case float64:
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	return fmt.Sprint(v.Interface())
}

// inert is a text that a spreadsheet does not take for a formula. One that begins
// with a sign that starts a formula gets an apostrophe before it.
func inert(text string) string {
	if text = readable(text); text != "" && strings.ContainsRune("=+-@\t\r\n", rune(text[0])) {
		return "'" + text
	}
	return text
}

// readable is a text without characters that turn the direction of reading.
func readable(text string) string {
	return strings.Map(func(r rune) rune {
		if !ktrdr.Printable(r) && r != '\n' && r != '\t' && r != '\r' {
			return -1
		}
		return r
	}, ktrdr.CleanText(text))
}

func (r rows[T]) writeParquet(w io.Writer) error {
	out := parquet.NewGenericWriter[T](w, parquet.Compression(&parquet.Zstd))
	t := reflect.TypeFor[T]()
	const some = 4096 // rows that are cleaned at a time
	for from := 0; from < len(r.list); from += some {
		part := append([]T{}, r.list[from:min(from+some, len(r.list))]...)
		for i := range part {
			v := reflect.ValueOf(&part[i]).Elem()
			for k := range t.NumField() {
				if f := v.Field(k); f.Kind() == reflect.String {
					f.SetString(readable(f.String()))
				}
			}
		}
		if _, err := out.Write(part); err != nil {
			return err
		}
	}
	return out.Close()
}
