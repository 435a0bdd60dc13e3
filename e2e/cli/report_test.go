package cli

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr/backend"
	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/dummy"
	"github.com/ktrdr/ktrdr/labtest"
	"github.com/ktrdr/ktrdr/report"
)

// reports polls a report until it tells what is waited for.
func (l *lab) reports(what string, ok func(report.Report) bool, args ...string) report.Report {
	l.t.Helper()
	var r report.Report
	labtest.Eventually(l.t, time.Minute, "a report of "+what, func() bool {
		r = decode[report.Report](l.t, l.must(append([]string{"report", "--json"}, args...)...))
		return ok(r)
	})
	return r
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
	t.Parallel()
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
