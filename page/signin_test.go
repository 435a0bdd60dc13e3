package page_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/httpapi"
	"github.com/ktrdr/ktrdr/page"
	"github.com/ktrdr/ktrdr/sqlstore"
)

// site is pages with real sessions, and a browser.
type site struct {
	*testing.T
	store  *sqlstore.Store
	server *httptest.Server
	cookie string
}

func openSite(t *testing.T) *site {
	store, err := sqlstore.Open(t.Context(), sqlstore.Config{Memory: true, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	pages, err := page.New(page.Config{Sessions: store, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { // as package httpapi does
		if token, err := pages.Token(r); err == nil {
			r = r.WithContext(api.As(r.Context(), token))
		}
		pages.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	s := &site{T: t, store: store, server: server}
	s.token("t_admin", ktrdr.ScopeAdmin)
	return s
}

func (s *site) token(id string, scope ktrdr.Scope) {
	s.Helper()
	if err := s.store.AddToken(s.Context(), ktrdr.Token{ID: id, Scope: scope, Hash: page.HashOf("secret of " + id)}); err != nil {
		s.Fatal(err)
	}
}

func (s *site) link() string {
	s.Helper()
	link, err := httpapi.NewLink(s.Context(), s.store, "t_admin")
	if err != nil {
		s.Fatal(err)
	}
	return s.server.URL + link.Path
}

// do sends a request as the browser would, and follows nothing.
func (s *site) do(method, target string, form url.Values, header ...string) *http.Response {
	s.Helper()
	r, err := http.NewRequestWithContext(s.Context(), method, target, strings.NewReader(form.Encode()))
	if err != nil {
		s.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	if s.cookie != "" {
		r.AddCookie(&http.Cookie{Name: "ktrdr", Value: s.cookie})
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(r)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// signIn spends a link and keeps the cookie.
func (s *site) signIn(form url.Values) *http.Response {
	s.Helper()
	resp := s.do(http.MethodPost, s.server.URL+"/login", form)
	for _, c := range resp.Cookies() {
		if c.Name == "ktrdr" {
			s.cookie = c.Value
			if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" {
				s.Errorf("the cookie may be read by a script or sent by another site: %+v", c)
			}
		}
	}
	return resp
}

// signedIn says whether the browser sees a page instead of the login.
func (s *site) signedIn() bool {
	s.Helper()
	resp := s.do(http.MethodGet, s.server.URL+"/session", nil)
	return resp.StatusCode == http.StatusNoContent
}

func codeOf(t *testing.T, link string) url.Values {
	t.Helper()
	u, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	return url.Values{"code": {u.Query().Get("code")}}
}

func TestSignIn_ALinkIsSpentByTheButtonAndOnce(t *testing.T) {
	s := openSite(t)
	link := s.link()
	for range 3 { // a chat program that previews the link
		if resp := s.do(http.MethodGet, link, nil); resp.StatusCode != http.StatusOK || len(resp.Cookies()) != 0 {
			t.Fatalf("the preview: %s with %d cookies, want 200 without", resp.Status, len(resp.Cookies()))
		}
	}
	if s.signedIn() {
		t.Fatal("signed in before the link was spent")
	}
	if resp := s.signIn(codeOf(t, link)); resp.StatusCode != http.StatusSeeOther || resp.Header.Get("Location") != "/night" {
		t.Fatalf("sign in: %s to %q, want 303 to /night", resp.Status, resp.Header.Get("Location"))
	}
	if !s.signedIn() {
		t.Fatal("not signed in after the link was spent")
	}
	other := &site{T: t, store: s.store, server: s.server}
	if resp := other.signIn(codeOf(t, link)); resp.StatusCode != http.StatusUnauthorized || other.cookie != "" {
		t.Errorf("the second use of the link: %s, want 401 without a cookie", resp.Status)
	}
}

func TestSignIn_IsRefused(t *testing.T) {
	for name, try := range map[string]func(s *site) *http.Response{
		"a made-up code":        func(s *site) *http.Response { return s.signIn(url.Values{"code": {"AAAA"}}) },
		"a made-up token":       func(s *site) *http.Response { return s.signIn(url.Values{"token": {"AAAA"}}) },
		"nothing":               func(s *site) *http.Response { return s.signIn(nil) },
		"the token of a worker": func(s *site) *http.Response { return s.signIn(url.Values{"token": {"secret of t_worker"}}) },
		"a link of a revoked token": func(s *site) *http.Response {
			link := s.link()
			if err := s.store.RevokeToken(s.Context(), "t_admin"); err != nil {
				s.Fatal(err)
			}
			return s.signIn(codeOf(s.T, link))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := openSite(t)
			s.token("t_worker", ktrdr.ScopeWorker)
			if resp := try(s); resp.StatusCode != http.StatusUnauthorized {
				t.Errorf("answer %s, want 401", resp.Status)
			}
			if s.cookie != "" || s.signedIn() {
				t.Error("the browser is signed in")
			}
		})
	}
}

func TestSession_EndsWithItsTokenAndBySigningOut(t *testing.T) {
	for name, end := range map[string]func(s *site){
		"the token is revoked": func(s *site) {
			if err := s.store.RevokeToken(s.Context(), "t_admin"); err != nil {
				s.Fatal(err)
			}
		},
		"signed out": func(s *site) {
			if resp := s.do(http.MethodPost, s.server.URL+"/logout", nil); resp.StatusCode != http.StatusSeeOther {
				s.Fatalf("sign out: %s", resp.Status)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := openSite(t)
			s.signIn(url.Values{"token": {"secret of t_admin"}})
			if !s.signedIn() {
				t.Fatal("not signed in with a token")
			}
			end(s)
			if s.signedIn() {
				t.Error("the cookie still signs in")
			}
		})
	}
}

// A cookie that an attacker planted does not become a session.
func TestSession_IsNotFixed(t *testing.T) {
	s := openSite(t)
	s.cookie = "planted"
	planted := s.cookie
	s.signIn(codeOf(t, s.link()))
	if s.cookie == planted {
		t.Error("the planted cookie is the session")
	}
	attacker := &site{T: t, store: s.store, server: s.server, cookie: planted}
	if attacker.signedIn() {
		t.Error("the planted cookie signs in")
	}
}

func TestPages_RefuseRequestsOfOtherSites(t *testing.T) {
	for name, header := range map[string][]string{
		"another origin":       {"Origin", "https://evil.example"},
		"a cross-site request": {"Sec-Fetch-Site", "cross-site"},
		"a sibling host":       {"Sec-Fetch-Site", "same-site"},
	} {
		t.Run(name, func(t *testing.T) {
			s := openSite(t)
			s.signIn(codeOf(t, s.link()))
			if resp := s.do(http.MethodPost, s.server.URL+"/logout", nil, header...); resp.StatusCode != http.StatusForbidden {
				t.Errorf("answer %s, want 403", resp.Status)
			}
			if !s.signedIn() {
				t.Error("the request of another site signed the browser out")
			}
		})
	}
}

func TestSignIn_BehindAProxyTheCookieIsSecure(t *testing.T) {
	store, err := sqlstore.Open(t.Context(), sqlstore.Config{Memory: true, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	if err := store.AddToken(t.Context(), ktrdr.Token{ID: "t", Scope: ktrdr.ScopeAdmin, Hash: page.HashOf("secret")}); err != nil {
		t.Fatal(err)
	}
	pages, err := page.New(page.Config{Sessions: store, Proxied: true, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/login", strings.NewReader("token=secret"))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	pages.ServeHTTP(w, r)
	if c := w.Result().Cookies(); len(c) != 1 || !c[0].Secure || c[0].Name != "__Host-ktrdr" {
		t.Errorf("a proxy speaks TLS, and the cookies are %v", c)
	}
}
