package httpapi

import (
	"cmp"
	"context"

	"github.com/ktrdr/ktrdr"
)

// LeaderboardQuery selects what is ranked; empty fields select all.
type LeaderboardQuery struct {
	Run       string
	Symbol    string
	Timeframe string
	Limit     int
}

// Leaderboard is a ranking of researches.
type Leaderboard struct {
	Summary    string   `json:"summary"`        // the claims, the markets, and the claims that luck alone gives
	Claims     int      `json:"claims"`         // of the selection
	Markets    int      `json:"markets"`        // that the selection was tried on
	ByLuck     float64  `json:"claims_by_luck"` // that luck alone gives at most, on average
	Thresholds string   `json:"thresholds"`     // what a claim and a finalist must reach
	Rows       []Leader `json:"rows"`
}

// Leader is a row of the leaderboard. Figures are of the test part, net of costs.
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
		paramLimit), (*Server).leaderboard)
}

func (s *Server) leaderboard(c *call, _ none) (Leaderboard, error) {
	q := LeaderboardQuery{
		Run: c.query.Get("run"), Symbol: c.query.Get("symbol"), Timeframe: c.query.Get("timeframe"),
		Limit: cmp.Or(c.query.count("limit", maxPage), leaders),
	}
	if c.query.err != nil {
		return Leaderboard{}, c.query.err
	}
	b, err := s.research.Leaderboard(c.Context(), q)
	b.Rows = listed(b.Rows)
	return b, err
}

// Leaderboard ranks researches.
func (cl *Client) Leaderboard(ctx context.Context, q LeaderboardQuery) (out Leaderboard, err error) {
	query := runQuery(q.Run)
	if q.Symbol != "" {
		query.Set("symbol", q.Symbol)
	}
	if q.Timeframe != "" {
		query.Set("timeframe", q.Timeframe)
	}
	setPage(query, q.Limit, "")
	_, err = cl.get(ctx, "leaderboard", query, &out)
	return out, err
}
