package httpapi

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
)

const (
	allTokens   = "admin worker read"
	readTokens  = "admin read"
	workTokens  = "admin worker"
	adminTokens = "admin"
	noToken     = "none"
)

func TestSecurity_EveryRouteIsListed(t *testing.T) {
	var have []string
	for _, row := range table() {
		have = append(have, row.about().Pattern())
	}
	slices.Sort(have)
	want := slices.Sorted(maps.Keys(routes))
	for _, pattern := range have {
		if !slices.Contains(want, pattern) {
			t.Errorf("route %s is not in this test's table: say there who may call it", pattern)
		}
	}
	for _, pattern := range want {
		if !slices.Contains(have, pattern) {
			t.Errorf("route %s is in this test's table but not served", pattern)
		}
	}
}

// concrete fills a pattern's wildcards with names that could exist.
func concrete(path string) string {
	return strings.NewReplacer(
		"{id}", string(testOp), "{thread_id}", "thread-1", "{sha256}", strings.Repeat("ab", 32),
	).Replace(path)
}

// eachRoute runs a subtest for every row of the table.
func eachRoute(t *testing.T, f func(t *testing.T, sp *api.Spec, path, who string)) {
	t.Helper()
	for _, row := range table() {
		sp := row.about()
		t.Run(sp.Pattern(), func(t *testing.T) { f(t, sp, concrete(sp.Path), routes[sp.Pattern()]) })
	}
}

// refusedWith checks a refusal: its status, its envelope, and its headers.
func refusedWith(t *testing.T, what string, a *answer, method string, status int, code ktrdr.Code) {
	t.Helper()
	if a.status != status {
		t.Errorf("%s: status = %d, want %d: %s", what, a.status, status, a.body)
		return
	}
	if method == http.MethodHead {
		return
	}
	if a.parsed.Success == nil || *a.parsed.Success || a.code() != code {
		t.Errorf("%s: body = %s, want an envelope with code %s", what, a.body, code)
	}
	if got := a.header.Get("X-Content-Type-Options"); got != "nosniff" {
		t.Errorf("%s: X-Content-Type-Options = %q, want nosniff", what, got)
	}
}

func TestSecurity_WithoutAProperTokenNothingIsAnswered(t *testing.T) {
	st := serve(t, &fakeEngine{})
	secret := st.tokens[ktrdr.ScopeAdmin].Reveal()
	eachRoute(t, func(t *testing.T, sp *api.Spec, path, who string) {
		if who == noToken {
			if a := st.send(t, sp.Method, path, "", header("Authorization", "")); a.status != http.StatusOK {
				t.Errorf("status = %d, want 200", a.status)
			}
			return
		}
		for name, value := range map[string]string{
			"no token":       "",
			"empty token":    "Bearer ",
			"wrong token":    "Bearer " + tokenPrefix + strings.Repeat("A", 43),
			"truncated":      "Bearer " + secret[:len(secret)-1],
			"longer":         "Bearer " + secret + "A",
			"other case":     "Bearer " + strings.ToUpper(secret),
			"another scheme": "Basic " + secret,
			"bare":           secret,
			"two spaces":     "Bearer  " + secret,
		} {
			a := st.send(t, sp.Method, path, "", header("Authorization", value))
			refusedWith(t, name, a, sp.Method, http.StatusUnauthorized, ktrdr.CodeUnauthorized)
			if a.header.Get("WWW-Authenticate") == "" {
				t.Errorf("%s: no WWW-Authenticate header", name)
			}
		}
		twice := func(r *http.Request) { r.Header.Add("Authorization", "Bearer "+secret) }
		refusedWith(t, "two headers", st.send(t, sp.Method, path, "", twice), sp.Method, http.StatusUnauthorized, ktrdr.CodeUnauthorized)
	})
	for _, path := range []string{"/", "/api/v1/nothing", "/debug/pprof/", "/api/v1/operations/"} {
		refusedWith(t, path, st.send(t, http.MethodGet, path, "", header("Authorization", "")), "", http.StatusUnauthorized,
			ktrdr.CodeUnauthorized)
	}
}

func TestSecurity_OnlyTheRightScopesPass(t *testing.T) {
	st := serve(t, &fakeEngine{})
	eachRoute(t, func(t *testing.T, sp *api.Spec, path, who string) {
		if who == noToken {
			return
		}
		for _, scope := range []ktrdr.Scope{ktrdr.ScopeWorker, ktrdr.ScopeRead, ktrdr.ScopeAdmin} {
			allowed := slices.Contains(strings.Fields(who), string(scope))
			if !allowed {
				refusedWith(t, string(scope), st.send(t, sp.Method, path, "", as(st, scope)), sp.Method, http.StatusForbidden, ktrdr.CodeForbidden)
				continue
			}
			// The guard is passed when the query is what is complained about.
			a := st.send(t, sp.Method, path+"?no_such_parameter=1", "", as(st, scope))
			refusedWith(t, string(scope), a, sp.Method, http.StatusBadRequest, ktrdr.CodeInvalid)
		}
	})
}

func TestSecurity_ATokenInTheURLIsRefusedAndNotLogged(t *testing.T) {
	st := serve(t, &fakeEngine{})
	secret := st.tokens[ktrdr.ScopeAdmin].Reveal()
	eachRoute(t, func(t *testing.T, sp *api.Spec, path, _ string) {
		for _, name := range []string{"token", "access_token"} {
			bare := st.send(t, sp.Method, path+"?"+name+"="+secret, "", header("Authorization", ""))
			refusedWith(t, name, bare, sp.Method, http.StatusUnauthorized, ktrdr.CodeUnauthorized)
			both := st.send(t, sp.Method, path+"?"+name+"="+secret, "")
			refusedWith(t, name+" beside the header", both, sp.Method, http.StatusUnauthorized, ktrdr.CodeUnauthorized)
		}
	})
	if strings.Contains(st.logged.String(), secret) {
		t.Error("the log holds a token")
	}
}

func TestSecurity_ForeignHostsAreRefusedOnEveryMethod(t *testing.T) {
	t.Parallel()
	st := serve(t, &fakeEngine{})
	_, port, _ := net.SplitHostPort(st.addr)
	hosts := []string{
		"evil.example", "evil.example:" + port, "127.0.0.1.evil.example:" + port, "localhost.evil.example:" + port,
		"[::ffff:127.0.0.1]:" + port, "[::ffff:7f00:1]:" + port, "127.1:" + port, "0x7f000001:" + port, "2130706433:" + port,
		"localhost.:" + port, "127.0.0.1", "localhost", "localhost:1", "127.0.0.1:0" + port, "127.0.0.2:" + port, "0.0.0.0:" + port,
	}
	eachRoute(t, func(t *testing.T, sp *api.Spec, path, _ string) {
		for _, method := range []string{sp.Method, "GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"} {
			for _, host := range hosts {
				a := st.send(t, method, path, "", func(r *http.Request) { r.Host = host })
				refusedWith(t, method+" "+host, a, method, http.StatusMisdirectedRequest, ktrdr.CodeForbidden)
			}
		}
	})
}

func TestSecurity_OddHostHeadersAreRefused(t *testing.T) {
	st := serve(t, &fakeEngine{})
	for name, request := range map[string]string{
		"empty":           "GET /api/v1/health HTTP/1.1\r\nHost: \r\n\r\n",
		"missing":         "GET /api/v1/health HTTP/1.1\r\n\r\n",
		"missing in 1.0":  "GET /api/v1/health HTTP/1.0\r\n\r\n",
		"two":             "GET /api/v1/health HTTP/1.1\r\nHost: " + st.addr + "\r\nHost: evil.example\r\n\r\n",
		"two equal":       "GET /api/v1/health HTTP/1.1\r\nHost: " + st.addr + "\r\nHost: " + st.addr + "\r\n\r\n",
		"another URL":     "GET http://evil.example/api/v1/health HTTP/1.1\r\nHost: " + st.addr + "\r\n\r\n",
		"options of all":  "OPTIONS * HTTP/1.1\r\nHost: evil.example\r\n\r\n",
		"user in the URL": "GET /api/v1/health HTTP/1.1\r\nHost: a@" + st.addr + "\r\n\r\n",
	} {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", st.addr)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, request); err != nil {
			t.Fatal(err)
		}
		_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		_ = res.Body.Close()
		_ = conn.Close()
		if res.StatusCode != http.StatusMisdirectedRequest && res.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: status = %d, want 421, or net/http's own 400", name, res.StatusCode)
		}
	}
}

func TestSecurity_OwnHostsAreKnown(t *testing.T) {
	st := serve(t, &fakeEngine{}, func(c *Config) { c.Hosts = []string{"Lab.example", "lab.example:8443"} })
	_, port, _ := net.SplitHostPort(st.addr)
	for _, host := range []string{
		"127.0.0.1:" + port, "localhost:" + port, "LOCALHOST:" + port, "[::1]:" + port,
		"lab.example", "LAB.EXAMPLE", "lab.example:8443", "lab.example:" + port,
	} {
		if a := st.send(t, http.MethodGet, "/api/v1/health", "", func(r *http.Request) { r.Host = host }); a.status != http.StatusOK {
			t.Errorf("Host %s: status = %d, want 200", host, a.status)
		}
	}
	for _, host := range []string{"", "a b", "http://lab.example", "*"} {
		if _, err := New(Config{Engine: &fakeEngine{}, Hosts: []string{host}}); err == nil {
			t.Errorf("New with host %q = nil, want an error", host)
		}
	}
}

func TestSecurity_ForeignPagesAreRefusedOnEveryMethod(t *testing.T) {
	t.Parallel()
	st := serve(t, &fakeEngine{})
	_, port, _ := net.SplitHostPort(st.addr)
	foreign := map[string]func(*http.Request){
		"origin":              header("Origin", "https://evil.example"),
		"origin null":         header("Origin", "null"),
		"origin other port":   header("Origin", "http://127.0.0.1:1"),
		"origin other name":   header("Origin", "http://localhost:"+port),
		"origin as file":      header("Origin", "file://"+st.addr),
		"origin with user":    header("Origin", "http://a@"+st.addr),
		"cross-site":          header("Sec-Fetch-Site", "cross-site"),
		"same-site":           header("Sec-Fetch-Site", "same-site"),
		"own origin and evil": func(r *http.Request) { r.Header["Origin"] = []string{st.url, "https://evil.example"} },
		"own site, evil origin": func(r *http.Request) {
			r.Header.Set("Sec-Fetch-Site", "same-origin")
			r.Header.Set("Origin", "https://evil.example")
		},
	}
	eachRoute(t, func(t *testing.T, sp *api.Spec, path, _ string) {
		for _, method := range []string{sp.Method, "GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"} {
			for name, option := range foreign {
				a := st.send(t, method, path, "", option)
				refusedWith(t, method+" "+name, a, method, http.StatusForbidden, ktrdr.CodeForbidden)
				if a.header.Get("Access-Control-Allow-Origin") != "" {
					t.Errorf("%s %s: another site is allowed in", method, name)
				}
			}
		}
	})
	for name, option := range map[string]func(*http.Request){
		"own origin": header("Origin", st.url), "own page": header("Sec-Fetch-Site", "same-origin"), "typed in": header("Sec-Fetch-Site", "none"),
	} {
		if a := st.send(t, http.MethodGet, "/api/v1/health", "", option); a.status != http.StatusOK {
			t.Errorf("%s: status = %d, want 200", name, a.status)
		}
	}
}

func TestSecurity_OtherContentTypesAreRefused(t *testing.T) {
	st := serve(t, &fakeEngine{liveClaim: func(ktrdr.OperationID, ktrdr.Epoch) error { return nil }})
	eachRoute(t, func(t *testing.T, sp *api.Spec, path, _ string) {
		if sp.Limit == 0 {
			return
		}
		types := []string{
			"", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/json",
			"application/json; charset=utf-16", "application/jsonp", "application/json, text/plain",
		}
		if sp.Accepts == api.ContentBytes {
			types = append(types, api.ContentJSON)
		}
		for _, content := range types {
			a := st.send(t, sp.Method, path, `{}`, header("Content-Type", content))
			refusedWith(t, content, a, sp.Method, http.StatusUnsupportedMediaType, ktrdr.CodeInvalid)
		}
		a := st.send(t, sp.Method, path, `{}`, header("Content-Type", contentOf(sp)), header("Content-Encoding", "gzip"))
		refusedWith(t, "compressed", a, sp.Method, http.StatusUnsupportedMediaType, ktrdr.CodeInvalid)
	})
}

func contentOf(sp *api.Spec) string {
	if sp.Accepts != "" {
		return sp.Accepts
	}
	return api.ContentJSON
}

// zeros is a body without an end. It counts what was taken.
type zeros struct{ taken atomic.Int64 }

func (z *zeros) Read(p []byte) (int, error) {
	clear(p)
	z.taken.Add(int64(len(p)))
	return len(p), nil
}

func TestSecurity_OversizeBodiesAreRefused(t *testing.T) {
	st := serve(t, &fakeEngine{})
	eachRoute(t, func(t *testing.T, sp *api.Spec, path, _ string) {
		if sp.Method == http.MethodHead || sp.Produces != "" && sp.Limit == 0 {
			return // nothing of these looks at a body
		}
		unwanted := &zeros{}
		declared := st.send(t, sp.Method, path, "", func(r *http.Request) {
			r.Body, r.ContentLength = io.NopCloser(io.LimitReader(unwanted, sp.Limit+1)), sp.Limit+1
			r.Header.Set("Content-Type", contentOf(sp))
			r.Header.Set("Expect", "100-continue")
		})
		refusedWith(t, "declared", declared, sp.Method, http.StatusRequestEntityTooLarge, ktrdr.CodeTooLarge)
		if n := unwanted.taken.Load(); n != 0 {
			t.Errorf("%d bytes of a body that says it is too large were read", n)
		}
		if sp.Limit > api.BodyLimit {
			return
		}
		chunked := st.send(t, sp.Method, path, "", func(r *http.Request) {
			r.Body, r.ContentLength = io.NopCloser(io.LimitReader(&zeros{}, sp.Limit+1)), -1
			r.Header.Set("Content-Type", contentOf(sp))
		})
		refusedWith(t, "chunked", chunked, sp.Method, http.StatusRequestEntityTooLarge, ktrdr.CodeTooLarge)
	})
}

func TestSecurity_IDsThatCannotExistReachNothing(t *testing.T) {
	st := serve(t, &fakeEngine{})
	ids := []string{
		"..", "%2e%2e", "..%2f..%2fetc%2fpasswd", "%252e%252e%252f", "op_..%2f..", "op_%00", "op_a%0ab", "op_%ff",
		"OP_DUMMY_1", "op_dummy%20x", "op_" + strings.Repeat("a", 5000), "op_%F0%9F%92%A9", "%27%20OR%201=1--", "op_a%5c..%5cb", "*", "op_*",
	}
	eachRoute(t, func(t *testing.T, sp *api.Spec, _, _ string) {
		if !strings.Contains(sp.Path, "{id}") && !strings.Contains(sp.Path, "{sha256}") || strings.Contains(sp.Path, "/workers/") {
			return // threads and workers have names of any kind
		}
		for _, id := range ids {
			path := strings.NewReplacer("{id}", id, "{sha256}", id).Replace(sp.Path)
			a := st.send(t, sp.Method, path, "")
			switch a.status {
			case http.StatusNotFound, http.StatusBadRequest, http.StatusMethodNotAllowed:
			default:
				t.Errorf("%s: status = %d, want 404, 400 or 405: %s", id, a.status, a.body)
			}
		}
	})
}

func TestSecurity_AnswersKeepBrowsersOut(t *testing.T) {
	st := serve(t, &fakeEngine{})
	for _, path := range []string{"/api/v1/health", "/api/v1/nothing", openapiPath, "/metrics"} {
		a := st.send(t, http.MethodGet, path, "")
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Referrer-Policy": "no-referrer",
			"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
		} {
			if got := a.header.Get(name); got != want {
				t.Errorf("%s: %s = %q, want %q", path, name, got, want)
			}
		}
	}
}

func TestSecurity_WithoutAuthEverythingIsAdmin(t *testing.T) {
	paused := false
	st := serve(t, &fakeEngine{setPaused: func(p bool) error { paused = p; return nil }}, func(c *Config) { c.Auth = false })
	a := st.send(t, http.MethodPost, "/api/v1/pause", `{"paused":true}`, header("Authorization", ""))
	if a.status != http.StatusOK || !paused {
		t.Errorf("status = %d, paused = %v, want 200 and true", a.status, paused)
	}
	// Host and Origin still count: a page of another site needs no token here.
	refusedWith(t, "origin", st.send(t, http.MethodPost, "/api/v1/pause", `{"paused":true}`, header("Origin", "https://evil.example")), "",
		http.StatusForbidden, ktrdr.CodeForbidden)
	refusedWith(t, "host", st.send(t, http.MethodGet, "/api/v1/health", "", func(r *http.Request) { r.Host = "evil.example" }), "",
		http.StatusMisdirectedRequest, ktrdr.CodeForbidden)
}

func TestSecurity_UnknownMethodsAndPathsGetTheEnvelope(t *testing.T) {
	st := serve(t, &fakeEngine{})
	for _, path := range []string{"/", "/api/v1", "/api/v1/nothing", "/api/v1//operations", "/api/v1/operations/", "/debug/pprof/"} {
		refusedWith(t, path, st.send(t, http.MethodGet, path, ""), "", http.StatusNotFound, ktrdr.CodeNotFound)
	}
	for _, method := range []string{"PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "QUERY"} {
		a := st.send(t, method, "/api/v1/operations", "")
		refusedWith(t, method, a, "", http.StatusMethodNotAllowed, ktrdr.CodeInvalid)
		if got, want := a.header.Get("Allow"), "GET, HEAD"; got != want {
			t.Errorf("%s: Allow = %q, want %q", method, got, want)
		}
	}
}

func TestTokens_ASecretIsShownOnceAndARevocationCounts(t *testing.T) {
	st := serve(t, &fakeEngine{list: func(ktrdr.OperationQuery) (ktrdr.OperationPage, error) { return ktrdr.OperationPage{}, nil }})
	made := st.send(t, http.MethodPost, "/api/v1/tokens", `{"name":"ci","scope":"read"}`)
	var reply api.NewTokenReply
	mustData(t, made, http.StatusCreated, &reply)
	if !strings.HasPrefix(reply.Secret, tokenPrefix) || len(reply.Secret) != len(tokenPrefix)+43 {
		t.Fatalf("token = %q, want %s and 43 characters", reply.Secret, tokenPrefix)
	}
	use := header("Authorization", "bearer "+reply.Secret)
	if a := st.send(t, http.MethodGet, "/api/v1/operations", "", use); a.status != http.StatusOK {
		t.Fatalf("with the new token: status = %d, want 200", a.status)
	}
	listed := st.send(t, http.MethodGet, "/api/v1/tokens", "")
	if listed.status != http.StatusOK || strings.Contains(string(listed.body), reply.Secret) ||
		!strings.Contains(string(listed.body), reply.ID) {
		t.Errorf("list = %d %s, want the token's id and not its secret", listed.status, listed.body)
	}
	if a := st.send(t, http.MethodDelete, "/api/v1/tokens/"+reply.ID, ""); a.status != http.StatusOK {
		t.Fatalf("revoke: status = %d, want 200", a.status)
	}
	refusedWith(t, "revoked", st.send(t, http.MethodGet, "/api/v1/operations", "", use), "", http.StatusUnauthorized, ktrdr.CodeUnauthorized)
	if strings.Contains(st.logged.String(), reply.Secret) {
		t.Error("the log holds the token")
	}
	for _, body := range []string{
		`{"name":"","scope":"read"}`, `{"name":"x","scope":"root"}`, `{"name":"` + strings.Repeat("x", 129) + `","scope":"read"}`,
	} {
		refusedWith(t, body, st.send(t, http.MethodPost, "/api/v1/tokens", body), "", http.StatusUnprocessableEntity, ktrdr.CodeInvalid)
	}
}

func TestTokens_ALookupIsRemembered(t *testing.T) {
	st := serve(t, &fakeEngine{list: func(ktrdr.OperationQuery) (ktrdr.OperationPage, error) { return ktrdr.OperationPage{}, nil }})
	for range 20 {
		st.send(t, http.MethodGet, "/api/v1/operations", "")
	}
	if got := st.engine.lookups; got != 1 {
		t.Errorf("20 requests looked the token up %d times, want once", got)
	}
	for range 3 {
		st.send(t, http.MethodGet, "/api/v1/operations", "", header("Authorization", "Bearer nonsense"))
	}
	if got := st.engine.lookups; got != 1 {
		t.Errorf("a malformed token was looked up in the store")
	}
}

func ExampleNewToken() {
	secret, token := NewToken("laptop", ktrdr.ScopeRead)
	fmt.Println(secret, len(secret.Reveal()), token.Scope, token.Hash == HashToken(secret))
	// Output: [redacted] 49 read true
}
