package sqlstore

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ktrdr/ktrdr/sqlstore/pgtest"
)

// BenchmarkRawCommit is what the store's own figures are compared with: one
// row, one durable commit, the same connections and settings, and nothing of
// ours around it.
func BenchmarkRawCommit(b *testing.B) {
	const insert = `INSERT INTO counters (id, n) VALUES ($1, 1)`
	b.Run("SQLite", func(b *testing.B) {
		s := openTest(b, sqlitePath(b), testSteps())
		db := s.db.(*sqlite)
		if err := s.Close(); err != nil { // the writer would hold the only connection
			b.Fatal(err)
		}
		raw := &sqlite{path: db.path, idle: make(chan *session, readers)}
		if err := raw.openPools(); err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() {
			if err := raw.closePools(); err != nil {
				b.Error(err)
			}
		})
		benchCommits(b, func(ctx context.Context, id string) error {
			_, err := raw.writes.ExecContext(ctx, insert, id)
			return err
		})
	})
	b.Run("PostgreSQL", func(b *testing.B) {
		s := openTest(b, pgtest.URL(b), testSteps())
		benchCommits(b, func(ctx context.Context, id string) error {
			_, err := s.db.(*postgres).normal.ExecContext(ctx, insert, id)
			return err
		})
	})
}

// BenchmarkWrite is the same row through Store.write.
func BenchmarkWrite(b *testing.B) {
	for name, url := range map[string]func(testing.TB) string{"SQLite": sqlitePath, "PostgreSQL": pgtest.URL} {
		b.Run(name, func(b *testing.B) {
			s := openTest(b, url(b), testSteps())
			benchCommits(b, func(ctx context.Context, id string) error { return put(ctx, s, normal, id) })
		})
	}
}

func benchCommits(b *testing.B, commit func(ctx context.Context, id string) error) {
	var ids atomic.Int64
	for _, callers := range []int{1, 32} {
		b.Run(fmt.Sprint(callers), func(b *testing.B) {
			var work sync.WaitGroup
			left := atomic.Int64{}
			left.Store(int64(b.N))
			b.ResetTimer()
			for range callers {
				work.Go(func() {
					for left.Add(-1) >= 0 {
						if err := commit(b.Context(), fmt.Sprint(ids.Add(1))); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			work.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commits/s")
		})
	}
}
