package bench_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/bench"
	"github.com/ktrdr/ktrdr/blob"
	"github.com/ktrdr/ktrdr/compute"
	"github.com/ktrdr/ktrdr/designer"
	"github.com/ktrdr/ktrdr/engine"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/metrics"
	"github.com/ktrdr/ktrdr/neural"
	"github.com/ktrdr/ktrdr/research"
	"github.com/ktrdr/ktrdr/sqlstore"
	"github.com/ktrdr/ktrdr/strategy/strategytest"
	"github.com/ktrdr/ktrdr/worker"
)

// BenchmarkResearchOverhead prints what a research costs whose phases do
// nothing, beside the raw commits of the same store in the same run.
func BenchmarkResearchOverhead(b *testing.B) {
	if b.N > 1 {
		b.Skip("one run tells all")
	}
	onBoth(b, overhead)
}

func overhead(b *testing.B, name, url, driver, rawURL string) {
	b.Helper()
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	types := ktrdr.MergeTypes(compute.Types(), research.Types())
	store, err := sqlstore.Open(ctx, sqlstore.Config{URL: url, Types: types})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	blobs, err := blob.Open(ctx, b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = blobs.Close() }()
	db, err := sql.Open(driver, rawURL)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	eng, err := engine.New(engine.Config{
		Types: types, Store: store, Blobs: blobs, Backend: ktrdr.Backend{ID: "bench", Incarnation: "bench-1"},
		Queues: []engine.Queue{{Name: research.QueueName, Limit: research.Limit(4)}},
	})
	if err == nil {
		err = eng.Start(ctx)
	}
	if err != nil {
		b.Fatal(err)
	}
	var crew sync.WaitGroup
	defer crew.Wait()
	defer cancel()
	crew.Go(func() { _ = eng.Run(ctx) })
	ends := &assessed{Local: eng.Local(), done: make(chan struct{}, 1)}
	hire(b, ctx, &crew, ends)

	const each = 2 * time.Second
	before := rate(b, ctx, db, each)
	n, commits, cpu, begun := 0, storeCommits(b, store), bench.CPU(), time.Now()
	for ; time.Since(begun) < 2*each; n++ {
		if _, err := eng.Submit(ctx, idle(b, n), ktrdr.IdempotencyKey{}); err != nil {
			b.Fatal(err)
		}
		<-ends.done
	}
	took, used := time.Since(begun)/time.Duration(n), (bench.CPU()-cpu)/time.Duration(n)
	commits = storeCommits(b, store) - commits
	after := rate(b, ctx, db, each)
	counted := "its commits are the same as on SQLite"
	if commits > 0 {
		counted = fmt.Sprintf("%.1f counted", float64(commits)/float64(n))
	}
	perCommit := time.Duration(float64(2*time.Second) / (before + after))
	times := took.Seconds() / (bench.Commits * perCommit.Seconds())
	fmt.Printf("research of nothing, %-10s  %8v  = %.2f x (%d raw commits of %v; %s; %v CPU of this process)%s\n", name,
		took.Round(time.Microsecond),
		times, bench.Commits, perCommit.Round(time.Microsecond), counted, used.Round(time.Microsecond), bench.Aim(times <= 3, "<= 3 x"))
}

// rate is how many single-row commits a second there are.
func rate(b *testing.B, ctx context.Context, db *sql.DB, each time.Duration) float64 {
	b.Helper()
	n, err := bench.Raw(db)(ctx, 1, each)
	if err != nil {
		b.Fatal(err)
	}
	return float64(n) / each.Seconds()
}

// storeCommits is how many commits the store has made; 0 where it does not
// count them.
func storeCommits(b *testing.B, store *sqlstore.Store) int64 {
	b.Helper()
	info, err := store.Info(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	var detail struct {
		Commits int64 `json:"commits"`
	}
	if err := json.Unmarshal(info.Detail, &detail); err != nil {
		b.Fatal(err)
	}
	return detail.Commits
}

// assessed tells when an assessment, and with it a research, has ended.
type assessed struct {
	engine.Local
	mu   sync.Mutex
	last ktrdr.OperationID
	done chan struct{}
}

func (a *assessed) Claim(ctx context.Context, c ktrdr.ClaimRequest) (ktrdr.ClaimReply, error) {
	reply, err := a.Local.Claim(ctx, c)
	if reply.Task != nil && reply.Task.Type == ktrdr.AgentAssessment {
		a.mu.Lock()
		a.last = reply.Task.Operation
		a.mu.Unlock()
	}
	return reply, err
}

func (a *assessed) Finish(ctx context.Context, f ktrdr.Finished) error {
	err := a.Local.Finish(ctx, f)
	a.mu.Lock()
	defer a.mu.Unlock()
	if f.Operation == a.last {
		a.done <- struct{}{}
	}
	return err
}

// hire starts workers whose runners do nothing and say what a real one could.
func hire(b *testing.B, ctx context.Context, crew *sync.WaitGroup, to worker.Backend) {
	b.Helper()
	sharpe := 1.5
	backtest := &jobs.BacktestResult{Symbol: "EURUSD", Timeframe: market.H1}
	backtest.Metrics.TotalTrades, backtest.Metrics.Sharpe, backtest.Metrics.InitialCapital = 40, &sharpe, 1000
	training := &jobs.TrainingResult{}
	training.Training = metrics.TrainingMetrics{EpochsTrained: 1, History: metrics.History{TrainLoss: []float64{1.1, 0.9}}}
	training.Test = &metrics.TestMetrics{
		Samples:      100,
		Accuracy:     0.4,
		ClassMetrics: &metrics.ClassMetrics{Classes: make([]metrics.ClassScore, 3)},
	}
	for _, runners := range []map[ktrdr.Type]worker.Runner{
		{ktrdr.Training: says(b, training), ktrdr.Backtesting: says(b, backtest)},
		{
			ktrdr.AgentDesign: says(b, research.Design{Name: "small", Strategy: strategytest.Small()}),
			ktrdr.AgentAssessment: says(b, research.Assessment{
				Summary: "Nothing.", Strategy: "small", Verdict: evidence.Neutral, Strengths: []string{"a"}, Weaknesses: []string{"b"},
			}),
		},
	} {
		w, err := worker.New(worker.Config{Runners: runners, Slots: 2}, to)
		if err != nil {
			b.Fatal(err)
		}
		crew.Go(func() { _ = w.Run(ctx) })
	}
}

// says is a runner that says one thing.
type said struct{ text json.RawMessage }

func says(b *testing.B, v any) worker.Runner {
	b.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		b.Fatal(err)
	}
	return said{text}
}

func (s said) Run(context.Context, *worker.Task) (json.RawMessage, error) { return s.text, nil }

// idle is the n-th research of nothing.
func idle(b *testing.B, n int) ktrdr.NewOperation {
	b.Helper()
	bars := func(name string, h byte) []jobs.Bars {
		return []jobs.Bars{{
			Symbol: "EURUSD", Timeframe: market.H1, Hash: ktrdr.Hash{h}, Artifact: ktrdr.Artifact{Name: name, SHA256: ktrdr.Hash{h + 1}, Size: 9},
		}}
	}
	place := research.RunPosition{Run: fmt.Sprintf("run_bench_%d", n)}
	spec, err := json.Marshal(research.Spec{
		Brief: "nothing", Understanding: designer.Brief{Symbols: []string{"EURUSD"}, Timeframe: market.H1, Understood: []string{}},
		Model: research.Builtin, TriggerReason: "bench", KernelClass: neural.Best().Class(), RunPosition: place,
		Size: 1, Bars: bars("seen", 10), Holdout: bars("sealed", 20), Gates: research.DefaultGates(),
	})
	if err != nil {
		b.Fatal(err)
	}
	return ktrdr.NewOperation{
		Type: ktrdr.AgentResearch, BackendLocal: true, HasPlan: true, Spec: spec,
		Queue: &ktrdr.Queue{Name: research.QueueName, Force: true, Run: place.Run},
	}
}
