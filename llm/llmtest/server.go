// Package llmtest holds a server that speaks the wire formats of models, with
// every way in which they fail. Clients are pointed at it by base URL.
package llmtest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Server answers as its script says, in the format that it is asked in:
// Anthropic's Messages at /v1/messages, OpenAI's chat at /v1/chat/completions.
type Server struct {
	http   *httptest.Server
	answer func(n int, r Request) Step
	closed chan struct{}

	mu       sync.Mutex
	requests []Request
	written  atomic.Int64
}

// Request is one that the server was sent.
type Request struct {
	Path   string
	Header http.Header
	Body   []byte
	Model  string // as the body names it

	Began, Ended time.Time // Ended is zero while it is being answered
}

const maxRequest = 8 << 20

// New starts a server that ends with the test. Answer is asked for every
// request, numbered from 0, and may be asked by several goroutines at once.
func New(t testing.TB, answer func(n int, r Request) Step) *Server {
	t.Helper()
	s := &Server{answer: answer, closed: make(chan struct{})}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(func() {
		close(s.closed) // lets go of the requests that hang
		s.http.CloseClientConnections()
		s.http.Close()
	})
	return s
}

// Script answers with one step after the other, and with the last one from
// then on.
func Script(steps ...Step) func(int, Request) Step {
	return func(n int, _ Request) Step { return steps[min(n, len(steps)-1)] }
}

// Anthropic is the base URL for clients that speak the Messages API.
func (s *Server) Anthropic() string { return s.http.URL }

// OpenAI is the base URL for clients that speak chat completions.
func (s *Server) OpenAI() string { return s.http.URL + "/v1" }

// Requests returns what the server was sent so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Written is how many bytes of answers clients have taken off the server.
func (s *Server) Written() int64 { return s.written.Load() }

func (s *Server) serve(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(io.LimitReader(req.Body, maxRequest))
	if err != nil {
		return // the client is gone
	}
	r := Request{Path: req.URL.Path, Header: req.Header.Clone(), Body: body, Began: time.Now()}
	var named struct {
		Model string `json:"model"`
	}
	if err := json.Unmarshal(body, &named); err != nil {
		http.Error(w, "the request is no JSON: "+err.Error(), http.StatusBadRequest)
		return
	}
	r.Model = named.Model
	s.mu.Lock()
	n := len(s.requests)
	s.requests = append(s.requests, r)
	s.mu.Unlock()
	defer s.ended(n)

	var f format = openAI{}
	switch {
	case req.Method != http.MethodPost:
		http.Error(w, "models are asked with POST", http.StatusMethodNotAllowed)
		return
	case r.Path == "/v1/messages":
		f = anthropic{}
	case !strings.HasSuffix(r.Path, "/chat/completions"):
		http.NotFound(w, req)
		return
	}
	e := &exchange{server: s, w: w, req: req, format: f, model: r.Model, step: s.answer(n, r)}
	e.run()
}

func (s *Server) ended(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests[n].Ended = time.Now()
}
