package labtest

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	_ "github.com/jackc/pgx/v5/stdlib" // reads the database past the backend
	_ "modernc.org/sqlite"             // the same

	"github.com/ktrdr/ktrdr"
)

// Leaks lists where a secret is to be found that should be nowhere: in a file of
// the lab, in a table of its database, or in what the API tells, of everything
// and of each operation. The backend must be running.
func (l *Lab) Leaks(secret string) (places []string) {
	l.t.Helper()
	err := errors.Join(
		l.eachFile(func(path string, text []byte) {
			if bytes.Contains(text, []byte(secret)) {
				places = append(places, path)
			}
		}),
		l.eachTable(func(name string, text []byte) {
			if bytes.Contains(text, []byte(secret)) {
				places = append(places, "table "+name)
			}
		}),
		l.eachPage(func(path string, text []byte) {
			if bytes.Contains(text, []byte(secret)) {
				places = append(places, path)
			}
		}),
	)
	if err != nil {
		l.t.Fatal(err)
	}
	return places
}

func (l *Lab) eachFile(look func(path string, text []byte)) error {
	root, err := os.OpenRoot(l.dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	return fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := root.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) { // a temporary one
			return nil
		}
		look(path, text)
		return err
	})
}

// eachTable reads the rows themselves: a file of pages may hold a text in two
// halves.
func (l *Lab) eachTable(look func(name string, text []byte)) error {
	driver, source, names := "sqlite", "file:"+filepath.Join(l.data, "ktrdr.db")+"?mode=ro",
		`SELECT name FROM sqlite_schema WHERE type = 'table'`
	if l.kind == Postgres {
		driver, source, names = "pgx", l.db, `SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()`
	}
	db, err := sql.Open(driver, source)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	tables, err := dump(l.t.Context(), db, names)
	if err != nil {
		return err
	}
	for name := range strings.FieldsSeq(string(tables)) {
		text, err := dump(l.t.Context(), db, `SELECT * FROM "`+name+`"`)
		if err != nil {
			return err
		}
		look(name, text)
	}
	return nil
}

// dump is all that a query returns, one cell a line.
func dump(ctx context.Context, db *sql.DB, query string) (text []byte, err error) {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	cells, into := make([]sql.RawBytes, len(columns)), make([]any, len(columns))
	for i := range cells {
		into[i] = &cells[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		for _, cell := range cells {
			text = append(append(text, cell...), '\n')
		}
	}
	return text, rows.Err()
}

// eachPage asks for all that the API offers to read, as its own description
// lists it. Blobs are files, and looked at as such.
func (l *Lab) eachPage(look func(path string, text []byte)) error {
	_, text, err := l.page("/api/v1/openapi.json")
	if err != nil {
		return err
	}
	var api struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	if err := json.Unmarshal(text, &api); err != nil {
		return err
	}
	var ops []ktrdr.OperationID
	runs := map[string]bool{}
	for _, root := range l.Roots() {
		ops = append(ops, root.ID)
		if root.Run != "" {
			runs[root.Run] = true
		}
		for _, child := range l.Children(root.ID) {
			ops = append(ops, child.ID)
		}
	}
	for _, path := range append(slices.Sorted(maps.Keys(api.Paths)), "/", "/night", "/strategies", "/operations", "/lab/memory") {
		switch {
		case strings.HasPrefix(path, "/api/") && api.Paths[path]["get"] == nil, strings.Contains(path, "{sha256}"):
		case strings.HasSuffix(path, "/compare"): // of two; it refuses what is no research
			_, text, err := l.page(fmt.Sprintf("%s?ids=%s,%s", path, ops[0], ops[len(ops)-1]))
			if err != nil {
				return err
			}
			look(path, text)
		case strings.HasSuffix(path, "/report/panel"): // of a run
			for run := range runs {
				if err := l.pages(path+"?run="+run, look); err != nil {
					return err
				}
			}
		case strings.HasSuffix(path, "/claim"): // it refuses what is no claim
			for _, op := range ops {
				_, text, err := l.page(strings.ReplaceAll(path, "{id}", string(op)))
				if err != nil {
					return err
				}
				look(path, text)
			}
		case strings.Contains(path, "/runs/{id}"):
			for run := range runs {
				if err := l.pages(strings.ReplaceAll(path, "{id}", run), look); err != nil {
					return err
				}
			}
		case strings.Contains(path, "{id}"):
			for _, op := range ops {
				if err := l.pages(strings.ReplaceAll(path, "{id}", string(op)), look); err != nil {
					return err
				}
			}
		default:
			if err := l.pages(path, look); err != nil {
				return err
			}
		}
	}
	return nil
}

// pages reads one path to its end. Events are read from the first on.
func (l *Lab) pages(path string, look func(path string, text []byte)) error {
	param, cursor := "cursor", ""
	if strings.HasSuffix(path, "/events") && !strings.Contains(path, "/runs/") {
		param, cursor = "after", "0-0"
	}
	for {
		at := path
		if cursor != "" {
			at += "?" + param + "=" + url.QueryEscape(cursor)
		}
		status, text, err := l.page(at)
		if err != nil {
			return err
		}
		look(at, text)
		if status == http.StatusBadRequest || status >= http.StatusInternalServerError {
			return errors.New(at + ": " + string(text))
		}
		var next envelope[json.RawMessage]
		if json.Unmarshal(text, &next) != nil || next.Next == "" {
			return nil //nolint:nilerr // not everything is an envelope
		}
		cursor = next.Next
	}
}

// page makes one request, whatever its answer is.
func (l *Lab) page(path string) (int, []byte, error) {
	req, err := http.NewRequestWithContext(l.t.Context(), http.MethodGet, "http://"+l.addr+path, nil)
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Accept", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	return res.StatusCode, text, err
}
