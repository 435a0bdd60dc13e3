package mcp

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
)

// A batch would be a small request with an answer of any size.
func TestHandler_AnswersOneRequestAtATime(t *testing.T) {
	const request = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	for body, want := range map[string]int{
		request:                                http.StatusOK,
		"\r\n\t " + request:                    http.StatusOK,
		"[" + request + "]":                    http.StatusBadRequest,
		" \n[" + request + "," + request + "]": http.StatusBadRequest,
		"":                                     http.StatusBadRequest,
	} {
		r := httptest.NewRequestWithContext(api.As(t.Context(), ktrdr.Token{Scope: ktrdr.ScopeRead}), http.MethodPost, "/mcp",
			strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		w := httptest.NewRecorder()
		New(Config{}).Handler().ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("%.60q: %d, want %d: %.200s", body, w.Code, want, w.Body)
		}
	}
}
