package sqlstore

import (
	"context"
	"crypto/rand"
	"log/slog"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/ktrdr/ktrdr"
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
// costs the same for one caller as for a hundred. So the caller that has the turn
// also does the work of all that wait for it: their bodies run one after the other,
// one COMMIT follows, then all are answered. A caller that comes alone does not
// wait, not even for another goroutine to wake up.
//
// Refusals are answered after the COMMIT too: they may have been decided on
// what a neighbour wrote, and are true only if that is.
type writer struct {
	db     *sqlite
	log    *slog.Logger
	news   *news
	turn   chan struct{} // held by the caller that uses the connection and the fields below
	queues [2]chan *job  // by lane

	conn    *session
	name    string    // in commit_mark, as commit.go explains
	mark    int64     // of the newest batch
	changes int64     // SQLite's count of changed rows when it was last asked
	busy    time.Time // since when another process holds the file; zero when none does

	commits, answered atomic.Int64

	ended chan struct{} // closed by the caller that had the last turn

	interpose func(commit func() error) error // a test's way to stand before and after COMMIT
}

// job is one caller's body on its way through the writer.
type job struct {
	ctx   context.Context
	body  func(t *tx) error
	once  bool        // the body must not be run again, so no other may come after it
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
	err := w.prepareMarks(ctx)
	if err == nil {
		err = w.conn.control(ctx, query("PRAGMA busy_timeout = "+strconv.FormatInt(busyStep.Milliseconds(), 10)))
	}
	if err != nil {
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

// write runs body when it has its turn, or another caller runs it with its own. A
// caller whose context ends before that takes the body back. After that the answer
// is awaited: it is near, and a caller that left would not know the result.
func (w *writer) write(ctx context.Context, l lane, body func(t *tx) error) error {
	return w.do(ctx, l, &job{body: body})
}

// do sees a job through. A caller that waits, also one that waits for room in the
// queue, takes the turn when it is free: no other goroutine empties the queue.
func (w *writer) do(ctx context.Context, l lane, j *job) error {
	j.ctx, j.done = ctx, make(chan error, 1)
	queue, gone := w.queues[l], ctx.Done()
	select {
	case queue <- j:
		queue = nil
	default: // it is full
	}
	for {
		select {
		case queue <- j:
			queue = nil
		case err := <-j.done:
			return err
		case w.turn <- struct{}{}:
			w.lead(ctx)
		case <-gone:
			if j.take() {
				j.body = nil // the job may lie in the queue for a while yet
				return ctx.Err()
			}
			gone = nil
		case <-w.ended:
			return w.unanswered(j)
		}
	}
}

// unanswered is for a job that had no answer when the writer ended.
func (w *writer) unanswered(j *job) error {
	if j.take() {
		return errClosed
	}
	select {
	case err := <-j.done:
		return err
	default: // a body ended the goroutine of all callers
		return unknownResult(errClosed)
	}
}

// take is true for the one who may decide about the job.
func (j *job) take() bool { return j.taken.CompareAndSwap(false, true) }

// peek runs body on the writer's connection, which has the pages that were just
// written in its cache: every commit empties the caches of the readers. It is false
// when another caller has the turn.
func (w *writer) peek(body func(r queryer) error) (bool, error) {
	select {
	case w.turn <- struct{}{}:
	default:
		return false, nil
	}
	defer func() { <-w.turn }()
	defer w.conn.closeRows()
	return true, body(autonomous{w.conn})
}

// lead uses the turn for a batch and gives it back.
func (w *writer) lead(ctx context.Context) {
	finished := false
	defer func() {
		if finished {
			<-w.turn
			return
		}
		// A body ended its goroutine, and what it did is not known.
		_ = w.conn.control(context.WithoutCancel(ctx), "ROLLBACK")
		w.last()
	}()
	if len(w.queues[urgent])+len(w.queues[normal]) > 0 {
		w.batch(ctx)
	}
	finished = true
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
