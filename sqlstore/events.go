package sqlstore

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/text"
)

const (
	insertOneEvent query = `INSERT INTO events (operation_id, kind, at, epoch, data) VALUES ($1, $2, {now}, $3, $4)`
	insertOnly     query = `INSERT INTO events (operation_id, kind, at, epoch, data, only_once)
		VALUES ($1, $2, {now}, $3, $4, $5) ON CONFLICT DO NOTHING`
)

// insertEvent writes an event that no trigger writes. The empty operation is
// the store itself.
func insertEvent(ctx context.Context, t *tx, op ktrdr.OperationID, kind ktrdr.EventKind, epoch ktrdr.Epoch, data any) {
	text, err := marshal(data)
	t.fail(err)
	t.wake()
	t.later(ctx, insertOneEvent, op, kind, epoch, text)
}

// insertOnce is insertEvent for an event that is written once for each word.
func insertOnce(ctx context.Context, t *tx, op ktrdr.OperationID, kind ktrdr.EventKind, epoch ktrdr.Epoch, word string, data any) {
	text, err := marshal(data)
	t.fail(err)
	t.wake()
	t.later(ctx, insertOnly, op, kind, epoch, text, word)
}

// insertRefused writes that a stale writer was refused, once for each input of
// each epoch: a zombie may try for hours.
func insertRefused(ctx context.Context, t *tx, te *ktrdr.TransitionError) {
	insertOnce(ctx, t, te.ID, ktrdr.EventWriteRefused, te.Given, string(te.Input), struct {
		Input  ktrdr.Input  `json:"input"`
		Given  ktrdr.Epoch  `json:"given_epoch"`
		Epoch  ktrdr.Epoch  `json:"epoch"`
		Status ktrdr.Status `json:"status"`
	}{te.Input, te.Given, te.Epoch, te.From})
}

// eventTexts is where one text cannot serve both databases. On PostgreSQL an
// event may become visible after others that were written later; what lies
// below the oldest open transaction is settled, so a reader that stops there
// skips nothing. On SQLite one writer makes the ids enough.
type eventTexts struct{ all, ofOne, before, prune query }

const (
	eventColumns = `operation_id, kind, at, epoch, data FROM events WHERE `
	settled      = `tx < pg_snapshot_xmin(pg_current_snapshot())::text::bigint`
	pageOfEvents = 500
	mostEvents   = 1000
)

var (
	sqliteEvents = eventTexts{
		all: `SELECT 0, id, ` + eventColumns + `id > $2 AND $1 >= 0 ORDER BY id LIMIT $3`,
		ofOne: `SELECT 0, id, ` + eventColumns +
			`id > $2 AND $1 >= 0 AND substr(operation_id, -24) = substr($4, -24) AND operation_id = $4 ORDER BY id LIMIT $3`,
		before: `SELECT 0, id FROM events ORDER BY id DESC LIMIT 1 OFFSET $1`,
		prune:  `DELETE FROM events WHERE id IN (SELECT id FROM (SELECT id, at FROM events ORDER BY id LIMIT 500) WHERE at < {now} - $1)`,
	}
	postgresEvents = eventTexts{
		all:    `SELECT tx, id, ` + eventColumns + settled + ` AND (tx, id) > ($1, $2) ORDER BY tx, id LIMIT $3`,
		ofOne:  `SELECT tx, id, ` + eventColumns + settled + ` AND (tx, id) > ($1, $2) AND operation_id = $4 ORDER BY tx, id LIMIT $3`,
		before: `SELECT tx, id FROM events WHERE ` + settled + ` ORDER BY tx DESC, id DESC LIMIT 1 OFFSET $1`,
		prune: `DELETE FROM events WHERE (tx, id) IN (SELECT tx, id FROM (SELECT tx, id, at FROM events ORDER BY tx, id LIMIT 500) AS oldest
			WHERE at < {now} - $1)`,
	}
)

func (s *Store) eventTexts() eventTexts {
	if s.isPostgres() {
		return postgresEvents
	}
	return sqliteEvents
}

// Events implements ktrdr.Store.
func (s *Store) Events(ctx context.Context, q ktrdr.EventQuery) ([]ktrdr.Event, error) {
	q.Limit = cmp.Or(q.Limit, pageOfEvents)
	if q.Limit < 1 || q.Limit > mostEvents {
		return nil, ktrdr.Errorf(ktrdr.CodeInvalid, "limit must be 1 to %d, not %d", mostEvents, q.Limit)
	}
	asked, c := s.eventTexts().all, conditions{args: []any{q.After.Tx, q.After.ID, q.Limit}}
	if q.Operation != "" {
		if !q.Operation.Valid() {
			return nil, notFound(q.Operation)
		}
		asked, c.args = s.eventTexts().ofOne, append(c.args, q.Operation)
	}
	if slices.ContainsFunc(q.Kinds, func(k ktrdr.EventKind) bool { return !k.Known() }) {
		return nil, ktrdr.Errorf(ktrdr.CodeInvalid, "%v: one of them is not a kind of event; the kinds are %s", q.Kinds,
			text.Join(ktrdr.EventKinds))
	}
	if in(&c, "kind", q.Kinds); len(q.Kinds) > 0 {
		asked = query(strings.Replace(string(asked), " ORDER BY", " AND "+c.texts[0]+" ORDER BY", 1))
	}
	return readAll(ctx, s, scanEvent, asked, c.args...)
}

var scanEvent = fields(func(e *ktrdr.Event) []any {
	return []any{&e.Cursor.Tx, &e.Cursor.ID, &e.Operation, &e.Kind, (*moment)(&e.At), &e.Epoch, (*document)(&e.Data)}
})

// LastEvent implements ktrdr.Store.
func (s *Store) LastEvent(ctx context.Context) (ktrdr.Cursor, error) { return s.EventBefore(ctx, 0) }

// EventBefore implements ktrdr.Store.
func (s *Store) EventBefore(ctx context.Context, n int) (ktrdr.Cursor, error) {
	c, err := readRow(ctx, s, fields(func(c *ktrdr.Cursor) []any { return []any{&c.Tx, &c.ID} }), s.eventTexts().before, n)
	return c, ifNoRow(err, nil)
}

// PruneEvents implements ktrdr.Store. Only the oldest are looked at, which is
// where the old ones are.
func (s *Store) PruneEvents(ctx context.Context, age time.Duration) (int, error) {
	n, err := s.exec(ctx, s.eventTexts().prune, age.Microseconds())
	return int(n), err
}
