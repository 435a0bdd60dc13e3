package bench_test

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr/bench"
	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/dummy"
	"github.com/ktrdr/ktrdr/labtest"
	"github.com/ktrdr/ktrdr/sqlstore/pgtest"
)

var fleetSize = flag.Int("fleet", 300, "simulated workers of BenchmarkFleet; the aim is for 2000")

// BenchmarkFleet prints how long heartbeats of many simulated workers take, each with
// an operation, through the built binary. Together they beat 200 times a second, as
// 2,000 workers do at the default interval of 10 s.
//
//	go test -run '^$' -bench Fleet -benchtime 1x ./bench -fleet 2000
func BenchmarkFleet(b *testing.B) {
	if b.N > 1 {
		b.Skip("one run tells all")
	}
	beats(b, "SQLite", filepath.Join(b.TempDir(), "bench.db"), *fleetSize)
	beats(b, "PostgreSQL", pgtest.URL(b), *fleetSize)
}

func beats(b *testing.B, name, url string, n int) {
	b.Helper()
	const aSecond, rounds = 200, 12
	every := max(time.Second, time.Duration(n)*time.Second/aSecond)
	in := install(b)
	defer in.stop()
	in.env = append(in.env, fmt.Sprintf("HEARTBEAT_INTERVAL_SECONDS=%v", every.Seconds()),
		fmt.Sprintf("ORPHAN_TIMEOUT_SECONDS=%v", (6*every).Seconds()))
	in.serve("--db", url, "--workers", "0")

	ctx, stop := context.WithCancel(b.Context())
	defer stop()
	var (
		mu            sync.Mutex
		took          []time.Duration
		failed        []error
		all, claiming sync.WaitGroup
	)
	claiming.Add(n)
	for i := range n {
		all.Go(func() {
			claimed := sync.OnceFunc(claiming.Done)
			defer claimed()
			err := simulate(ctx, in, i, claimed, func(d time.Duration) {
				mu.Lock()
				defer mu.Unlock()
				took = append(took, d)
			})
			if err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed = append(failed, err)
			}
		})
	}
	claiming.Wait()
	select {
	case <-time.After(rounds * every):
	case <-b.Context().Done():
	}
	stop()
	all.Wait()
	if len(failed) > 0 || len(took) == 0 {
		b.Fatalf("%d heartbeats, %d of %d workers failed: %v", len(took), len(failed), n, failed[:min(3, len(failed))])
	}
	slices.Sort(took)
	p99 := took[len(took)*99/100]
	fmt.Printf("%s: heartbeats of %d workers every %v: %d, median %v, p99 %v, worst %v%s\n", name, n, every, len(took),
		took[len(took)/2].Round(time.Microsecond), p99.Round(time.Microsecond), took[len(took)-1].Round(time.Microsecond),
		bench.Aim(p99 <= time.Second, "p99 of at most 1 s"))
}

// simulate is one worker with an operation of its own. The first heartbeat that
// fails is its error.
func simulate(ctx context.Context, in *installation, i int, claimed func(), note func(time.Duration)) error {
	c, err := client.New("http://"+in.addr, "", client.Options{})
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.StartDummy(context.WithoutCancel(ctx), dummy.Spec{Steps: 1}, ""); err != nil {
		return fmt.Errorf("start: %w", err)
	}
	var failed error
	err = labtest.Simulate(ctx, c, i, claimed, func(took time.Duration, err error) {
		note(took)
		failed = cmp.Or(failed, err)
	})
	return cmp.Or(failed, err)
}
