package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/dummy"
)

const inFlight = 32

func step(seed int64) dummy.Spec { return dummy.Spec{Steps: 1, Seed: seed} }

func chainOfFour(seed int64) dummy.Spec {
	return dummy.Spec{Children: []dummy.Spec{step(seed), step(seed), step(seed), step(seed)}}
}

// chains measures a chain of four dependent operations, alone and with 32 in
// flight. The aim is a ratio to raw commits, measured before and after, because
// the machine may not be as fast in the end as it was in the beginning.
func (r *rig) chains(ctx context.Context) error {
	before, err := r.rawCommits(ctx)
	if err != nil {
		return err
	}
	alone, _, err := r.withCrew(ctx, 2, 1)
	if err != nil {
		return err
	}
	many, used, err := r.withCrew(ctx, inFlight, inFlight)
	if err != nil {
		return err
	}
	after, err := r.rawCommits(ctx)
	if err != nil {
		return err
	}
	raw1, raw32 := (before.one+after.one)/2, (before.many+after.many)/2

	perCommit := time.Duration(float64(time.Second) / raw1)
	r.printf("raw single-row commits           %8.0f /s on 1 connection (%v each; %.0f before, %.0f after), %.0f /s on %d (%.0f, %.0f)\n",
		raw1, perCommit.Round(time.Microsecond), before.one, after.one, raw32, inFlight, before.many, after.many)
	latency := time.Duration(float64(time.Second) / alone)
	times := latency.Seconds() / (Commits * perCommit.Seconds())
	r.printf("chain of 4, alone                %8v  = %.2f x (%d raw commits)%s\n",
		latency.Round(time.Microsecond), times, Commits, Aim(times <= 3, "<= 3 x"))
	transition := time.Duration(used.Seconds() / (many * Commits) * float64(time.Second))
	r.printf("chains, %d in flight             %8.0f /s = %.2f x (raw/s / %d) on 1 connection, %.2f x on %d; %v CPU of this process per "+
		"transition%s\n",
		inFlight, many, many/(raw1/Commits), Commits, many/(raw32/Commits), inFlight, transition.Round(time.Microsecond),
		r.chainAim(many, raw1, raw32, transition))
	return nil
}

// rawRates is how many single-row commits a second there are on one connection
// and on many.
type rawRates struct{ one, many float64 }

func (r *rig) rawCommits(ctx context.Context) (c rawRates, err error) {
	if c.one, err = r.raw(ctx, 1); err != nil {
		return c, err
	}
	c.many, err = r.raw(ctx, inFlight)
	return c, err
}

// withCrew measures chains of n clients while that number of workers runs.
func (r *rig) withCrew(ctx context.Context, workers, n int) (perSecond float64, cpuPerSecond time.Duration, err error) {
	stop, err := r.crew(ctx, workers)
	if err != nil {
		return 0, 0, err
	}
	defer stop()
	return r.rate(ctx, n, r.chain)
}

// chainAim says whether chains in flight reach what the store should give.
// One writer that commits for many should beat single commits, where those
// are dear; where they are not, the work itself is what counts.
func (r *rig) chainAim(many, raw1, raw32 float64, transition time.Duration) string {
	switch {
	case !r.OneWriter:
		return Aim(many >= .5*raw32/Commits, fmt.Sprintf(">= 0.5 x on %d", inFlight))
	case raw1 <= 2000: // commits of half a millisecond and more
		return Aim(many > raw1/Commits, "> 1 x on 1 connection")
	}
	return Aim(transition <= 250*time.Microsecond, "<= 250µs CPU, as a raw commit costs < 0.5ms")
}

// Aim says whether an aim is met, at the end of a line that tells a figure.
func Aim(met bool, what string) string {
	if met {
		return "   aim " + what + ": met"
	}
	return "   aim " + what + ": NOT met"
}

func (r *rig) chain(ctx context.Context) error {
	_, err := r.finish(ctx, 4, chainOfFour)
	return err
}

func (r *rig) raw(ctx context.Context, conns int) (perSecond float64, err error) {
	n, err := r.Raw(ctx, conns, r.Each)
	return float64(n) / r.Each.Seconds(), err
}

// rate runs f from n goroutines for a while: how often per second, and how
// much CPU per second.
func (r *rig) rate(ctx context.Context, n int, f func(context.Context) error) (perSecond float64, cpuPerSecond time.Duration, err error) {
	var done atomic.Int64
	var first atomic.Pointer[error]
	var wg sync.WaitGroup
	begun, used := time.Now(), CPU()
	until := begun.Add(r.Each)
	for range n {
		wg.Go(func() {
			for time.Now().Before(until) && first.Load() == nil {
				if err := f(ctx); err != nil {
					first.CompareAndSwap(nil, &err)
					return
				}
				done.Add(1)
			}
		})
	}
	wg.Wait()
	took := time.Since(begun).Seconds()
	if e := first.Load(); e != nil {
		return 0, 0, *e
	}
	return float64(done.Load()) / took, time.Duration(float64(CPU()-used) / took), nil
}

// starts measures how long a submitted operation waits for an idle worker.
func (r *rig) starts(ctx context.Context) error {
	stop, err := r.crew(ctx, 2)
	if err != nil {
		return err
	}
	defer stop()
	var waits []time.Duration
	for until := time.Now().Add(r.Each); time.Now().Before(until); {
		start, err := r.finish(ctx, 1, step)
		if err != nil {
			return err
		}
		waits = append(waits, start)
	}
	sorted(waits)
	r.printf("insert to start                  p50 %v, p99 %v (n = %d; the insert's own commit included)\n",
		quantile(waits, .5).Round(time.Microsecond), quantile(waits, .99).Round(time.Microsecond), len(waits))
	return nil
}

// held claims n operations for a worker that only exists here.
func (r *rig) held(ctx context.Context, name ktrdr.WorkerID, n int) ([]ktrdr.Claimed, error) {
	types := []ktrdr.Type{ktrdr.Dummy}
	if _, err := r.eng.Register(ctx, ktrdr.Registration{
		Protocol: ktrdr.Protocol,
		Worker:   ktrdr.Worker{ID: name, Types: types, Slots: n},
	}); err != nil {
		return nil, err
	}
	var claims []ktrdr.Claimed
	for i := range n {
		if _, err := r.submit(ctx, step(0)); err != nil {
			return nil, err
		}
		reply, err := r.eng.Claim(ctx, ktrdr.ClaimRequest{Worker: name, Key: fmt.Sprintf("%s-%d", name, i), Types: types, Free: 1, Wait: 5})
		if err != nil {
			return nil, err
		}
		if reply.Task == nil {
			return nil, fmt.Errorf("%s got no operation", name)
		}
		claims = append(claims, ktrdr.Claimed{Operation: reply.Task.Operation, Epoch: reply.Task.Epoch})
	}
	return claims, nil
}

// heartbeats measures calls of workers that run ten operations each.
func (r *rig) heartbeats(ctx context.Context) error {
	const workers, each = 8, 10
	var claims [workers][]ktrdr.Claimed
	for i := range claims {
		var err error
		if claims[i], err = r.held(ctx, ktrdr.WorkerID(fmt.Sprintf("beat-%d", i)), each); err != nil {
			return err
		}
	}
	var turn atomic.Int64
	rate, used, err := r.rate(ctx, workers, func(ctx context.Context) error {
		i := int(turn.Add(1)) % workers
		orders, err := r.eng.Heartbeat(ctx, ktrdr.Heartbeat{Worker: ktrdr.WorkerID(fmt.Sprintf("beat-%d", i)), Running: claims[i]})
		if err == nil && !orders.Empty() {
			err = fmt.Errorf("unexpected orders %+v", orders)
		}
		return err
	})
	if err != nil {
		return err
	}
	r.printf("heartbeats of 10 operations      %8.0f /s, %v CPU each\n", rate,
		time.Duration(used.Seconds()/rate*float64(time.Second)).Round(time.Microsecond))
	return nil
}

// checkpoints measures 4 KB states, put durably and read back.
func (r *rig) checkpoints(ctx context.Context) error {
	claims, err := r.held(ctx, "ckpt", inFlight)
	if err != nil {
		return err
	}
	state, err := json.Marshal(map[string]string{"state": strings.Repeat("x", 4096-len(`{"state":""}`))})
	if err != nil {
		return err
	}
	var turn, seq atomic.Int64
	put := func(ctx context.Context) error {
		c := claims[int(turn.Add(1))%len(claims)]
		_, err := r.eng.Checkpoint(ctx, ktrdr.NewCheckpoint{
			Operation: c.Operation, Epoch: c.Epoch, Seq: seq.Add(1),
			Type: ktrdr.CheckpointPeriodic, State: state,
		})
		return err
	}
	get := func(ctx context.Context) error {
		_, err := r.eng.CheckpointAt(ctx, claims[int(turn.Add(1))%len(claims)].Operation, "")
		return err
	}
	for _, m := range []struct {
		what string
		f    func(context.Context) error
	}{{"puts", put}, {"gets", get}} {
		rate, used, err := r.rate(ctx, inFlight, m.f)
		if err != nil {
			return err
		}
		r.printf("checkpoint %s of 4 KB          %8.0f /s with %d clients, %v CPU each\n", m.what, rate, inFlight,
			time.Duration(used.Seconds()/rate*float64(time.Second)).Round(time.Microsecond))
	}
	return nil
}

// listing measures the first page of many operations.
func (r *rig) listing(ctx context.Context) error {
	var made atomic.Int64
	var wg sync.WaitGroup
	var first atomic.Pointer[error]
	for range inFlight {
		wg.Go(func() {
			for made.Add(1) <= int64(r.Listing) && first.Load() == nil {
				if _, err := r.submit(ctx, step(0)); err != nil {
					first.CompareAndSwap(nil, &err)
				}
			}
		})
	}
	wg.Wait()
	if err := first.Load(); err != nil {
		return *err
	}
	var times []time.Duration
	for range 50 {
		begun := time.Now()
		page, err := r.eng.List(ctx, ktrdr.OperationQuery{Limit: 50})
		if err != nil {
			return err
		}
		if len(page.Operations) != 50 {
			return fmt.Errorf("a page of %d operations", len(page.Operations))
		}
		times = append(times, time.Since(begun))
	}
	sorted(times)
	p99 := quantile(times, .99)
	r.printf("first page, 50 of %d        p50 %v, p99 %v%s\n", r.Listing, quantile(times, .5).Round(time.Microsecond),
		p99.Round(time.Microsecond),
		Aim(p99 <= 20*time.Millisecond, "<= 20ms"))
	return nil
}
