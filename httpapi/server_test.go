package httpapi

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
)

func TestServer_LetsRequestsFinishWhenItStops(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	st := serve(t, &fakeEngine{operation: func(id ktrdr.OperationID) (ktrdr.Operation, error) {
		close(entered)
		<-release
		return ktrdr.Operation{ID: id, Spec: []byte(`{}`), Metadata: []byte(`{}`)}, nil
	}}, func(c *Config) { c.Grace = time.Minute })
	answered := make(chan *answer, 1)
	go func() { answered <- st.send(t, http.MethodGet, "/api/v1/operations/"+string(testOp), "") }()
	<-entered
	stopped := make(chan struct{})
	go func() {
		st.stop()
		close(stopped)
	}()
	select {
	case <-stopped:
		t.Error("the server stopped with a request in its hands")
	case <-time.After(50 * time.Millisecond):
	}
	close(release)
	if a := <-answered; a.status != http.StatusOK {
		t.Errorf("status = %d, want 200", a.status)
	}
	<-stopped
}

func TestServer_CutsOffWhatOutlastsTheGrace(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	st := serve(t, &fakeEngine{operation: func(ktrdr.OperationID) (ktrdr.Operation, error) {
		close(entered)
		<-release
		return ktrdr.Operation{}, nil
	}}, func(c *Config) { c.Grace = 20 * time.Millisecond })
	cutOff := make(chan error, 1)
	go func() {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, st.url+"/api/v1/operations/"+string(testOp), nil)
		as(st, ktrdr.ScopeRead)(req)
		res, err := st.http.Do(req)
		if err == nil {
			_ = res.Body.Close()
		}
		cutOff <- err
	}()
	<-entered
	st.stop()
	if err := <-cutOff; err == nil {
		t.Error("the request was answered, want a broken connection")
	}
	close(release)
	eventually(t, "the stop was logged", func() bool { return strings.Contains(st.logged.String(), "cut off") })
}

func TestServer_TakesNoMoreConnectionsThanItMay(t *testing.T) {
	entered, release := make(chan struct{}, 3), make(chan struct{})
	st := serve(t, &fakeEngine{operation: func(id ktrdr.OperationID) (ktrdr.Operation, error) {
		entered <- struct{}{}
		<-release
		return ktrdr.Operation{ID: id, Spec: []byte(`{}`), Metadata: []byte(`{}`)}, nil
	}}, func(c *Config) { c.MaxConns = 2 })
	answered := make(chan int, 3)
	ask := func() { answered <- st.send(t, http.MethodGet, "/api/v1/operations/"+string(testOp), "").status }
	for range 2 { // a request in progress keeps its connection
		go ask()
		<-entered
	}
	go ask()
	eventually(t, "the third waits for a place", func() bool { return !st.server.Full().IsZero() })
	select {
	case <-entered:
		t.Error("a third connection was served")
	default:
	}
	close(release)
	for range 3 {
		if status := <-answered; status != http.StatusOK {
			t.Errorf("status = %d, want 200 once a place is free", status)
		}
	}
}

func TestServer_HeadersThatNeverEndAreCutOff(t *testing.T) {
	t.Parallel() // it waits for the timeout
	st := serve(t, &fakeEngine{})
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", st.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := io.WriteString(conn, "GET /api/v1/health HTTP/1.1\r\nHost: "); err != nil {
		t.Fatal(err)
	}
	_ = conn.SetReadDeadline(time.Now().Add(2 * headerTimeout))
	if _, err := io.ReadAll(conn); err != nil {
		t.Errorf("the connection was not closed: %v", err)
	}
}

// A body that does not arrive must not delay a refusal or hold a connection: a
// client needs no token to open many of them.
func TestServer_ABodyThatNeverEndsKeepsNoRefusalWaiting(t *testing.T) {
	t.Parallel() // it waits for the timeout
	st := serve(t, &fakeEngine{})
	admin := "Authorization: Bearer " + st.tokens[ktrdr.ScopeAdmin].Reveal() + "\r\n"
	cases := map[string]struct{ head, status string }{
		"no body of pieces":  {"GET /api/v1/health HTTP/1.1\r\nHost: " + st.addr + "\r\nTransfer-Encoding: chunked\r\n\r\n64\r\n{", "413"},
		"no token":           {"POST /api/v1/dummy/start HTTP/1.1\r\nHost: " + st.addr + "\r\n", "401"},
		"wrong host":         {"POST /api/v1/dummy/start HTTP/1.1\r\nHost: elsewhere.example\r\n", "421"},
		"unknown route":      {"POST /nowhere HTTP/1.1\r\nHost: " + st.addr + "\r\n" + admin, "404"},
		"wrong method":       {"POST /api/v1/operations HTTP/1.1\r\nHost: " + st.addr + "\r\n" + admin, "405"},
		"wrong query":        {"POST /api/v1/dummy/start?x=1 HTTP/1.1\r\nHost: " + st.addr + "\r\n" + admin, "400"},
		"wrong content type": {"POST /api/v1/dummy/start HTTP/1.1\r\nHost: " + st.addr + "\r\n" + admin + "Content-Type: text/plain\r\n", "415"},
		"no body wanted":     {"GET /api/v1/health HTTP/1.1\r\nHost: " + st.addr + "\r\n", "413"},
		"nor by a stream":    {"GET /api/v1/events HTTP/1.1\r\nHost: " + st.addr + "\r\n" + admin, "413"},
	}
	conns := make(map[string]net.Conn)
	for name, c := range cases { // all first: each waits until what it did not send is given up
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", st.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		head := c.head
		if !strings.Contains(head, "chunked") {
			head += "Content-Length: 100\r\n\r\n{"
		}
		if _, err := io.WriteString(conn, head); err != nil {
			t.Fatal(err)
		}
		conns[name] = conn
	}
	for name, c := range cases {
		_ = conns[name].SetReadDeadline(time.Now().Add(4 * unwantedTime))
		answer, err := io.ReadAll(conns[name])
		if err != nil {
			t.Errorf("%s: the connection was not closed: %v", name, err)
		}
		if !strings.HasPrefix(string(answer), "HTTP/1.1 "+c.status+" ") {
			t.Errorf("%s: answer = %.300q, want status %s", name, answer, c.status)
		}
	}
}

func TestServer_ACompleteBodyKeepsTheConnection(t *testing.T) {
	st := serve(t, &fakeEngine{})
	a := st.send(t, http.MethodPost, "/api/v1/dummy/start", `{"steps":`)
	refusedWith(t, "half an object", a, "", http.StatusBadRequest, ktrdr.CodeInvalid)
	if got := a.header.Get("Connection"); got != "" {
		t.Errorf("Connection = %q, want none", got)
	}
}
