package browser

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/labtest"
	"github.com/ktrdr/ktrdr/market"
)

func TestPage_ShowsTheNumbersOfTheAPI(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	s.ServeWith(2, withAuth)
	s.signIn()
	s.must("research", "anything on EURUSD 1h", "--count", "6", "--seed", "3", "--follow")
	board, err := s.board()
	if err != nil {
		t.Fatal(err)
	}
	s.open(s.url + "/strategies")
	s.until("all are listed", fmt.Sprintf(`document.querySelectorAll("table.lead tbody tr").length === %d`, len(board.Rows)))
	text := eval[string](s.browser, `JSON.stringify([...document.querySelectorAll("table.lead tbody tr")].map((tr) => ({
		id: tr.dataset.id, cells: [...tr.cells].map((c) => c.innerText.trim()) })))`)
	var rows []struct {
		ID    string   `json:"id"`
		Cells []string `json:"cells"`
	}
	if err := json.Unmarshal([]byte(text), &rows); err != nil {
		t.Fatal(err)
	}
	head := eval[string](s.browser, `[...document.querySelectorAll("table.lead thead th")]
		.map((c) => (c.querySelector("a") ?? c).innerText.trim()).join("|")`)
	column := func(name string) int {
		for i, h := range strings.Split(head, "|") {
			if strings.TrimRight(h, " ↑↓") == name {
				return i
			}
		}
		t.Fatalf("no column %q in %s", name, head)
		return 0
	}
	number := func(v *float64, format string) string {
		if v == nil {
			return "–"
		}
		text := fmt.Sprintf(format, *v)
		if !strings.ContainsAny(text, "123456789") { // a zero has no sign
			text = strings.TrimLeft(text, "+-")
		}
		return strings.ReplaceAll(text, "-", "−")
	}
	hundred := func(v *float64) *float64 {
		if v == nil {
			return nil
		}
		x := *v * 100
		return &x
	}
	for i, want := range board.Rows {
		got := rows[i]
		if got.ID != string(want.Operation) {
			t.Fatalf("row %d is %s, the API says %s", i, got.ID, want.Operation)
		}
		for name, text := range map[string]string{
			"Symbol": want.Symbols + " " + want.Timeframes, "Verdict": want.Standing, "Test Sharpe": number(want.Sharpe, "%.2f"),
			"Deflated": number(want.Deflated, "%.3f"), "Return": number(hundred(want.NetReturn), "%+.1f %%"),
			"Max DD": number(hundred(want.MaxDrawdown), "%.1f %%"), "Trades": strconv.Itoa(want.Trades),
			"Buy & hold": number(hundred(want.Details.BuyAndHold), "%+.1f %%"), "bp/side": number(basisPoints(want.Details.CostPerSide), "%.1f"),
			"Checks": checksOf(want.Details),
		} {
			cell := got.Cells[column(name)]
			if name == "Test Sharpe" {
				cell, _, _ = strings.Cut(cell, " ±")
			}
			if cell != text {
				t.Errorf("%s: the page shows %s %q, the API says %q", got.ID, name, cell, text)
			}
		}
	}
	s.clean("the leaderboard")
	s.sortsByItsHeads()
	s.fitsAPhone()
}

// The last bars of the market lie in its holdout. Their prices are unlike any
// other number, so that each place that shows one is found.
func TestPage_NothingShowsAPriceOfASealedHoldout(t *testing.T) {
	t.Parallel()
	l := labtest.New(t, labtest.SQLite, labtest.Quick)
	bars := market.Synth(market.SynthConfig{Symbol: "EURUSD", Timeframe: market.H1, Bars: 3000, Seed: 5})
	const scale = 3_141_592.653
	low, high := 1e300, 0.0
	for i := bars.Len() - 100; i < bars.Len(); i++ {
		for _, column := range [][]float64{bars.Open, bars.High, bars.Low, bars.Close} {
			column[i] *= scale
			low, high = min(low, column[i]), max(high, column[i])
		}
	}
	l.Import(bars)
	if out, code := l.Command("data", "accept", "EURUSD", "1h", "level-jump"); code != 0 {
		t.Fatalf("the step is meant, and accepting it ends with %d:\n%s", code, out)
	}
	l.ServeWith(2)
	out, code := l.Command("research", "mean reversion on EURUSD 1h", "--count", "3", "--seed", "2", "--bypass-gates", "--follow")
	if code != 0 {
		t.Fatalf("research: exit %d\n%s", code, out)
	}
	if strings.Contains(out, "1 look") {
		t.Fatal("a holdout was opened: choose another seed")
	}
	var board struct {
		Rows []struct {
			ID string `json:"operation_id"`
		} `json:"rows"`
	}
	said, _ := l.Command("leaderboard", "--json")
	if err := json.Unmarshal([]byte(said), &board); err != nil || len(board.Rows) == 0 {
		t.Fatalf("leaderboard: %v in %s", err, said)
	}
	number := regexp.MustCompile(`\d[\d,]*\.\d+|\d{6,}`)
	looked := 0
	search := func(where, text string) {
		t.Helper()
		looked++
		for _, n := range number.FindAllString(text, -1) {
			if v, err := strconv.ParseFloat(strings.ReplaceAll(n, ",", ""), 64); err == nil && v >= low && v <= high {
				t.Errorf("%s shows %s, a price of the holdout", where, n)
				return
			}
		}
	}
	base := l.Client().URL()
	get := func(path string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		search(path, string(body))
	}
	for _, sp := range api.Table() { // every list and every answer that needs no id
		if sp.Method == http.MethodGet && !strings.Contains(sp.Path, "{") && !sp.Stream {
			get(sp.Path)
		}
	}
	for _, path := range []string{
		"/night", "/strategies", "/data", "/data/EURUSD/1h", "/operations", "/lab", "/lab/memory", "/new?goal=mean+reversion+on+EURUSD+1h",
		"/api/v1/data/EURUSD/1h/bars", "/api/v1/data/EURUSD/1h/bars?points=1000&from=2015-06-20T00:00:00Z", "/api/v1/data/EURUSD/1h/check",
		"/export/night.html",
	} {
		get(path)
	}
	ids := []string{}
	for _, r := range board.Rows {
		ids = append(ids, r.ID)
		for _, path := range []string{
			"/strategies/" + r.ID, "/operations/" + r.ID, "/api/v1/operations/" + r.ID, "/api/v1/memory/" + r.ID,
			"/api/v1/operations/" + r.ID + "/results", "/export/" + r.ID + ".html", "/export/" + r.ID + ".json", "/export/" + r.ID + ".yaml",
		} {
			get(path)
		}
		for _, child := range l.Children(ktrdrID(r.ID)) {
			get("/api/v1/operations/" + string(child.ID) + "/results?include=trades,equity,positions,curve,returns&limit=1000")
			get("/api/v1/operations/" + string(child.ID) + "/inputs")
		}
	}
	get("/compare?ids=" + strings.Join(ids, ","))
	get("/api/v1/compare?ids=" + strings.Join(ids, ","))
	dir := t.TempDir()
	for name, args := range map[string][]string{
		"csv":  {"results", ids[0], "--csv", filepath.Join(dir, "csv")},
		"html": {"results", ids[0], "--html", filepath.Join(dir, "strategy.html")},
		"run":  {"report", "--html", filepath.Join(dir, "report.html")},
	} {
		if out, code := l.Command(args...); code != 0 {
			t.Errorf("%s: exit %d\n%s", name, code, out)
		}
	}
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		search(filepath.Base(path), string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if looked < 40 {
		t.Errorf("only %d answers were searched", looked)
	}
}
