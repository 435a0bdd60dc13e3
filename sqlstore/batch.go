package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	sqlitedriver "modernc.org/sqlite"
	sqlitelib "modernc.org/sqlite/lib"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/fault"
)

// batch runs all who wait in one transaction and answers them.
func (w *writer) batch(ctx context.Context) {
	err := w.begin(ctx)
	if err != nil && errors.Is(err, ctx.Err()) {
		return // one of the others may have more time
	}
	ctx = context.WithoutCancel(ctx)
	var jobs []*job
	if err == nil {
		jobs, err = w.fill(ctx)
		err = w.end(ctx, err)
	} else {
		jobs = w.drain()
	}
	woken := forNone
	for _, j := range jobs {
		if err == nil && j.err == nil {
			woken = max(woken, j.woken)
		}
	}
	w.news.tell(woken)
	w.answered.Add(int64(len(jobs)))
	for _, j := range jobs {
		if err != nil {
			j.err = err
		}
		j.done <- j.err
	}
}

// drain takes all who wait: what keeps a transaction from beginning has made
// them wait long enough.
func (w *writer) drain() (jobs []*job) {
	for j := w.next(); j != nil; j = w.next() {
		if j.take() {
			jobs = append(jobs, j)
		}
	}
	return jobs
}

// begin begins a batch's transaction. The context's error means that the file is
// busy and that the caller that has the turn cannot wait any longer.
func (w *writer) begin(ctx context.Context) error {
	if err := w.db.intact(); err != nil {
		return err
	}
	if err := w.lock(ctx); err != nil {
		return err
	}
	fault.Hit(fault.TxBegun)
	return nil
}

// lock begins a transaction that may write. Another process may be writing,
// such as a command that looks after the database: it is waited for in short
// steps, between which the context may end the wait, and at most for
// busyTimeout since the file was found busy, also when the turn changes meanwhile.
func (w *writer) lock(ctx context.Context) error {
	for {
		err := w.conn.control(ctx, "BEGIN IMMEDIATE")
		if e, ok := errors.AsType[*sqlitedriver.Error](err); !ok || e.Code()&0xff != sqlitelib.SQLITE_BUSY {
			w.busy = time.Time{}
			return sqliteError(err)
		}
		if w.busy.IsZero() {
			w.busy = time.Now()
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case time.Since(w.busy) > busyTimeout:
			w.busy = time.Time{}
			return sqliteError(err)
		}
	}
}

// fill runs all who wait. Bodies seldom fail, and what makes one of them
// undoable costs; so it is paid for only in a batch in which one did. An error
// means that the transaction is gone, and with it what the jobs so far did.
func (w *writer) fill(ctx context.Context) ([]*job, error) {
	var jobs []*job
	deadline, apart := time.Now().Add(maxBatchTime), false
	for j := w.next(); j != nil; j = w.next() {
		if j.take() {
			jobs = append(jobs, j)
			var err error
			if apart {
				err = w.apply(ctx, j)
			} else if w.attempt(j); j.err != nil {
				apart, err = true, w.repeat(ctx, jobs)
			}
			if err != nil {
				return jobs, err
			}
		}
		if len(jobs) == maxBatch || j.once || time.Now().After(deadline) {
			break
		}
	}
	return jobs, nil
}

// repeat undoes everything because the last of the jobs failed, and does the
// others' again.
func (w *writer) repeat(ctx context.Context, jobs []*job) error {
	others, last := jobs[:len(jobs)-1], jobs[len(jobs)-1]
	err := w.undo(ctx, last, "ROLLBACK")
	if err == nil {
		err = w.lock(ctx)
	}
	for i := 0; i < len(others) && err == nil; i++ {
		err = w.apply(ctx, others[i])
	}
	return err
}

// apply runs one body so that it can be undone without its neighbours. An
// error is the transaction's.
func (w *writer) apply(ctx context.Context, j *job) error {
	if err := w.conn.control(ctx, "SAVEPOINT job"); err != nil {
		return sqliteError(err)
	}
	if w.attempt(j); j.err != nil {
		if err := w.undo(ctx, j, "ROLLBACK TO job"); err != nil {
			return err
		}
	}
	return sqliteError(w.conn.control(ctx, "RELEASE job"))
}

// undo takes back what a body did.
func (w *writer) undo(ctx context.Context, j *job, back query) error {
	// Some errors, such as a full disk, make SQLite roll back everything; then
	// there is nothing to undo any more.
	if err := w.conn.control(ctx, back); err != nil {
		return ktrdr.Errorf(notWritten(j.err), "the transaction was rolled back: %w", j.err)
	}
	return nil
}

// attempt runs the job's body; what it answered is in the job.
func (w *writer) attempt(j *job) {
	t := &tx{execer: autonomous{w.conn}}
	if j.err = j.ctx.Err(); j.err == nil {
		j.err = sqliteError(call(w.log, j.body, t))
	}
	j.woken = t.woken
	w.conn.closeRows()
}

// notWritten is the code for callers whose write is surely not there because
// of err: the disk is full, or the same call may simply be repeated.
func notWritten(err error) ktrdr.Code {
	if ktrdr.CodeOf(err) == ktrdr.CodeNoSpace {
		return ktrdr.CodeNoSpace
	}
	return ktrdr.CodeUnavailable
}

// call runs body and makes a panic its error: one caller's mistake must not end
// the writer of all callers. The stack exists only here, so it is logged
// here.
func call(log *slog.Logger, body func(t *tx) error, t *tx) (err error) {
	defer func() {
		if p := recover(); p != nil {
			log.Error("panic in a transaction", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = ktrdr.Errorf(ktrdr.CodeInternal, "panic in a transaction: %v", p)
		}
	}()
	err = body(t)
	return cmp.Or(t.failed, err)
}

// end commits what the batch wrote, unless the transaction is lost already.
func (w *writer) end(ctx context.Context, lost error) error {
	if lost != nil {
		_ = w.conn.control(ctx, "ROLLBACK") // SQLite may have done so already
		return lost
	}
	wrote, err := w.markBatch(ctx)
	if err == nil {
		fault.Hit(fault.TxCommitting)
		err = w.commit(ctx)
	}
	if err == nil {
		fault.Hit(fault.TxCommitted)
		w.commits.Add(1)
		return nil
	}
	_ = w.conn.control(ctx, "ROLLBACK") // SQLite may have done so already
	if !wrote {
		return ktrdr.Errorf(notWritten(sqliteError(err)), "nothing was written: %w", err)
	}
	return w.resolve(ctx, err)
}

func (w *writer) commit(ctx context.Context) error {
	commit := func() error { return w.conn.control(ctx, "COMMIT") }
	if w.interpose != nil {
		return w.interpose(commit)
	}
	return commit()
}
