package sqlstore

import (
	"context"
	"database/sql"
	"errors"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/thread"
)

const (
	inSpace           = ` FROM checkpoints c WHERE c.tenant = $1 AND c.thread_id = $2 AND c.ns = $3`
	theNamed          = inSpace + ` AND c.id = $4`
	theNewest         = inSpace + ` ORDER BY c.id DESC LIMIT 1`
	pointAt           = `SELECT ` + pointColumns + inSpace
	selectPoint query = `SELECT ` + pointColumns + theNamed
	latestPoint query = `SELECT ` + pointColumns + theNewest

	// Of others' threads only their own columns are read: one that is asked for
	// alone is what a program waits for at each of its steps.
	selectForeign query = `SELECT ` + foreignColumns + theNamed
	latestForeign query = `SELECT ` + foreignColumns + theNewest
)

// findPoint reads the checkpoint that ref means; CodeNotFound.
func findPoint(ctx context.Context, q queryer, ref thread.Ref) (p point, err error) {
	byID, latest, scan := selectForeign, latestForeign, scanForeign
	if thread.IsOperation(ref.Tenant, ref.Thread) {
		byID, latest, scan = selectPoint, latestPoint, scanPoint
	}
	if ref.Checkpoint != "" {
		p, err = scan(q.row(ctx, byID, ref.Tenant, ref.Thread, ref.NS, ref.Checkpoint))
	} else {
		p, err = scan(q.row(ctx, latest, ref.Tenant, ref.Thread, ref.NS))
	}
	if errors.Is(err, sql.ErrNoRows) {
		return point{}, thread.NotFound(ref)
	}
	p.thread, p.ns = ref.Thread, ref.NS
	return p, err
}

// GetTuple implements thread.Saver.
func (s threads) GetTuple(ctx context.Context, ref thread.Ref) (thread.Tuple, error) {
	if err := thread.CheckRef(ref); err != nil {
		return thread.Tuple{}, err
	}
	if tuple, ok, err := s.getAlone(ctx, ref); ok || err != nil {
		return tuple, err
	}
	tuples, err := inRead(ctx, s.store.read, func(r queryer) ([]thread.Tuple, error) {
		p, err := findPoint(ctx, r, ref)
		if err != nil {
			return nil, err
		}
		return tuplesOf(ctx, r, ref.Tenant, []point{p})
	})
	if err != nil {
		return thread.Tuple{}, err
	}
	if why := tuples[0].Damaged; why != "" {
		return thread.Tuple{}, ktrdr.Errorf(ktrdr.CodeCorrupt, "%s", why)
	}
	return tuples[0], nil
}

// getAlone reads a checkpoint that has no writes, which most have not, in two
// statements and no transaction. They need no common snapshot: a value never
// changes, it can only be gone meanwhile. Then, and when there are writes, it
// is not ok.
func (s threads) getAlone(ctx context.Context, ref thread.Ref) (tuple thread.Tuple, ok bool, err error) {
	err = s.store.readOne(ctx, func(r queryer) error {
		p, err := findPoint(ctx, r, ref)
		if err != nil || p.written || thread.NeedsSends(p.format, p.parent) {
			return err
		}
		values, err := s.valuesOf(ctx, r, ref.Tenant, p)
		if err != nil {
			return err
		}
		tuple = p.tuple(values, make(map[valueAt]bool, len(values)), nil)
		ok = tuple.Damaged == ""
		return nil
	})
	return tuple, ok, err
}

// valuesOf reads the values of one checkpoint, as far as they are not
// remembered.
func (s threads) valuesOf(ctx context.Context, r queryer, tenant string, p point) (map[valueAt]thread.Value, error) {
	known := make(map[valueAt]thread.Value, len(p.slots))
	var unknown []seenValue
	for channel, slot := range p.slots {
		if !slot.Held {
			continue
		}
		if v, ok := s.store.recent.find(slot.Value); ok {
			known[p.valueAt(channel, slot.Version, slot.Value)] = v
		} else {
			unknown = append(unknown, seenValue{channel, slot.Version, slot.Value})
		}
	}
	if len(unknown) == 0 {
		return known, nil
	}
	read, err := valuesOf(ctx, r, tenant, map[space][]seenValue{p.space(): once(unknown)})
	for at, v := range read {
		s.store.recent.keep(at.hash, v)
		known[at] = v
	}
	return known, err
}

// listPage is how many rows a list reads at a time.
const listPage = 100

// List implements thread.Saver. A filter is judged here, not in SQL: the two
// databases do not agree on when JSON values are equal. What does not match is
// not kept.
func (s threads) List(ctx context.Context, q thread.Query) ([]thread.Tuple, error) {
	filter, err := thread.ParseFilter(q)
	if err != nil {
		return nil, err
	}
	tuples := []thread.Tuple{}
	if q.Limit != nil && *q.Limit == 0 {
		return tuples, nil
	}
	err = s.store.read(ctx, func(r queryer) error {
		tuples = tuples[:0]
		budget := thread.NewBudget(q.MaxBytes)
		var after *point
		if a := q.After; a != nil {
			after = &point{thread: a.Thread, ns: a.NS, id: a.ID}
		}
		for {
			last, matching, err := nextPoints(ctx, r, q, filter, after, budget)
			if err != nil {
				return err
			}
			if q.Limit != nil {
				matching = matching[:min(len(matching), *q.Limit-len(tuples))]
			}
			if err := afford(ctx, r, q.Tenant, matching, &budget); err != nil {
				return err
			}
			more, err := tuplesOf(ctx, r, q.Tenant, matching)
			if err != nil {
				return err
			}
			tuples = append(tuples, more...)
			if last == nil || q.Limit != nil && len(tuples) == *q.Limit {
				return nil
			}
			after = last
		}
	})
	return tuples, err
}

// nextPoints reads the page after a row, or the first, and returns what of it
// matches, and its last row when there may be more after it. It stops where
// rows alone exceed the budget.
func nextPoints(ctx context.Context, r queryer, q thread.Query, filter thread.Filter, after *point, budget thread.Budget) (last *point,
	matching []point, err error,
) {
	text, args := pointsQuery(q, filter, after)
	rows, err := r.rows(ctx, text, args...)
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	var size int64
	for read := 1; rows.Next(); read++ {
		p, err := scanPoint(rows)
		if err != nil {
			return nil, nil, err
		}
		if filter.Match(p.metadata) {
			matching = append(matching, p)
			size += p.ownSize()
		}
		if read == listPage || budget.Exceeds(size) {
			return &point{thread: p.thread, ns: p.ns, id: p.id}, matching, nil
		}
	}
	return nil, matching, rows.Err()
}

// pointsQuery writes the statement for one page. Values are arguments; of the
// query only its shape gets into the text.
func pointsQuery(q thread.Query, filter thread.Filter, after *point) (query, []any) {
	var c conditions
	c.add("c.tenant = ?", q.Tenant)
	if q.Thread != nil {
		c.add("c.thread_id = ?", *q.Thread)
	} else {
		c.add("c.put_at > 0") // the index's own words
	}
	if q.NS != nil {
		c.add("c.ns = ?", *q.NS)
	}
	c.when(q.Checkpoint != "", "c.id = ?", q.Checkpoint)
	c.when(q.Before != "", "c.id < ?", q.Before)
	if run, ok := filter.Run(); ok {
		c.add("c.run_id IS NOT NULL AND c.run_id = ?", run)
	}
	if after != nil {
		c.add("(c.id, c.thread_id, c.ns) < (?, ?, ?)", after.id, after.thread, after.ns)
	}
	size := listPage
	if q.Limit != nil && len(filter) == 0 {
		size = min(size, *q.Limit)
	}
	return c.page(pointColumns+" FROM checkpoints c", " ORDER BY c.id DESC, c.thread_id DESC, c.ns DESC", size)
}
