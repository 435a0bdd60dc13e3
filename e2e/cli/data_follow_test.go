package cli

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr/fetch/fetchtest"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/labtest"
)

// The list of what is followed says of each when its last turn was, what it brought, and what fails.
func TestDataFollow_ListSaysWhatTheLastTurnBrought(t *testing.T) {
	t.Parallel()
	source := &fetchtest.Server{Before: func(w http.ResponseWriter, r *http.Request, _ int) bool {
		bad := strings.Contains(r.URL.Path, "ETH-USD")
		if bad {
			_, _ = w.Write([]byte("<html>Checking your browser</html>"))
		}
		return bad
	}}
	_, env := source.Start(t)
	l := newLab(t, env...)
	folder := t.TempDir()
	start := time.Date(2024, 12, 2, 0, 0, 0, 0, time.UTC)
	const head = "Date,Open,High,Low,Close,Volume\n"
	for name, text := range map[string]string{
		"EURUSD_1h.csv": hours(start, 300, head, plainRow), "old prices.csv": hours(start, 40, head, plainRow),
		"BROKEN_1h.csv": hours(start, 40, head, plainRow) + "2025-01-01 00:00,1,0.5,2,1,10\n",
	} {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, start, start); err != nil {
			t.Fatal(err)
		}
	}
	l.must("data", "follow", "coinbase", "BTC-USD", "1d", "--every", "5s")
	l.must("data", "follow", "coinbase", "ETH-USD", "1d", "--every", "5s")
	l.must("data", "follow", "--folder", folder, "--every", "5s")
	known := l.env // to the backend, which never learns of one more source
	l.env = labtest.WithEnv(known, "KTRDR_FETCH_SOURCES=left=https://prices.example/{symbol}_{timeframe}.csv")
	l.must("data", "follow", "left", "GONE", "1d", "--every", "5s")
	l.env = known
	l.serve("--workers", "1")
	list := func() map[string]jobs.Followed {
		by := map[string]jobs.Followed{}
		for _, f := range decode[[]jobs.Followed](t, l.must("data", "follow", "--json")) {
			by[f.Label()] = f
		}
		return by
	}
	var by map[string]jobs.Followed
	labtest.Eventually(t, 2*time.Minute, "two turns of each", func() bool {
		by = list()
		btc, eth, dir := by["BTC-USD 1d"], by["ETH-USD 1d"], by[folder]
		if len(by["GONE 1d"].Failures) == 0 {
			return false
		}
		return btc.Last != nil && btc.Last.Active == 0 && eth.Last != nil && eth.Last.Active == 0 &&
			len(eth.Failures) == 1 && eth.Failures[0].Since.Before(eth.Last.At) && dir.Last != nil && dir.Last.Active == 0 && len(dir.Failures) == 2
	})
	if f := by["BTC-USD 1d"]; len(f.Failures) != 0 || f.Last.Operations != 1 {
		t.Errorf("a series in order: %+v %+v", f.Last, f.Failures)
	}
	if x := by["ETH-USD 1d"].Failures[0]; !strings.Contains(x.Error, "a web page instead of JSON") || x.Operation == "" {
		t.Errorf("a series that fails: %+v", x)
	}
	if f := by[folder]; f.Last.NewBars != 300 || f.Last.Operations != 2 {
		t.Errorf("a folder: %+v", f.Last)
	}
	said := l.must("data", "follow")
	for _, part := range []string{
		"LAST TURN", "NEW BARS", "300", "1 failure", "2 failures", "✗ ETH-USD 1d fails since 20", "a web page instead of JSON",
		"✗ GONE 1d fails since 20", `there is no source "left"`,
		"✗ BROKEN_1h.csv fails since 20", "✗ old prices.csv: neither its name nor its rows tell the symbol",
	} {
		if !strings.Contains(said, part) {
			t.Errorf("the list does not tell %q:\n%s", part, said)
		}
	}
	l.refused(exitFailed, "end that with `ktrdr data unfollow BTC-USD 1d`, then delete it", "data", "delete", "BTC-USD")
	l.must("data", "unfollow", "--folder", folder)
	if _, there := list()[folder]; there {
		t.Error("the folder is still watched")
	}
}
