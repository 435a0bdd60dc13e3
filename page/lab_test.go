package page_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/backend"
	"github.com/ktrdr/ktrdr/client"
)

// lab is a backend with workers of its own, its client, and browsers.
type lab struct {
	*testing.T
	url    string
	client *client.Client
}

func openLab(t *testing.T, env ...string) *lab {
	t.Helper()
	given := map[string]string{"KTRDR_DATA": t.TempDir(), "KTRDR_ADDR": "127.0.0.1:0", "KTRDR_DISK_RESERVE_MB": "0"}
	for i := 0; i < len(env); i += 2 {
		given[env[i]] = env[i+1]
	}
	getenv := func(name string) string { return given[name] }
	cfg, err := backend.ReadConfig(nil, "", getenv)
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	b, err := backend.Open(t.Context(), cfg, backend.Process{Version: "test", Log: log, Stderr: io.Discard, Getenv: getenv})
	if err != nil {
		t.Fatal(b.Close(t.Context(), err))
	}
	said, err := b.Announce(t.Context())
	if err != nil {
		t.Fatal(b.Close(t.Context(), err))
	}
	ctx, stop := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- b.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := b.Close(context.WithoutCancel(ctx), <-ran); err != nil {
			t.Error(err)
		}
	})
	secret, err := os.ReadFile(said.Token)
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(said.URL, ktrdr.Secret(strings.TrimSpace(string(secret))), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return &lab{t, said.URL, c}
}

// browser is signed in with a token.
type browser struct {
	*testing.T
	url  string
	http *http.Client
}

func (l *lab) browser(scope ktrdr.Scope) *browser {
	l.Helper()
	secret, _, err := l.client.CreateToken(l.Context(), "of the test, "+string(scope), scope)
	if err != nil {
		l.Fatal(err)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		l.Fatal(err)
	}
	b := &browser{l.T, l.url, &http.Client{Jar: jar}}
	if status, _ := b.post("/login", url.Values{"token": {secret.Reveal()}}); status != http.StatusOK {
		l.Fatalf("signing in answers %d", status)
	}
	return b
}

func (b *browser) do(r *http.Request) (int, string) {
	b.Helper()
	res, err := b.http.Do(r)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		b.Fatal(err)
	}
	return res.StatusCode, string(body)
}

// get reads a page, which must be there.
func (b *browser) get(path string) string {
	b.Helper()
	r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, b.url+path, nil)
	if err != nil {
		b.Fatal(err)
	}
	status, body := b.do(r)
	if status != http.StatusOK {
		b.Fatalf("GET %s answers %d: %s", path, status, body)
	}
	return body
}

// post sends a form and follows where it leads.
func (b *browser) post(path string, form url.Values) (int, string) {
	b.Helper()
	r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, b.url+path, strings.NewReader(form.Encode()))
	if err != nil {
		b.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return b.do(r)
}

// upload sends a file with fields, as the form does.
func (b *browser) upload(name, text string, fields ...string) (int, string) {
	b.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for i := 0; i < len(fields); i += 2 {
		if err := form.WriteField(fields[i], fields[i+1]); err != nil {
			b.Fatal(err)
		}
	}
	file, err := form.CreateFormFile("file", name)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := io.WriteString(file, text); err != nil {
		b.Fatal(err)
	}
	if err := form.Close(); err != nil {
		b.Fatal(err)
	}
	r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, b.url+"/data/upload", &body)
	if err != nil {
		b.Fatal(err)
	}
	r.Header.Set("Content-Type", form.FormDataContentType())
	return b.do(r)
}

// eventually reads a page until it has a text.
func (b *browser) eventually(path, want string) string {
	b.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		body := b.get(path)
		if strings.Contains(body, want) {
			return body
		}
		if time.Now().After(end) {
			b.Fatalf("%s never shows %q: %s", path, want, body)
		}
	}
}

func has(t *testing.T, body string, wanted ...string) {
	t.Helper()
	for _, want := range wanted {
		if !strings.Contains(body, want) {
			t.Errorf("the page does not show %q", want)
		}
	}
}

func hasNot(t *testing.T, body string, unwanted ...string) {
	t.Helper()
	for _, text := range unwanted {
		if strings.Contains(body, text) {
			t.Errorf("the page shows %q", text)
		}
	}
}

// prices is a file of hourly bars whose closes are all different.
func prices(n int) string {
	var b strings.Builder
	b.WriteString("time,open,high,low,close,volume\n")
	at := time.Date(2020, 1, 6, 0, 0, 0, 0, time.UTC)
	for i := range n {
		p := 1 + float64(i*7919%n)/float64(n)
		fmt.Fprintf(&b, "%s,%.6f,%.6f,%.6f,%.6f,10\n", at.Add(time.Duration(i)*time.Hour).Format(time.RFC3339), p, p*1.01, p*0.99, p)
	}
	return b.String()
}
