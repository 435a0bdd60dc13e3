package sqlstore

import (
	"cmp"
	"context"
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
func (s *Store) List(ctx context.Context, q ktrdr.OperationQuery) (page ktrdr.OperationPage, err error) {
	text, args, err := s.listQuery(&q)
	if err != nil {
		return page, err
	}
	found, err := readAll(ctx, s, scanPlain, text, args...)
	page.Operations, page.Next = pageOf(found, q.Limit, func(op ktrdr.Operation) string {
		return sortedCursor(q.Sort, op.CreatedAt, op.CompletedAt, string(op.ID))
	})
	return page, err
}

// listQuery writes the statement. Values are arguments; of the query only its
// shape gets into the text.
func (s *Store) listQuery(q *ktrdr.OperationQuery) (query, []any, error) {
	if err := s.checkQuery(q); err != nil {
		return "", nil, err
	}
	order, err := orderOf(q.Sort, "completed_at")
	if err != nil {
		return "", nil, err
	}
	c := conditions{texts: order.only}
	in(&c, "status", q.Status)
	switch { // the index's own words, so that it is used
	case len(q.Status) == 0:
	case !slices.ContainsFunc(q.Status, ktrdr.Status.Terminal):
		c.add(isOpen)
	case !slices.ContainsFunc(q.Status, func(s ktrdr.Status) bool { return s != ktrdr.Failed && s != ktrdr.Cancelled }):
		c.add(isStopped)
	}
	in(&c, "operation_type", q.Type)
	c.when(q.ActiveOnly, isOpen)
	c.when(q.Resumable, isStopped+" AND ckpt_id IS NOT NULL")
	c.when(q.Parent != "", "parent_id = ?", q.Parent)
	in(&c, "parent_id", q.Parents)
	c.when(q.Run != "", "run = ? AND run <> '' AND queue <> ''", q.Run)
	c.when(q.Roots, "parent_id IS NULL")
	c.when(q.Search != "", `id LIKE ? ESCAPE '\'`, "%"+likeText.Replace(strings.ToLower(q.Search))+"%")
	if q.Cursor != "" {
		at, id, err := parseSorted(q.Sort, q.Cursor)
		if err == nil && !ktrdr.OperationID(id).Valid() {
			err = badCursor(q.Cursor)
		}
		if err != nil {
			return "", nil, err
		}
		c.add(order.follows(), at, id)
	}
	columns := "{operation}"
	if q.Brief {
		columns = "{brief}"
	}
	text, args := c.page(columns+" FROM operations", order.by(), q.Limit+1)
	return text, args, nil
}

// likeText makes a text stand for itself in a LIKE.
var likeText = strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`)

// conditions are those of a statement that is put together, and its arguments.
type conditions struct {
	texts []string
	args  []any
}

// arg adds an argument and returns its placeholder.
func (c *conditions) arg(v any) string {
	c.args = append(c.args, v)
	return "$" + strconv.Itoa(len(c.args))
}

// add adds a condition. Each ? in it is the next of its arguments.
func (c *conditions) add(text string, args ...any) {
	for _, v := range args {
		text = strings.Replace(text, "?", c.arg(v), 1)
	}
	c.texts = append(c.texts, text)
}

// when is add if the condition is asked for.
func (c *conditions) when(asked bool, text string, args ...any) {
	if asked {
		c.add(text, args...)
	}
}

// in adds that a column is one of some values, if there are any.
func in[T cmp.Ordered](c *conditions, column string, all []T) {
	words := make([]string, 0, len(all))
	for _, one := range distinct(all) {
		words = append(words, c.arg(one))
	}
	c.when(len(all) > 0, column+" IN ("+strings.Join(words, ", ")+")")
}

func (c *conditions) where() string {
	if len(c.texts) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(c.texts, " AND ")
}

// page is the statement that selects the first rows.
func (c *conditions) page(columnsFrom, order string, rows int) (query, []any) {
	return query("SELECT " + columnsFrom + c.where() + order + " LIMIT " + c.arg(rows)), c.args
}

// checkLimit fills in the size of a page, and refuses one that no list has.
func checkLimit(limit *int) error {
	if *limit = cmp.Or(*limit, defaultPage); *limit < 1 || *limit > largestPage {
		return ktrdr.Errorf(ktrdr.CodeInvalid, "limit must be 1 to %d, not %d", largestPage, *limit)
	}
	return nil
}

// pageOf cuts a page off rows of which one more than its limit was read. When
// there is a next page, it begins after the cursor of the last row.
func pageOf[T any](found []T, limit int, cursor func(last T) string) (page []T, next string) {
	if len(found) > limit {
		return found[:limit], cursor(found[limit-1])
	}
	return append([]T{}, found...), ""
}

// distinct keeps a repeated filter from making a statement of its own.
func distinct[T cmp.Ordered](all []T) []T { return slices.Compact(slices.Sorted(slices.Values(all))) }

func (s *Store) checkQuery(q *ktrdr.OperationQuery) error {
	if err := checkLimit(&q.Limit); err != nil {
		return err
	}
	for _, status := range q.Status {
		if !status.Known() {
			return ktrdr.Errorf(ktrdr.CodeInvalid, "%q is not a status; the statuses are %s", clip(string(status)), text.Join(ktrdr.Statuses))
		}
	}
	if err := s.checkTypes(q.Type...); err != nil {
		return err
	}
	for _, id := range append([]ktrdr.OperationID{q.Parent}, q.Parents...) {
		if id != "" && !id.Valid() {
			return ktrdr.Errorf(ktrdr.CodeInvalid, "%q is not an operation id", clip(string(id)))
		}
	}
	if !storable(q.Search, 96) {
		return ktrdr.Errorf(ktrdr.CodeInvalid, "%q is not part of an operation's id: at most 96 letters, digits and underscores", clip(q.Search))
	}
	if !storable(q.Run, 255) {
		return ktrdr.Errorf(ktrdr.CodeInvalid, "%q is not a run; `ktrdr runs` lists them", clip(q.Run))
	}
	return nil
}
