package cli

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// A 0 that would silently mean a default is refused, on the command line and in
// requests, and creates nothing.
func TestZeros_AreRefusedAndNotReplaced(t *testing.T) {
	t.Parallel()
	l := newLab(t, "KTRDR_AUTH=none")
	l.serve("--workers", "0")
	for _, args := range [][]string{
		{"backtest", "op_training_x", "--capital", "0"},
		{"results", "op_training_x", "--limit", "0"},
		{"checkpoints", "list", "--limit", "0"},
		{"worker", "--checkpoint-interval", "0s"},
		{"dummy", "--fail-at", "0"},
		{"dummy", "--panic-at", "0"},
		{"dummy", "--crash-at", "0"},
	} {
		l.refused(exitUsage, "it must be above 0; leave the flag out for the default", args...)
	}
	for _, args := range [][]string{
		{"research", "--count", "0"},
		{"predict", "x", "--last", "0"},
		{"ops", "--limit", "0"},
		{"runs", "--limit", "0"},
		{"leaderboard", "--limit", "0"},
		{"memory", "--limit", "0"},
		{"models", "--limit", "0"},
		{"breakers", "history", "--limit", "0"},
		{"demo", "--researches", "0"},
		{"data", "synth", "--bars", "0"},
		{"worker", "--slots", "0"},
		{"checkpoints", "cleanup", "--days", "0"},
		{"data", "import", "x.csv", "--divide", "0"},
		{"check", "lookahead", "rsi_mean_reversion", "--bars", "0"},
	} {
		l.refused(exitUsage, "must be", args...)
	}
	for path, body := range map[string]string{
		"/api/v1/agent/trigger":   `{"count": 0}`,
		"/api/v1/backtests/start": `{"model": "op_training_x", "initial_capital": 0.0}`,
		"/api/v1/predictions":     `{"model": "op_training_x", "last": 0}`,
		"/api/v1/data/load":       `{"path": "x.csv", "symbol": "EURUSD", "divide": 0}`,
	} {
		res, err := http.Post(l.url+path, "application/json", strings.NewReader(body)) //nolint:noctx // a test's own server
		if err != nil {
			t.Fatal(err)
		}
		said, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if res.StatusCode != http.StatusUnprocessableEntity ||
			!strings.Contains(string(said), "is 0; it must be above 0: leave it out for the default") {
			t.Errorf("%s %s: %d %s", path, body, res.StatusCode, said)
		}
	}
	newLab(t, "BACKTEST_GATE_MIN_TRADES=0").refused(exitUsage, "1 or more", "serve", "--addr", "127.0.0.1:0")
}
