package httpapi

import (
	"net/http"
	"slices"
	"strings"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/internal/tracing"
)

// startSpan starts the span of a request that was let in, and puts it into the
// request's context. A request that was refused has none: a stranger must not
// fill the collector.
func (s *Server) startSpan(c *call) *tracing.Request {
	if untraced(c) {
		return nil
	}
	ctx, span := s.traces.StartRequest(c.Request, c.spec.Path, c.came)
	c.Request = c.WithContext(ctx)
	return span
}

// untraced is true of what would only hide the rest: streams, scrapes, and what
// workers ask all the time without an operation.
func untraced(c *call) bool {
	switch {
	case c.spec.Stream, c.spec.Key() == api.Health.Key(), c.spec.Key() == api.RootMetrics.Key():
		return true
	}
	return slices.Contains(c.spec.Scopes, ktrdr.ScopeWorker) && !tracing.Called(c.Request)
}

// answerPage has a page answered, with a span for a browser that is signed in.
func (s *Server) answerPage(c *call, r *http.Request) {
	if s.traces == nil || c.spec.Stream || c.token.ID == "" {
		s.pages.ServeHTTP(c, r)
		return
	}
	ctx, span := s.traces.StartRequest(r, c.spec.Path, c.came)
	defer func() { span.End(c.sent) }()
	r = r.WithContext(ctx) //nolint:contextcheck // it is below the request's own
	s.pages.ServeHTTP(c, r)
	span.SetRoute(r.Method, r.Pattern[strings.IndexByte(r.Pattern, ' ')+1:]) // the path may have a secret in it
}
