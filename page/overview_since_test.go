package page_test

import (
	"html"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/report"
)

func TestOverview_BeginsAtTheTimeOfItsURL(t *testing.T) {
	for given, is := range map[string]struct{ asked, shown string }{
		"":                     {"", `<option value="" selected>Last 12 hours</option>`},
		"12h":                  {"12h", `<option value="" selected>Last 12 hours</option>`},
		"last":                 {"last", `<option value="last" selected>Last session</option>`},
		"7d":                   {"168h", `<option value="7d" selected>Last 7 days</option>`},
		"22:00":                {"T22:00:00Z", `<option value="22:00" selected>Since 22:00 UTC</option>`},
		"06:30":                {"T06:30:00Z", `<option value="06:30" selected>Since 06:30 UTC</option>`},
		"12h&run=run_1":        {"12h", `<option value="12h" selected>Last 12 hours</option>`},
		"&run=run_1":           {"", `<option value="" selected>From its beginning</option>`},
		"36h":                  {"36h", `<option value="36h" selected>Last 36h</option>`},
		"2026-11-14T22:00:00Z": {"2026-11-14T22:00:00Z", `<option value="2026-11-14T22:00:00Z" selected>Since 2026-11-14T22:00:00Z</option>`},
	} {
		l := labOf("x")
		const began = "2026-11-14T21:00:00Z"
		told := report.Report{To: time.Now()}
		told.From, _ = time.Parse(time.RFC3339, began)
		var asked [3]string // questions are asked at the same time
		l.answers["/api/v1/report"] = func(r *http.Request) any {
			asked[0] = "report since " + r.URL.Query().Get("since")
			return told
		}
		l.answers["/api/v1/report/search"] = func(r *http.Request) any {
			asked[1] = "report since " + r.URL.Query().Get("since")
			return report.Search{Funnel: report.Funnel{Tried: 1}}
		}
		l.answers["/api/v1/leaderboard"] = func(r *http.Request) any {
			asked[2] = r.URL.Query().Get("since")
			return report.Leaderboard{}
		}
		w := get(t, l, "/night?since="+given, ktrdr.ScopeRead)
		body := w.Body.String()
		since, _ := strings.CutPrefix(asked[0], "report since ")
		if w.Code != http.StatusOK || asked[0] == "" || asked[0] != asked[1] || !strings.HasSuffix(since, is.asked) {
			t.Errorf("since=%s: %d, the report was asked since %q, want %q", given, w.Code, asked, is.asked)
		}
		if strings.Count(body, is.shown) != 1 || strings.Count(body, " selected>") != 3 { // with outcome and order
			t.Errorf("since=%s: the page offers %d times %s and has %d choices", given, strings.Count(body, is.shown), is.shown,
				strings.Count(body, " selected>"))
		}
		want := began // where the report begins
		if strings.Contains(given, "run=") {
			want = "" // of a run all are listed
		}
		if asked[2] != want {
			t.Errorf("since=%s: the leaderboard was asked since %q, want %q", given, asked[2], want)
		}
		if at, err := time.Parse(time.RFC3339, since); err == nil && time.Since(at) > 24*time.Hour && !strings.Contains(given, "T") {
			t.Errorf("since=%s: asked since %v, want the latest such time", given, at)
		}
	}
}

func TestOverview_SaysWhatIsWrongWithATime(t *testing.T) {
	for given, want := range map[string]string{
		"25:00":                `since="25:00": must be a duration such as 12h or 7d, a time such as 22:00 or 2026-11-14T22:00, or last`,
		"2999-01-01T00:00:00Z": "since=2999-01-01T00:00:00Z: lies in the future; give a time that has passed",
		"-2h":                  "since=-2h: the duration must be more than 0; give one such as 12h or 7d",
	} {
		for _, path := range []string{"/night", "/export/night.html"} {
			w := get(t, labOf("x"), path+"?since="+given, ktrdr.ScopeRead)
			if body := html.UnescapeString(w.Body.String()); w.Code != http.StatusBadRequest || !strings.Contains(body, want) {
				t.Errorf("%s?since=%s: %d, want 400 and %s", path, given, w.Code, want)
			}
		}
	}
}
