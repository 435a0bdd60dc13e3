package sqlstore

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/storetest"
)

// The size of the run that these benchmarks are about.
const (
	manyResearches = 10_000
	perGeneration  = 8
)

// idle is the plan of a research that does nothing.
type idle struct{}

// Next implements ktrdr.Plan.
func (idle) Next(ktrdr.Operation, []ktrdr.Operation, ktrdr.Why) (ktrdr.Decision, error) {
	return ktrdr.Decision{}, nil
}

func openIdle(b *testing.B) *Store {
	b.Helper()
	s, err := Open(b.Context(), Config{
		URL: filepath.Join(b.TempDir(), "ktrdr.db"), Types: storetest.Types(idle{}),
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	return s
}

func must(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// createMany creates n researches of a run on one market, as many at once as may
// be. The generation holds that many.
func createMany(b *testing.B, s *Store, run string, n, size int) (market string) {
	b.Helper()
	series, err := s.AddSeries(b.Context(), ktrdr.NewSeries{MarketSeries: ktrdr.MarketSeries{Symbol: run, Timeframe: "1h"}})
	must(b, err)
	for i := 0; i < n; {
		var some []ktrdr.NewOperation
		for len(some) < ktrdr.MaxCreate && i < n {
			some = append(some, ktrdr.NewOperation{
				Type: ktrdr.AgentResearch, HasPlan: true, BackendLocal: true,
				Queue:  &ktrdr.Queue{Name: "q", Limit: 4, Force: true, Run: run, Generation: i / size, Index: i % size},
				NewRun: &ktrdr.NewRun{Goal: "goal", Size: size, Planned: n},
				Trial:  &ktrdr.NewTrial{Own: n, Markets: []ktrdr.TrialMarket{{Market: series.Market, Symbols: run, Timeframes: "1h"}}},
			})
			i++
		}
		_, err := s.CreateAll(b.Context(), some, nil)
		must(b, err)
	}
	return series.Market
}

// BenchmarkRun_Create is the creation of a run, one research, in runs of several
// sizes: the time of one must not grow with their number.
func BenchmarkRun_Create(b *testing.B) {
	for _, n := range []int{1000, manyResearches} {
		for _, size := range []int{perGeneration, n} {
			b.Run(fmt.Sprintf("%d by %d", n, size), func(b *testing.B) {
				for b.Loop() {
					b.StopTimer()
					s := openIdle(b)
					b.StartTimer()
					createMany(b, s, "r", n, size)
				}
				b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*n), "µs/research")
			})
		}
	}
}

// BenchmarkRun is what is asked all day long while there is a long run.
func BenchmarkRun(b *testing.B) {
	s := openIdle(b)
	createMany(b, s, "r", manyResearches, perGeneration)
	market := createMany(b, s, "ended", manyResearches, perGeneration)
	finishMany(b, s, "ended")
	ctx := b.Context()
	for name, ask := range map[string]func() error{
		"OpenRuns":         func() error { _, err := s.OpenRuns(ctx); return err },
		"Run":              func() error { _, err := s.Run(ctx, "r"); return err },
		"Runs":             func() error { _, err := s.Runs(ctx, ktrdr.RunQuery{}); return err },
		"Finalist":         func() error { _, err := s.Finalists(ctx, "ended", 700, 2); return err },
		"TallyGenerations": func() error { _, err := s.TallyGenerations(ctx, "ended"); return err },
		"StartQueued":      func() error { _, err := s.StartQueued(ctx, "q", 1000); return err },
		"InQueue":          func() error { _, err := s.InQueue(ctx, "q", 10); return err },
		"QueueCounts":      func() error { _, err := s.QueueCounts(ctx); return err },
		"ListOfRun":        func() error { _, err := s.List(ctx, ktrdr.OperationQuery{Run: "r", Limit: 20}); return err },
		"TrialsOfRun":      func() error { _, err := s.Trials(ctx, ktrdr.TrialQuery{Run: "r", Limit: 20}); return err },
		"TrialsByScore":    func() error { _, err := s.Trials(ctx, ktrdr.TrialQuery{ByScore: true, Limit: 20}); return err },
		"TrialsByScoreOfRun": func() error {
			_, err := s.Trials(ctx, ktrdr.TrialQuery{ByScore: true, Run: "ended", Limit: 20})
			return err
		},
		"TrialsByScoreOfSymbol": func() error {
			_, err := s.Trials(ctx, ktrdr.TrialQuery{ByScore: true, Market: market, Symbol: "ended", Limit: 20})
			return err
		},
		"Looks":   func() error { _, err := s.Looks(ctx, ktrdr.LookQuery{}); return err },
		"Markets": func() error { _, err := s.Markets(ctx); return err },
		"Close": func() error { // of a generation that is not complete
			_, err := s.CloseGeneration(ctx, "r", 0, nil)
			return err
		},
		"Claim": func() error { // of nothing
			_, err := s.Claim(ctx, ktrdr.ClaimRequest{Worker: "w", Key: "k", Types: s.types.Names(), Free: 1}, "i")
			return err
		},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				must(b, ask())
			}
		})
	}
}

// finishMany ends all researches of a run, past the plans: every one is a
// finalist with a score of its own.
func finishMany(b *testing.B, s *Store, run string) {
	b.Helper()
	must(b, s.write(b.Context(), normal, func(t *tx) error {
		for _, text := range []query{
			`UPDATE operations SET status = 'RUNNING', epoch = 1, heartbeat_at = 1 WHERE run = $1 AND status = 'PENDING'`,
			`UPDATE operations SET status = 'COMPLETED', completed_at = 1, rung = 'finalist', score = session % 977 WHERE run = $1`,
			`UPDATE trials SET ended = 1, score = length(key) + created_at % 977, sharpe = created_at % 31 WHERE run = $1`,
			`UPDATE runs SET closed = generations WHERE id = $1`,
		} {
			if _, err := t.exec(b.Context(), text, run); err != nil {
				return err
			}
		}
		return nil
	}))
}

// BenchmarkRun_Claim is a claim of a child whose run is one of many, and its end.
func BenchmarkRun_Claim(b *testing.B) {
	for _, run := range []string{"", "r"} {
		b.Run("run "+run, func(b *testing.B) {
			s := openIdle(b)
			createMany(b, s, "r", manyResearches, perGeneration)
			parent, err := s.Create(b.Context(), ktrdr.NewOperation{
				Type: ktrdr.AgentResearch, HasPlan: true, Queue: &ktrdr.Queue{Name: "other", Limit: 9, Run: run},
			}, ktrdr.IdempotencyKey{})
			must(b, err)
			n := 0
			for b.Loop() {
				b.StopTimer()
				n++
				_, err := s.Create(b.Context(), ktrdr.NewOperation{Type: ktrdr.Dummy, Parent: parent.ID, Ordinal: n}, ktrdr.IdempotencyKey{})
				must(b, err)
				b.StartTimer()
				task, err := s.Claim(b.Context(), ktrdr.ClaimRequest{Worker: "w", Key: fmt.Sprint(n), Types: []ktrdr.Type{ktrdr.Dummy}, Free: 1}, "")
				must(b, err)
				b.StopTimer()
				_, err = s.Finish(b.Context(), ktrdr.Finished{Operation: task.Operation, Epoch: task.Epoch, Outcome: ktrdr.Completed})
				must(b, err)
				b.StartTimer()
			}
		})
	}
}

// BenchmarkRun_Cancel is the cancel of a long run that waits.
func BenchmarkRun_Cancel(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		s := openIdle(b)
		createMany(b, s, "r", manyResearches, perGeneration)
		b.StartTimer()
		_, err := s.CancelRun(b.Context(), "r", "", "")
		must(b, err)
		for more := true; more; {
			more, err = s.CancelBatch(b.Context(), "r")
			must(b, err)
		}
	}
}
