package llm_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/llm"
	"github.com/ktrdr/ktrdr/llm/llmtest"
	"github.com/ktrdr/ktrdr/resilience"
)

// raw is a server that reads a request and answers with the same bytes, whatever
// HTTP says to them.
func raw(t *testing.T, answer string) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() {
		_ = l.Close()
		<-done
	})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			if r, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
				_, _ = io.Copy(io.Discard, r.Body)
				_, _ = io.WriteString(conn, answer)
			}
			_ = conn.Close()
		}
	}()
	return "http://" + l.Addr().String()
}

// providers are both, at the same address.
func providers(t *testing.T, cfg llm.ClientConfig) []llm.Provider {
	t.Helper()
	a, err := llm.NewAnthropic(cfg)
	if err != nil {
		t.Fatal(err)
	}
	o, err := llm.NewOpenAI(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return []llm.Provider{a, o}
}

func TestProvider_HidesItsKeyInErrorsOfTheTransport(t *testing.T) {
	for name, answer := range map[string]string{
		"a line that is no header": "HTTP/1.1 200 OK\r\nyour key " + canary + "\r\n\r\n",
		"a transfer encoding":      "HTTP/1.1 200 OK\r\nTransfer-Encoding: " + canary + "\r\n\r\n",
		"a length":                 "HTTP/1.1 200 OK\r\nContent-Length: " + canary + "\r\n\r\n",
		"a status":                 "HTTP/1.1 " + canary + "\r\n\r\n",
		"no HTTP at all":           canary + "\r\n\r\n",
		"bytes that are quoted":    "HTTP/1.1 200 OK\r\nContent-Length: \\x73k-canary-0123456789\xff\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			cfg := patient()
			cfg.BaseURL = raw(t, answer)
			for _, p := range providers(t, cfg) {
				_, err := p.Complete(t.Context(), "m", hello())
				if text := fmt.Sprintf("%v %+v %#v", err, err, err); err == nil || !strings.Contains(text, "[redacted]") ||
					strings.Contains(text, "canary") {
					t.Errorf("%s: err = %s, want one without the key", p.Name(), text)
				}
			}
		})
	}
}

func TestProvider_HidesItsKeyInABodyThatItCannotReadHoweverItIsEscaped(t *testing.T) {
	const key = "sk/canary-0123456789"
	letters := ""
	for _, r := range key {
		letters += fmt.Sprintf(`\u%04X`, r)
	}
	for name, body := range map[string]string{
		"an object without a message": `{"detail":"` + letters + `"}`,
		"a slash":                     `{"detail":"sk\/canary-0123456789"}`,
		"broken JSON":                 `{"detail":"sk\u002Fcanary-0123456789`,
		"JSON within JSON":            `{"detail":"{\"k\":\"\\u0073k\\\/canary-0123456789\"}"}`,
		"an address":                  `no such page: /?key=sk%2fcanary-0123456789`,
		"an error that is a list":     `{"error":["` + letters + `"]}`,
	} {
		t.Run(name, func(t *testing.T) {
			cfg := patient()
			cfg.Key = key
			both(t, cfg, llmtest.Script(llmtest.Step{Status: 400, Body: body}), func(t *testing.T, p llm.Provider, _ *llmtest.Server) {
				_, err := p.Complete(t.Context(), "m", hello())
				if text := fmt.Sprint(err); err == nil || strings.Contains(text, "canary") || strings.Contains(text, `u0063`) ||
					strings.Contains(text, `u0043`) {
					t.Errorf("err = %v, want one without the key", err)
				}
			})
		})
	}
}

func TestProvider_ErrorsTellNothingOfAServersAddressButItsHost(t *testing.T) {
	const hidden = "/private-canary-päth"
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, r.URL.Path+" is not here", http.StatusNotFound)
	}))
	t.Cleanup(echo.Close)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "https://other.example"+hidden+"/v2")
		w.WriteHeader(http.StatusPermanentRedirect)
	}))
	t.Cleanup(elsewhere.Close)
	for name, c := range map[string]struct{ base, says string }{
		"no server is there":    {gone.URL, gone.URL},
		"the server says it":    {echo.URL, "is not here"},
		"the server is no more": {elsewhere.URL, "https://other.example"},
		"it is no HTTP":         {raw(t, "x\r\n\r\n"), "malformed HTTP"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := patient()
			cfg.BaseURL = c.base + hidden
			for _, p := range providers(t, cfg) {
				_, err := p.Complete(t.Context(), "m", hello())
				if text := fmt.Sprint(err); strings.Contains(text, "canary") || !strings.Contains(text, c.says) {
					t.Errorf("%s: err = %v, want %q, and nothing of the path", p.Name(), err, c.says)
				}
			}
		})
	}
}

func TestNewClient_TakesKeysThatAHeaderCanCarry(t *testing.T) {
	sent := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		sent <- r.Header.Get("X-Api-Key") + r.Header.Get("Authorization")
	}))
	t.Cleanup(server.Close)
	for _, p := range providers(t, llm.ClientConfig{BaseURL: server.URL, Key: "\n " + canary + " \r\n"}) {
		_, _ = p.Complete(t.Context(), "m", hello())
		want(t, "key", strings.TrimPrefix(<-sent, "Bearer "), canary)
	}
	for _, key := range []string{canary + "\nX-Evil: 1", canary + "\x00", "\x7f" + canary, strings.Repeat("k", 5000)} {
		for _, err := range []error{
			second(llm.NewAnthropic(llm.ClientConfig{Key: ktrdr.Secret(key)})), second(llm.NewOpenAI(llm.ClientConfig{Key: ktrdr.Secret(key)})),
		} {
			if ktrdr.CodeOf(err) != ktrdr.CodeInvalid || strings.Contains(err.Error(), "canary") || !strings.Contains(err.Error(), "the key of") {
				t.Errorf("%.40q: err = %v, want invalid without the key", key, err)
			}
		}
	}
}

// Where there was no connection there is nothing to charge for.
func TestChain_ARequestThatNeverLeftCostsNothing(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	unknown := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(unknown.Close)
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	proxy, err := url.Parse(plain.URL) // answers 404 to CONNECT
	if err != nil {
		t.Fatal(err)
	}
	through := &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(proxy)}}
	for name, c := range map[string]struct {
		base string
		http *http.Client
	}{
		"no server is there":            {gone.URL, nil},
		"a host that speaks no TLS":     {"https" + strings.TrimPrefix(plain.URL, "http"), nil},
		"an unknown certificate":        {unknown.URL, nil},
		"a proxy that does not want to": {"https://models.example", through},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := patient()
			cfg.BaseURL, cfg.HTTP = c.base, c.http
			for _, p := range providers(t, cfg) {
				b := setUp(t, []*fake{{name: "a"}}, func(c *llm.ChainConfig) { c.Models[0].Provider = p })
				_, _, err := b.Call(t.Context(), b.ask, question("q"))
				want(t, "not sent", errors.Is(err, llm.ErrNotSent), true)
				want(t, "charged", b.journal.charged(), ktrdr.MicroUSD(0))
			}
		})
	}
}

func TestChain_ARequestThatWasCutOffIsCharged(t *testing.T) {
	both(t, patient(), llmtest.Script(llmtest.Step{Fault: llmtest.Refuse}), func(t *testing.T, p llm.Provider, _ *llmtest.Server) {
		b := setUp(t, []*fake{{name: "a"}}, func(c *llm.ChainConfig) { c.Models[0].Provider = p })
		_, _, err := b.Call(t.Context(), b.ask, question("q"))
		want(t, "kind", resilience.KindOf(err), resilience.KindUnreachable)
		want(t, "charged", b.journal.charged(), mostOf("q"))
	})
}
