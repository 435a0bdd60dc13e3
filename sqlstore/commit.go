package sqlstore

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	sqlitedriver "modernc.org/sqlite"
	sqlitelib "modernc.org/sqlite/lib"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/backoff"
)

// A COMMIT whose answer is an error, or does not come, may have committed.
// This file finds out. There are three ends: it did, and the caller is told
// so; it did not, and may be repeated; it is unknown, which is
// CodeUnknownResult.

func notCommitted(cause error) error {
	return ktrdr.Errorf(notWritten(cause), "the database did not commit; nothing was changed: %w", cause)
}

func unknownResult(cause error) error {
	return ktrdr.Errorf(ktrdr.CodeUnknownResult, "the database did not say whether it committed; repeat the same request: %w", cause)
}

// On SQLite every batch that changes something writes its number into a row of
// its writer's own; there may be a second writer, a command beside the backend.
// The table is the writers' too: no migration makes it and no backup holds it.

const (
	sqlMarks  query = `CREATE TABLE IF NOT EXISTS commit_mark (writer TEXT PRIMARY KEY, batch INTEGER NOT NULL, at INTEGER NOT NULL) STRICT`
	sqlForget query = `DELETE FROM commit_mark WHERE at < {now} - 86400000000`
	sqlMark   query = `INSERT INTO commit_mark (writer, batch, at) VALUES ($1, $2, {now})
		ON CONFLICT (writer) DO UPDATE SET batch = excluded.batch, at = excluded.at`
	sqlMarked query = `SELECT COALESCE(MAX(batch), 0) FROM commit_mark WHERE writer = $1`

	sqlChanges query = `SELECT total_changes()`
)

// prepareMarks makes the table, without what writers of past days left there.
func (w *writer) prepareMarks(ctx context.Context) error {
	if err := w.conn.control(ctx, sqlMarks); err != nil {
		return err
	}
	if err := w.conn.control(ctx, sqlForget); err != nil {
		return err
	}
	return w.conn.row(ctx, sqlChanges).Scan(&w.changes)
}

// markBatch numbers the batch. One that changed nothing gets no number: its
// COMMIT is then free. One that cannot be numbered is not committed, and so has
// written nothing either.
func (w *writer) markBatch(ctx context.Context) (wrote bool, err error) {
	changes, err := scanValue[int64](w.conn.row(ctx, sqlChanges))
	if err != nil || changes == w.changes {
		return false, err
	}
	w.changes = changes
	err = w.writeMark(ctx)
	return err == nil, err
}

func (w *writer) writeMark(ctx context.Context) error {
	w.mark++ // even when it fails: a number is never used twice
	changed, err := w.conn.exec(ctx, sqlMark, w.name, w.mark)
	w.changes += changed
	return err
}

// resolve finds out whether the newest batch was committed, whose COMMIT failed
// because of cause.
//
// A number that cannot be read back proves little: the batch may lie complete
// in the log, not yet counted as written, and would be found by the recovery
// after a crash. Only the next commit, which takes its place there, makes sure
// that it is not.
func (w *writer) resolve(ctx context.Context, cause error) error {
	if e, ok := errors.AsType[*sqlitedriver.Error](cause); ok {
		switch e.Code() {
		case sqlitelib.SQLITE_FULL:
			return notCommitted(sqliteError(cause)) // the end of the batch had no room in the log
		case sqlitelib.SQLITE_ERROR:
			// There was no transaction any more, and what came after its end, be it
			// the number, was written by itself.
			return unknownResult(cause)
		}
	}
	found, err := scanValue[int64](w.conn.row(ctx, sqlMarked, w.name))
	if err != nil {
		return unknownResult(errors.Join(cause, err))
	}
	if found == w.mark {
		return nil
	}
	err = w.lock(ctx)
	if err == nil {
		err = w.writeMark(ctx)
	}
	if err == nil {
		err = w.commit(ctx)
	}
	if err != nil {
		_ = w.conn.control(ctx, "ROLLBACK")
		return unknownResult(errors.Join(cause, err))
	}
	return notCommitted(cause)
}

// On PostgreSQL a transaction is asked for its id when it begins, and the
// server can be asked for the status of that id. An id whose transaction never
// reached the disk may be given out again after a crash, so "committed" is
// believed only from a server that has not crashed in between. The proof is a
// witness: a connection that was there before the transaction began and still
// is. "aborted" needs none: if the id was given out again, ours is gone.

// witness is a connection of ours, as the server names it.
type witness struct {
	pid   uint32
	start int64 // when it was made, on the server's clock
}

// transaction is what is known of one that is about to commit.
type transaction struct {
	id      string
	pid     uint32   // of the server process that runs it
	witness *witness // nil when there was none
}

// How long the server is asked for the status of a transaction, and after how much
// of that time a transaction that is still open is ended: its connection is cut, and
// the server may not notice for minutes.
const (
	resolveTime = 10 * time.Second
	openTooLong = 500 * time.Millisecond
)

// statusChecks paces the questions about one transaction: every 20 ms or so.
var statusChecks = backoff.Policy{First: 20 * time.Millisecond, Jitter: 0.5}

const (
	// sqlStatus knows a transaction, and whether the witness is there.
	sqlStatus = `SELECT COALESCE(pg_xact_status($1::text::xid8), ''), EXISTS (
		SELECT 1 FROM pg_stat_activity WHERE pid = $2 AND (EXTRACT(EPOCH FROM backend_start) * 1000000)::bigint = $3)`
	// sqlTerminate ends the process that still runs the transaction, and no
	// other that was given the same number.
	sqlTerminate = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = $1 AND backend_xid = $2::text::xid8::xid`

	stateFuture = "22023" // the id is one that the server has yet to give out
)

// resolve finds out whether tr was committed, whose COMMIT failed because of cause.
// It asks on fresh connections until it knows or its time is up.
func (p *postgres) resolve(ctx context.Context, tr transaction, cause error) error {
	ctx, cancel := context.WithTimeout(ctx, resolveTime)
	defer cancel()
	w := witness{}
	if tr.witness != nil {
		w = *tr.witness
	}
	begun, terminated := time.Now(), false
	for {
		status, present, err := p.status(ctx, tr, w)
		if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == stateFuture {
			return again{notCommitted(cause)}
		}
		switch {
		case err != nil: // not reachable: ask again
		case status == "aborted":
			return again{notCommitted(cause)}
		case !present || status == "":
			return unknownResult(cause)
		case status == "committed":
			return nil
		case !terminated && time.Since(begun) > openTooLong:
			_, err = p.normal.ExecContext(ctx, sqlTerminate, int64(tr.pid), tr.id)
			terminated = err == nil
		}
		if !statusChecks.Wait(ctx, 0) {
			return unknownResult(errors.Join(cause, err))
		}
	}
}

// status asks whether tr was committed, and whether w is there.
func (p *postgres) status(ctx context.Context, tr transaction, w witness) (status string, present bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	err = p.normal.QueryRowContext(ctx, sqlStatus, tr.id, int64(w.pid), w.start).Scan(&status, &present)
	return status, present, err
}
