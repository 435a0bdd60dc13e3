package main

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr/backend"
	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/dummy"
	"github.com/ktrdr/ktrdr/report"
)

func TestSinceText_ReadsTimesAsPeopleSayThem(t *testing.T) {
	berlin := time.FixedZone("CET", 3600)
	now := time.Date(2026, 11, 15, 7, 30, 0, 0, berlin)
	for name, is := range map[string]struct{ text, want string }{
		"nothing":                {"", ""},
		"the last spell":         {"last", "last"},
		"hours":                  {"12h", "12h"},
		"days":                   {"7d", "168h"},
		"a time of last evening": {"22:00", "2026-11-14T21:00:00Z"},
		"a time of this morning": {"06:00", "2026-11-15T05:00:00Z"},
		"a local time":           {"2026-11-14T22:00", "2026-11-14T21:00:00Z"},
		"with a blank":           {"2026-11-14 22:00:30", "2026-11-14T21:00:30Z"},
		"a day":                  {"2026-11-14", "2026-11-13T23:00:00Z"},
		"with a zone":            {"2026-11-14T22:00:00+02:00", "2026-11-14T20:00:00Z"},
	} {
		if got, err := sinceText(is.text, now); err != nil || got != is.want {
			t.Errorf("%s: %q means %q (%v), want %q", name, is.text, got, err, is.want)
		}
	}
	for _, text := range []string{"tomorrow", "-2h", "0s", "2026-11-15T08:00", "25:00"} {
		if got, err := sinceText(text, now); exitCode(err) != exitUsage {
			t.Errorf("%q means %q (%v), want wrong usage", text, got, err)
		}
	}
}

// reports polls a report until it tells what is waited for.
func (l *lab) reports(what string, ok func(report.Report) bool, args ...string) report.Report {
	l.t.Helper()
	for deadline := time.Now().Add(60 * time.Second); ; <-time.After(100 * time.Millisecond) {
		r := decode[report.Report](l.t, l.must(append([]string{"report", "--json"}, args...)...))
		if ok(r) {
			return r
		}
		if time.Now().After(deadline) {
			l.t.Fatalf("no report of %s: %+v", what, r)
		}
	}
}

func (l *lab) client() *client.Client {
	l.t.Helper()
	token, err := backend.ReadToken(filepath.Join(l.data, backend.TokenFile))
	if err != nil {
		l.t.Fatal(err)
	}
	c, err := client.New(l.url, token, client.Options{})
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(c.Close)
	return c
}

// All operations of the span are counted, and those that ended before it are not.
func TestReport_CountsAllOfTheSpan(t *testing.T) {
	l := newLab(t)
	l.serve("--workers", "2", "--agents", "0")
	c := l.client()
	const many = 230
	for range many {
		if _, err := c.StartDummy(t.Context(), dummy.Spec{Steps: 1}, ""); err != nil {
			t.Fatal(err)
		}
	}
	completed := func(n int64) func(report.Report) bool {
		return func(r report.Report) bool { return len(r.Others) == 1 && r.Others[0].N == n }
	}
	l.reports("all that ended", completed(many))
	first := l.reports("the same, begun after the last had ended", completed(many))
	if _, err := c.StartDummy(t.Context(), dummy.Spec{Steps: 1}, ""); err != nil {
		t.Fatal(err)
	}
	l.reports("the one that ended since", completed(1), "--since", first.To.Format(time.RFC3339Nano))
}
