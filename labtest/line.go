package labtest

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
)

// Line is a worker's way to the backend, which can be made one-way: what the
// worker writes gets through, but it is not told which claims it has
// lost.
type Line struct {
	URL  string
	deaf atomic.Bool
}

// Line returns a line to the backend.
func (l *Lab) Line() *Line {
	l.t.Helper()
	line := &Line{}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "http", Host: l.addr}) },
		ModifyResponse: func(res *http.Response) error { // a long poll may have begun before the line was made one-way
			if line.deaf.Load() && hears(res.Request.URL.Path) {
				<-res.Request.Context().Done()
			}
			return nil
		},
	}
	srv := httptest.NewServer(proxy)
	l.t.Cleanup(srv.Close)
	line.URL = srv.URL
	return line
}

// hears is true for the calls that tell a worker which claims it has lost.
func hears(p string) bool {
	switch p[strings.LastIndexByte(p, '/')+1:] {
	case "heartbeat", "claim", "register":
		return true
	}
	return false
}

// Deafen makes the line one-way.
func (l *Line) Deafen() { l.deaf.Store(true) }
