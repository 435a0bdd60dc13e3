package sqlstore

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/text"
)

// An order of a list: the column of its instants, the direction, and the
// relation of what follows on a place.
type order struct {
	column, direction, after string
	only                     []string // a condition that belongs to it
}

func orderOf(s ktrdr.Sort, ended string) (order, error) {
	switch s {
	case "", ktrdr.Newest:
		return order{column: "created_at", direction: "DESC", after: "<"}, nil
	case ktrdr.Oldest:
		return order{column: "created_at", direction: "ASC", after: ">"}, nil
	case ktrdr.Ended:
		return order{column: ended, direction: "DESC", after: "<", only: []string{ended + " IS NOT NULL"}}, nil
	}
	return order{}, ktrdr.Errorf(ktrdr.CodeInvalid, "%q is not an order; the orders are %s", clip(string(s)), text.Join(ktrdr.Sorts))
}

// follows is the condition of what comes after a place in the order.
func (o order) follows() string { return fmt.Sprintf("(%s, id) %s (?, ?)", o.column, o.after) }

func (o order) by() string {
	return fmt.Sprintf(" ORDER BY %s %s, id %s", o.column, o.direction, o.direction)
}

// A cursor of an order other than the first names it, so that a page of another
// order is not continued with it.
func sortedCursor(s ktrdr.Sort, created, ended time.Time, id string) string {
	switch s {
	case "", ktrdr.Newest:
		return placeCursor(micros(created), id)
	case ktrdr.Ended:
		created = ended
	}
	return placeCursor(micros(created), id+" "+string(s))
}

func parseSorted(s ktrdr.Sort, cursor string) (us int64, id string, err error) {
	us, name, err := parsePlace(cursor)
	if err != nil {
		return 0, "", err
	}
	id, of, _ := strings.Cut(name, " ")
	of, s = cmp.Or(of, string(ktrdr.Newest)), cmp.Or(s, ktrdr.Newest)
	if of != string(s) {
		if !slices.Contains(ktrdr.Sorts, ktrdr.Sort(of)) {
			of = "another"
		}
		return 0, "", ktrdr.Errorf(ktrdr.CodeInvalid, "the cursor belongs to the order %s, not to %s; begin without a cursor", of, s)
	}
	return us, id, nil
}
