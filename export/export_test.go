package export

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/client"
)

// answers is an API that answers with JSON by path, and by cursor after that.
type answers map[string]string

func (a answers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key := strings.TrimPrefix(r.URL.Path, "/api/v1")
	for _, name := range []string{"kind", "include", "cursor"} {
		if v := r.URL.Query()[name]; len(v) > 0 {
			key += " " + strings.Join(v, ",")
		}
	}
	text, ok := a[key]
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		text = `{"error":{"code":"not_found","message":"no ` + key + `"}}`
	}
	_, _ = io.WriteString(w, text)
}

func labOf(t *testing.T, a answers) *client.Client {
	t.Helper()
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	c, err := client.New(server.URL, "secret", client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const (
	researchID = "op_agent_research_20261116_010203_aaaaaaaa"
	backtestID = "op_backtesting_20261116_010203_aaaaaaaa"
)

func someAnswers() answers {
	const columns = "/operations/" + backtestID + "/results trades,equity,positions"
	return answers{
		"/operations/" + researchID + "/results": `{"success":true,"data":{"operation_id":"` + researchID + `",
			"operation_type":"agent_research","status":"COMPLETED",
			"results":{"strategy_name":"=cmd|' /C calc'!A0","backtest_operation_id":"` + backtestID + `",
			"backtest_result":{"net_return":-0.25,"win_rate":null},"daily_returns":{"first":"2026-01-01"}},
			"looks":[{"result":{"look":{"p":0.001}}}]}}`,
		columns: `{"success":true,"data":{"operation_type":"backtesting","status":"COMPLETED",
			"results":{"symbol":"+EUR"},
			"trades":[{"entry_time":"2026-01-02T03:00:00Z","exit_time":"2026-01-02T04:00:00Z","side":"short",
			"reason":"-signal","net":-1.5,"mae":0.1}],
			"equity":[{"time":"2026-01-02T03:00:00Z","value":100}],"positions":[{"time":"2026-01-02T03:00:00Z","value":-2}],
			"accounts":[{"symbol":"@EUR","equity":[{"time":"2026-01-02T03:00:00Z","value":50}]}]},"next_cursor":"1"}`,
		columns + " 1": `{"success":true,"data":{"operation_type":"backtesting","status":"COMPLETED",
			"equity":[{"time":"2026-01-02T04:00:00Z","value":99.5}]}}`,
		"/memory trials": `{"success":true,"data":{"kind":"trials","trials":[{"operation_id":"` + researchID + `",
			"operation_type":"agent_research","status":"COMPLETED","strategy_name":"\u202e=evil","sharpe_ratio":-1.25,"made_up":true,
			"created_at":"2026-01-02T03:00:00Z"}]},"next_cursor":"2"}`,
		"/memory trials 2": `{"success":true,"data":{"kind":"trials","trials":[{"operation_id":"second","status":"FAILED"}]}}`,
		"/looks": `{"success":true,"data":[{"kind":"confirmation","markets":[{"market":"mkt_a","number":3}],"looks_before":2,"p":0.01,
			"reserved_at":"2026-01-02T03:00:00Z"}]}`,
		"/memory experiments": `{"success":true,"data":{"kind":"experiments","experiments":[{"operation_id":"` + researchID + `","summary":"+1",
			"at":"2026-01-02T03:00:00Z"}]}}`,
	}
}

func readCSV(t *testing.T, file string) [][]string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	all, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestResults_CanBeReadBack(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	tables, err := Results(t.Context(), labOf(t, someAnswers()), researchID)
	if err != nil {
		t.Fatal(err)
	}
	for _, as := range []Format{CSV, Parquet} {
		if _, err := Write(dir, as, false, tables); err != nil {
			t.Fatal(err)
		}
	}
	trades := readCSV(t, filepath.Join(dir, "trades.csv"))
	if got := strings.Join(trades[1], "|"); got != "'+EUR|2026-01-02T03:00:00Z|2026-01-02T04:00:00Z|0|0|short|'-signal|0|0|0|0|0|-1.5|0.1|0" {
		t.Errorf("trade %s", got)
	}
	equity := readCSV(t, filepath.Join(dir, "equity.csv"))
	if len(equity) != 4 || strings.Join(equity[1], "|") != "2026-01-02T04:00:00Z||99.5" || equity[2][1] != "'+EUR" || equity[3][1] != "'@EUR" {
		t.Errorf("equity %v: want both pages, by symbol", equity)
	}
	figures := readCSV(t, filepath.Join(dir, "figures.csv"))
	want := map[string]string{
		"test|backtest_result.net_return": "-0.25|", "test|strategy_name": "|'=cmd|' /C calc'!A0", "holdout|look.p": "0.001|",
	}
	for _, f := range figures[1:] {
		key := f[0] + "|" + f[1]
		if text, ok := want[key]; ok && text != f[2]+"|"+f[3] {
			t.Errorf("%s is %s, want %s", key, f[2]+"|"+f[3], text)
		}
		delete(want, key)
		if strings.HasPrefix(f[1], "daily_returns") {
			t.Errorf("%s is no figure", f[1])
		}
	}
	if len(want) > 0 {
		t.Errorf("figures %v lack %v", figures, want)
	}
	back, err := parquet.ReadFile[tradeRow](filepath.Join(dir, "trades.parquet"))
	if err != nil || len(back) != 1 || back[0].Net != -1.5 || back[0].Reason != "-signal" ||
		!back[0].EntryTime.Equal(time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)) {
		t.Errorf("trades %+v, %v", back, err)
	}
	if rows, err := parquet.ReadFile[figureRow](filepath.Join(dir, "figures.parquet")); err != nil || len(rows) != len(figures)-1 {
		t.Errorf("%d figures, %v", len(rows), err)
	}
}

func TestLedger_CanBeReadBack(t *testing.T) {
	dir := t.TempDir()
	tables, err := Ledger(t.Context(), labOf(t, someAnswers()), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, as := range []Format{CSV, Parquet} {
		if _, err := Write(dir, as, false, tables); err != nil {
			t.Fatal(err)
		}
	}
	trials, err := parquet.ReadFile[trialRow](filepath.Join(dir, "trials.parquet"))
	if err != nil || len(trials) != 2 || *trials[0].Sharpe != -1.25 || trials[1].Sharpe != nil || !*trials[0].MadeUp ||
		trials[1].MadeUp != nil || trials[0].Strategy != "=evil" || trials[1].Standing != "failed" {
		t.Errorf("trials %+v, %v", trials, err)
	}
	looks, err := parquet.ReadFile[lookRow](filepath.Join(dir, "looks.parquet"))
	if err != nil || len(looks) != 1 || looks[0].Numbers != "3" || !looks[0].EndedAt.IsZero() || *looks[0].P != 0.01 {
		t.Errorf("looks %+v, %v", looks, err)
	}
	text := readCSV(t, filepath.Join(dir, "trials.csv"))
	if row := strings.Join(text[1], "|"); !strings.Contains(row, "|'=evil|") || !strings.Contains(row, "|-1.25|") {
		t.Errorf("trial %s", row)
	}
	if row := strings.Join(readCSV(t, filepath.Join(dir, "experiments.csv"))[1], "|"); !strings.Contains(row, "|'+1|") {
		t.Errorf("experiment %s", row)
	}
}

func TestInert_NoTextIsAFormula(t *testing.T) {
	for text, want := range map[string]string{
		"=1+1": "'=1+1", "+1": "'+1", "-2": "'-2", "@sum": "'@sum", "\tx": "'\tx", "\rx": "'\rx", "\u202e=1": "'=1", "a=1": "a=1", "": "",
		"\u2066safe\u2069": "safe",
	} {
		if got := inert(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

// broken is a table that cannot be written.
type broken struct{ rows[figureRow] }

func (broken) writeCSV(w io.Writer) error {
	_, _ = io.WriteString(w, "half")
	return errors.New("no space left")
}

func TestWrite_ABrokenExportLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	good := rows[figureRow]{"good", []figureRow{{Figure: "a"}}}
	if _, err := Write(dir, CSV, false, []Table{good, broken{rows[figureRow]{name: "bad"}}}); err == nil {
		t.Fatal("nothing was refused")
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("it leaves %v", left)
	}
	if err := os.WriteFile(filepath.Join(dir, "good.csv"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	fresh := rows[figureRow]{name: "fresh"}
	if _, err := Write(dir, CSV, false, []Table{fresh, good}); ktrdr.CodeOf(err) != ktrdr.CodeConflict {
		t.Errorf("an existing file: %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("it leaves %v beside the existing file", left)
	}
	if text, _ := os.ReadFile(filepath.Join(dir, "good.csv")); string(text) != "mine" {
		t.Errorf("the existing file is %q", text)
	}
	list, err := Write(dir, CSV, true, []Table{fresh, good})
	if text, _ := os.ReadFile(filepath.Join(dir, "good.csv")); err != nil || string(text) == "mine" || len(list) != 2 || list[1].Rows != 1 {
		t.Errorf("with force: %v, %v, %q", list, err, text)
	}
	if _, err := json.Marshal(list); err != nil {
		t.Error(err)
	}
}
