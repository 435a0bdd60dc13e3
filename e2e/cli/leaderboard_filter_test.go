package cli

import (
	"net/http"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/report"
	"github.com/ktrdr/ktrdr/research"
)

// A filter that selects nothing is reported: an unknown timeframe is refused, and one
// that nothing was researched in is not taken for a lab without research.
func TestLeaderboard_FiltersAreCheckedAndCounted(t *testing.T) {
	t.Parallel()
	l := newLab(t, "KTRDR_AUTH=none")
	l.must("data", "synth", "--symbol", "EURUSD", "--timeframe", "1h", "--bars", "2000", "--seed", "7")
	l.must("data", "resample", "EURUSD", "1h", "4h") // the same market
	l.serve("--workers", "0")
	made := decode[research.Triggered](t, l.must("research", "trend", "--symbol", "EURUSD", "--timeframe", "1h", "--force", "--json"))

	l.refused(exitUsage, "did you mean 1h?", "leaderboard", "--timeframe", "1hr")
	l.refused(exitUsage, `timeframe "7h" is not one of ours; did you mean `, "leaderboard", "--timeframe", "7h")
	l.refused(exitUsage, "is not one of ours; did you mean ", "leaderboard", "--timeframe", "7h", "--json")
	res, err := http.Get(l.url + "/api/v1/leaderboard?timeframe=7h") //nolint:noctx // a test's own server
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusBadRequest {
		t.Errorf("GET /leaderboard?timeframe=7h: %d, want 400", res.StatusCode)
	}

	for filters, want := range map[string]struct {
		markets int
		says    string
	}{
		"":                               {1, "0 claims on 1 market;"},
		"--timeframe 1h":                 {1, "0 claims on 1 market;"},
		"--symbol EURUSD --timeframe 1h": {1, "0 claims on 1 market;"},
		"--timeframe 4h":                 {0, "No market was researched with timeframe 4h."},
		"--symbol EURUSD --timeframe 4h": {0, "No market was researched with symbol EURUSD, timeframe 4h."},
		"--timeframe 4h --run " + made.Run: {
			0, "No market was researched with timeframe 4h, run " + ktrdr.ShortRun(made.Run) + ".",
		},
	} {
		b := decode[report.Leaderboard](t, l.must(append([]string{"leaderboard", "--json"}, strings.Fields(filters)...)...))
		if b.Markets != want.markets || !strings.HasPrefix(b.Summary, want.says) {
			t.Errorf("leaderboard %s: %d markets, %q; want %d and %q", filters, b.Markets, b.Summary, want.markets, want.says)
		}
	}
}
