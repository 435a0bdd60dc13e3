package cli

import (
	"net/http"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/fetch/fetchtest"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/labtest"
)

// A user fetches prices, continues them later, and sees whether a source still works.
func TestCLI_FetchesPrices(t *testing.T) {
	t.Parallel()
	source := &fetchtest.Server{Before: func(w http.ResponseWriter, r *http.Request, _ int) bool {
		repeats := strings.Contains(r.URL.Path, "REPEATS")
		if repeats {
			http.Error(w, "the key "+r.URL.Query().Get("apikey")+" is not valid", http.StatusForbidden)
		}
		return repeats
	}}
	server, env := source.Start(t)
	l := newLab(t, env...)
	l.env = labtest.WithEnv(l.env, "KTRDR_FETCH_SOURCES="+strings.TrimPrefix(env[2], "KTRDR_FETCH_SOURCES=")+
		" keyed="+server.URL+"/files/{symbol}_{timeframe}.csv?from={from_unix}&to={to_unix}&apikey=hunter2")
	probe := l.must("data", "fetch", "--check", "coinbase") // without a backend
	if !strings.Contains(probe, "coinbase works: ") || !strings.Contains(probe,
		"the library will call it coinbase BTC-USD; adjustment: none") {
		t.Errorf("the check says\n%s", probe)
	}
	p, _ := l.serve("--workers", "1")

	said := l.must("data", "fetch", "coinbase", "BTC-USD", "1h", "--from", "2024-03-01", "--to", "2024-03-20", "--as", "BTC", "--follow")
	for _, part := range []string{"COMPLETED", "480 bars of BTC 1h, 2024-03-01 to 2024-03-20", "new market"} {
		if !strings.Contains(said, part) {
			t.Errorf("a followed fetch does not tell %q:\n%s", part, said)
		}
	}
	if list := l.must("data", "show", "BTC", "1h"); !strings.Contains(list, "coinbase BTC-USD") {
		t.Errorf("the series says\n%s", list)
	}
	more := l.finished("data", "fetch", "keyed", "EURUSD", "1h", "--from", "2024-03-01", "--to", "2024-03-05")
	r := decode[jobs.LoadResult](t, string(more.Result))
	if r.Entry.Bars != 120 || r.Entry.Source != "keyed EURUSD" {
		t.Errorf("%s", more.Result)
	}

	// From where a series ends: five bars again, and those that are new.
	next := l.finished("data", "fetch", "coinbase", "BTC-USD", "1h", "--to", "2024-03-21", "--as", "BTC")
	if r = decode[jobs.LoadResult](t, string(next.Result)); r.Merged == nil || r.Merged.Added != 24 || r.Merged.Same != 6 ||
		r.Merged.Changed != 0 {
		t.Errorf("continued: %s", next.Result)
	}
	nothing := l.finished("data", "fetch", "fred", "SP500", "1d", "--from", "2024-03-04", "--to", "2024-03-15")
	if r = decode[jobs.LoadResult](t, string(nothing.Result)); r.Entry.Bars != 10 || r.Report.Bars != 10 {
		t.Errorf("days: %s", nothing.Result)
	}

	l.refused(exitFailed, "coinbase knows no symbol NO-SUCH", "data", "fetch", "coinbase", "NO-SUCH", "1h", "--from", "2024-03-01",
		"--follow")
	l.refused(exitUsage, "there is no source \"coinbas\"; did you mean coinbase?", "data", "fetch", "coinbas", "BTC-USD", "1h")
	l.refused(exitUsage, "coinbase has no bars of 4h: it has 1m, 5m, 15m, 1h and 1d", "data", "fetch", "coinbase", "BTC-USD", "4h")
	l.refused(exitUsage, "say with --as", "data", "fetch", "yahoo", "^GSPC", "1d")
	l.refused(exitUsage, "KTRDR_FETCH_SOURCES=NAME=ADDRESS", "data", "fetch", "url:https://x.example/{symbol}?token=abc", "A", "1d")
	l.refused(exitFailed, "by https only", "data", "fetch", "url:http://x.example/{symbol}", "A", "1d")
	l.refused(exitFailed, "10.9.8.7 is not a public address", "data", "fetch", "url:https://10.9.8.7/{symbol}", "A", "1d", "--follow")
	l.refused(exitFailed, "it is never read", "data", "fetch", "url:https://169.254.169.254/{symbol}", "A", "1d", "--follow")

	l.refused(exitFailed, "the key [redacted] is not valid", "data", "fetch", "keyed", "REPEATS", "1h", "--from", "2024-03-01", "--follow")
	l.refused(exitFailed, "the key [redacted] is not valid", "data", "fetch", "--check", "keyed", "REPEATS", "1h")

	for name, out := range map[string]string{
		"operations": l.must("ops", "--json"), "log": p.Log(),
		"settings": string(l.send(http.MethodGet, "/api/v1/settings", 200, nil)),
	} {
		if strings.Contains(out, "hunter2") {
			t.Errorf("the %s hold the key of a source", name)
		}
	}
}

// Pages and assistants cannot make the backend call another host.
func TestCLI_OnlyTheCommandLineAndTheAPIFetch(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.serve("--workers", "1")
	for _, scope := range []ktrdr.Scope{ktrdr.ScopeRead, ktrdr.ScopeWorker, ktrdr.ScopeAssistant} {
		_, err := l.clientWith(scope).StartDataFetch(t.Context(), jobs.DataFetchRequest{Source: "kraken", Symbol: "XBTUSD", Timeframe: "1h"}, "")
		if ktrdr.CodeOf(err) != ktrdr.CodeForbidden {
			t.Errorf("a token of scope %s: %v, want CodeForbidden", scope, err)
		}
	}
}
