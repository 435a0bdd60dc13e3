package page_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/page"
)

// get asks the pages of a lab for a path, as a token.
func get(t *testing.T, l *fakeLab, path string, scope ktrdr.Scope) *httptest.ResponseRecorder {
	t.Helper()
	c := l.config(t)
	c.Log = slog.New(slog.DiscardHandler)
	pages, err := page.New(c)
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
	if scope != "" {
		r = r.WithContext(api.As(r.Context(), ktrdr.Token{ID: "t_1", Scope: scope}))
	}
	w := httptest.NewRecorder()
	pages.ServeHTTP(w, r)
	return w
}

func TestDownload_ReportIsAFileToKeep(t *testing.T) {
	w := get(t, labOf(payload), "/export/night.html?run=run_1", ktrdr.ScopeAdmin)
	if w.Code != http.StatusOK || !strings.HasPrefix(w.Header().Get("Content-Disposition"), "attachment; filename=ktrdr-report-") {
		t.Fatalf("answer %d with %v, want a file", w.Code, w.Header())
	}
	if policy := w.Header().Get("Content-Security-Policy"); strings.Contains(policy, "'self'") || !strings.Contains(policy, "sha256-") {
		t.Errorf("policy %q, want that of the file", policy)
	}
	checkInert(t, w.Body.String())
	w = get(t, labOf("resume it"), "/export/night.html", ktrdr.ScopeAdmin)
	if !strings.Contains(w.Body.String(), `<code tabindex="0">resume it</code>`) {
		t.Error("a failure has no command: an admin has a button instead, but not in a file")
	}
}

func TestDownload_IsRefused(t *testing.T) {
	l := labOf("x")
	for path, want := range map[string]int{
		"/export/night.pdf": http.StatusNotFound, "/export/night": http.StatusNotFound, "/export/abc.html": http.StatusBadRequest,
	} {
		if w := get(t, l, path, ktrdr.ScopeRead); w.Code != want {
			t.Errorf("%s: %d, want %d", path, w.Code, want)
		}
	}
	if w := get(t, l, "/export/night.html", ""); w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/login" {
		t.Errorf("without a token: %d to %q, want the login", w.Code, w.Header().Get("Location"))
	}
	l.answers["/api/v1/report"] = ktrdr.Errorf(ktrdr.CodeNotFound, "there is no run run_1")
	w := get(t, l, "/export/night.html?run=run_1", ktrdr.ScopeRead)
	if w.Code != http.StatusNotFound || w.Header().Get("Content-Disposition") != "" {
		t.Errorf("of a run that is not there: %d %v, want 404 and no file", w.Code, w.Header())
	}
}
