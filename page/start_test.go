package page

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/instrument"
	"github.com/ktrdr/ktrdr/research"
)

// labAPI answers the calls of a page from a table by method and path.
type labAPI struct {
	answers map[string]any
	asked   []research.Request
	keys    []string
	refuse  string // what the desk says
}

func (l *labAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", api.ContentJSON)
	if strings.HasSuffix(r.URL.Path, "/agent/trigger") {
		var asked research.Request
		_ = json.NewDecoder(r.Body).Decode(&asked)
		l.asked, l.keys = append(l.asked, asked), append(l.keys, r.Header.Get(api.HeaderKey))
		if l.refuse != "" {
			w.WriteHeader(http.StatusUnprocessableEntity)
			_ = json.NewEncoder(w).Encode(api.Envelope{Error: &api.Failure{Code: ktrdr.CodeInvalid, Message: l.refuse}})
			return
		}
	}
	_ = json.NewEncoder(w).Encode(api.Envelope{Success: true, Data: l.answers[r.Method+" "+strings.TrimPrefix(r.URL.Path, api.Base)]})
}

// startPages makes pages of an API that answers from a table.
func startPages(t *testing.T, l *labAPI) *Pages {
	t.Helper()
	server := httptest.NewServer(l)
	t.Cleanup(server.Close)
	c, err := client.New(server.URL, "secret", client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := New(Config{Lab: c, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// visit asks for a page as a token of a scope.
func visit(t *testing.T, p *Pages, scope ktrdr.Scope, method, target string, form url.Values) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(api.As(t.Context(), ktrdr.Token{Scope: scope}), method, target, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r)
	return w
}

func someLab() *labAPI {
	return &labAPI{answers: map[string]any{
		"GET /data":         []map[string]any{{"symbol": "EURUSD", "timeframe": "1h"}},
		"GET /strategies":   []map[string]any{{"name": "mean_reversion"}},
		"GET /agent/models": []map[string]any{{"name": "anthropic/large"}},
		"POST /strategies/validate": map[string]any{
			"valid": false, "problems": []map[string]any{{"file": "strategy", "line": 2, "column": 1, "message": "bad key"}},
		},
		"POST /agent/trigger": research.Triggered{
			Run: "run_1", Understood: []string{"Research EURUSD on 1h bars."}, NotUnderstood: []string{"<b>zzyzx\u202e"},
			Warnings: []string{"costs"}, Preview: &research.Preview{
				Count: 24, Trials: 40, TrialsAfter: 64, LuckBefore: new(2.34), LuckAfter: new(2.53), Looks: 5, NeededP: 0.02 / 42,
				Series: []research.PreviewSeries{{Symbol: "EURUSD", Timeframe: "1h", Searched: 16000, Sealed: 4000, Costs: &research.SymbolCosts{
					Costs: instrument.Costs{Commission: 0.0001, Spread: 0.0001}, Carry: instrument.Carry{Long: 0.021},
				}}},
			},
		},
	}}
}

func TestStart_ShowsWhatIsUnderstoodBeforeItStarts(t *testing.T) {
	lab := someLab()
	w := visit(t, startPages(t, lab), ktrdr.ScopeAdmin, http.MethodGet, "/new?goal=trend+on+EURUSD+1h&count=24", nil)
	html := w.Body.String()
	for _, want := range []string{
		"Research EURUSD on 1h bars.", "Not understood:", "&lt;b&gt;zzyzx",
		"16,000 bars to search, 4,000 in the holdout. Costs: 1.5 bp a side", "holding long costs 2.1 % a year",
		"24 more trials raise what luck alone reaches from 2.34 to 2.53 Sharpe.", "The holdout was opened 5 times.", "p ≤ 0.00048",
		"ktrdr research &#34;trend on EURUSD 1h&#34; --count 24", "Start 24 researches", `value="anthropic/large"`, "<option>mean_reversion",
	} {
		if !strings.Contains(html, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.ContainsRune(html, '\u202e') {
		t.Error("a bidi control is on the page")
	}
	if len(lab.asked) != 1 || !lab.asked[0].DryRun || lab.asked[0].Count != 24 || !lab.asked[0].RefuseUnknown {
		t.Errorf("asked %+v, want one dry run", lab.asked)
	}
}

func TestStart_ARunUntilATimeSaysWhatItsGenerationsCountAs(t *testing.T) {
	lab := someLab()
	lab.answers["POST /agent/trigger"] = research.Triggered{
		Preview: &research.Preview{Count: 8, Trials: 40, TrialsAfter: 56, Seconds: new(7200.0)},
	}
	html := visit(t, startPages(t, lab), ktrdr.ScopeAdmin, http.MethodGet, "/new?until=07:00", nil).Body.String()
	for _, want := range []string{
		"The first generation of 8 researches counts as 16 trials", "for 2 h 00 min, until 07:00.", "Start, until 07:00", "--until 07:00",
	} {
		if !strings.Contains(html, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if at := lab.asked[0].Until; at.IsZero() || time.Until(at) > 24*time.Hour {
		t.Errorf("asked until %s", at)
	}
}

func TestStart_AFormThatIsSentTwiceHasOneKey(t *testing.T) {
	lab := someLab()
	p := startPages(t, lab)
	form := url.Values{"goal": {"trend"}, "count": {"3"}, "seed": {"7"}, "symbols": {"EURUSD, GBPUSD"}, "key": {"ABCDEFGHIJKLMNOPQRSTUVWXYZ"}}
	send := func() {
		t.Helper()
		w := visit(t, p, ktrdr.ScopeAdmin, http.MethodPost, "/new", form)
		if w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/night?run=run_1" {
			t.Fatalf("%d to %q, want the run", w.Code, w.Header().Get("Location"))
		}
	}
	send()
	send()
	form.Set("goal", "momentum")
	send()
	if k := lab.keys; k[0] == "" || k[0] != k[1] || k[1] == k[2] {
		t.Errorf("keys %q, want the same for the same form and another for a changed one", k)
	}
	if r := lab.asked[0]; r.DryRun || r.Count != 3 || *r.Seed != 7 || strings.Join(r.Symbols, " ") != "EURUSD GBPUSD" {
		t.Errorf("asked %+v", r)
	}
}

func TestStart_ARefusalStandsInTheForm(t *testing.T) {
	lab := someLab()
	lab.refuse = "count is 99999; it must be 1 to 10000"
	w := visit(t, startPages(t, lab), ktrdr.ScopeAdmin, http.MethodPost, "/new", url.Values{"goal": {"keep me"}, "count": {"99999"}})
	html := w.Body.String()
	if w.Code != http.StatusUnprocessableEntity || !strings.Contains(html, lab.refuse) || !strings.Contains(html, "keep me") {
		t.Errorf("%d, want the form with what was typed and the refusal", w.Code)
	}
	form := url.Values{"do": {"check"}, "yaml": {"name: x\nunknown: {}"}}
	w = visit(t, startPages(t, someLab()), ktrdr.ScopeAdmin, http.MethodPost, "/new", form)
	if html := w.Body.String(); w.Code != http.StatusOK || !strings.Contains(html, "strategy:2:1: bad key") {
		t.Errorf("%d, want the problem of the strategy with its line", w.Code)
	}
}

func TestStart_AReadTokenAndAnEmptyLabSeeNoForm(t *testing.T) {
	lab := someLab()
	html := visit(t, startPages(t, lab), ktrdr.ScopeRead, http.MethodGet, "/new?goal=x", nil).Body.String()
	if strings.Contains(html, "<textarea") || len(lab.asked) > 0 {
		t.Error("a token that may read sees the form")
	}
	lab.answers["GET /data"] = []any{}
	html = visit(t, startPages(t, lab), ktrdr.ScopeAdmin, http.MethodGet, "/new", nil).Body.String()
	if strings.Contains(html, "<textarea") || !strings.Contains(html, `href="/data/import"`) || !strings.Contains(html, "ktrdr demo") {
		t.Error("an empty lab does not offer to import prices and to run the demo")
	}
}

func TestStartForm_CommandIsWhatTheShellTakes(t *testing.T) {
	for want, f := range map[string]startForm{
		`ktrdr research "trend on EURUSD 1h" --count 24`:           {Goal: "trend on EURUSD 1h", Count: "24"},
		`ktrdr research 'it'\''s $HOME "now"' --until 07:00`:       {Goal: `it's $HOME "now"`, Until: "07:00"},
		`ktrdr research --symbol EURUSD,GBPUSD --timeframe 1h,4h`:  {Symbols: "EURUSD, GBPUSD", Timeframe: "1h 4h"},
		`ktrdr research --strategy ./a_b.yaml --seed 3 --force`:    {YAML: "name: \"a_b\"\n", Seed: "3", Force: true},
		`ktrdr research --strategy ./strategy.yaml --bypass-gates`: {YAML: "name: ../../x; rm\n", Bypass: true},
		`ktrdr research --strategy "a b" --costs "*=1/1/2"`:        {Strategy: "a b", Costs: "*=1/1/2"},
		`ktrdr research --model anthropic/large --ignore-unknown`:  {Model: "anthropic/large", Ignore: true},
		`ktrdr research --count "1; reboot" -- "--help"`:           {Goal: "--help", Count: "1; reboot"},
	} {
		if got := f.command(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestNextClock_IsTheNextTimeTheClockShows(t *testing.T) {
	now := time.Date(2026, 11, 16, 10, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"10:01": time.Date(2026, 11, 16, 10, 1, 0, 0, time.UTC), "07:00": time.Date(2026, 11, 17, 7, 0, 0, 0, time.UTC),
	} {
		if got, err := nextClock(text, now); err != nil || !got.Equal(want) {
			t.Errorf("%s: %v, %v, want %v", text, got, err, want)
		}
	}
	if _, err := nextClock("7 am", now); ktrdr.CodeOf(err) != ktrdr.CodeInvalid {
		t.Errorf("7 am: %v", err)
	}
}
