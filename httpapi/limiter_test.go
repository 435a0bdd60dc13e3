package httpapi

import (
	"bufio"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ktrdr/ktrdr"
)

// caller is a connection from an address that knows whether it was closed.
type caller struct {
	net.Conn
	from   string
	closed atomic.Bool
}

func (c *caller) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(c.from), 1))
}

func (c *caller) Close() error { c.closed.Store(true); return nil }

// comes lets one in, and says that it did.
func comes(t *testing.T, d *limiter, from string) (*place, *caller) {
	t.Helper()
	c := &caller{from: from}
	v, err := d.enter(c)
	if err != nil {
		t.Fatal(err)
	}
	return v, c
}

// shows makes it known as is by a request.
func shows(d *limiter, v *place, is holder) (stays bool) {
	d.begin(v)
	defer d.end(v)
	return d.identify(v, is)
}

func testLimiter(most int) (*limiter, *lockedBuffer) {
	var log lockedBuffer
	return newLimiter(most, slog.New(slog.NewTextHandler(&log, nil))), &log
}

func TestLimiter_AtTheCapTheOldestIdleAnonymousConnectionIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, log := testLimiter(4)
		known, knownConn := comes(t, d, "10.0.0.1")
		shows(d, known, tokenClient)
		_, first := comes(t, d, "10.0.0.2")
		time.Sleep(10 * time.Millisecond)
		second, secondConn := comes(t, d, "10.0.0.3")
		busy, busyConn := comes(t, d, "10.0.0.4")
		d.begin(busy)
		time.Sleep(2 * time.Second)

		_, _ = comes(t, d, "10.0.0.5")
		if !first.closed.Load() || secondConn.closed.Load() || busyConn.closed.Load() || knownConn.closed.Load() {
			t.Errorf("closed: first anonymous connection %v, second %v, busy one %v, one with a token %v; want only the first",
				first.closed.Load(), secondConn.closed.Load(), busyConn.closed.Load(), knownConn.closed.Load())
		}
		if n := d.total(); n != 4 {
			t.Errorf("%d connections, want 4", n)
		}
		if !strings.Contains(log.String(), "closed the oldest idle connection without a token") || !strings.Contains(log.String(), "cap=4") {
			t.Errorf("logged: %s", log.String())
		}
		if got := d.counts(); got.dropped[droppedCap] != 1 || d.full().IsZero() {
			t.Errorf("counts = %+v, full at %v", got, d.full())
		}
		d.leave(second)
	})
}

func TestLimiter_KeepsAConnectionUntilItsRequestCanHaveCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, _ := testLimiter(2)
		_, first := comes(t, d, "10.0.0.1")
		begin := time.Now()
		comes(t, d, "10.0.0.2")
		time.Sleep(anonymousGrace / 4)
		comes(t, d, "10.0.0.3")
		if waited := time.Since(begin); waited != anonymousGrace || !first.closed.Load() {
			t.Errorf("the first is closed (%v) after %v, want after %v", first.closed.Load(), waited, anonymousGrace)
		}
	})
}

func TestLimiter_AnAnonymousConnectionIsIdleForSecondsOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, _ := testLimiter(8)
		v, conn := comes(t, d, "10.0.0.1")
		kept, keptConn := comes(t, d, "10.0.0.1")
		shows(d, kept, tokenWorker)
		time.Sleep(4 * time.Second)
		shows(d, v, unchanged) // a public route
		time.Sleep(4 * time.Second)
		if conn.closed.Load() {
			t.Fatal("closed 4 s after its request")
		}
		time.Sleep(2 * time.Second)
		if !conn.closed.Load() || keptConn.closed.Load() {
			t.Errorf("anonymous connection closed %v, worker closed %v; want only the anonymous connection",
				conn.closed.Load(), keptConn.closed.Load())
		}
		shows(d, kept, tokenNone) // its token was revoked
		time.Sleep(6 * time.Second)
		if !keptConn.closed.Load() {
			t.Error("a connection whose token is no longer valid was kept")
		}
	})
}

func TestLimiter_LimitsAnonymousConnectionsOfOneAddress(t *testing.T) {
	for _, x := range []struct {
		name  string
		asked bool
		limit int
	}{{"that were answered", true, anonymousPerAddress}, {"that asked nothing yet", false, 500}} {
		t.Run(x.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, _ := testLimiter(1000)
				come := func(from string) (*place, *caller) {
					v, c := comes(t, d, from)
					if x.asked {
						shows(d, v, unchanged)
					}
					return v, c
				}
				_, other := come("10.0.0.2") // the oldest of all
				leaving, _ := come("10.0.0.1")
				var all []*caller
				for range x.limit - 1 {
					_, c := come("10.0.0.1")
					all = append(all, c)
				}
				d.leave(leaving)
				time.Sleep(2 * time.Second)
				come("10.0.0.1") // the last place of this address
				if all[0].closed.Load() || other.closed.Load() {
					t.Errorf("closed: oldest %v, of another address %v, although %d are allowed", all[0].closed.Load(), other.closed.Load(), x.limit)
				}
				come("10.0.0.1")
				if !all[0].closed.Load() || all[1].closed.Load() || other.closed.Load() {
					t.Errorf("closed: oldest %v, next %v, of another address %v; want only the oldest", all[0].closed.Load(), all[1].closed.Load(),
						other.closed.Load())
				}
				time.Sleep(anonymousIdle) // all are gone
				for i := range x.limit + 1 {
					if _, all[0] = come("10.0.0.1"); i == 0 {
						all[1] = all[0]
					}
				}
				if all[1].closed.Load() {
					t.Errorf("closed sooner than %v after it came", anonymousGrace)
				}
			})
		})
	}
}

func TestLimiter_KeepsPlacesForWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, _ := testLimiter(8) // 2 for workers
		for i := range 6 {
			v, _ := comes(t, d, "10.0.0.1")
			if !shows(d, v, tokenClient) {
				t.Errorf("client %d may not stay", i)
			}
		}
		v, _ := comes(t, d, "10.0.0.1")
		if shows(d, v, tokenClient) {
			t.Error("a seventh client stays on a worker's place")
		}
		d.leave(v)
		for range 2 {
			w, _ := comes(t, d, "10.0.0.1")
			if !shows(d, w, tokenWorker) || !shows(d, w, tokenClient) {
				t.Error("a worker may not stay")
			}
		}
		const end = time.Minute + anonymousGrace/4
		begin := time.Now()
		go func() {
			time.Sleep(end)
			d.close()
		}()
		if _, err := d.enter(&caller{from: "10.0.0.9"}); err == nil || time.Since(begin) != end {
			t.Errorf("a new connection where every other has a token: %v after %v, want it to wait until the end after %v",
				err, time.Since(begin), end)
		}
	})
}

func TestLimiter_AnonymousConnectionsMakeRoomOnThePlacesOfWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, _ := testLimiter(8) // 2 for workers
		_, oldest := comes(t, d, "10.0.0.1")
		for range 5 {
			comes(t, d, "10.0.0.1")
		}
		v, _ := comes(t, d, "10.0.0.2")
		if shows(d, v, tokenNone) {
			t.Error("a seventh anonymous connection stays on a worker's place")
		}
		if !shows(d, v, tokenClient) {
			t.Error("a client may not stay because of anonymous connections")
		}
		time.Sleep(2 * time.Second)
		comes(t, d, "10.0.0.3")
		if n := d.total(); n != 7 || !oldest.closed.Load() {
			t.Errorf("%d connections, oldest anonymous connection closed %v; want 7 and true: a place is left for a worker", n, oldest.closed.Load())
		}
	})
}

func TestLimiter_WhoLeavesGivesItsPlaceToTheNextOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, _ := testLimiter(2)
		first, _ := comes(t, d, "10.0.0.1")
		second, _ := comes(t, d, "10.0.0.1")
		shows(d, first, tokenWorker)
		shows(d, second, tokenWorker)
		begin := time.Now()
		go func() {
			time.Sleep(anonymousGrace / 4)
			d.leave(first)
			d.leave(first)
		}()
		comes(t, d, "10.0.0.2")
		if waited := time.Since(begin); waited != anonymousGrace/4 {
			t.Errorf("a place after %v, want when one was left: after %v", waited, anonymousGrace/4)
		}
		synctest.Wait()
		if n := d.total(); n != 2 {
			t.Errorf("%d connections, want 2", n)
		}
	})
}

// TestServer_AnswersAmongAnonymousConnections fills a server with connections that asked
// once and say nothing more.
func TestServer_AnswersAmongAnonymousConnections(t *testing.T) {
	st := serve(t, &fakeEngine{heartbeat: func(ktrdr.Heartbeat) (ktrdr.Orders, error) { return ktrdr.Orders{}, nil }},
		func(c *Config) { c.MaxConns = 16 })
	for range 40 {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", st.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		_, _ = io.WriteString(conn, "GET /api/v1/health HTTP/1.1\r\nHost: "+st.addr+"\r\n\r\n")
		r, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		_ = r.Body.Close()
	}
	if a := st.send(t, http.MethodPost, "/api/v1/workers/heartbeat", `{"worker_id":"w","running":[]}`,
		as(st, ktrdr.ScopeWorker)); a.status != http.StatusOK {
		t.Errorf("a heartbeat among anonymous connections: status %d %s", a.status, a.body)
	}
	eventually(t, "1 worker and at most 12 anonymous connections", func() bool { // a connection that may not stay closes after its answer
		held := st.server.limiter.counts().held
		return held[tokenWorker] == 1 && held[tokenNone] <= 12
	})
	metrics := string(st.send(t, http.MethodGet, "/api/v1/metrics", "").body)
	for _, want := range []string{
		`ktrdr_connections{token="worker"} 1`, "ktrdr_connections_max 16", `ktrdr_connections_closed_total{reason="cap"}`,
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("metrics lack %s", want)
		}
	}
}

// TestServer_AWorkersPlaceNeedsAWorkersToken asks for what workers may ask for
// with a token that may only read.
func TestServer_AWorkersPlaceNeedsAWorkersToken(t *testing.T) {
	st := serve(t, &fakeEngine{})
	if a := st.send(t, http.MethodGet, openapiPath, "", as(st, ktrdr.ScopeRead)); a.status != http.StatusOK {
		t.Fatalf("status %d %s", a.status, a.body)
	}
	if held := st.server.limiter.counts().held; held[tokenWorker] != 0 || held[tokenClient] != 1 {
		t.Errorf("held: %v, want no worker and one client", held)
	}
}
