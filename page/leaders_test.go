package page

import (
	"net/url"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/report"
)

func TestBoard_AHeadSortsAndThenReverses(t *testing.T) {
	head := func(query string) boardHead {
		v, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		b := boardOf(report.Leaderboard{}, readBoardQuery("/strategies", v), []field{{"run", v.Get("run")}})
		sorted := 0
		for _, h := range b.Heads {
			if h.Sorted != "" {
				sorted++
			}
		}
		if sorted != 1 {
			t.Errorf("%s: %d columns are sorted by, want 1", query, sorted)
		}
		for _, h := range b.Heads {
			if h.Name == "Max DD" {
				return h
			}
		}
		t.Fatal("there is no such column")
		return boardHead{}
	}
	for query, want := range map[string]boardHead{
		"symbol=EURUSD&cursor=50&run=r": {At: "/strategies?run=r&sort=drawdown&symbol=EURUSD#leaders"},
		"sort=drawdown":                 {At: "/strategies?reverse=true&sort=drawdown#leaders", Sorted: "ascending", Arrow: "↑"},
		"sort=drawdown&reverse=true":    {At: "/strategies?sort=drawdown#leaders", Sorted: "descending", Arrow: "↓"},
	} {
		got := head(query)
		if got.At != want.At || got.Sorted != want.Sorted || got.Arrow != want.Arrow {
			t.Errorf("%s: the head is %+v, want %+v", query, got, want)
		}
	}
}

func TestMainReason_IsTheFirstCheckThatFailed(t *testing.T) {
	row := func(code string, value, limit float64) report.Leader {
		return report.Leader{Details: &report.LeaderDetails{
			Failures: 2, Failed: &evidence.Reason{Code: evidence.Code(code), Value: &value, Limit: &limit},
		}}
	}
	claim, opened := report.Leader{}, row("beats_luck", 0.1, 0.5)
	unknown := row("bounded_decay", 0, 0.2)
	unknown.Details.Failed.Value = nil
	claim.Claim, claim.Adjusted, claim.MarketLooks = true, new(0.0014), 5
	opened.LookEnded, opened.Adjusted = true, new(0.124)
	for want, l := range map[string]report.Leader{
		"12 trades, 30 needed":   row("enough_trades", 12, 30),
		"covers 1.06× the costs": row("survives_costs", 1.06, 1.5),
		"luck explains it":       row("beats_luck", 0.1, 0.5),
		"Sharpe ratio too low":   row("sharpe_too_low", -0.6, -0.5),
		"p = 0.0014 adjusted":    claim,
		"holdout p = 0.124":      opened,
		"decay unknown":          unknown,
		missing:                  {Details: &report.LeaderDetails{}},
	} {
		if got, _ := mainReason(&l); !strings.EqualFold(got, want) {
			t.Errorf("the main reason is %q, want %q", got, want)
		}
	}
}
