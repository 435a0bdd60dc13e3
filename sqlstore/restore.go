package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/ktrdr/ktrdr"
)

const (
	metaTable   = "meta"
	eventsTable = "events"

	// metaRestoring keeps the triggers silent: the rows that they would write,
	// and the transitions that they would refuse, are all in the backup. It is
	// there only inside the restoring transaction.
	metaRestoring = "restoring"

	// metaUnfinished is there from the commit of the restored rows until
	// FinishRestore. A database with it is not for use: its blobs may be
	// missing. It is in no backup.
	metaUnfinished = "restore unfinished"
)

// rowsPerInsert: a round trip to PostgreSQL costs more than a long statement,
// while SQLite has no round trips.
const rowsPerInsert = 50

// BlobSink is where a restore puts blobs.
type BlobSink interface {
	Put(ctx context.Context, want ktrdr.Hash, r io.Reader) (size int64, err error)
}

// Restore loads what Backup wrote, from either database, into an empty store
// of the same schema: all of it, or nothing but some blobs that no row names.
// What an unfinished restore left is removed first. The store stays unfinished
// until FinishRestore. It returns the blobs that rows name and that were damaged when they were
// saved. CodeConflict when the store is not empty; otherwise as VerifyBackup.
func Restore(ctx context.Context, s *Store, blobs BlobSink, from io.Reader) (damaged []ktrdr.Hash, err error) {
	err = s.db.writeOnce(ctx, func(t *tx) error {
		r := &restore{store: s, tx: t, blobs: blobs, archive: newArchive(from), found: ending{Rows: map[string]int64{}}}
		err := r.run(ctx)
		damaged = r.sent.Damaged
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("restore: %w", err)
	}
	return damaged, nil
}

// FinishRestore lets the restored database be used.
func (s *Store) FinishRestore(ctx context.Context) error {
	_, err := s.exec(ctx, deleteMeta, metaUnfinished)
	return err
}

// refuseUnfinished refuses a database into which a restore was not finished.
func (s *Store) refuseUnfinished(ctx context.Context) error {
	n, err := readRow(ctx, s, scanValue[int64], countMeta, metaUnfinished)
	if err == nil && n > 0 {
		err = errUnfinished
	}
	return err
}

var errUnfinished = ktrdr.Errorf(ktrdr.CodeConflict,
	"a restore into this database has not finished, so not everything is there: run `ktrdr restore FILE` into it again, which starts over")

// restore is one under way.
type restore struct {
	store   *Store
	tx      *tx
	blobs   BlobSink
	archive *archive
	tables  map[string]table // of this database
	found   ending           // what the archive held so far
	sent    ending           // what it says that it holds; known at its end
}

func (r *restore) run(ctx context.Context) error {
	m, err := r.archive.manifest()
	if err != nil {
		return err
	}
	if m.Schema != r.store.schema {
		return ktrdr.Errorf(ktrdr.CodeInvalid,
			"the backup holds schema %d and this ktrdr makes %d: restore it with the ktrdr that made it (%s), then open it with this one", m.Schema,
			r.store.schema, m.CreatedBy)
	}
	if err := r.prepare(ctx, m); err != nil {
		return err
	}
	if err := r.entries(ctx); err != nil {
		return err
	}
	for _, t := range m.Tables {
		if err := r.continueSequence(ctx, t); err != nil {
			return fmt.Errorf("table %s: %w", t.Name, err)
		}
	}
	r.tx.later(ctx, deleteMeta, metaRestoring)
	r.tx.later(ctx, setMeta, metaUnfinished, "1")
	r.tx.wakeWorkers()
	return nil
}

// prepare makes sure that the database is empty and has the backup's tables.
func (r *restore) prepare(ctx context.Context, m manifest) error {
	here, err := r.store.tables(ctx, r.tx)
	if err != nil {
		return err
	}
	if !slices.EqualFunc(here, m.Tables, table.same) {
		return ktrdr.Errorf(ktrdr.CodeInvalid, "the backup's tables are not those of schema %d", m.Schema)
	}
	if err := r.removeUnfinished(ctx, here); err != nil {
		return err
	}
	r.tables = map[string]table{}
	for _, t := range here {
		r.tables[t.Name] = t
		rows, err := scanValue[int](r.tx.row(ctx, query("SELECT COUNT(*) FROM "+t.quoted())))
		if err != nil {
			return err
		}
		if rows > 0 && t.Name != metaTable {
			return ktrdr.Errorf(ktrdr.CodeConflict, "the database is not empty (%s has %d rows): restore into a new one", t.Name, rows)
		}
	}
	r.tx.later(ctx, `DELETE FROM meta WHERE key <> $1`, metaBlobRoot)
	r.tx.later(ctx, `INSERT INTO meta (key, value) VALUES ($1, '1')`, metaRestoring)
	return nil
}

// removeUnfinished removes what a restore left in PostgreSQL that was not
// finished, also which blobs it was bound to and who was signed in.
func (r *restore) removeUnfinished(ctx context.Context, here []table) error {
	n, err := scanValue[int](r.tx.row(ctx, countMeta, metaUnfinished))
	if err != nil || n == 0 || !r.store.isPostgres() {
		return err // a file is removed instead
	}
	r.tx.later(ctx, query("TRUNCATE "+strings.Join(fieldOf(here, table.quoted), ", ")+" RESTART IDENTITY CASCADE"))
	return nil
}

// entries loads everything after the manifest.
func (r *restore) entries(ctx context.Context) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		entry, err := r.archive.next()
		if err != nil {
			return err
		}
		name, isTable := strings.CutPrefix(entry, tablesDir)
		blob, isBlob := strings.CutPrefix(entry, blobsDir)
		switch {
		case isTable:
			err = r.rows(ctx, name)
		case isBlob:
			err = r.blob(ctx, blob)
		case entry == endName: // what was sent
			if err = json.NewDecoder(r.archive).Decode(&r.sent); err != nil {
				err = unreadable(err)
			}
		case entry == sumName:
			return r.complete()
		default:
			err = ktrdr.Errorf(ktrdr.CodeCorrupt, "the backup holds something unknown")
		}
		if err != nil {
			return fmt.Errorf("%s: %w", entry, err)
		}
	}
}

// rows loads one piece of a table.
func (r *restore) rows(ctx context.Context, name string) error {
	name, _, _ = strings.Cut(name, "/")
	t, ok := r.tables[name]
	if !ok {
		return ktrdr.Errorf(ktrdr.CodeCorrupt, "there is no such table")
	}
	limit := 1
	if r.store.isPostgres() {
		limit = rowsPerInsert
	}
	decoder := json.NewDecoder(r.archive)
	var values []any
	n := 0
	for decoder.More() {
		var row []cell
		if err := decoder.Decode(&row); err != nil {
			return unreadable(err)
		}
		if len(row) != len(t.Columns) {
			return ktrdr.Errorf(ktrdr.CodeCorrupt, "row %d has %d values, want %d", r.found.Rows[name]+1, len(row), len(t.Columns))
		}
		values = append(values, t.values(row)...)
		r.found.Rows[name]++
		if n++; n == limit {
			if err := r.insert(ctx, t, n, values); err != nil {
				return err
			}
			n, values = 0, values[:0]
		}
	}
	if n == 0 {
		return nil
	}
	return r.insert(ctx, t, n, values)
}

// values returns a row as this database takes it.
func (t table) values(row []cell) []any {
	values := make([]any, len(row))
	for i, c := range row {
		values[i] = c.value
		if slices.Contains(t.booleans, t.Columns[i]) {
			values[i] = c.value == int64(1)
		}
		if t.Name == eventsTable && t.Columns[i] == "tx" {
			values[i] = int64(0) // a transaction of the database that it came from
		}
	}
	return values
}

func (r *restore) insert(ctx context.Context, t table, rows int, values []any) error {
	texts := make([]string, rows)
	for i := range texts {
		texts[i] = "(" + placeholders(i*len(t.Columns)+1, len(t.Columns)) + ")"
	}
	text := "INSERT INTO " + t.quoted() + " (" + t.columnList() + ") VALUES " + strings.Join(texts, ", ")
	_, err := r.tx.exec(ctx, query(text), values...)
	return err
}

// blob stores one blob. One that was damaged when it was saved is left out.
func (r *restore) blob(ctx context.Context, name string) error {
	h, err := ktrdr.ParseHash(name)
	if err != nil {
		return err
	}
	r.found.Blobs++
	if _, err = r.blobs.Put(ctx, h, r.archive); ktrdr.CodeOf(err) == ktrdr.CodeCorrupt {
		r.found.Damaged = append(r.found.Damaged, h)
		return nil
	}
	return err
}

// complete compares what came with what was sent.
func (r *restore) complete() error {
	if err := r.archive.proven(); err != nil {
		return err
	}
	for _, h := range r.found.Damaged {
		if !slices.Contains(r.sent.Damaged, h) {
			return ktrdr.Errorf(ktrdr.CodeCorrupt, "blob %s was damaged in the backup", h)
		}
	}
	if !maps.Equal(r.found.Rows, r.sent.Rows) || r.found.Blobs != r.sent.Blobs {
		return ktrdr.Errorf(ktrdr.CodeCorrupt, "the backup is incomplete: it holds %d blobs and the rows %v, and should hold %d and %v",
			r.found.Blobs, r.found.Rows, r.sent.Blobs, r.sent.Rows)
	}
	return nil
}

// continueSequence lets the database number on where the other stopped.
func (r *restore) continueSequence(ctx context.Context, saved table) error {
	t := r.tables[saved.Name]
	if t.counter == "" {
		return nil
	}
	highest, err := scanValue[int64](r.tx.row(ctx, query("SELECT COALESCE(MAX("+quote(t.counter)+"), 0) FROM "+t.quoted())))
	if err != nil {
		return err
	}
	return r.store.storeSequence(ctx, r.tx, t, max(highest, saved.Sequence))
}
