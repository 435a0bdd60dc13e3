package bench

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Raw returns a measure of single-row commits over a plain connection pool: an
// UPDATE of the caller's own row and nothing else. The table is dropped
// afterwards.
func Raw(db *sql.DB) func(ctx context.Context, conns int, d time.Duration) (int, error) {
	return func(ctx context.Context, conns int, d time.Duration) (commits int, err error) {
		db.SetMaxOpenConns(conns)
		db.SetMaxIdleConns(conns)
		if _, err := db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS bench_raw (id INTEGER PRIMARY KEY, n INTEGER NOT NULL)`); err != nil {
			return 0, err
		}
		defer func() {
			if _, dropErr := db.ExecContext(context.WithoutCancel(ctx), `DROP TABLE bench_raw`); err == nil {
				err = dropErr
			}
		}()
		for i := range conns {
			if _, err := db.ExecContext(ctx, `INSERT INTO bench_raw VALUES ($1, 0)`, i); err != nil {
				return 0, err
			}
		}
		var done atomic.Int64
		var first atomic.Pointer[error]
		var wg sync.WaitGroup
		until := time.Now().Add(d)
		for i := range conns {
			wg.Go(func() {
				stmt, err := db.PrepareContext(ctx, `UPDATE bench_raw SET n = n + 1 WHERE id = $1`)
				if err == nil {
					defer func() { _ = stmt.Close() }()
				}
				for err == nil && time.Now().Before(until) {
					if _, err = stmt.ExecContext(ctx, i); err == nil {
						done.Add(1)
					}
				}
				if err != nil {
					err = fmt.Errorf("raw commit: %w", err)
					first.CompareAndSwap(nil, &err)
				}
			})
		}
		wg.Wait()
		if e := first.Load(); e != nil {
			return 0, *e
		}
		return int(done.Load()), nil
	}
}
