package sqlstore

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"net/url"
	"sync"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // asks the server, past the store
	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/sqlstore/pgtest"
)

// Everybody works on the same few trees at once. The store repeats a
// transaction that met a deadlock, so the server is asked whether one did.
func TestPostgres_CrowdOnOneTreeDoesNotDeadlock(t *testing.T) {
	address, err := url.Parse(pgtest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	q := address.Query()
	q.Set("deadlock_timeout", "1ms") // the server looks for one at every wait
	address.RawQuery = q.Encode()

	s, err := Open(t.Context(), Config{URL: address.String(), Plans: plansOf(counting(12))})
	if err != nil {
		t.Fatal(err)
	}
	crowd(t, s)
	if err := s.Close(); err != nil { // a server process counts what it met when it ends
		t.Fatal(err)
	}
	if n := deadlocks(t, address.String()); n != 0 {
		t.Errorf("%d deadlocks", n)
	}
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

func crowd(t *testing.T, s *Store) {
	var parents []ktrdr.OperationID
	for range 3 {
		parents = append(parents, createParent(t, s).ID)
	}
	b := life("a", "1")
	start(t, s, b, policy)
	var mu sync.Mutex
	var held []ktrdr.Claimed
	acts := map[string]func(r *rand.Rand) error{
		"claim": func(*rand.Rand) error {
			task, err := s.Claim(t.Context(), ktrdr.ClaimRequest{Worker: "w1", Types: []ktrdr.Type{ktrdr.Dummy}}, "")
			if task != nil {
				mu.Lock()
				held = append(held, ktrdr.Claimed{Operation: task.Operation, Epoch: task.Epoch})
				mu.Unlock()
			}
			return err
		},
		"report": func(r *rand.Rand) error {
			mu.Lock()
			claims := append([]ktrdr.Claimed(nil), held...)
			mu.Unlock()
			r.Shuffle(len(claims), func(i, j int) { claims[i], claims[j] = claims[j], claims[i] })
			_, err := s.Report(t.Context(), ktrdr.Heartbeat{Worker: "w1", Running: claims})
			return err
		},
		"finish": func(r *rand.Rand) error {
			mu.Lock()
			defer mu.Unlock()
			if len(held) == 0 {
				return nil
			}
			i := r.IntN(len(held))
			c := held[i]
			held = append(held[:i], held[i+1:]...)
			outcome := []ktrdr.Status{ktrdr.Completed, ktrdr.Completed, ktrdr.Failed}[r.IntN(3)]
			mu.Unlock()
			_, err := s.Finish(t.Context(), ktrdr.Finished{Operation: c.Operation, Epoch: c.Epoch, Outcome: outcome})
			mu.Lock()
			return err
		},
		"cancel": func(r *rand.Rand) error {
			_, _, err := s.Cancel(t.Context(), parents[r.IntN(len(parents))], "")
			return err
		},
		"resume": func(r *rand.Rand) error {
			_, err := s.Resume(t.Context(), parents[r.IntN(len(parents))])
			return err
		},
		"sweep": func(*rand.Rand) error {
			_, err := s.Sweep(t.Context(), b, within(5*time.Millisecond), true)
			return err
		},
		"start": func(*rand.Rand) error {
			_, err := s.Start(t.Context(), b, policy)
			return err
		},
	}
	var wg sync.WaitGroup
	for name, act := range acts {
		for lane := range 2 {
			wg.Go(func() {
				r := rand.New(rand.NewPCG(uint64(lane), uint64(len(name))))
				for range 60 {
					switch err := act(r); ktrdr.CodeOf(err) {
					case "", ktrdr.CodeConflict, ktrdr.CodeStaleEpoch, ktrdr.CodeNoCheckpoint:
					default:
						t.Errorf("%s: %v", name, err)
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
