package assistant

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/labtest"
	"github.com/ktrdr/ktrdr/strategy/strategytest"
)

// A read token looks and starts nothing, whatever the tool.
func TestAssistant_WithAReadTokenStartsNothing(t *testing.T) {
	t.Parallel()
	l := labtest.New(t, labtest.SQLite, labtest.Calm)
	l.ServeWith(1, "KTRDR_AUTH=token")
	l.Market("EURUSD", 1200, 1)
	read, admin := tokens(t, l)
	a := overHTTP(t, l.Client().URL(), read)
	for tool, args := range map[string]map[string]any{
		"import_prices":     {"content": csv(prices("EURUSD")), "symbol": "X", "timeframe": "1h"},
		"research":          {"goal": "EURUSD 1h"},
		"train_or_backtest": {"strategy": strategytest.Small()},
		"design":            {"design": "op_agent_design_20260101_000000_abcdef01", "strategy": strategytest.Small(), "hypothesis": "x"},
		"control":           {"handle": "run_0123456789abcdef", "action": "cancel"},
	} {
		if said, _, failed := a.try(tool, args); !failed || !strings.Contains(said, "scope") {
			t.Errorf("%s: %s", tool, said)
		}
	}
	a.use("look", map[string]any{"at": "data"})
	a.use("memory", map[string]any{})
	lab, err := client.New(l.Client().URL(), ktrdr.Secret(admin), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	rows, _, err := lab.Rows(t.Context(), ktrdr.OperationQuery{})
	if err != nil || len(rows) != 0 {
		t.Errorf("operations were started: %+v, %v", rows, err)
	}
	b := overHTTP(t, l.Client().URL(), admin)
	_, handles := b.use("research", map[string]any{"goal": "EURUSD 1h"})
	b.waitFor(handles[0])
}

func TestAssistant_IsAskedForATokenAndComesFromNoOtherSite(t *testing.T) {
	t.Parallel()
	l := labtest.New(t, labtest.SQLite, labtest.Calm)
	l.ServeWith(0, "KTRDR_AUTH=token")
	read, _ := tokens(t, l)
	url := l.Client().URL()
	post := func(change func(*http.Request)) int {
		body := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/mcp", body)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		r.Header.Set("Authorization", "Bearer "+read)
		change(r)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		return res.StatusCode
	}
	for name, row := range map[string]struct {
		change func(*http.Request)
		want   int
	}{
		"a token":            {func(*http.Request) {}, http.StatusOK},
		"no token":           {func(r *http.Request) { r.Header.Del("Authorization") }, http.StatusUnauthorized},
		"a wrong token":      {func(r *http.Request) { r.Header.Set("Authorization", "Bearer ktrdr_x") }, http.StatusUnauthorized},
		"another site":       {func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") }, http.StatusForbidden},
		"another host":       {func(r *http.Request) { r.Host = "evil.example" }, http.StatusMisdirectedRequest},
		"a holdout, by hand": {func(r *http.Request) { r.Header.Set(api.HeaderAssistant, "open-holdout") }, http.StatusForbidden},
	} {
		if got := post(row.change); got != row.want {
			t.Errorf("%s: %d, want %d", name, got, row.want)
		}
	}
	for _, path := range []string{"/llms.txt", "/SKILL.md"} {
		if text := get(t, l, path, ""); !strings.Contains(text, "ktrdr") {
			t.Errorf("%s: %s", path, text)
		}
	}
}

// tokens are one that may read and one that may do everything.
func tokens(t *testing.T, l *labtest.Lab) (read, admin string) {
	t.Helper()
	first, err := os.ReadFile(filepath.Join(l.Data(), "token"))
	if err != nil {
		t.Fatal(err)
	}
	admin = strings.TrimSpace(string(first))
	lab, err := client.New(l.Client().URL(), ktrdr.Secret(admin), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	secret, _, err := lab.CreateToken(t.Context(), "assistant", ktrdr.ScopeRead)
	if err != nil {
		t.Fatal(err)
	}
	return secret.Reveal(), admin
}
