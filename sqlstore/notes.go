package sqlstore

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/ktrdr/ktrdr"
)

// maxNotes bounds one decision.
const maxNotes = 1000

const (
	insertNote query = `INSERT INTO notes (id, kind, key, run, generation, idx, operation_id, at, data)
		VALUES ((SELECT COALESCE(MAX(id), 0) + 1 FROM notes), $1, $2, $3, $4, $5, $6, {now}, $7)
		ON CONFLICT (kind, key) DO NOTHING`

	noteColumns = `id, kind, key, run, generation, idx, operation_id, at, data`

	selectHorizon query = `SELECT COALESCE(MAX(id), 0) FROM notes`
)

// addNotes stores what was noted. The lock makes the order of ids that of
// the commits, without which a horizon would not hold.
func (s *Store) addNotes(ctx context.Context, t *tx, op ktrdr.OperationID, notes []ktrdr.Note) {
	if len(notes) > 0 {
		s.lockMeta(ctx, t, metaNotes)
	}
	for _, n := range notes {
		t.later(ctx, insertNote, n.Kind, n.Key, n.Run, n.Generation, n.Index, op, string(n.Data))
	}
}

// unnoted says whether some of the notes are not there yet.
func (s *Store) unnoted(ctx context.Context, notes []ktrdr.Note) (bool, error) {
	if checkNotes(notes) != nil {
		return true, nil //nolint:nilerr // asking again tells it where it can be written
	}
	wanted := map[[2]string]bool{}
	for _, n := range notes {
		wanted[[2]string{n.Kind, n.Key}] = true
	}
	values, args := rowsOf(1, notes, []string{"TEXT", "TEXT"}, func(n ktrdr.Note) []any { return []any{n.Kind, n.Key} })
	there, err := readRow(ctx, s, scanValue[int64], query(`SELECT COUNT(*) FROM notes WHERE (kind, key) IN (`+values+`)`), args...)
	return int(there) < len(wanted), err
}

// checkNotes refuses what could not be stored.
func checkNotes(notes []ktrdr.Note) error {
	if len(notes) > maxNotes {
		return fmt.Errorf("%d notes are made at once; at most %d can be", len(notes), maxNotes)
	}
	for _, n := range notes {
		switch {
		case n.Kind == "" || !storable(n.Kind, 64) || n.Key == "" || !storable(n.Key, 255) || !storable(n.Run, 255):
			return errors.New("a note has no kind of 1 to 64 bytes of text, no key of 1 to 255, or a run of more than 255")
		case n.Generation < 0 || n.Index < 0:
			return fmt.Errorf("note %s %s is in generation %d at index %d; neither may be negative", n.Kind, n.Key, n.Generation, n.Index)
		case len(n.Data) > ktrdr.InlineState || !validJSON(n.Data):
			return fmt.Errorf("note %s %s is not JSON of at most %d bytes", n.Kind, n.Key, ktrdr.InlineState)
		}
	}
	return nil
}

// Horizon implements ktrdr.Notes.
func (s *Store) Horizon(ctx context.Context) (string, error) {
	newest, err := readRow(ctx, s, scanValue[int64], selectHorizon)
	return strconv.FormatInt(newest, 10), err
}

// noteRow is a note and its place in time.
type noteRow struct {
	ktrdr.Note
	id int64
}

var scanNote = fields(func(n *noteRow) []any {
	return []any{
		&n.id, &n.Kind, &n.Key, &n.Run, &n.Generation, &n.Index, &n.Operation, (*moment)(&n.At), (*document)(&n.Data),
	}
})

// Notes implements ktrdr.Notes.
func (s *Store) Notes(ctx context.Context, q ktrdr.NoteQuery) (ktrdr.NotePage, error) {
	text, args, err := notesQuery(&q)
	if err != nil {
		return ktrdr.NotePage{}, err
	}
	found, err := readAll(ctx, s, scanNote, text, args...)
	found, next := pageOf(found, q.Limit, func(n noteRow) string { return cursorAfter(n, q.Order) })
	return ktrdr.NotePage{Notes: fieldOf(found, func(n noteRow) ktrdr.Note { return n.Note }), Next: next}, err
}

// CountNotes implements ktrdr.Notes.
func (s *Store) CountNotes(ctx context.Context, q ktrdr.NoteQuery) (map[string]int64, error) {
	selected, err := notesWhere(q)
	if err != nil {
		return nil, err
	}
	type count struct {
		kind string
		n    int64
	}
	scan := fields(func(c *count) []any { return []any{&c.kind, &c.n} })
	found, err := readAll(ctx, s, scan, query(`SELECT kind, COUNT(*) FROM notes`+selected.where()+` GROUP BY kind`), selected.args...)
	counts := make(map[string]int64, len(found))
	for _, c := range found {
		counts[c.kind] = c.n
	}
	return counts, err
}

// notesWhere is the conditions of a query.
func notesWhere(q ktrdr.NoteQuery) (c conditions, err error) {
	if !storable(q.Kind, 64) || !storable(q.Run, 255) || q.Operation != "" && !q.Operation.Valid() {
		return c, ktrdr.Errorf(ktrdr.CodeInvalid,
			"a kind of notes is at most 64 bytes of text, a run at most 255, and an operation is named by its id")
	}
	c.when(q.Kind != "", "kind = ?", q.Kind)
	c.when(q.Run != "", "run = ?", q.Run)
	c.when(q.Operation != "", "operation_id = ?", q.Operation)
	if q.BeforeGeneration != nil {
		c.add("generation < ?", *q.BeforeGeneration)
	}
	if q.Horizon != "" {
		newest, err := strconv.ParseInt(q.Horizon, 10, 64)
		if err != nil || newest < 0 {
			return c, ktrdr.Errorf(ktrdr.CodeInvalid, "%q is no horizon that this store gave", clip(q.Horizon))
		}
		c.add("id <= ?", newest)
	}
	return c, nil
}

// notesQuery writes the statement of a page and one note more, which says
// whether there is another.
func notesQuery(q *ktrdr.NoteQuery) (query, []any, error) {
	if err := checkLimit(&q.Limit); err != nil {
		return "", nil, err
	}
	c, err := notesWhere(*q)
	if err != nil {
		return "", nil, err
	}
	order, beyond := " ORDER BY id DESC", "id < ?"
	switch q.Order {
	case ktrdr.NotesNewest:
	case ktrdr.NotesOldest:
		order, beyond = " ORDER BY id", "id > ?"
	case ktrdr.NotesByPlace:
		order, beyond = " ORDER BY generation, idx, kind, key", "(generation, idx, kind, key) > (?, ?, ?, ?)"
	default:
		return "", nil, ktrdr.Errorf(ktrdr.CodeInvalid, "%q is no order of notes", clip(string(q.Order)))
	}
	if q.Cursor != "" {
		last, err := parseNoteCursor(q.Cursor, q.Order)
		if err != nil {
			return "", nil, err
		}
		after := []any{last.ID}
		if q.Order == ktrdr.NotesByPlace {
			after = []any{last.Generation, last.Index, last.Kind, last.Key}
		}
		c.add(beyond, after...)
	}
	text, args := c.page(noteColumns+" FROM notes", order, q.Limit+1)
	return text, args, nil
}

// noteCursor is the last note's place in its order, opaque to clients.
type noteCursor struct {
	Order      ktrdr.NoteOrder `json:"o,omitempty"`
	ID         int64           `json:"i,omitempty"`
	Generation int             `json:"g,omitempty"`
	Index      int             `json:"x,omitempty"`
	Kind       string          `json:"k,omitempty"`
	Key        string          `json:"n,omitempty"`
}

func cursorAfter(n noteRow, order ktrdr.NoteOrder) string {
	c := noteCursor{Order: order, ID: n.id}
	if order == ktrdr.NotesByPlace {
		c = noteCursor{Order: order, Generation: n.Generation, Index: n.Index, Kind: n.Kind, Key: n.Key}
	}
	text, _ := json.Marshal(c) // strings and numbers always marshal
	return base64.RawURLEncoding.EncodeToString(text)
}

func parseNoteCursor(s string, order ktrdr.NoteOrder) (c noteCursor, err error) {
	text, err := base64.RawURLEncoding.DecodeString(s)
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err != nil || c.Order != order || !storable(c.Kind, 64) || !storable(c.Key, 255) {
		return c, ktrdr.Errorf(ktrdr.CodeInvalid, "the cursor %q is not one this server gave for this order; begin without a cursor", clip(s))
	}
	return c, nil
}
