package httpapi

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/internal/tracing"
)

// Config is what a Server is made of.
type Config struct {
	Types      ktrdr.Types // the operation types; required
	Settings   []ktrdr.EffectiveSetting
	Engine     Engine
	Desk       Desk                   // makes operations of requests; required
	Research   Research               // makes researches of requests, and remembers them; required
	Resilience Resilience             // keeps breakers and decides what is shed; required
	Log        *slog.Logger           // required
	Metrics    []prometheus.Collector // of others, shown beside our own
	Traces     *tracing.Tracing       // nil: requests are not traced

	// Pages makes what answers browsers, outside of /api/; nil: nothing does. The
	// transport reaches the API of this server: see Server.RoundTrip.
	Pages func(http.RoundTripper) (Pages, error)

	// Assistants makes what answers AI assistants; nil: nothing does. The transport is
	// that of Pages.
	Assistants func(http.RoundTripper) (Assistants, error)

	Auth  bool        // ask for tokens; false is for loopback only, which the caller checks
	Hosts []string    // names we answer to besides loopback's, with a port or without
	TLS   *tls.Config // nil serves plain HTTP

	MaxConns   int           // connections at once, a quarter of them for workers only; 0 means 1024
	MaxStreams int           // event streams at once; 0 means 256
	Grace      time.Duration // how long a stop waits for requests to end; 0 means 10 s
}

// Server answers HTTP.
type Server struct {
	types      ktrdr.Types
	settings   []ktrdr.EffectiveSetting
	engine     Engine
	desk       Desk
	research   Research
	resilience Resilience
	pages      Pages
	assistants Assistants
	log        *slog.Logger
	auth       bool
	hosts      map[string]bool
	tls        *tls.Config
	limiter    *limiter
	maxStreams int64
	grace      time.Duration

	keys     keyring
	mux      *http.ServeMux
	document func() ([]byte, error) // OpenAPI, made when first asked for: it would be a third of the work of a start
	metrics  *metrics
	traces   *tracing.Tracing

	streams atomic.Int64
}

// New makes a server of the table of routes.
func New(c Config) (*Server, error) {
	s := &Server{
		types: c.Types, settings: c.Settings,
		engine: c.Engine, desk: c.Desk, research: c.Research, resilience: c.Resilience, log: c.Log, auth: c.Auth, tls: c.TLS,
		limiter:    newLimiter(cmp.Or(c.MaxConns, 1024), c.Log),
		maxStreams: int64(cmp.Or(c.MaxStreams, 256)),
		grace:      cmp.Or(c.Grace, 10*time.Second),
		hosts:      make(map[string]bool),
		keys:       keyring{tokens: c.Engine},
		mux:        http.NewServeMux(),
		metrics:    newMetrics(),
		traces:     c.Traces,
	}
	for _, m := range c.Metrics {
		if err := s.metrics.registry.Register(m); err != nil {
			return nil, fmt.Errorf("metrics: %w", err)
		}
	}
	for _, host := range c.Hosts {
		if host == "" || strings.ContainsAny(host, "/ *") {
			return nil, fmt.Errorf("KTRDR_HOSTS: %q is not a host name; give names or addresses, with a port or without, separated by commas", host)
		}
		s.hosts[strings.ToLower(host)] = true
	}
	rows := table()
	s.bind(rows)
	s.document = sync.OnceValues(func() ([]byte, error) { return openAPI(rows, s.types) })
	var err error
	if c.Pages != nil {
		if s.pages, err = c.Pages(s); err != nil {
			return nil, fmt.Errorf("pages: %w", err)
		}
	}
	if c.Assistants != nil {
		if s.assistants, err = c.Assistants(s); err != nil {
			return nil, fmt.Errorf("assistants: %w", err)
		}
	}
	return s, nil
}

func (s *Server) bind(rows []row) {
	for _, row := range rows {
		s.mux.Handle(row.about().Pattern(), &handler{s, row, !strings.Contains(row.about().Path, "{")})
	}
}

// handler is a row where the mux finds it.
type handler struct {
	server *Server
	row    row
	fixed  bool // its path has no wildcard, so that only the mux's first look is needed
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := w.(*call) // the mux is only ever called by Server.ServeHTTP
	if err := h.row.serve(h.server, c); err != nil {
		h.server.fail(r.Context(), c, err)
	}
}

// unmatched stands for the route of requests that have none. Only an admin
// learns that the path is unknown.
var unmatched = &api.Spec{Path: "unmatched"}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := &call{Request: r, w: w, spec: unmatched, came: time.Now()}
	defer func() { s.metrics.observe(c, time.Since(c.came)) }()
	defer s.recoverPanic(r.Context(), c)
	if p := placeOf(r); p != nil {
		s.limiter.begin(p)
		defer s.limiter.end(p)
	}

	switch path := r.URL.Path; {
	case s.isForAssistants(path):
		s.serveAssistant(c) //nolint:contextcheck // the call holds the request with its context
	case s.pages != nil && isPage(path):
		s.servePage(c) //nolint:contextcheck // the same
	default:
		s.serveAPI(c) //nolint:contextcheck // the same
	}
}

// serveAPI leads a request through the guard to its row.
func (s *Server) serveAPI(c *call) {
	r := c.Request
	setSecurityHeaders(c.Header())
	found, _ := s.mux.Handler(r)
	h, matched := found.(*handler)
	if matched {
		c.spec = h.row.about()
	}
	s.setDeadline(c)
	if err := s.admit(c, matched); err != nil {
		s.fail(r.Context(), c, err)
		return
	}
	if s.traces != nil {
		span := s.startSpan(c)
		defer func() { span.End(c.sent) }()
		r = c.Request
	}
	if matched && h.fixed {
		h.ServeHTTP(c, r)
		return
	}
	s.mux.ServeHTTP(c, r) // which also fills in the wildcards, or refuses in its own way
}

// admit is everything that is asked before a row sees the request.
func (s *Server) admit(c *call, matched bool) error {
	err := s.guard(c)
	if seated := s.identify(c, err); err == nil {
		err = seated
	}
	if err != nil {
		return err
	}
	if !matched {
		return s.noRoute(c)
	}
	if c.spec.Limit == 0 && c.ContentLength > 0 {
		return c.tooLarge()
	}
	return nil
}

// identify tells the limiter whose connection it is. A connection that may not stay
// is closed after the answer, so that a stream is refused.
func (s *Server) identify(c *call, refused error) error {
	p := placeOf(c.Request)
	if p == nil {
		return nil
	}
	is := unchanged // a public route asks for no token
	switch {
	case ktrdr.CodeOf(refused) == ktrdr.CodeUnauthorized:
		is = tokenNone
	case c.token.ID != "" && refused == nil && c.token.Scope != ktrdr.ScopeRead && slices.Contains(c.spec.Scopes, ktrdr.ScopeWorker):
		is = tokenWorker
	case c.token.ID != "":
		is = tokenClient
	}
	if s.limiter.identify(p, is) {
		return nil
	}
	c.Header().Set("Connection", "close")
	if c.spec.Stream {
		return ktrdr.Errorf(ktrdr.CodeUnavailable,
			"nearly all connections are taken and the rest is kept for workers; try again later, or raise KTRDR_MAX_CONNECTIONS")
	}
	return nil
}

// Full is when a connection last found every place taken; zero means never.
func (s *Server) Full() time.Time { return s.limiter.full() }

// setDeadline bounds how long the answer may take, and how long a body that
// is not read yet. A stream sets its own, per write. Connections that
// cannot have deadlines (in tests) go without.
func (s *Server) setDeadline(c *call) {
	if c.ContentLength != 0 {
		c.unwantedDeadline()
	}
	var until time.Time
	if !c.spec.Stream {
		until = time.Now().Add(cmp.Or(c.spec.Wait, api.DefaultWait) + bodyGrace + api.TransferTime(c.spec.Limit))
	}
	_ = http.NewResponseController(c.w).SetWriteDeadline(until)
}

// noRoute says why nothing answers: the path is unknown, or the method is.
func (s *Server) noRoute(c *call) error {
	var allowed []string
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodDelete} {
		other := *c.Request
		other.Method = method
		if found, _ := s.mux.Handler(&other); isHandler(found) {
			allowed = append(allowed, method)
		}
	}
	if len(allowed) == 0 {
		return refuse(http.StatusNotFound, ktrdr.CodeNotFound, "there is nothing at this path; %s lists what there is", openapiPath)
	}
	c.Header().Set("Allow", strings.Join(allowed, ", "))
	return refuse(http.StatusMethodNotAllowed, ktrdr.CodeInvalid, "this path takes %s", strings.Join(allowed, ", "))
}

func isHandler(h http.Handler) bool {
	_, ok := h.(*handler)
	return ok
}

// recoverPanic turns a handler's panic into an answer: one broken request must not
// take the others with it.
func (s *Server) recoverPanic(ctx context.Context, c *call) {
	p := recover()
	if p == nil {
		return
	}
	if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(p) // net/http ends the connection, quietly
	}
	s.log.ErrorContext(ctx, "handler panicked", "method", c.Method, "route", c.spec.Key(), "panic", p, "stack", string(debug.Stack()))
	c.answerError(ktrdr.Errorf(ktrdr.CodeInternal, "panic: %v", p))
}

const (
	headerTimeout  = 5 * time.Second
	idleTimeout    = 2 * time.Minute
	maxHeaderBytes = 64 << 10
)

// Serve answers requests on l until ctx ends, then lets the ones that are
// being answered finish. It closes l.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	srv := &http.Server{
		Handler:                      s,
		ReadHeaderTimeout:            headerTimeout,
		IdleTimeout:                  idleTimeout,
		MaxHeaderBytes:               maxHeaderBytes,
		TLSConfig:                    s.tls,
		DisableGeneralOptionsHandler: true, // OPTIONS * passes the guard like everything else
		ErrorLog:                     slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
		BaseContext: func(net.Listener) context.Context {
			return context.WithValue(context.WithoutCancel(ctx), stopKey{}, ctx)
		},
		ConnContext: withConn,
	}
	l = &capped{Listener: l, limiter: s.limiter}
	served := make(chan error, 1)
	go func() {
		if s.tls != nil {
			served <- srv.ServeTLS(l, "", "")
		} else {
			served <- srv.Serve(l)
		}
	}()
	select {
	case err := <-served:
		return fmt.Errorf("serve %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.grace)
	defer cancel()
	if err := srv.Shutdown(grace); err != nil {
		s.log.WarnContext(ctx, "requests were cut off by the stop", "grace", s.grace, "err", err)
		_ = srv.Close()
	}
	<-served
	return nil
}

// stopKey finds, in a request's context, the context that ends when the server
// is asked to stop: streams and polls end then, everything else may finish.
type stopKey struct{}

func stopping(ctx context.Context) context.Context {
	if stop, ok := ctx.Value(stopKey{}).(context.Context); ok {
		return stop
	}
	return ctx
}
