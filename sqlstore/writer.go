package sqlstore

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/fault"
)

// A batch is closed when it holds this much, so that the first in it does not
// wait for ever and the log beside the file stays small.
const (
	maxBatch     = 256
	maxBatchTime = 50 * time.Millisecond
	queueLength  = 1024
)

var errClosed = ktrdr.Errorf(ktrdr.CodeUnavailable, "the store is closed")

// writer is the one connection that writes to the SQLite file. A durable COMMIT
// costs the same for one caller as for a hundred, so whoever has the turn also
// does the work of all who wait for it: their bodies run one after the other,
// one COMMIT follows, then all are answered. A caller who comes alone waits for
// nobody, not even for another goroutine to wake up.
//
// Refusals are answered after the COMMIT too: they may have been decided on
// what a neighbour wrote, and are true only if that is.
type writer struct {
	db     *sqlite
	log    *slog.Logger
	news   *news
	turn   chan struct{} // holds whoever uses the connection and the fields below
	queues [2]chan *job  // by lane

	conn    *session
	name    string // in commit_mark, as commit.go explains
	mark    int64  // of the newest batch
	changes int64  // SQLite's count of changed rows when it was last asked

	commits, answered atomic.Int64

	ended chan struct{} // closed by whoever had the last turn

	interpose func(commit func() error) error // a test's way to stand before and after COMMIT
}

// job is one caller's body on its way through the writer.
type job struct {
	ctx   context.Context
	body  func(t *tx) error
	once  bool        // the body must not be run again, so nobody may come after it
	taken atomic.Bool // by who has the turn, or by the caller who gave up
	err   error       // of the body
	woken audience
	done  chan error
}

func newWriter(ctx context.Context, db *sqlite, log *slog.Logger, news *news) (*writer, error) {
	w := &writer{
		db: db, log: log, news: news, name: rand.Text(), conn: &session{pool: db.writes},
		turn:   make(chan struct{}, 1),
		queues: [2]chan *job{make(chan *job, queueLength), make(chan *job, queueLength)},
		ended:  make(chan struct{}),
	}
	if err := w.conn.connect(ctx); err != nil {
		return nil, err
	}
	if err := w.prepareMarks(ctx); err != nil {
		w.conn.discard()
		return nil, err
	}
	return w, nil
}

// stop lets the batch under way end and refuses everything else.
func (w *writer) stop() {
	select {
	case w.turn <- struct{}{}:
		w.last()
	case <-w.ended:
	}
}

// last is for who has the turn and does not give it back.
func (w *writer) last() {
	w.conn.discard()
	close(w.ended)
}

// write runs body when it has its turn, or somebody else does who has. A caller
// whose context ends before that takes the body back; after that the answer is
// awaited, because it is near and a caller who left would not know what
// happened.
func (w *writer) write(ctx context.Context, l lane, body func(t *tx) error) error {
	return w.do(ctx, l, &job{body: body})
}

func (w *writer) do(ctx context.Context, l lane, j *job) error {
	j.ctx, j.done = ctx, make(chan error, 1)
	select {
	case w.queues[l] <- j:
	case <-ctx.Done():
		return ctx.Err()
	case <-w.ended:
		return errClosed
	}
	for gone := ctx.Done(); ; {
		select {
		case err := <-j.done:
			return err
		case w.turn <- struct{}{}:
			w.lead(context.WithoutCancel(ctx))
		case <-gone:
			if j.take() {
				return ctx.Err()
			}
			gone = nil
		case <-w.ended:
			return w.unanswered(j)
		}
	}
}

// unanswered is for a job that was in the queue when the writer ended.
func (w *writer) unanswered(j *job) error {
	if j.take() {
		return errClosed
	}
	select {
	case err := <-j.done:
		return err
	default: // a body ended its goroutine under everybody
		return unknownResult(errClosed)
	}
}

// take is true for the one who may decide about the job.
func (j *job) take() bool { return j.taken.CompareAndSwap(false, true) }

// peek runs body on the writer's connection, which has at hand what was written
// just now: every commit makes the readers forget what they know.
func (w *writer) peek(ctx context.Context, body func(r queryer) error) error {
	select {
	case w.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	case <-w.ended:
		return errClosed
	}
	defer func() { <-w.turn }()
	defer w.conn.closeRows()
	return sqliteError(body(autonomous{w.conn}))
}

// lead uses the turn for a batch and gives it back.
func (w *writer) lead(ctx context.Context) {
	whole := false
	defer func() {
		if whole {
			<-w.turn
		} else { // a body ended its goroutine, and nobody knows what is half done
			w.last()
		}
	}()
	if first := w.next(); first != nil {
		w.batch(ctx, first)
	}
	whole = true
}

// next returns a job that waits already, an urgent one if there is one, or nil.
func (w *writer) next() *job {
	for _, queue := range []chan *job{w.queues[urgent], w.queues[normal]} {
		select {
		case j := <-queue:
			return j
		default:
		}
	}
	return nil
}

// batch runs first and whoever else waits in one transaction and answers them.
func (w *writer) batch(ctx context.Context, first *job) {
	var jobs []*job
	err := w.begin(ctx)
	if err == nil {
		jobs, err = w.fill(ctx, first)
		err = w.end(ctx, err)
	} else {
		jobs = w.drain(first)
	}
	woken := nobody
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

// drain takes first and all who wait: what keeps a transaction from beginning
// has made them wait long enough.
func (w *writer) drain(first *job) (jobs []*job) {
	for j := first; j != nil; j = w.next() {
		if j.take() {
			jobs = append(jobs, j)
		}
	}
	return jobs
}

func (w *writer) begin(ctx context.Context) error {
	if err := w.db.intact(); err != nil {
		return err
	}
	if err := w.conn.control(ctx, "BEGIN IMMEDIATE"); err != nil {
		return sqliteError(err)
	}
	fault.Hit(fault.TxBegun)
	return nil
}

// fill runs first and all who wait. Bodies seldom fail, and what makes one of
// them undoable costs; so it is paid for only in a batch in which one did. An
// error means that the transaction is gone, and with it what the jobs so far
// did.
func (w *writer) fill(ctx context.Context, first *job) ([]*job, error) {
	var jobs []*job
	deadline, apart := time.Now().Add(maxBatchTime), false
	for j := first; j != nil; j = w.next() {
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
	err := w.undo(ctx, last, "ROLLBACK", "BEGIN IMMEDIATE")
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
	if w.attempt(j); j.err == nil {
		return sqliteError(w.conn.control(ctx, "RELEASE job"))
	}
	return w.undo(ctx, j, "ROLLBACK TO job", "RELEASE job")
}

// undo takes back what a body did and goes on.
func (w *writer) undo(ctx context.Context, j *job, back, on query) error {
	// Some errors, such as a full disk, make SQLite roll back everything; then
	// there is nothing to undo any more.
	if err := w.conn.control(ctx, back); err != nil {
		return ktrdr.Errorf(notWritten(j.err), "the transaction was rolled back: %w", j.err)
	}
	return sqliteError(w.conn.control(ctx, on))
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

// call runs body and makes a panic its error: it is one caller's mistake and
// must not end everybody's writer. The stack exists only here, so it is logged
// here.
func call(log *slog.Logger, body func(t *tx) error, t *tx) (err error) {
	defer func() {
		if p := recover(); p != nil {
			log.Error("panic in a transaction", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = ktrdr.Errorf(ktrdr.CodeInternal, "panic in a transaction: %v", p)
		}
	}()
	return body(t)
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
