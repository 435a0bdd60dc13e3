package httpapi

import (
	"context"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr/report"
)

// Reporter looks back at what happened while nobody watched.
type Reporter interface {
	// Report tells of a span of time that ends now, or of a run; CodeNotFound
	// when there is no such run.
	Report(ctx context.Context, q report.Query) (report.Report, error)
}

// reportSpan is how far a report looks back where nobody says.
const reportSpan = 12 * time.Hour

func reportRoutes() []row {
	return []row{on(get("/api/v1/report", "What happened while nobody watched: researches by outcome, claims, failures, the machine, money",
		param{
			name: "since", kind: kindString,
			doc: "an instant (RFC 3339), a duration before now such as 12h, or last: since the newest spell of research began; " +
				"12h if it is left out",
		},
		param{name: "run", kind: kindString, doc: "only the researches of this run, from its beginning unless since is given"}),
		(*Server).report)}
}

func (s *Server) report(c *call, _ none) (report.Report, error) {
	run, err := s.runNamed(c)
	if err != nil {
		return report.Report{}, err
	}
	q := report.Query{Run: run}
	switch since := c.query.Get("since"); {
	case since != "":
		q.Since, q.Last = c.query.since("since", since, time.Now())
	case q.Run == "":
		q.Since = time.Now().Add(-reportSpan)
	}
	if c.query.err != nil {
		return report.Report{}, c.query.err
	}
	r, err := s.research.Report(c.Context(), q)
	r.Claims, r.Leaders, r.Failures = listed(r.Claims), listed(r.Leaders), listed(r.Failures)
	return r, err
}

// since reads how far back to look.
func (v *values) since(name, text string, now time.Time) (at time.Time, last bool) {
	if strings.EqualFold(text, "last") {
		return time.Time{}, true
	}
	if d, err := time.ParseDuration(text); err == nil {
		if d <= 0 {
			v.fail(name, "is a duration before now, which is positive, not %.40q", text)
		}
		return now.Add(-d), false
	}
	at, err := time.Parse(time.RFC3339, text)
	switch {
	case err != nil:
		v.fail(name, "is an instant such as 2026-11-14T22:00:00Z, a duration such as 12h, or last, not %.40q", text)
	case at.After(now):
		v.fail(name, "lies in the future: %s", text)
	}
	return at, false
}

// Report tells what happened since an instant (RFC 3339), for a duration, or
// since "last"; an empty since leaves it to the server. With a run, of that run.
func (cl *Client) Report(ctx context.Context, since, run string) (out report.Report, err error) {
	query := runQuery(run)
	if since != "" {
		query.Set("since", since)
	}
	_, err = cl.get(ctx, "report", query, &out)
	return out, err
}
