package httpapi

import (
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
)

// noting is a connection that notes what is written to it, and may break.
type noting struct {
	net.Conn
	written []string
	broken  error
	closed  bool
}

func (c *noting) Write(p []byte) (int, error) {
	c.written = append(c.written, string(p))
	return len(p), c.broken
}

func (c *noting) Close() error {
	c.closed = true
	return nil
}

func TestConn_GathersAnAnswerIntoOneWrite(t *testing.T) {
	under := &noting{}
	c := &conn{Conn: under}
	err := c.inOneWrite(func() error {
		_, _ = io.WriteString(c, "head ")
		_, err := io.WriteString(c, "body")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(c, "after")
	if got, want := strings.Join(under.written, "|"), "head body|after"; got != want {
		t.Errorf("written: %q, want %q", got, want)
	}
}

// Half an answer must be the last thing that a connection carries.
func TestConn_IsClosedWhenAnAnswerDidNotLeave(t *testing.T) {
	broken := errors.New("broken")
	for situation, failed := range map[string]struct{ handler, network error }{
		"the handler gives up": {handler: broken},
		"the network is gone":  {network: broken},
	} {
		under, freed := &noting{broken: failed.network}, false
		c := &conn{Conn: under, release: func() { freed = true }}
		err := c.inOneWrite(func() error { return failed.handler })
		if !errors.Is(err, broken) || !under.closed || !freed {
			t.Errorf("%s: %v, closed %v, slot freed %v; want the error and a closed connection", situation, err, under.closed, freed)
		}
	}
}

func TestServer_SendsAnAnswerInOneWrite(t *testing.T) {
	for situation, size := range map[string]int{"small": 10, "over net/http's buffer": 6 << 10, "far over it": 50 << 10} {
		text := strings.Repeat("x", size)
		st := serve(t, &fakeEngine{operation: func(id ktrdr.OperationID) (ktrdr.Operation, error) {
			return ktrdr.Operation{ID: id, Spec: []byte(`"` + text + `"`), Metadata: []byte(`{}`)}, nil
		}})
		for range 2 { // the connection is used again
			before := st.conns.writes.Load()
			a := st.send(t, http.MethodGet, "/api/v1/operations/"+string(testOp), "")
			if n := st.conns.writes.Load() - before; n != 1 || a.status != http.StatusOK || !strings.Contains(string(a.body), text) {
				t.Errorf("%s: %d writes for status %d and %d bytes, want 1 write", situation, n, a.status, len(a.body))
			}
		}
		if n := len(st.conns.all); n != 1 {
			t.Errorf("%s: %d connections, want 1", situation, n)
		}
	}
}

// A request inside the process has the context of a page's request, and with it the
// connection of the browser, which belongs to the page.
func TestConn_IsNotWrittenToByRequestsInside(t *testing.T) {
	st := serve(t, &fakeEngine{})
	under := &noting{}
	ctx := api.As(withConn(t.Context(), &conn{Conn: under}), ktrdr.Token{Scope: ktrdr.ScopeAdmin})
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://inside"+api.Base+"/nothing", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := st.server.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusNotFound || len(under.written) > 0 {
		t.Errorf("%s, and %d writes to the connection of the page; want 404 and none", res.Status, len(under.written))
	}
}

// A page or an assistant cannot make the backend call another host, whatever token it acts with.
func TestServer_NoRequestInsideTheProcessFetches(t *testing.T) {
	st := serve(t, &fakeEngine{})
	body := strings.NewReader(`{"source": "kraken", "symbol": "XBTUSD", "timeframe": "1h"}`)
	ctx := api.As(t.Context(), ktrdr.Token{Scope: ktrdr.ScopeAdmin})
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://inside"+api.Base+"/data/fetch", body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	res, err := st.server.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if text, _ := io.ReadAll(res.Body); res.StatusCode != http.StatusForbidden || !strings.Contains(string(text), "on the command line") {
		t.Errorf("%s: %s, want 403", res.Status, text)
	}
}
