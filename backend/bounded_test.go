package backend

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/blob"
	"github.com/ktrdr/ktrdr/engine"
	"github.com/ktrdr/ktrdr/report"
	"github.com/ktrdr/ktrdr/research"
	"github.com/ktrdr/ktrdr/sqlstore"
	"github.com/ktrdr/ktrdr/sqlstore/pgtest"
)

// nothing is a plan whose researches end at once; every seventh fails.
type nothing struct{}

func (nothing) Next(parent ktrdr.Operation, _ []ktrdr.Operation, _ ktrdr.Why) (ktrdr.Decision, error) {
	z := float64(parent.Queue.Index % 5)
	f := &ktrdr.Finished{Outcome: ktrdr.Completed, Rung: research.RungNothing, Score: &z}
	if parent.Queue.Index%7 == 6 {
		f = &ktrdr.Finished{Outcome: ktrdr.Failed, ErrorMessage: "broken"}
	}
	return ktrdr.Decision{Finish: f}, nil
}

// countedViews are the views of a store that counts its statements, with a run of n
// researches.
func countedViews(t *testing.T, url string, n int) (*engine.Engine, researches, *atomic.Int64, string) {
	t.Helper()
	var reads atomic.Int64
	types := ktrdr.Types{ktrdr.AgentResearch: {
		Plan: nothing{}, Ledger: func(ktrdr.Operation) ktrdr.LedgerEntry { return ktrdr.LedgerEntry{Trial: &ktrdr.TrialFigures{}} },
	}}
	store, err := sqlstore.Open(t.Context(), sqlstore.Config{
		URL: url, Types: types, Log: slog.New(slog.DiscardHandler), Statements: &reads,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	blobs, err := blob.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = blobs.Close() })
	eng, err := engine.New(engine.Config{
		Types: types, Store: store, Blobs: blobs, Backend: ktrdr.Backend{ID: "b", Incarnation: "b-1"}, Log: slog.New(slog.DiscardHandler),
		Queues: []engine.Queue{{Name: research.QueueName, Limit: research.Limit(4)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := eng.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	series, err := store.AddSeries(t.Context(), ktrdr.NewSeries{MarketSeries: ktrdr.MarketSeries{
		Symbol: "EURUSD", Timeframe: "1h", Hash: ktrdr.Hash{1}, Bars: 9, Prices: ktrdr.Artifact{Name: "p", SHA256: ktrdr.Hash{1}, Size: 1},
	}})
	if err != nil {
		t.Fatal(err)
	}
	const run = "run_bounded"
	var ops []ktrdr.NewOperation
	for i := range n {
		ops = append(ops, ktrdr.NewOperation{
			Type: ktrdr.AgentResearch, BackendLocal: true, HasPlan: true, Spec: json.RawMessage(`{}`), Metadata: json.RawMessage(`{}`),
			Queue:  &ktrdr.Queue{Name: research.QueueName, Force: true, Run: run, Index: i},
			NewRun: &ktrdr.NewRun{Size: n, Planned: n},
			Trial:  &ktrdr.NewTrial{Own: n, Markets: []ktrdr.TrialMarket{{Market: series.Market, Symbols: "EURUSD", Timeframes: "1h"}}},
		})
	}
	for from := 0; from < n; from += ktrdr.MaxCreate {
		some := ops[from:min(from+ktrdr.MaxCreate, n)]
		if _, err := eng.SubmitAll(t.Context(), some, make([]ktrdr.IdempotencyKey, len(some))); err != nil {
			t.Fatal(err)
		}
	}
	return eng, researches{
		Views: research.Views{Engine: eng, Limit: research.Limit(4), Calls: store}, Reporter: report.NewReporter(eng, store),
	}, &reads, run
}

// A view costs the same number of statements with 10 and with 500 researches.
func TestViews_CostTheSameHoweverManyResearchesThereAre(t *testing.T) {
	urls := map[string]func() string{
		"SQLite":     func() string { return filepath.Join(t.TempDir(), "ktrdr.db") },
		"PostgreSQL": func() string { return pgtest.URL(t) },
	}
	for name, url := range urls {
		cost := map[int]map[string]int64{}
		for _, n := range []int{10, 500} {
			eng, d, reads, run := countedViews(t, url(), n)
			cost[n] = map[string]int64{}
			for view, ask := range map[string]func() error{
				"runs": func() error { _, err := eng.Runs(t.Context(), ktrdr.RunQuery{}); return err },
				"status": func() error {
					_, err := d.Status(t.Context(), 20)
					eng.Health(t.Context())
					return err
				},
				"report of a run": func() error {
					r, err := d.Report(t.Context(), report.Query{Run: run})
					if err == nil && (r.Researches.Ended != n || r.Researches.Outcomes["failed"] != n/7 || r.Researches.Trials != n) {
						err = fmt.Errorf("it counts %+v", r.Researches)
					}
					return err
				},
				"report of a span": func() error {
					r, err := d.Report(t.Context(), report.Query{Since: time.Now().Add(-time.Hour)})
					if err == nil && (r.Researches.Ended != n || r.Researches.Outcomes["failed"] != n/7 || len(r.Failures) != 1 ||
						r.Failures[0].Count != n/7) {
						err = fmt.Errorf("it counts %+v and %+v", r.Researches, r.Failures)
					}
					return err
				},
				"report of the last spell": func() error {
					_, err := d.Report(t.Context(), report.Query{Last: true})
					return err
				},
				"leaderboard": func() error { _, err := d.Leaderboard(t.Context(), report.LeaderboardQuery{Limit: 20}); return err },
				"memory trials": func() error {
					_, _, err := d.Memory(t.Context(), research.MemoryQuery{Kind: "trials", Limit: 20})
					return err
				},
			} {
				for range 3 { // health is remembered for a second: the cheapest is without it
					before := reads.Load()
					if err := ask(); err != nil {
						t.Fatalf("%s, %d researches, %s: %v", name, n, view, err)
					}
					least, measured := cost[n][view]
					if now := reads.Load() - before; !measured || now < least {
						cost[n][view] = now
					}
				}
			}
		}
		for view, few := range cost[10] {
			if many := cost[500][view]; many != few || few == 0 || few > 15 {
				t.Errorf("%s: %s costs %d statements with 10 researches and %d with 500, want the same and at most 15", name, view, few, many)
			}
		}
		t.Logf("%s: statements %v", name, cost[500])
	}
}
