package sqlstore

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/text"
)

const (
	defaultPage = 50
	largestPage = 1000
)

// List implements ktrdr.Operations. One row more than asked for is read: it
// says whether there is a next page.
func (s *Store) List(ctx context.Context, q ktrdr.OperationQuery) (ktrdr.OperationPage, error) {
	if q.Limit == 0 {
		q.Limit = defaultPage
	}
	text, args, err := s.listQuery(q)
	if err != nil {
		return ktrdr.OperationPage{}, err
	}
	found, err := readAll(ctx, s, scanPlain, text, args...)
	page := ktrdr.OperationPage{}
	var last *ktrdr.Operation
	if page.Operations, last = pageOf(found, q.Limit); last != nil {
		page.Next = operationCursor(q.Sort, *last)
	}
	return page, err
}

// listQuery writes the statement. Values are arguments; of the query only its
// shape gets into the text.
func (s *Store) listQuery(q ktrdr.OperationQuery) (query, []any, error) {
	if err := s.checkQuery(q); err != nil {
		return "", nil, err
	}
	order, err := orderOf(q.Sort, "completed_at")
	if err != nil {
		return "", nil, err
	}
	var where []string
	var args []any
	arg := adder(&args)
	if len(q.Status) > 0 {
		where = append(where, "status IN ("+each(distinct(q.Status), arg)+")")
		switch { // the index's own words, so that it is used
		case !slices.ContainsFunc(q.Status, ktrdr.Status.Terminal):
			where = append(where, isOpen)
		case !slices.ContainsFunc(q.Status, func(s ktrdr.Status) bool { return s != ktrdr.Failed && s != ktrdr.Cancelled }):
			where = append(where, isStopped)
		}
	}
	if len(q.Type) > 0 {
		where = append(where, "operation_type IN ("+each(distinct(q.Type), arg)+")")
	}
	if q.ActiveOnly {
		where = append(where, isOpen)
	}
	if q.Resumable {
		where = append(where, isStopped, "ckpt_id IS NOT NULL")
	}
	if q.Parent != "" {
		where = append(where, "parent_id = "+arg(q.Parent))
	}
	if q.Run != "" {
		where = append(where, "run = "+arg(q.Run), "run <> ''", "queue <> ''")
	}
	if q.Roots {
		where = append(where, "parent_id IS NULL")
	}
	if q.Cursor != "" {
		at, id, err := parseSorted(q.Sort, q.Cursor)
		if err != nil {
			return "", nil, err
		}
		if !ktrdr.OperationID(id).Valid() {
			return "", nil, ktrdr.Errorf(ktrdr.CodeInvalid, "the cursor %q is not one this server gave; begin without a cursor", clip(q.Cursor))
		}
		where = append(where, order.follows(arg(at), arg(id)))
	}
	if order.only != "" {
		where = append(where, order.only)
	}
	columns := "{operation}"
	if q.Brief {
		columns = "{brief}"
	}
	text := "SELECT " + columns + " FROM operations"
	if len(where) > 0 {
		text += " WHERE " + strings.Join(where, " AND ")
	}
	return query(text + order.by() + " LIMIT " + arg(q.Limit+1)), args, nil
}

// adder returns a function that adds an argument and returns its placeholder.
func adder(args *[]any) func(v any) string {
	return func(v any) string {
		*args = append(*args, v)
		return "$" + strconv.Itoa(len(*args))
	}
}

// pageOf cuts a page off rows of which one more than its limit was read, and
// returns its last row when there is a next page.
func pageOf[T any](found []T, limit int) (page []T, last *T) {
	if len(found) > limit {
		return found[:limit], &found[limit-1]
	}
	return append([]T{}, found...), nil
}

func each[T any](all []T, arg func(any) string) string {
	words := make([]string, len(all))
	for i, one := range all {
		words[i] = arg(one)
	}
	return strings.Join(words, ", ")
}

// distinct keeps a repeated filter from making a statement of its own.
func distinct[T cmp.Ordered](all []T) []T { return slices.Compact(slices.Sorted(slices.Values(all))) }

func (s *Store) checkQuery(q ktrdr.OperationQuery) error {
	if q.Limit < 1 || q.Limit > largestPage {
		return ktrdr.Errorf(ktrdr.CodeInvalid, "limit must be 1 to %d, not %d", largestPage, q.Limit)
	}
	for _, status := range q.Status {
		if !status.Known() {
			return ktrdr.Errorf(ktrdr.CodeInvalid, "%q is not a status; the statuses are %s", clip(string(status)), text.Join(ktrdr.Statuses))
		}
	}
	if err := s.checkTypes(q.Type...); err != nil {
		return err
	}
	if q.Parent != "" && !q.Parent.Valid() {
		return ktrdr.Errorf(ktrdr.CodeInvalid, "%q is not an operation id", clip(string(q.Parent)))
	}
	if !storable(q.Run, 255) {
		return ktrdr.Errorf(ktrdr.CodeInvalid, "%q is not a run; `ktrdr runs` lists them", clip(q.Run))
	}
	return nil
}

// operationCursor is the place of the last row of a page.
func operationCursor(s ktrdr.Sort, op ktrdr.Operation) string {
	at := op.CreatedAt
	if s == ktrdr.Ended {
		at = op.CompletedAt
	}
	return sortedCursor(s, micros(at), string(op.ID))
}

// A list cursor is the last row's place in the order, opaque to clients.
func listCursor(op ktrdr.Operation) string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d %s", micros(op.CreatedAt), op.ID))
}

func parseListCursor(s string) (int64, ktrdr.OperationID, error) {
	text, err := base64.RawURLEncoding.DecodeString(s)
	at, id, found := strings.Cut(string(text), " ")
	us, err2 := strconv.ParseInt(at, 10, 64)
	if err != nil || err2 != nil || !found || !ktrdr.OperationID(id).Valid() {
		return 0, "", ktrdr.Errorf(ktrdr.CodeInvalid, "the cursor %q is not one this server gave; begin without a cursor", clip(s))
	}
	return us, ktrdr.OperationID(id), nil
}
