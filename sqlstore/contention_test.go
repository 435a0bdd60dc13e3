package sqlstore

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // asks the server, past the store

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/storetest"
)

// Many workers and users write to the same few trees at once. The store repeats a
// transaction that met a deadlock, so the server is asked whether one did.
func TestPostgres_CrowdOnOneTreeDoesNotDeadlock(t *testing.T) {
	address, err := url.Parse(InstalledPostgres(t))
	if err != nil {
		t.Fatal(err)
	}
	q := address.Query()
	q.Set("deadlock_timeout", "1ms") // the server looks for one at every wait
	address.RawQuery = q.Encode()

	s, err := Open(t.Context(), Config{URL: address.String(), Types: storetest.Types(counting(12))})
	if err != nil {
		t.Fatal(err)
	}
	c := crowd{T: t, s: s, backend: life("a", "1")}
	c.run()
	if err := s.Close(); err != nil { // a server process counts what it met when it ends
		t.Fatal(err)
	}
	if n := deadlocks(t, address.String()); n != 0 {
		t.Errorf("%d deadlocks", n)
	}
}

// The researches of one run, its confirmations and its markets are worked on by
// all at once, while the run is cancelled.
func TestPostgres_CrowdOnOneRunDoesNotDeadlock(t *testing.T) {
	address, err := url.Parse(InstalledPostgres(t))
	if err != nil {
		t.Fatal(err)
	}
	q := address.Query()
	q.Set("deadlock_timeout", "1ms")
	address.RawQuery = q.Encode()

	s, err := Open(t.Context(), Config{URL: address.String(), Types: storetest.Types(counting(3))})
	if err != nil {
		t.Fatal(err)
	}
	for round := range 2 {
		c := runCrowd{crowd: crowd{T: t, s: s, backend: life("a", "1")}, run: fmt.Sprint("r", round)}
		c.begin()
		c.resumeAll()
		c.work()
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if n := deadlocks(t, address.String()); n != 0 {
		t.Errorf("%d deadlocks", n)
	}
}

// runCrowd is a crowd on one run.
type runCrowd struct {
	crowd
	run     string
	markets [2]string
}

func (c *runCrowd) research(generation int) (ktrdr.Operation, error) {
	return c.s.Create(c.Context(), ktrdr.NewOperation{
		Type: ktrdr.AgentResearch, HasPlan: true, BackendLocal: true,
		Queue: &ktrdr.Queue{Name: "q", Limit: 1000, Force: true, Run: c.run, Generation: generation},
		Trial: &ktrdr.NewTrial{Own: 1, Markets: []ktrdr.TrialMarket{{Market: c.markets[0]}, {Market: c.markets[1]}}},
	}, ktrdr.IdempotencyKey{})
}

func (c *runCrowd) begin() {
	c.Helper()
	for i := range c.markets {
		series, err := c.s.AddSeries(c.Context(), ktrdr.NewSeries{
			MarketSeries: ktrdr.MarketSeries{Symbol: fmt.Sprint(c.run, i), Timeframe: "1h"},
		})
		if err != nil {
			c.Fatal(err)
		}
		c.markets[i] = series.Market
	}
	for range 8 {
		op, err := c.research(0)
		if err != nil {
			c.Fatal(err)
		}
		c.parents = append(c.parents, op.ID)
	}
}

// resumeAll fails every research and resumes all of them at once.
func (c *runCrowd) resumeAll() {
	c.Helper()
	for {
		task, err := c.s.Claim(c.Context(), ktrdr.ClaimRequest{Worker: "w2", Types: []ktrdr.Type{ktrdr.Dummy}}, "")
		if err != nil {
			c.Fatal(err)
		}
		if task == nil {
			break
		}
		finish(c.T, c.s, task, ktrdr.Failed)
	}
	var all sync.WaitGroup
	for _, id := range c.parents {
		all.Go(func() {
			if _, err := c.s.Resume(c.Context(), id); err != nil {
				c.Errorf("resume %s: %v", id, err)
			}
		})
	}
	all.Wait()
}

// act does one of the things that a run is in the middle of.
func (c *runCrowd) act(kind int, r *rand.Rand) (err error) {
	ctx := c.Context()
	look := &ktrdr.NewLook{Kind: ktrdr.LookByHand, Markets: []string{c.markets[r.IntN(2)]}}
	switch kind {
	case 0, 1:
		return c.claim(r)
	case 2, 3:
		return c.finish(r)
	case 4:
		return c.cancel(r)
	case 5:
		return c.resume(r)
	case 6:
		return c.sweep(r)
	case 7:
		_, err = c.s.StartQueued(ctx, "q", 1000)
	case 8:
		_, err = c.research(r.IntN(3))
	case 9:
		generation := r.IntN(3)
		look.Kind = ktrdr.LookConfirmation
		confirm := ktrdr.NewOperation{Type: ktrdr.Dummy, Run: c.run, Generation: generation, Look: look}
		_, err = c.s.CloseGeneration(ctx, c.run, generation, &confirm)
	case 10:
		_, err = c.s.Create(ctx, ktrdr.NewOperation{
			Type: ktrdr.Dummy, Look: look, Trial: &ktrdr.NewTrial{Markets: []ktrdr.TrialMarket{{Market: c.markets[r.IntN(2)]}}},
		}, ktrdr.IdempotencyKey{})
	case 11:
		_, err = c.s.CancelBatch(ctx, c.run)
	case 12:
		_, err = c.s.EndRun(ctx, c.run)
	}
	return err
}

// work lets two do each thing, and cancels the run when most is done.
func (c *runCrowd) work() {
	const kinds, twins, times = 13, 2, 20
	var all sync.WaitGroup
	var done atomic.Int64
	cancel := sync.OnceFunc(func() {
		if _, err := c.s.CancelRun(c.Context(), c.run, "", ""); err != nil && ktrdr.CodeOf(err) != ktrdr.CodeConflict {
			c.Error(err)
		}
	})
	for kind := range kinds {
		for twin := range twins {
			all.Go(func() {
				r := rand.New(rand.NewPCG(uint64(kind), uint64(twin)))
				for range times {
					if done.Add(1) > kinds*twins*times*3/4 {
						cancel()
					}
					switch err := c.act(kind, r); ktrdr.CodeOf(err) {
					case "", ktrdr.CodeConflict, ktrdr.CodeStaleEpoch, ktrdr.CodeNoCheckpoint:
					default:
						c.Errorf("act %d: %v", kind, err)
						return
					}
				}
			})
		}
	}
	all.Wait()
}

// counting is fanOut whose parent is written whenever a child ends: from below
// upwards, where a cancel goes downwards.
func counting(n int) planFunc {
	return func(p ktrdr.Operation, children []ktrdr.Operation, why ktrdr.Why) (ktrdr.Decision, error) {
		d, err := fanOut(n)(p, children, why)
		ended := 0
		for _, c := range children {
			ended += bit(c.Status.Terminal())
		}
		d.State = fmt.Appendf(nil, "%d", ended)
		return d, err
	}
}

// crowd is all workers and users of the same few trees.
type crowd struct {
	*testing.T
	s       *Store
	backend ktrdr.Backend
	parents []ktrdr.OperationID

	mu   sync.Mutex
	held []ktrdr.Claimed
}

func (c *crowd) claim(*rand.Rand) error {
	task, err := c.s.Claim(c.Context(), ktrdr.ClaimRequest{Worker: "w1", Types: []ktrdr.Type{ktrdr.Dummy}}, "")
	if task != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.held = append(c.held, ktrdr.Claimed{Operation: task.Operation, Epoch: task.Epoch})
	}
	return err
}

// report names the claims in any order, ended ones among them.
func (c *crowd) report(r *rand.Rand) error {
	c.mu.Lock()
	claims := slices.Clone(c.held)
	c.mu.Unlock()
	r.Shuffle(len(claims), func(i, j int) { claims[i], claims[j] = claims[j], claims[i] })
	_, err := c.s.Report(c.Context(), ktrdr.Heartbeat{Worker: "w1", Running: claims})
	return err
}

func (c *crowd) finish(r *rand.Rand) error {
	c.mu.Lock()
	if len(c.held) == 0 {
		c.mu.Unlock()
		return nil
	}
	i := r.IntN(len(c.held))
	claim := c.held[i]
	c.held = slices.Delete(c.held, i, i+1)
	c.mu.Unlock()
	outcome := []ktrdr.Status{ktrdr.Completed, ktrdr.Completed, ktrdr.Failed}[r.IntN(3)]
	_, err := c.s.Finish(c.Context(), ktrdr.Finished{Operation: claim.Operation, Epoch: claim.Epoch, Outcome: outcome})
	return err
}

func (c *crowd) cancel(r *rand.Rand) error {
	_, _, err := c.s.Cancel(c.Context(), c.parents[r.IntN(len(c.parents))], "")
	return err
}

func (c *crowd) resume(r *rand.Rand) error {
	_, err := c.s.Resume(c.Context(), c.parents[r.IntN(len(c.parents))])
	return err
}

func (c *crowd) sweep(*rand.Rand) error {
	_, err := c.s.Sweep(c.Context(), c.backend, within(5*time.Millisecond), true)
	return err
}

func (c *crowd) restart(*rand.Rand) error {
	_, err := c.s.Start(c.Context(), c.backend, policy)
	return err
}

func (c *crowd) run() {
	for range 3 {
		c.parents = append(c.parents, createParent(c.T, c.s).ID)
	}
	var wg sync.WaitGroup
	for i, act := range []func(*rand.Rand) error{c.claim, c.report, c.finish, c.cancel, c.resume, c.sweep, c.restart} {
		for twin := range 2 {
			wg.Go(func() {
				r := rand.New(rand.NewPCG(uint64(i), uint64(twin)))
				for range 60 {
					switch err := act(r); ktrdr.CodeOf(err) {
					case "", ktrdr.CodeConflict, ktrdr.CodeStaleEpoch, ktrdr.CodeNoCheckpoint:
					default:
						c.Errorf("act %d: %v", i, err)
						return
					}
				}
			})
		}
	}
	wg.Wait()
}

func deadlocks(t *testing.T, url string) (n int) {
	t.Helper()
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	// The statistics of the processes that have just ended are on their way.
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline) && n == 0; time.Sleep(50 * time.Millisecond) {
		var busy int
		if err := db.QueryRowContext(t.Context(), `SELECT deadlocks, (SELECT COUNT(*) FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend')
			FROM pg_stat_database WHERE datname = current_database()`).Scan(&n, &busy); err != nil {
			t.Fatal(err)
		}
		if busy == 0 {
			return n
		}
	}
	return n
}
