package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"github.com/ktrdr/ktrdr/labtest"
	"github.com/ktrdr/ktrdr/sqlstore/pgtest"
)

// browser is a tab of Chromium. The tabs of a test share cookies and storage, and no
// other test sees them.
type browser struct {
	t     testing.TB
	ctx   context.Context
	hosts map[string]bool // that may be asked

	mu       sync.Mutex
	problems []string // errors of the console, and requests to another host
	quiet    bool     // the server is away on purpose
}

// chromium is the program; the test is skipped where it is not installed.
func chromium(t testing.TB) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	const missing = "Chromium is not installed: install the package chromium (Debian) or set PATH to it"
	if os.Getenv(pgtest.Require) == "all" {
		t.Fatal(missing)
	}
	t.Skip(missing)
	return ""
}

// running is the Chromium of all tests, started when first asked for: a start takes
// more than what most of them do with it.
var running struct {
	once sync.Once
	dir  string
	ctx  context.Context
	end  []func()
	err  error
}

func startChromium(path string) {
	if running.dir, running.err = os.MkdirTemp("", "ktrdr-chromium-"); running.err != nil {
		return
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(filepath.Join(running.dir, "profile")),
		chromedp.WindowSize(1440, 900), chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Env("HOME="+running.dir), chromedp.WSURLReadTimeout(time.Minute))
	alloc, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(alloc)
	running.ctx, running.end = ctx, []func(){func() { _ = chromedp.Cancel(ctx) }, cancel, stop}
	running.err = chromedp.Do(ctx)
}

// endChromium ends it, if a test has started it.
func endChromium() error {
	for _, end := range running.end {
		end()
	}
	return os.RemoveAll(running.dir)
}

func openBrowser(t testing.TB, host string) *browser {
	t.Helper()
	path := chromium(t)
	running.once.Do(func() { startChromium(path) })
	if running.err != nil {
		t.Fatalf("start Chromium: %v", running.err)
	}
	ctx, cancel := chromedp.NewContext(running.ctx, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	b := &browser{t: t, ctx: ctx, hosts: map[string]bool{host: true}}
	b.listen()
	b.do("size", chromedp.EmulateViewport(1440, 900))
	return b
}

// listen collects what should not happen.
func (b *browser) listen() {
	b.t.Helper()
	if _, err := chromedp.Call(b.ctx, network.Enable, network.EnableParams{}); err != nil {
		b.t.Fatalf("open a tab: %v", err)
	}
	requests, console := chromedp.Events(b.ctx, network.RequestWillBeSent), chromedp.Console(b.ctx)
	go func() {
		for e, err := range requests {
			if err != nil {
				return
			}
			u, err := url.Parse(e.Request.URL)
			if err == nil && (u.Scheme == "http" || u.Scheme == "https") && !b.hosts[u.Host] {
				b.problem("request to another host: %s", e.Request.URL)
			}
		}
	}()
	go func() {
		for m, err := range console {
			if err != nil {
				return
			}
			if m.Type == "error" || m.IsException() {
				b.problem("console: %s", m)
			}
		}
	}()
}

func (b *browser) problem(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.quiet {
		b.problems = append(b.problems, fmt.Sprintf(format, args...))
	}
}

// away says that the server is away on purpose, or is back: a request that fails
// meanwhile is no problem.
func (b *browser) away(yes bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.quiet = yes
}

// clean fails the test if something happened that should not.
func (b *browser) clean(where string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range b.problems {
		b.t.Errorf("%s: %s", where, p)
	}
	b.problems = nil
}

// tab opens another tab of the same browser.
func (b *browser) tab() *browser {
	b.t.Helper()
	ctx, cancel := chromedp.NewContext(b.ctx)
	b.t.Cleanup(cancel)
	other := &browser{t: b.t, ctx: ctx, hosts: b.hosts}
	other.listen()
	return other
}

// do runs steps with a deadline.
func (b *browser) do(what string, steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, longest)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.t.Fatalf("%s: %v\nthe page says: %.2000s", what, err, b.text("body"))
	}
}

// open goes to an address.
func (b *browser) open(address string) {
	b.t.Helper()
	b.do("open "+address, chromedp.Navigate(address))
}

// text is what an element says, "" if no element matches.
func (b *browser) text(selector string) string {
	b.t.Helper()
	return eval[string](b, fmt.Sprintf("document.querySelector(%q)?.innerText ?? ''", selector))
}

// eval runs a script in the page and returns its value.
func eval[T any](b *browser, script string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, longest)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Errorf("script %.100q: %v", script, err)
	}
	return v
}

// longest is how long a step may take on a machine that is busy. A step that works
// takes a small part of it.
const longest = 2 * time.Minute

// until waits for an expression to be true, also across pages.
func (b *browser) until(what, expression string) {
	b.t.Helper()
	for deadline := time.Now().Add(longest); ; time.Sleep(50 * time.Millisecond) {
		ok, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool]("!!("+expression+")")) // fails while a page is loaded
		if ok && err == nil {
			return
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("%s: not after %v (%v)\nthe page says: %.2000s", what, longest, err, b.text("body"))
		}
	}
}

// says waits for the page to hold a text.
func (b *browser) says(text string) {
	b.t.Helper()
	b.until("the page says "+text, fmt.Sprintf("document.body.innerText.includes(%q)", text))
}

// press clicks on the button or link with this text.
func (b *browser) press(text string) {
	b.t.Helper()
	const find = `[...document.querySelectorAll("button, a")].find((e) => e.innerText.trim() === %q && !e.disabled)`
	b.until("there is "+text, fmt.Sprintf(find, text))
	eval[chromedp.Void](b, fmt.Sprintf(find+".click()", text))
}

// site is a lab with prices whose backend asks for a token, and a browser.
type site struct {
	*labtest.Lab
	*browser
	t   testing.TB
	url string
}

func openSite(t testing.TB) *site {
	t.Helper()
	l := labtest.New(t, labtest.SQLite, labtest.Quick)
	l.Market("EURUSD", 3000, 2)
	return siteOf(t, l)
}

func siteOf(t testing.TB, l *labtest.Lab) *site {
	t.Helper()
	s := &site{Lab: l, t: t, url: l.Client().URL()}
	u, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	s.browser = openBrowser(t, u.Host)
	return s
}

// withAuth is the environment of a backend that asks for tokens.
const withAuth = "KTRDR_AUTH=token"

// link prints a link that signs a browser in.
func (s *site) link() string {
	s.t.Helper()
	out := s.must("token", "link", "--json")
	var made struct {
		URL string `json:"url"`
	}
	if err := json.Unmarshal([]byte(out), &made); err != nil {
		s.t.Fatalf("ktrdr token link: %v in %s", err, out)
	}
	return made.URL
}

func (s *site) must(args ...string) string {
	s.t.Helper()
	out, code := s.Command(args...)
	if code != 0 {
		s.t.Fatalf("ktrdr %s: exit %d\n%s", strings.Join(args, " "), code, out)
	}
	return out
}

// signIn opens a link and presses its button.
func (s *site) signIn() {
	s.t.Helper()
	s.open(s.link())
	s.press("Sign in")
	s.until("signed in", `location.pathname === "/night"`)
}
