package cli

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr/strategy"
)

// Names that only a server can check: symbols, strategies, fields of requests. Each
// wrong one ends with exit code 2 and the name that may be meant.
func TestCLI_NamesWhatMayBeMeant(t *testing.T) {
	t.Parallel()
	l := newLab(t, "KTRDR_AUTH=none")
	l.must("data", "synth", "--symbol", "EURUSD", "--timeframe", "1h", "--bars", "2000", "--seed", "7")
	l.serve("--workers", "0")
	l.refused(exitUsage, "did you mean EURUSD?", "research", "--symbol", "EURUDS")
	l.refused(exitUsage, "did you mean EURUSD?", "train", "rsi_mean_reversion", "--symbol", "EURUDS")
	l.refused(exitUsage, "did you mean EURUSD?", "data", "show", "EURUDS", "1h")
	l.refused(exitUsage, "did you mean rsi_mean_reversion?", "research", "--strategy", "rsi_mean_revrsion")
	l.refused(exitUsage, "did you mean EURUSD?", "leaderboard", "--symbol", "EURUSDD")
	l.refused(exitUsage, "there is no breaker nosuch", "breakers", "history", "nosuch")
	l.refused(exitUsage, "there is no breaker \"nosuch\"", "breakers", "reset", "nosuch", "--by", "ann", "--why", "to see")
	l.refused(exitUsage, "there is no breaker \"nosuch\"", "breakers", "force", "nosuch", "open", "--by", "ann", "--why", "to see")
	l.refused(exitUsage, "did you mean builtin?", "research", "--model", "buitin")
	l.refused(exitUsage, "did you mean 4h? there are 1m, ", "research", "--timeframe", "4hr")
	l.must("research", "--symbol", "eurusd", "--force")

	mine := filepath.Join(t.TempDir(), "mine.yaml")
	if err := os.WriteFile(mine, strategy.Examples()[0].Source, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"backtest", "predict"} {
		l.refused(exitUsage, "is a strategy, not a model: train it with `ktrdr train "+mine+"`", command, mine)
	}
	for field, says := range map[string]string{"breif": "did you mean brief?", "symbls": "did you mean symbols?"} {
		body := strings.NewReader(`{"` + field + `": null}`)
		res, err := http.Post(l.url+"/api/v1/agent/trigger", "application/json", body) //nolint:noctx // a test's own server
		if err != nil {
			t.Fatal(err)
		}
		said, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if res.StatusCode != http.StatusBadRequest || !strings.Contains(string(said), says) {
			t.Errorf("%s: %d %s, want %q", field, res.StatusCode, said, says)
		}
	}
}
