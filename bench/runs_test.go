package bench_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/bench"
	"github.com/ktrdr/ktrdr/blob"
	"github.com/ktrdr/ktrdr/compute"
	"github.com/ktrdr/ktrdr/engine"
	"github.com/ktrdr/ktrdr/research"
	"github.com/ktrdr/ktrdr/sqlstore"
	"github.com/ktrdr/ktrdr/sqlstore/pgtest"
)

const (
	longRun        = "run_bench"
	longGeneration = 64
)

// BenchmarkViewsOfALongRun prints what runs, status and report cost through the
// built binary after a run of 100 and of 10,000 researches whose phases do
// nothing: time, and statements that read from the database. The page is also
// asked for by many tabs at once.
func BenchmarkViewsOfALongRun(b *testing.B) {
	if b.N > 1 {
		b.Skip("one run tells all")
	}
	for _, researches := range []int{100, 10_000} {
		views(b, "SQLite", filepath.Join(b.TempDir(), "bench.db"), researches)
		views(b, "PostgreSQL", pgtest.URL(b), researches)
	}
}

func views(b *testing.B, name, url string, researches int) {
	b.Helper()
	begun := time.Now()
	fill(b, url, researches)
	took := time.Since(begun)
	in := install(b)
	defer in.stop()
	in.serve("--db", url)
	fmt.Printf("%s: a run of %d researches of nothing, made in %v\n", name, researches, took.Round(time.Second))
	const answer, page = 50 * time.Millisecond, 100 * time.Millisecond
	for _, view := range []struct {
		name  string
		aim   time.Duration
		paths []string
	}{
		{"runs", answer, []string{"/api/v1/runs"}},
		{"status", answer, []string{"/api/v1/agent/status", "/api/v1/workers", "/api/v1/health"}},
		{"report --run", answer, []string{"/api/v1/report?run=" + longRun}},
		{"report --since 12h", answer, []string{"/api/v1/report?since=12h"}},
		{"leaderboard", answer, []string{"/api/v1/leaderboard"}},
		{"page Night", page, []string{"/night"}},
		{"page Night of a run", page, []string{"/night?run=" + longRun}},
	} {
		in.measure(view.name, view.paths, view.aim)
	}
	in.tabs("/night", manyTabs)
}

const manyTabs = 60

// tabs prints how long it is until many tabs that ask at once all have their
// answer, beside how long one takes alone.
func (in *installation) tabs(path string, n int) {
	in.b.Helper()
	var alone, all []time.Duration
	for range 9 {
		begun := time.Now()
		in.get(path)
		alone = append(alone, time.Since(begun))
		begun = time.Now()
		var tabs sync.WaitGroup
		for range n {
			tabs.Go(func() {
				if err := in.tryGet(path); err != nil {
					in.b.Error(err)
				}
			})
		}
		tabs.Wait()
		all = append(all, time.Since(begun))
	}
	slices.Sort(alone)
	slices.Sort(all)
	one, many := alone[len(alone)/2], all[len(all)/2]
	times := many.Seconds() / one.Seconds()
	fmt.Printf("  %-20s p50 %8v = %.1f x one%s\n", fmt.Sprintf("%d tabs on %s", n, path), many.Round(10*time.Microsecond), times,
		bench.Aim(times <= float64(n)/4, fmt.Sprintf("<= %d x", n/4)))
}

// measure prints the time of a view, and its statements: of many counts the
// smallest, because the backend reads for itself in between.
func (in *installation) measure(name string, paths []string, aim time.Duration) {
	in.b.Helper()
	var times []time.Duration
	least := math.Inf(1)
	for range 60 {
		before := in.statements()
		begun := time.Now()
		for _, path := range paths {
			in.get(path)
		}
		times = append(times, time.Since(begun))
		least = min(least, in.statements()-before)
	}
	slices.Sort(times)
	p50 := times[len(times)/2]
	fmt.Printf("  %-20s p50 %8v, p95 %8v, %2.0f statements%s\n", name, p50.Round(10*time.Microsecond),
		times[len(times)*95/100].Round(10*time.Microsecond), least,
		bench.Aim(p50 <= aim, "p50 <= "+aim.String()))
}

// statements is how many statements the backend has sent to read.
func (in *installation) statements() float64 {
	in.b.Helper()
	req, err := http.NewRequestWithContext(in.b.Context(), http.MethodGet, "http://"+in.addr+"/metrics", nil)
	if err != nil {
		in.b.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		in.b.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	for s := bufio.NewScanner(res.Body); s.Scan(); {
		if text, ok := strings.CutPrefix(s.Text(), "ktrdr_store_read_statements_total "); ok {
			n, err := strconv.ParseFloat(text, 64)
			if err != nil {
				in.b.Fatal(err)
			}
			return n
		}
	}
	in.b.Fatal("the metrics count no statements")
	return 0
}

// fill makes a run of n researches and waits for its end.
func fill(b *testing.B, url string, n int) {
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
	eng, err := engine.New(engine.Config{
		Types: types, Store: store, Blobs: blobs, Backend: ktrdr.Backend{ID: "bench", Incarnation: "bench-1"},
		Queues: []engine.Queue{{Name: research.QueueName, Limit: research.Limit(8)}},
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
	hire(b, ctx, &crew, eng.Local())
	submitRun(b, ctx, eng, n)
	controller := research.NewRunController(eng, nil)
	for deadline := time.Now().Add(15 * time.Minute); ; {
		if _, _, err := controller.Advance(ctx, time.Now()); err != nil {
			b.Fatal(err)
		}
		run, err := eng.FindRun(ctx, longRun)
		if err != nil {
			b.Fatal(err)
		}
		if !run.EndedAt.IsZero() {
			return
		}
		if time.Now().After(deadline) {
			b.Fatalf("after 15 minutes the run is %+v", run)
		}
		<-time.After(10 * time.Millisecond)
	}
}

func submitRun(b *testing.B, ctx context.Context, eng *engine.Engine, n int) {
	b.Helper()
	series, err := eng.AddSeries(ctx, ktrdr.NewSeries{MarketSeries: ktrdr.MarketSeries{
		Symbol: "EURUSD", Timeframe: "1h", Hash: ktrdr.Hash{10}, Bars: 9, Prices: ktrdr.Artifact{Name: "p", SHA256: ktrdr.Hash{1}, Size: 1},
	}})
	if err != nil {
		b.Fatal(err)
	}
	for from := 0; from < n; from += ktrdr.MaxCreate {
		var some []ktrdr.NewOperation
		for i := from; i < min(from+ktrdr.MaxCreate, n); i++ {
			op := idle(b, i)
			var spec research.Spec
			if err := json.Unmarshal(op.Spec, &spec); err != nil {
				b.Fatal(err)
			}
			spec.RunPosition = research.RunPosition{Run: longRun, Generation: i / longGeneration, Index: i % longGeneration}
			spec.Size, spec.Markets = longGeneration, []research.SymbolMarket{{Symbol: "EURUSD", Market: series.Market}}
			if op.Spec, err = json.Marshal(spec); err != nil {
				b.Fatal(err)
			}
			op.Queue.Run, op.Queue.Generation, op.Queue.Index = longRun, spec.Generation, spec.Index
			op.NewRun = &ktrdr.NewRun{Goal: "nothing", Size: longGeneration, Planned: n}
			op.Trial = &ktrdr.NewTrial{Own: n, Markets: []ktrdr.TrialMarket{{Market: series.Market, Symbols: "EURUSD", Timeframes: "1h"}}}
			some = append(some, op)
		}
		if _, err := eng.SubmitAll(ctx, some, make([]ktrdr.IdempotencyKey, len(some))); err != nil {
			b.Fatal(err)
		}
	}
}
