package cli

import (
	"bytes"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"
)

// wire is a way to the backend that keeps all that goes over it.
type wire struct {
	URL    string
	mu     sync.Mutex
	bodies []*bytes.Buffer
}

func tap(t *testing.T, backend string) *wire {
	t.Helper()
	to, err := url.Parse(backend)
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{}
	proxy := &httputil.ReverseProxy{
		ErrorLog: log.New(io.Discard, "", 0), // the backend's and the worker's ends
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.Header.Set("Accept-Encoding", "identity") // to be read here
			r.Out.Body = w.keeping(r.Out.Body)
		},
		ModifyResponse: func(res *http.Response) error {
			res.Body = w.keeping(res.Body)
			return nil
		},
	}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	w.URL = server.URL
	return w
}

// kept is a body that is kept as it is read.
type kept struct {
	io.ReadCloser
	wire *wire
	read *bytes.Buffer
}

func (w *wire) keeping(body io.ReadCloser) io.ReadCloser {
	if body == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	k := kept{body, w, &bytes.Buffer{}}
	w.bodies = append(w.bodies, k.read)
	return k
}

func (k kept) Read(p []byte) (int, error) {
	n, err := k.ReadCloser.Read(p)
	k.wire.mu.Lock()
	defer k.wire.mu.Unlock()
	k.read.Write(p[:n])
	return n, err
}

// heard is all bodies, whole and one after the other.
func (w *wire) heard() (all []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, b := range w.bodies {
		all = append(all, b.Bytes()...)
	}
	return all
}
