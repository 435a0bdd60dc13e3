package page_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr"
)

var hidden = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)">`)

// formOf is the hidden fields of the first form that imports.
func formOf(t *testing.T, body string) url.Values {
	t.Helper()
	_, form, ok := strings.Cut(body, `<form method="post" action="/data/import"`)
	if !ok {
		t.Fatal("the page has no form")
	}
	form, _, _ = strings.Cut(form, "</form>")
	v := url.Values{}
	for _, m := range hidden.FindAllStringSubmatch(form, -1) {
		v.Set(m[1], html.UnescapeString(m[2]))
	}
	return v
}

func TestTokens_AreShownOnceAndRevoked(t *testing.T) {
	l := openLab(t)
	admin, reader := l.browser(ktrdr.ScopeAdmin), l.browser(ktrdr.ScopeRead)
	status, body := admin.post("/lab/tokens", url.Values{"name": {"<script>alert(1)</script>\u202e"}, "scope": {"read"}})
	secret := regexp.MustCompile(`<code tabindex="0">([^<]+)</code>`).FindStringSubmatch(body)
	if status != http.StatusOK || secret == nil {
		t.Fatalf("making a token answers %d: %s", status, body)
	}
	page := admin.get("/lab/tokens")
	hasNot(t, page, secret[1], "<script>alert", "\u202e")
	has(t, page, "&lt;script&gt;alert(1)")
	other := &browser{t, l.url, &http.Client{Jar: admin.http.Jar}}
	if status, _ := other.post("/login", url.Values{"token": {secret[1]}}); status != http.StatusOK {
		t.Errorf("the new token does not sign in: %d", status)
	}

	has(t, reader.get("/lab/tokens"), "Tokens need an admin token.")
	if status, _ := reader.post("/lab/tokens", url.Values{"name": {"x"}, "scope": {"admin"}}); status != http.StatusForbidden {
		t.Errorf("a read token makes a token: %d, want 403", status)
	}
	tokens, err := l.client.Tokens(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, token := range tokens {
		if strings.Contains(token.Name, "of the test, read") {
			admin = l.browser(ktrdr.ScopeAdmin)
			if status, body := admin.post("/lab/tokens/"+token.ID+"/revoke", nil); status != http.StatusOK {
				t.Errorf("revoking answers %d: %s", status, body)
			}
		}
	}
	if body := reader.get("/lab/tokens"); !strings.Contains(body, "Sign in") {
		t.Error("the browser of a revoked token is still signed in")
	}
}

func TestLink_SignsAnotherBrowserIn(t *testing.T) {
	l := openLab(t)
	admin := l.browser(ktrdr.ScopeAdmin)
	_, body := admin.post("/lab/tokens/link", nil)
	link := regexp.MustCompile(`<code tabindex="0">(http[^<]+/login\?code=[^<]+)</code>`).FindStringSubmatch(body)
	if link == nil {
		t.Fatalf("there is no link: %s", body)
	}
	if !strings.HasPrefix(link[1], l.url+"/login?code=") {
		t.Errorf("the link is %s, want one of %s", link[1], l.url)
	}
}

func TestLab_ShowsSettingsWithoutSecrets(t *testing.T) {
	l := openLab(t, "KTRDR_WEBHOOK", "https://hooks.example/T0/hunter2", "KTRDR_WORKERS", "3")
	reader := l.browser(ktrdr.ScopeRead)
	page := reader.get("/lab/settings")
	has(t, page, "KTRDR_WEBHOOK", "https://…",
		`<th scope="row" class="mono">workers</th><td class="mono long">3</td><td class="mut">KTRDR_WORKERS</td>`)
	hasNot(t, page, "hunter2")
	for _, path := range []string{"/lab", "/lab/memory", "/lab/memory?q=x&status=refuted", "/lab/runs", "/operations", "/data"} {
		reader.get(path)
	}
}
