package bench_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/bench"
	"github.com/ktrdr/ktrdr/resilience"
)

const (
	breakerCallers = 1000
	breakerCalls   = 2000 // of each
)

//go:noinline
func direct(context.Context) error { return nil }

// BenchmarkBreaker prints what a call through a closed breaker costs over a
// direct call, both contended by 1,000 goroutines in the same run.
func BenchmarkBreaker(b *testing.B) {
	if b.N > 1 {
		b.Skip("one run tells all")
	}
	ctx := b.Context()
	r, err := resilience.NewRegistry(resilience.RegistryConfig{Enabled: true})
	if err != nil {
		b.Fatal(err)
	}
	all := []*resilience.Breaker{r.Breaker(ktrdr.ScopeAgent, "a"), r.Breaker(ktrdr.ScopeCluster, "c"), r.Breaker(ktrdr.ScopeProvider, "p")}
	through := func(breakers []*resilience.Breaker) time.Duration {
		return contended(func() {
			if err := resilience.Do(ctx, breakers, direct); err != nil {
				panic(err)
			}
		})
	}
	plain := contended(func() { _ = direct(ctx) })
	one, three := through(all[2:])-plain, through(all)-plain
	fmt.Printf("call through a closed breaker    %v CPU over a direct one (%v), and %v through one of each scope, with %d callers at once%s\n",
		one, plain, three, breakerCallers, bench.Aim(one <= time.Microsecond, "<= 1µs"))
}

// contended lets 1,000 goroutines that begin together call, and returns what
// one call cost in processor time, which does not depend on who else uses the
// machine.
func contended(call func()) time.Duration {
	var ready, done sync.WaitGroup
	begin := make(chan struct{})
	for range breakerCallers {
		ready.Add(1)
		done.Go(func() {
			ready.Done()
			<-begin
			for range breakerCalls {
				call()
			}
		})
	}
	ready.Wait()
	start := bench.CPU()
	close(begin)
	done.Wait()
	return (bench.CPU() - start) / (breakerCallers * breakerCalls)
}
