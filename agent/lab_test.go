package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/agent"
	"github.com/ktrdr/ktrdr/blob"
	"github.com/ktrdr/ktrdr/compute"
	"github.com/ktrdr/ktrdr/engine"
	"github.com/ktrdr/ktrdr/instrument"
	"github.com/ktrdr/ktrdr/library"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/neural"
	"github.com/ktrdr/ktrdr/research"
	"github.com/ktrdr/ktrdr/sqlstore"
	"github.com/ktrdr/ktrdr/strategy"
	"github.com/ktrdr/ktrdr/worker"
)

// lab is a whole backend in one process, over a real store and real blobs.
type lab struct {
	*engine.Engine
	t     *testing.T
	dir   string
	store *sqlstore.Store
	blobs *counted
	desk  *research.Desk
	tells agent.Memory // what designers are told by; nil means the store's notes
	stop  func()
	lives int

	inject   func(ktrdr.Operation) string // as in engine.Config
	designer worker.Runner                // instead of ours; nil means ours
	access   agent.ModelAccess            // who may be asked; none by default
	wire     func(*lab)                   // sets minds, once there is a store
	models   []string                     // that the desk takes

	library *library.Library
}

// counted counts how often a blob is opened.
type counted struct {
	ktrdr.Blobs
	mu     sync.Mutex
	opened map[ktrdr.Hash]int
}

func (c *counted) Open(ctx context.Context, h ktrdr.Hash) (ktrdr.BlobReader, error) {
	c.mu.Lock()
	c.opened[h]++
	c.mu.Unlock()
	return c.Blobs.Open(ctx, h)
}

func (c *counted) times(h ktrdr.Hash) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.opened[h]
}

// newLab makes a data folder with a market in it, and opens it.
func newLab(t *testing.T, m market.SynthConfig, change func(*lab)) *lab {
	t.Helper()
	l := &lab{t: t, dir: t.TempDir()}
	if change != nil {
		change(l)
	}
	l.open()
	l.add(m)
	return l
}

// add puts another market into the library.
func (l *lab) add(m market.SynthConfig) {
	l.t.Helper()
	if _, err := l.library.Import(l.t.Context(), library.Import{Bars: market.Synth(m), Origin: ktrdr.BarsSynthetic}); err != nil {
		l.t.Fatal(err)
	}
}

// open brings the backend to life over what is in its folder.
func (l *lab) open() {
	l.t.Helper()
	l.lives++
	types := ktrdr.MergeTypes(compute.Types(), research.Types())
	store, err := sqlstore.Open(l.t.Context(), sqlstore.Config{
		URL: filepath.Join(l.dir, "ktrdr.db"), Types: types,
	})
	if err != nil {
		l.t.Fatal(err)
	}
	blobs, err := blob.Open(l.t.Context(), filepath.Join(l.dir, "blobs"))
	if err != nil {
		l.t.Fatal(err)
	}
	l.store, l.blobs = store, &counted{Blobs: blobs, opened: map[ktrdr.Hash]int{}}
	l.Engine, err = engine.New(engine.Config{
		Store: store, Blobs: l.blobs, Types: types,
		Backend: ktrdr.Backend{ID: "b", Incarnation: ktrdr.Incarnation(fmt.Sprintf("b.%d", l.lives)), Version: "test"},
		Queues:  []engine.Queue{{Name: research.QueueName, Limit: research.Limit(0)}},
		Inject:  l.inject,
	})
	if err != nil {
		l.t.Fatal(err)
	}
	if err := l.Start(l.t.Context()); err != nil {
		l.t.Fatal(err)
	}
	l.library = library.NewLibrary(store, blobs)
	l.desk, err = research.NewDesk(research.DeskConfig{
		Library: l.library, Blobs: blobs, Memory: store, Markets: library.NewMarkets(store, blobs), Generation: 3, Costs: cheap,
		Models: l.models, Budget: func(context.Context) (float64, error) { return 0.5, nil }, KernelClass: neural.Best().Class(),
		Strategy: func(_ context.Context, name string) ([]byte, error) {
			for _, e := range strategy.Examples() {
				if e.Name == name {
					return e.Source, nil
				}
			}
			return nil, ktrdr.Errorf(ktrdr.CodeInvalid, "there is no strategy %q", name)
		},
	})
	if err != nil {
		l.t.Fatal(err)
	}
	if l.wire != nil {
		l.wire(l)
	}
	l.run(func() { _ = blobs.Close(); _ = store.Close() })
}

// run starts engine and workers until stop is called or the test ends.
func (l *lab) run(closing func()) {
	tells := l.tells
	if tells == nil {
		tells = research.NewMemory(l.store)
	}
	design := l.designer
	if design == nil {
		design = agent.DesignRunner(tells, l.access)
	}
	ctx, cancel := context.WithCancel(l.t.Context())
	var all sync.WaitGroup
	all.Go(func() {
		if err := l.Engine.Run(ctx); err != nil {
			l.t.Error(err)
		}
	})
	all.Go(func() { l.keep(ctx) })
	for name, runners := range map[string]map[ktrdr.Type]worker.Runner{
		"compute": {
			ktrdr.Training:    agent.Inject(compute.TrainingRunner(neural.Best())),
			ktrdr.Backtesting: agent.Inject(compute.BacktestRunner(neural.Best())),
			ktrdr.Examining:   agent.Inject(compute.ExaminationRunner(neural.Best())),
		},
		"agents": {
			ktrdr.AgentDesign:     agent.Inject(design),
			ktrdr.AgentAssessment: agent.Inject(agent.AssessmentRunner(l.access)),
			ktrdr.AgentConfirm:    agent.Inject(agent.ConfirmationRunner()),
		},
	} {
		w, err := worker.New(worker.Config{Name: name, Runners: runners, Slots: 2}, l.Local())
		if err != nil {
			l.t.Fatal(err)
		}
		all.Go(func() {
			if err := w.Run(ctx); err != nil {
				l.t.Error(err)
			}
		})
	}
	l.stop = sync.OnceFunc(func() {
		cancel()
		all.Wait()
		closing()
	})
	l.t.Cleanup(l.stop)
}

// keep moves runs on until ctx ends.
func (l *lab) keep(ctx context.Context) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	controller := research.NewRunController(l.Engine, l.desk.Related)
	for {
		if _, _, err := controller.Advance(ctx, time.Now()); err != nil && ctx.Err() == nil {
			l.t.Error(err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// runEnds waits for the end of a run.
func (l *lab) runEnds(id string) ktrdr.Run {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), 3*time.Minute)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		run, err := l.FindRun(ctx, id)
		if err != nil {
			l.t.Fatalf("waiting for run %s: %v", id, err)
		}
		if !run.EndedAt.IsZero() {
			return run
		}
		<-tick.C
	}
}

// looks are those of a run, by generation.
func (l *lab) looks(run string) []ktrdr.Look {
	l.t.Helper()
	page, err := l.store.Looks(l.t.Context(), ktrdr.LookQuery{Run: run, Limit: 1000})
	if err != nil {
		l.t.Fatal(err)
	}
	slices.SortFunc(page.Looks, func(a, b ktrdr.Look) int { return a.Generation - b.Generation })
	return page.Looks
}

// cheap costs let a market of few bars show its edge.
var cheap = instrument.Table{instrument.EverySymbol: {Commission: 0.00005}}

// trigger creates researches.
func (l *lab) trigger(t research.Request) []ktrdr.OperationID {
	l.t.Helper()
	order, err := l.desk.Trigger(l.t.Context(), t)
	if err != nil {
		l.t.Fatal(err)
	}
	var ids []ktrdr.OperationID
	for _, n := range order.Operations {
		op, err := l.Submit(l.t.Context(), n, ktrdr.IdempotencyKey{})
		if err != nil {
			l.t.Fatal(err)
		}
		ids = append(ids, op.ID)
	}
	return ids
}

// await polls until want is true of an operation.
func (l *lab) await(id ktrdr.OperationID, want func(ktrdr.Operation) bool) ktrdr.Operation {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), 3*time.Minute)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		op, err := l.Operation(ctx, id)
		if err != nil {
			l.t.Fatalf("waiting for %s: %v", id, err)
		}
		if want(op) {
			return op
		}
		<-tick.C
	}
}

func ended(op ktrdr.Operation) bool { return op.Status.Terminal() }

// result is what a research must have completed with.
func (l *lab) result(id ktrdr.OperationID) research.Result {
	l.t.Helper()
	op := l.await(id, ended)
	if op.Status != ktrdr.Completed {
		l.t.Fatalf("%s ended %s: %s", id, op.Status, op.ErrorMessage)
	}
	var r research.Result
	if err := json.Unmarshal(op.Result, &r); err != nil {
		l.t.Fatal(err)
	}
	return r
}

func (l *lab) children(id ktrdr.OperationID) []ktrdr.Operation {
	l.t.Helper()
	page, err := l.store.List(l.t.Context(), ktrdr.OperationQuery{Parent: id, Limit: 100})
	if err != nil {
		l.t.Fatal(err)
	}
	slices.SortFunc(page.Operations, func(a, b ktrdr.Operation) int { return a.Ordinal - b.Ordinal })
	return page.Operations
}

// trials is how many are counted on the market.
func (l *lab) trials() (n int) {
	l.t.Helper()
	markets, err := l.store.Markets(l.t.Context())
	if err != nil {
		l.t.Fatal(err)
	}
	for _, m := range markets {
		n += m.Trials
	}
	return n
}

func (l *lab) notes(kind string) []ktrdr.Note {
	l.t.Helper()
	page, err := l.store.Notes(l.t.Context(), ktrdr.NoteQuery{Kind: kind, Order: ktrdr.NotesByPlace, Limit: 1000})
	if err != nil {
		l.t.Fatal(err)
	}
	return page.Notes
}
