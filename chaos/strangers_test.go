package chaos_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/dummy"
	"github.com/ktrdr/ktrdr/labtest"
)

// crowd keeps n connections open that each asked once without a token and then
// say nothing. One that is closed comes back. They come from many addresses of
// this machine, so that no limit of one address keeps them away.
func crowd(t *testing.T, lab *labtest.Lab, n int) (leave func()) {
	t.Helper()
	at, err := url.Parse(lab.Client().URL())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var all, inside sync.WaitGroup
	inside.Add(n)
	for i := range n {
		from := &net.TCPAddr{IP: net.IPv4(127, 0, 1, byte(1+i%50))}
		all.Go(func() {
			arrived := sync.OnceFunc(inside.Done)
			defer arrived()
			for ctx.Err() == nil {
				loiter(ctx, from, at.Host, arrived)
			}
		})
	}
	inside.Wait()
	return func() { cancel(); all.Wait() }
}

// loiter is one connection, until the server closes it.
func loiter(ctx context.Context, from net.Addr, addr string, arrived func()) {
	conn, err := (&net.Dialer{LocalAddr: from}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return
	}
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	defer func() { _ = conn.Close() }()
	arrived()
	_, _ = io.WriteString(conn, "GET /api/v1/health HTTP/1.1\r\nHost: "+addr+"\r\n\r\n")
	_, _ = io.Copy(io.Discard, bufio.NewReader(conn))
}

// knocks calls the API over a new connection.
func knocks(ctx context.Context, at string) error {
	once := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at+"/api/v1/operations?limit=1", nil)
	if err != nil {
		return err
	}
	res, err := once.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", res.StatusCode)
	}
	return nil
}

// More connections than there are places, of strangers who stay: for two
// timeouts the work that was there continues, new work and a new worker come in,
// and the API answers.
func TestStrangers_CannotStarveTheLab(t *testing.T) {
	t.Parallel()
	times := labtest.Times{Timeout: 6 * time.Second, Interval: 500 * time.Millisecond, Heartbeat: 500 * time.Millisecond}
	onBoth(t, times, func(t *testing.T, lab *labtest.Lab) {
		lab.Serve("KTRDR_MAX_CONNECTIONS=1024")
		lab.Worker()
		work := dummy.Spec{Steps: 1400, StepMS: 10, CheckpointEvery: 50}
		ids := []ktrdr.OperationID{lab.Submit(work)}
		lab.Step(ids[0], 5)
		leave := crowd(t, lab, 1100)
		defer leave()

		lab.Worker()
		ids = append(ids, lab.Submit(work))
		at := lab.Client().URL()
		for begin := time.Now(); time.Since(begin) < 2*times.Timeout; {
			if err := knocks(t.Context(), at); err != nil {
				t.Fatalf("the API after %v: %v", time.Since(begin), err)
			}
			select {
			case <-time.After(times.Heartbeat):
			case <-t.Context().Done():
			}
		}
		if n := lab.Metric(`ktrdr_connections_closed_total{reason="cap"}`); n == 0 {
			t.Error("no connection was closed at the cap: there was no crowd")
		}
		for _, id := range ids {
			if op := lab.Ends(id, ktrdr.Completed); op.Epoch != 1 {
				t.Errorf("%s has epoch %d, want 1: its worker never died", id, op.Epoch)
			}
		}
		leave()
		lab.Audit()
	})
}

// fleet is many workers that hold one operation each and do nothing but say so.
type fleet struct {
	mu    sync.Mutex
	beats int
	bad   []error // heartbeats that failed
}

func (f *fleet) note(_ time.Duration, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.beats++
	if err != nil {
		f.bad = append(f.bad, err)
	}
}

// TestFleet_IsNeverOrphanedByItsOwnSize: 300 workers at a tenth of the default
// heartbeat, or 2,000 at the default one in a long run. How long a heartbeat takes is
// measured by BenchmarkFleet of package bench.
func TestFleet_IsNeverOrphanedByItsOwnSize(t *testing.T) {
	n, watched := 300, 9*time.Second // longer than the timeout and an interval: a lost operation would show
	times := labtest.Times{Timeout: 6 * time.Second, Interval: 1500 * time.Millisecond, Heartbeat: time.Second}
	if soak() {
		n, times, watched = 2000, labtest.Times{Timeout: time.Minute, Interval: 15 * time.Second, Heartbeat: 10 * time.Second}, 150*time.Second
	}
	for _, kind := range []labtest.StoreKind{labtest.SQLite, labtest.Postgres} {
		t.Run(string(kind), func(t *testing.T) {
			lab := labtest.New(t, kind, times)
			lab.Serve()
			ids := make([]ktrdr.OperationID, n)
			for i := range ids {
				ids[i] = lab.Submit(dummy.Spec{Steps: 1})
			}
			var f fleet
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			var all, claimed sync.WaitGroup
			claimed.Add(n)
			for i := range n {
				c := lab.Client()
				all.Go(func() {
					got := sync.OnceFunc(claimed.Done)
					defer got()
					if err := labtest.Simulate(ctx, c, i, got, f.note); err != nil {
						t.Error(err)
					}
				})
			}
			claimed.Wait()
			select {
			case <-time.After(watched):
			case <-t.Context().Done():
			}
			stop()
			all.Wait()

			for _, err := range f.bad {
				t.Errorf("heartbeat: %v", err)
			}
			if n := lab.Metric("ktrdr_orphans_total"); n != 0 {
				t.Errorf("%v operations of live workers were given up", n)
			}
			for _, id := range ids {
				if op := lab.Op(id); op.Status != ktrdr.Completed || op.Epoch != 1 {
					t.Errorf("%s is %s in epoch %d, want COMPLETED in 1", id, op.Status, op.Epoch)
				}
			}
			if f.beats == 0 {
				t.Error("no worker sent a heartbeat")
			}
		})
	}
}
