package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/thread"
)

// Config is what an engine is made of.
type Config struct {
	Store    ktrdr.Store
	Blobs    ktrdr.Blobs
	Saver    thread.Saver // of other programs' checkpoints
	Inline   int          // larger values of threads, in bytes, become blobs; 0: none
	Backend  ktrdr.Backend
	Settings Settings
	Log      *slog.Logger // nil discards

	// Types are the operation types; there are no others.
	Types ktrdr.Types
	// Queues are the lines that parents stand in; there are no others.
	Queues []Queue
	// Inject says what is to go wrong on purpose with an operation that is being
	// claimed; nil or "" means nothing.
	Inject func(ktrdr.Operation) string
	// Collect deletes blobs that no row names; nil means never.
	Collect func(ctx context.Context) (deleted int, err error)
	// Trash is where blobs go that rows have just stopped naming; nil leaves them to Collect.
	Trash Trash
	// FreeDisk tells the free bytes where the data is; nil means unknown.
	FreeDisk func() (int64, error)
	// Full tells when the listener last had no place for a connection; nil
	// means that it always has. It is asked while Run runs.
	Full func() time.Time
}

// stored is what the engine adds nothing to: the store answers.
type stored interface {
	ktrdr.Runs
	ktrdr.Markets
	ktrdr.Claims
	ktrdr.Reports
	ktrdr.Notes
	ktrdr.Sessions

	Paused(ctx context.Context) (bool, error)
	Answer(ctx context.Context, id ktrdr.OperationID, result json.RawMessage) (ktrdr.Operation, error)
	SetPinned(ctx context.Context, id ktrdr.OperationID, pinned, restored bool) (ktrdr.Operation, error)
	Cancel(ctx context.Context, id ktrdr.OperationID, reason string) (ktrdr.Operation, []ktrdr.OperationID, error)
	QueueCounts(ctx context.Context) ([]ktrdr.QueueCount, error)
	Events(ctx context.Context, q ktrdr.EventQuery) ([]ktrdr.Event, error)
	LastEvent(ctx context.Context) (ktrdr.Cursor, error)
	EventBefore(ctx context.Context, n int) (ktrdr.Cursor, error)
	Changed() <-chan struct{}
	History(ctx context.Context, op ktrdr.OperationID) ([]ktrdr.CheckpointInfo, error)
	ListCheckpoints(ctx context.Context, q ktrdr.CheckpointQuery) (ktrdr.CheckpointPage, error)
	DeleteCheckpoints(ctx context.Context, op ktrdr.OperationID) (int, error)
	CheckpointStats(ctx context.Context) (ktrdr.CheckpointStats, error)
	AddToken(ctx context.Context, t ktrdr.Token) error
	Tokens(ctx context.Context) ([]ktrdr.Token, error)
	TokenByHash(ctx context.Context, h ktrdr.Hash) (ktrdr.Token, error)
}

// Engine is one backend's share of the work. Make it with New, call Start before
// any worker is admitted, and keep Run running.
type Engine struct {
	stored
	store    ktrdr.Store
	blobs    ktrdr.Blobs
	saver    thread.Saver
	backend  ktrdr.Backend
	settings Settings
	log      *slog.Logger
	config   Config
	started  time.Time
	requeued []ktrdr.OperationID // what Start found in the hands of backends that died

	detector *detector
	waiting  queue
	fleet    fleet
	draining chan struct{}
	drain    sync.Once

	leaving leaving // who has saved checkpoints

	account memo[account]       // of the store, for health
	stalls  memo[[]ktrdr.Stall] // what does not move

	refused, heartbeats, lost, skipped, recovered atomic.Int64

	lateness   peak
	pulse      pulse                 // of this backend's own beats
	unwritable atomic.Pointer[error] // why the last beat was not stored; nil when it was
}

// New checks the configuration and makes an engine that does nothing yet.
func New(c Config) (*Engine, error) {
	if err := c.Settings.Validate(); err != nil {
		return nil, err
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	e := &Engine{
		stored: c.Store, store: c.Store, blobs: c.Blobs,
		saver: spilling{c.Saver, c.Blobs, cmp.Or(c.Inline, math.MaxInt), c.Log}, backend: c.Backend,
		settings: c.Settings.WithDefaults(), log: c.Log, config: c,
		started: time.Now(), draining: make(chan struct{}), waiting: queue{turn: make(chan struct{}, lookers)},
	}
	e.detector = newDetector(e)
	e.pulse.limit = max(2*e.settings.HeartbeatInterval, leastPause)
	return e, nil
}

// Start reconciles what earlier backends left behind. Workers are admitted
// only after it has returned.
func (e *Engine) Start(ctx context.Context) error {
	rec, err := e.store.Start(ctx, e.backend, e.settings.policy())
	if err != nil {
		return fmt.Errorf("startup reconciliation: %w", err)
	}
	e.note(ctx, rec)
	e.requeued = rec.Requeued
	if n := len(rec.Reconciling); n > 0 {
		e.log.InfoContext(ctx, "operations wait for their workers to report", "count", n)
	}
	return nil
}

// Requeued lists the operations that Start found in the hands of backends that
// died without a stop. Each runs next in a child process.
func (e *Engine) Requeued() []ktrdr.OperationID { return e.requeued }

// Run keeps the engine's loops going until ctx ends, then says goodbye to the store. It returns nil
// on an ordinary stop and an error when a newer life of this backend has started elsewhere.
func (e *Engine) Run(ctx context.Context) error {
	g, loops := errgroup.WithContext(ctx)
	g.Go(func() error { e.detector.run(loops); return nil })
	g.Go(func() error { return e.beat(loops) })
	g.Go(func() error { e.cleanup(loops); return nil })
	g.Go(func() error { e.startQueued(loops); return nil })
	g.Go(func() error { e.askPlans(loops); return nil })
	g.Go(func() error { e.supersede(loops); return nil })
	g.Go(func() error { e.compact(loops); return nil })
	err := g.Wait()

	bye, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if leaveErr := e.store.Leave(bye, e.backend); leaveErr != nil {
		e.log.WarnContext(ctx, "backend left without telling the store", "err", leaveErr)
	}
	return err
}

// Drain stops handing out work; open polls return at once. Running work finishes.
func (e *Engine) Drain() { e.drain.Do(func() { close(e.draining) }) }

// beat tells the other backends that this one is alive. It ends with an error when a newer life of
// this backend has started: two lives of one backend must not run side by side.
func (e *Engine) beat(ctx context.Context) error {
	tick := time.NewTicker(e.settings.HeartbeatInterval)
	defer tick.Stop()
	for {
		err := e.beatOnce(ctx)
		switch {
		case ktrdr.CodeOf(err) == ktrdr.CodeConflict:
			return fmt.Errorf("stopping: %w", err)
		case ctx.Err() != nil:
			return nil
		case err != nil:
			e.unwritable.Store(&err)
			e.log.WarnContext(ctx, "backend heartbeat not stored", "err", err)
		default:
			e.unwritable.Store(nil)
			e.pulse.beat(time.Now())
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// beatOnce gives up with the time of the next beat: one that hangs must not
// keep the others from being tried.
func (e *Engine) beatOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, max(e.settings.HeartbeatInterval, leastBeat))
	defer cancel()
	return e.store.Beat(ctx, e.backend)
}

// leastBeat is time enough for a beat on a busy machine, however short the interval is.
const leastBeat = 5 * time.Second

// note logs and counts what a recovery did; one line per operation, with its
// epoch, so that a morning's log can be read backwards.
func (e *Engine) note(ctx context.Context, rec ktrdr.Recovered) {
	for _, o := range rec.Orphaned {
		e.log.WarnContext(ctx, "Orphan operation detected", "op", o.Operation, "epoch", o.Epoch, "worker", o.Worker,
			"silent", o.Silent, "poison", o.Poison, "resumed", o.Resumed)
	}
	for _, id := range rec.Requeued {
		e.log.WarnContext(ctx, "operation of a dead backend requeued; it runs next in a child process", "op", id)
	}
	for _, id := range rec.Failed {
		e.log.WarnContext(ctx, "operation of a dead backend failed", "op", id)
	}
	e.recovered.Add(int64(len(rec.Requeued) + len(rec.Failed)))
}

// refusal counts writes that came from an epoch that is not live.
func (e *Engine) refusal(err error) error {
	if ktrdr.CodeOf(err) == ktrdr.CodeStaleEpoch {
		e.refused.Add(1)
	}
	return err
}

// Counters returns the totals since this engine was made.
func (e *Engine) Counters() ktrdr.Counters {
	return ktrdr.Counters{
		Orphaned:           e.detector.orphaned.Load(),
		WritesRefused:      e.refused.Load(),
		Heartbeats:         e.heartbeats.Load(),
		HeartbeatsLost:     e.lost.Load(),
		HeartbeatLateness:  e.lateness.of(time.Now()),
		CheckpointsSkipped: e.skipped.Load(),
		Recovered:          e.recovered.Load(),
	}
}

// Saver returns where programs that are not ours keep their checkpoints.
func (e *Engine) Saver() thread.Saver { return e.saver }

// ended says whether err only means that the caller went away.
func ended(ctx context.Context, err error) bool {
	return ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded))
}
