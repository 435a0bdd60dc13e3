package httpapi

import (
	"context"
	"net/http"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
)

// Assistants answers AI assistants.
type Assistants struct {
	Protocol http.Handler      // at mcpPath, as the token of the request's context: see api.Caller
	MaxBody  int64             // of a request
	Texts    map[string]string // by path: what tells them about this server, without a token
}

const mcpPath = "/mcp"

// mcpSpec says who may call the protocol. A read token may: each tool calls the API,
// which decides.
func mcpSpec(limit int64) *api.Spec {
	return &api.Spec{
		Method: http.MethodPost, Path: mcpPath, Scopes: []ktrdr.Scope{ktrdr.ScopeRead, ktrdr.ScopeAssistant}, Limit: limit,
		Wait: 2 * api.Trigger.Wait,
	}
}

var textSpec = &api.Spec{Method: http.MethodGet, Path: "text for assistants", Public: true}

// isForAssistants says whether a path is one of theirs.
func (s *Server) isForAssistants(path string) bool {
	_, text := s.assistants.Texts[path]
	return text || path == mcpPath && s.assistants.Protocol != nil
}

// serveAssistant answers an assistant. Host, Origin and token are checked as those of
// every request to the API.
func (s *Server) serveAssistant(c *call) {
	setSecurityHeaders(c.Header())
	text, isText := s.assistants.Texts[c.URL.Path]
	c.spec = textSpec
	if !isText {
		c.spec = mcpSpec(s.assistants.MaxBody)
	}
	s.setDeadline(c)
	if c.ContentLength != 0 && !isText {
		c.bodyDeadline()
		c.Request.Body = &formBody{c.Request.Body, c}
	}
	if err := s.admit(c, true); err != nil {
		s.fail(c.Context(), c, err)
		return
	}
	if isText {
		c.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = c.Write([]byte(text)) // an error means that the client has gone
		return
	}
	ctx, cancel := context.WithCancel(api.As(c.Context(), c.token)) // a tool that waits ends when the server is asked to stop
	defer cancel()
	defer context.AfterFunc(stopping(ctx), cancel)()
	s.assistants.Protocol.ServeHTTP(c, c.WithContext(ctx))
}
