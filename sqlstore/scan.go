package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

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

// gather reads rows to their end and closes them.
func gather[T any](rows *sql.Rows, err error, scan func(scanner) (T, error)) ([]T, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []T
	for rows.Next() {
		one, err := scan(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, rows.Err()
}

// collect reads all rows of one statement.
func collect[T any](ctx context.Context, r queryer, scan func(scanner) (T, error), q query, args ...any) ([]T, error) {
	rows, err := r.rows(ctx, q, args...)
	return gather(rows, err, scan)
}

// readAll is collect in a read of its own.
func readAll[T any](ctx context.Context, s *Store, scan func(scanner) (T, error), q query, args ...any) (all []T, err error) {
	err = s.readOne(ctx, func(r queryer) (err error) {
		all, err = collect(ctx, r, scan, q, args...)
		return err
	})
	return all, err
}

// readRow reads the row of one statement; sql.ErrNoRows.
func readRow[T any](ctx context.Context, s *Store, scan func(scanner) (T, error), q query, args ...any) (one T, err error) {
	err = s.readOne(ctx, func(r queryer) (err error) {
		one, err = scan(r.row(ctx, q, args...))
		return err
	})
	return one, err
}

// exec runs one statement in a transaction of its own.
func (s *Store) exec(ctx context.Context, q query, args ...any) (affected int64, err error) {
	err = s.write(ctx, normal, func(t *tx) (err error) {
		affected, err = t.exec(ctx, q, args...)
		return err
	})
	return affected, err
}

func scanNumber(row scanner) (n int64, err error) {
	err = row.Scan(&n)
	return n, err
}

func scanID(row scanner) (id ktrdr.OperationID, err error) {
	err = row.Scan(&id)
	return id, err
}

const selectOperation query = `SELECT {operation} FROM operations WHERE id = $1`

// load reads one operation; CodeNotFound.
func load(ctx context.Context, q queryer, id ktrdr.OperationID) (operationRow, error) {
	if !id.Valid() {
		return operationRow{}, notFound(id)
	}
	op, err := scanOperation(q.row(ctx, selectOperation, id))
	if errors.Is(err, sql.ErrNoRows) {
		return op, notFound(id)
	}
	return op, err
}

func notFound(id ktrdr.OperationID) error {
	return ktrdr.Errorf(ktrdr.CodeNotFound, "there is no operation %q; `ktrdr ops` lists them", clip(string(id)))
}

// clip shortens what a caller sent before it is quoted back.
func clip(s string) string { return text.Cut(ktrdr.CleanText(s), 100) }

// shortened makes what a provider or a person said fit to be stored: it must
// not be why something else cannot be.
func shortened(s string) string { return text.Cut(ktrdr.CleanText(s), 2048) }

func rawJSON(s sql.NullString) json.RawMessage {
	if !s.Valid {
		return nil
	}
	return json.RawMessage(s.String)
}

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

func span(us int64) time.Duration { return time.Duration(us) * time.Microsecond }
