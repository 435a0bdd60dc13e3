package httpapi

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/report"
)

// leaders is how many rows the leaderboard has by default.
const leaders = 20

func leaderboardRoute() row {
	return on(get("/api/v1/leaderboard", "The best researches: claims first, then by the deflated Sharpe ratio with the number "+
		"of trials today",
		param{name: "run", kind: kindString, doc: "only those of this run"},
		param{name: "symbol", kind: kindString, doc: "only those that trade this symbol"},
		param{name: "timeframe", kind: kindString, doc: "only those that use bars of this timeframe"},
		param{name: "sort", kind: kindString, doc: "the order: " + strings.Join(report.Sorts, ", ") + "; by default rank"},
		paramLimit, paramCursor), (*Server).leaderboard)
}

func (s *Server) leaderboard(c *call, _ none) (report.Leaderboard, error) {
	q := report.LeaderboardQuery{
		Symbol: c.query.Get("symbol"), Timeframe: c.query.Get("timeframe"),
		Sort:  strings.ToLower(c.query.Get("sort")),
		Limit: cmp.Or(c.query.count("limit", maxPage), leaders), Cursor: c.query.Get("cursor"),
	}
	if q.Sort != "" && !slices.Contains(report.Sorts, q.Sort) {
		unknown(&c.query, "sort", q.Sort, report.Sorts)
	}
	if c.query.err != nil {
		return report.Leaderboard{}, c.query.err
	}
	var err error
	if q.Run, err = s.runNamed(c); err != nil {
		return report.Leaderboard{}, err
	}
	b, err := s.research.Leaderboard(c.Context(), q)
	if ktrdr.CodeOf(err) == ktrdr.CodeInvalid { // of the query: there is no body
		err = malformed("%w", err)
	}
	b.Rows, c.next = listed(b.Rows), b.Next
	return b, err
}

// Leaderboard ranks researches.
func (cl *Client) Leaderboard(ctx context.Context, q report.LeaderboardQuery) (out report.Leaderboard, err error) {
	query := runQuery(q.Run)
	if q.Symbol != "" {
		query.Set("symbol", q.Symbol)
	}
	for name, value := range map[string]string{"timeframe": q.Timeframe, "sort": q.Sort} {
		if value != "" {
			query.Set(name, value)
		}
	}
	setPage(query, q.Limit, q.Cursor)
	out.Next, err = cl.get(ctx, "leaderboard", query, &out)
	return out, err
}
