//go:build unix

package resilience_test

import (
	"context"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/resilience"
)

const callers = 1000

//go:noinline
func direct(context.Context) error { return nil }

// contended shares n calls among 1,000 goroutines that begin together, and
// returns what one call cost in processor time, which does not depend on who
// else uses the machine.
func contended(n int, call func()) float64 {
	var ready, done sync.WaitGroup
	begin := make(chan struct{})
	for i := range callers {
		ready.Add(1)
		done.Go(func() {
			ready.Done()
			<-begin
			for range n/callers + min(1, max(0, n%callers-i)) {
				call()
			}
		})
	}
	ready.Wait()
	start := processorTime()
	close(begin)
	done.Wait()
	return float64(processorTime()-start) / float64(n)
}

func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkBreaker_ClosedContended prints what a call through a closed breaker
// costs over a direct call, both contended by 1,000 goroutines in the same run:
// over-ns is promised to be at most 1,000.
func BenchmarkBreaker_ClosedContended(b *testing.B) {
	ctx := b.Context()
	r := newRegistry(b, resilience.RegistryConfig{Enabled: true})
	one := r.Breaker(ktrdr.ScopeProvider, "x")
	three := []*resilience.Breaker{r.Breaker(ktrdr.ScopeAgent, "a"), r.Breaker(ktrdr.ScopeCluster, "c"), one}
	for _, way := range []struct {
		name    string
		through func()
	}{
		{"AllowDone", func() {
			p, err := one.Allow(ctx)
			if err != nil {
				panic(err)
			}
			p.Done(time.Millisecond, direct(ctx))
		}},
		{"Do", func() {
			if err := resilience.Do(ctx, three[2:], direct); err != nil {
				panic(err)
			}
		}},
		{"DoThreeScopes", func() {
			if err := resilience.Do(ctx, three, direct); err != nil {
				panic(err)
			}
		}},
	} {
		b.Run(way.name, func(b *testing.B) {
			b.ReportAllocs()
			plain := contended(b.N, func() { _ = direct(ctx) })
			guarded := contended(b.N, way.through)
			b.ReportMetric(plain, "direct-ns")
			b.ReportMetric(guarded, "breaker-ns")
			b.ReportMetric(guarded-plain, "over-ns")
		})
	}
}
