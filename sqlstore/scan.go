package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/text"
)

// The sets of statuses, spelled as the partial indexes spell them: SQLite uses
// such an index only where the query repeats its predicate word by word.
const (
	isLive    = `status IN ('RUNNING', 'PENDING_RECONCILIATION')`
	isOpen    = `completed_at IS NULL`
	isStopped = `status IN ('FAILED', 'CANCELLED')`
)

// scanPlain is scanOperation without what the store alone knows.
func scanPlain(row scanner) (ktrdr.Operation, error) {
	op, err := scanOperation(row)
	return op.Operation, err
}

// eachRow calls scan for every row of one statement.
func eachRow(ctx context.Context, r queryer, scan func(scanner) error, q query, args ...any) error {
	rows, err := r.rows(ctx, q, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// collect reads all rows of one statement.
func collect[T any](ctx context.Context, r queryer, scan func(scanner) (T, error), q query, args ...any) (all []T, err error) {
	err = eachRow(ctx, r, func(row scanner) error {
		one, err := scan(row)
		all = append(all, one)
		return err
	}, q, args...)
	if err != nil {
		return nil, err
	}
	return all, nil
}

// readAll is collect in a read of its own.
func readAll[T any](ctx context.Context, s *Store, scan func(scanner) (T, error), q query, args ...any) ([]T, error) {
	return inRead(ctx, s.readOne, func(r queryer) ([]T, error) { return collect(ctx, r, scan, q, args...) })
}

// readRow reads the row of one statement; sql.ErrNoRows.
func readRow[T any](ctx context.Context, s *Store, scan func(scanner) (T, error), q query, args ...any) (T, error) {
	return inRead(ctx, s.readOne, func(r queryer) (T, error) { return scan(r.row(ctx, q, args...)) })
}

// exec runs one statement in a transaction of its own.
func (s *Store) exec(ctx context.Context, q query, args ...any) (affected int64, err error) {
	return inWrite(ctx, s, func(t *tx) (int64, error) { return t.exec(ctx, q, args...) })
}

// fieldOf lists what of says of each row.
func fieldOf[T, V any](rows []T, of func(T) V) []V {
	all := make([]V, len(rows))
	for i, row := range rows {
		all[i] = of(row)
	}
	return all
}

// scanValue reads a row of one column.
func scanValue[T any](row scanner) (v T, err error) {
	err = row.Scan(&v)
	return v, err
}

// firstColumn reads a column of text.
func firstColumn(ctx context.Context, r queryer, q query, args ...any) ([]string, error) {
	return collect(ctx, r, scanValue[string], q, args...)
}

// ifNoRow is err, or another error in the place of sql.ErrNoRows.
func ifNoRow(err, instead error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return instead
	}
	return err
}

// optionalRow says whether there was a row to scan.
func optionalRow[T any](one T, err error) (_ T, found bool, _ error) {
	return one, err == nil, ifNoRow(err, nil)
}

const selectOperation query = `SELECT {operation} FROM operations WHERE id = $1`

// load reads one operation; CodeNotFound.
func load(ctx context.Context, q queryer, id ktrdr.OperationID) (operationRow, error) {
	if !id.Valid() {
		return operationRow{}, notFound(id)
	}
	op, err := scanOperation(q.row(ctx, selectOperation, id))
	return op, ifNoRow(err, notFound(id))
}

func notFound(id ktrdr.OperationID) error {
	return ktrdr.Errorf(ktrdr.CodeNotFound, "there is no operation %q; `ktrdr ops` lists them", clip(string(id)))
}

// clip shortens what a caller sent before it is quoted back.
func clip(s string) string { return text.Cut(ktrdr.CleanText(s), 100) }

// shortened makes what a provider or a person said fit to be stored: it must
// not be why something else cannot be.
func shortened(s string) string { return text.Cut(ktrdr.CleanText(s), 2048) }

// optional stores an empty text as NULL.
func optional[T ~string | ~[]byte](s T) sql.NullString {
	return sql.NullString{String: string(s), Valid: len(s) > 0}
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// placeholders writes "$from, …" for n arguments.
func placeholders(from, n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString("$" + strconv.Itoa(from+i))
	}
	return b.String()
}

func marshal(v any) (string, error) {
	text, err := json.Marshal(v)
	return ktrdr.CleanText(string(text)), err
}
