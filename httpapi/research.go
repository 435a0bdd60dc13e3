package httpapi

import (
	"cmp"
	"net/http"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/report"
	"github.com/ktrdr/ktrdr/research"
)

// Defaults of researches' routes.
const (
	someWaiting = 20
	leaders     = 20
	reportSpan  = 12 * time.Hour
)

func (s *Server) trigger(c *call, in research.Request) (research.Triggered, error) {
	key, err := c.idempotencyKey()
	if err != nil {
		return research.Triggered{}, err
	}
	if in.DryRun {
		c.answer = http.StatusOK // nothing is created
	}
	out, err := s.research.Start(c.Context(), in, key)
	c.replayed(out.Replayed)
	return out, err
}

func (s *Server) researchStatus(c *call, in api.StatusRequest) (research.Status, error) {
	return s.research.Status(c.Context(), cmp.Or(in.Waiting, someWaiting))
}

func (s *Server) memory(c *call, q research.MemoryQuery) (m research.MemoryPage, err error) {
	q.Kind = cmp.Or(q.Kind, "experiments")
	if q.Run, err = s.runNamed(c, q.Run); err != nil {
		return m, err
	}
	m, c.next, err = s.research.Memory(c.Context(), q)
	for i := range m.Experiments { // the answer about one research has them
		m.Experiments[i].Note, m.Experiments[i].Trial = nil, nil
	}
	return m, err
}

func (s *Server) leaderboard(c *call, q report.LeaderboardQuery) (b report.Leaderboard, err error) {
	if q.Run, err = s.runNamed(c, q.Run); err != nil {
		return b, err
	}
	q.Limit = cmp.Or(q.Limit, leaders)
	b, err = s.research.Leaderboard(c.Context(), q)
	if ktrdr.CodeOf(err) == ktrdr.CodeInvalid { // of the query: there is no body
		err = malformed("%w", err)
	}
	b.Rows, c.next = filled(b.Rows), b.Next
	return b, err
}

// filled makes an empty list [] on the wire, where it is a part of the data.
func filled[T any](list []T) []T { return append([]T{}, list...) }

func (s *Server) report(c *call, in api.FullReportRequest) (r report.Report, err error) {
	q, err := s.span(c, in.ReportRequest)
	if err != nil {
		return r, err
	}
	q.Panels = in.Panels
	r, err = s.research.Report(c.Context(), q)
	r.Claims, r.Leaders, r.Failures = filled(r.Claims), filled(r.Leaders), filled(r.Failures)
	return r, err
}

func (s *Server) search(c *call, in api.ReportRequest) (report.Search, error) {
	q, err := s.span(c, in)
	if err != nil {
		return report.Search{}, err
	}
	return s.research.Search(c.Context(), q)
}

func (s *Server) panel(c *call, in report.PanelQuery) (report.Panel, error) {
	out, err := s.research.Panel(c.Context(), in)
	if ktrdr.CodeOf(err) == ktrdr.CodeInvalid { // of the query: there is no body
		err = malformed("%w", err)
	}
	return out, err
}

func (s *Server) compare(c *call, in api.CompareRequest) (report.Compared, error) {
	out, err := s.research.Compare(c.Context(), in.IDs)
	if ktrdr.CodeOf(err) == ktrdr.CodeInvalid { // of the query: there is no body
		err = malformed("%w", err)
	}
	return out, err
}

// span is what a report is about.
func (s *Server) span(c *call, in api.ReportRequest) (q report.Query, err error) {
	if q.Run, err = s.runNamed(c, in.Run); err != nil {
		return q, err
	}
	switch now := time.Now(); {
	case in.Since != "":
		q.Since, q.Last, err = since(in.Since, now)
	case q.Run == "":
		q.Since = now.Add(-reportSpan)
	}
	return q, err
}

// since reads how far back to look.
func since(text string, now time.Time) (at time.Time, last bool, err error) {
	if strings.EqualFold(text, "last") {
		return at, true, nil
	}
	if d, err := time.ParseDuration(text); err == nil {
		if d <= 0 {
			return at, false, malformed("the query parameter since is a duration before now, which is positive, not %.40q", text)
		}
		return now.Add(-d), false, nil
	}
	at, err = time.Parse(time.RFC3339, text)
	switch {
	case err != nil:
		return at, false, malformed(
			"the query parameter since is an instant such as 2026-11-14T22:00:00Z, a duration such as 12h, or last, not %.40q", text)
	case at.After(now):
		return at, false, malformed("the query parameter since lies in the future: %s", text)
	}
	return at, false, nil
}
