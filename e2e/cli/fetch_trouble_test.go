package cli

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr/fetch/fetchtest"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/labtest"
	"github.com/ktrdr/ktrdr/market"
)

// A series that is kept current gets prices ten times too high, and then none. The user
// sees both, and the lab accepts nothing for the user.
func TestCLI_SaysWhatIsWrongWithASeriesThatIsKeptCurrent(t *testing.T) {
	t.Parallel()
	hour := time.Now().UTC().Truncate(time.Hour)
	cut := hour.Add(-20 * time.Hour)
	var behind atomic.Int64
	var gone atomic.Bool
	behind.Store(int64(30 * time.Hour))
	source := &fetchtest.Server{
		Now: func() time.Time { return time.Now().Add(-time.Duration(behind.Load())) },
		Before: func(w http.ResponseWriter, r *http.Request, _ int) bool {
			if gone.Load() {
				http.NotFound(w, r)
			}
			return gone.Load()
		},
		Revise: func(b market.Bar) market.Bar {
			if b.Time >= cut.Unix() {
				b.Open, b.High, b.Low, b.Close = 10*b.Open, 10*b.High, 10*b.Low, 10*b.Close
			}
			return b
		},
	}
	_, env := source.Start(t)
	l := newLab(t, env...)
	l.serve("--workers", "1")
	l.finished("data", "fetch", "coinbase", "BTC-USD", "1h", "--from", hour.AddDate(0, 0, -30).Format(time.DateOnly), "--as", "BTC")
	l.must("data", "follow", "coinbase", "BTC-USD", "1h", "--as", "BTC", "--every", "5s")
	if said := l.must("data", "list"); !strings.Contains(said, " ok ") || strings.Contains(said, "not kept current") {
		t.Errorf("before anything is wrong:\n%s", said)
	}

	behind.Store(0)
	labtest.Eventually(t, time.Minute, "the new bars to be refused", func() bool {
		return strings.Contains(l.must("data", "list"), " refused ")
	})
	if said := l.run("research", "--symbol", "BTC", "--timeframe", "1h", "--dry-run"); said.code == 0 ||
		!strings.Contains(said.String(), "ktrdr data accept BTC 1h") {
		t.Errorf("research on the new bars: %v", said)
	}

	gone.Store(true)
	const trouble = "→ BTC 1h is not kept current: "
	labtest.Eventually(t, time.Minute, "fetches that fail", func() bool { return strings.Contains(l.must("data", "list"), trouble) })
	said := l.must("data", "follow")
	for _, want := range []string{"LAST TURN", "fails since", "1 failure", "coinbase knows no symbol BTC-USD"} {
		if !strings.Contains(said, want) {
			t.Errorf("no %q in:\n%s", want, said)
		}
	}
	list := decode[[]jobs.LibrarySeries](t, string(l.send(http.MethodGet, "/api/v1/data", 200, nil)))
	if len(list) != 1 || list[0].Follow == nil || len(list[0].Follow.Failures) == 0 || list[0].Follow.Last == nil {
		t.Errorf("the API says %+v", list)
	}

	gone.Store(false)
	labtest.Eventually(t, time.Minute, "the trouble to be over", func() bool { return !strings.Contains(l.must("data", "list"), trouble) })
	if said := l.must("data", "list"); !strings.Contains(said, " refused ") {
		t.Errorf("the findings were accepted, and not by a person:\n%s", said)
	}
	l.must("data", "unfollow", "BTC", "1h")
	if said := l.must("data", "follow"); !strings.Contains(said, "No series is kept current and no folder is watched") {
		t.Errorf("after it was ended:\n%s", said)
	}
}
