package httpapi

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/ktrdr/ktrdr"
)

// LeaderboardQuery selects what is ranked; empty fields select all.
type LeaderboardQuery struct {
	Run       string
	Symbol    string
	Timeframe string
	Sort      string // one of LeaderSorts; empty means by rank
	Limit     int
	Cursor    string
}

// LeaderSorts are the orders of a leaderboard. All but the first order the best
// of each market by a figure, the best first; what has no such figure comes last.
var LeaderSorts = []string{"rank", "sharpe", "alpha", "return", "drawdown", "trades", "newest"}

// Leaderboard is a ranking of researches.
type Leaderboard struct {
	Summary    string   `json:"summary"`        // the claims, the markets, and the claims that luck alone gives
	Claims     int      `json:"claims"`         // of the selection
	Markets    int      `json:"markets"`        // that the selection was tried on
	ByLuck     float64  `json:"claims_by_luck"` // that luck alone gives at most, on average
	Thresholds string   `json:"thresholds"`     // what a claim and a finalist must reach
	Rows       []Leader `json:"rows"`
	Next       string   `json:"-"` // cursor of the next page, beside the data
}

// Leader is a row of the leaderboard. Figures are of the test part, net of costs.
// Of the trial it has what a row shows: no key, type, z-values and hashes.
type Leader struct {
	Rank int `json:"rank"`
	ktrdr.Trial
	Standing string   `json:"standing"`        // what it came to, in words
	Deflated *float64 `json:"deflated_sharpe"` // by the trials on its market today
	Holdout  *Holdout `json:"holdout,omitempty"`
}

// Holdout is what a look showed: Sharpe ratios per year, net of costs.
type Holdout struct {
	Sharpe *float64 `json:"sharpe_ratio"`
	Low    *float64 `json:"low"` // 95 % interval
	High   *float64 `json:"high"`
	Shrunk *float64 `json:"shrunk"` // corrected for having been selected; null unless it is a claim
}

// leaders is how many rows the leaderboard has by default.
const leaders = 20

func leaderboardRoute() row {
	return on(get("/api/v1/leaderboard", "The best researches: claims first, then by the deflated Sharpe ratio with the number of trials today",
		param{name: "run", kind: kindString, doc: "only those of this run"},
		param{name: "symbol", kind: kindString, doc: "only those that trade this symbol"},
		param{name: "timeframe", kind: kindString, doc: "only those that use bars of this timeframe"},
		param{name: "sort", kind: kindString, doc: "the order: " + strings.Join(LeaderSorts, ", ") + "; by default rank"},
		paramLimit, paramCursor), (*Server).leaderboard)
}

func (s *Server) leaderboard(c *call, _ none) (Leaderboard, error) {
	q := LeaderboardQuery{
		Symbol: c.query.Get("symbol"), Timeframe: c.query.Get("timeframe"),
		Sort:  strings.ToLower(c.query.Get("sort")),
		Limit: cmp.Or(c.query.count("limit", maxPage), leaders), Cursor: c.query.Get("cursor"),
	}
	if q.Sort != "" && !slices.Contains(LeaderSorts, q.Sort) {
		unknown(&c.query, "sort", q.Sort, LeaderSorts)
	}
	if c.query.err != nil {
		return Leaderboard{}, c.query.err
	}
	var err error
	if q.Run, err = s.runNamed(c); err != nil {
		return Leaderboard{}, err
	}
	b, err := s.research.Leaderboard(c.Context(), q)
	if ktrdr.CodeOf(err) == ktrdr.CodeInvalid { // of the query: there is no body
		err = malformed("%w", err)
	}
	b.Rows, c.next = listed(b.Rows), b.Next
	return b, err
}

// Leaderboard ranks researches.
func (cl *Client) Leaderboard(ctx context.Context, q LeaderboardQuery) (out Leaderboard, err error) {
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
