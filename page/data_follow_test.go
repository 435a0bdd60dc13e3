package page

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/jobs"
)

// A series whose fetches fail is not current, and both pages say so.
func TestData_SaysThatASeriesIsNotKeptCurrent(t *testing.T) {
	at := time.Date(2026, 11, 16, 14, 0, 0, 0, time.UTC)
	s := jobs.LibrarySeries{
		Symbol: "BTC", Timeframe: "1h", Bars: 10, First: at.AddDate(0, 0, -9), Last: at, Follow: &jobs.Followed{
			Follow:   jobs.Follow{As: "BTC", Timeframe: "1h"},
			Failures: []jobs.FollowFailure{{What: "BTC 1h", Since: at, Error: "coinbase knows no <symbol>"}},
		},
	}
	p := startPages(t, &labAPI{answers: map[string]any{"GET /data": []jobs.LibrarySeries{s}}})
	for _, target := range []string{"/data", "/data/BTC/1h"} {
		html := visit(t, p, ktrdr.ScopeRead, http.MethodGet, target, nil).Body.String()
		if want := "BTC 1h is not kept current: its fetches fail since 2026-11-16 14:00: " +
			"coinbase knows no &lt;symbol&gt;"; !strings.Contains(html, want) {
			t.Errorf("%s does not say %q", target, want)
		}
	}
}
