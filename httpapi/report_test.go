package httpapi

import (
	"context"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/report"
)

// reportDesk remembers how far back it was asked to look.
type reportDesk struct {
	fakeResearch
	asked report.Query
}

func (d *reportDesk) Report(_ context.Context, q report.Query) (report.Report, error) {
	d.asked = q
	return report.Report{Run: q.Run, Summary: "Nothing was researched."}, nil
}

func TestReport_LooksAsFarBackAsAsked(t *testing.T) {
	desk := &reportDesk{}
	st := serve(t, &fakeEngine{run: ktrdr.Run{ID: "run_1"}}, func(c *Config) { c.Research = desk })
	at := time.Date(2026, 1, 14, 22, 0, 0, 0, time.UTC)
	for name, is := range map[string]struct {
		query string
		ago   time.Duration // 0 where at or nothing is meant
		want  report.Query
	}{
		"by default half a day":            {"", 12 * time.Hour, report.Query{}},
		"a duration":                       {"?since=90m", 90 * time.Minute, report.Query{}},
		"an instant in another zone":       {"?since=" + url.QueryEscape("2026-01-14T23:00:00+01:00"), 0, report.Query{Since: at}},
		"the last spell":                   {"?since=LAST", 0, report.Query{Last: true}},
		"a run decides where it began":     {"?run=run_1", 0, report.Query{Run: "run_1"}},
		"a run, but only the end of it":    {"?run=run_1&since=2h", 2 * time.Hour, report.Query{Run: "run_1"}},
		"a run since an instant long past": {"?run=run_1&since=2026-01-14T22:00:00Z", 0, report.Query{Run: "run_1", Since: at}},
	} {
		t.Run(name, func(t *testing.T) {
			var out report.Report
			mustData(t, st.send(t, http.MethodGet, "/api/v1/report"+is.query, ""), http.StatusOK, &out)
			got := desk.asked
			if is.ago > 0 {
				if d := time.Since(got.Since) - is.ago; d < 0 || d > time.Minute {
					t.Errorf("since %v, want %v ago", got.Since, is.ago)
				}
				got.Since = time.Time{}
			}
			if !got.Since.Equal(is.want.Since) || got.Last != is.want.Last || got.Run != is.want.Run {
				t.Errorf("asked for %+v, want %+v", got, is.want)
			}
			if out.Claims == nil || out.Failures == nil || out.Leaders == nil {
				t.Errorf("%+v: lists are lists, also where they are empty", out)
			}
		})
	}
	for name, query := range map[string]string{
		"no time":        "?since=yesterday",
		"in the future":  "?since=2999-01-01T00:00:00Z",
		"no time ago":    "?since=0s",
		"before itself":  "?since=-3h",
		"misspelt name":  "?from=12h",
		"local, no zone": "?since=2026-01-14T22:00",
	} {
		refusedWith(t, name, st.send(t, http.MethodGet, "/api/v1/report"+query, ""), "", http.StatusBadRequest, ktrdr.CodeInvalid)
	}
}
