package page

import (
	"cmp"
	"fmt"
	"html/template"
	"net/url"
	"strings"

	"github.com/ktrdr/ktrdr/chart"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/report"
)

const (
	leadersOfAPage = 50
	leadersOfAFile = 300
)

// board is the leaderboard, with the form of its filters.
type board struct {
	At                              string  // the page that it is on
	Keep                            []field // of the query of the page, beside the filters
	Sorts, Outcomes                 []option
	Symbol, Timeframe, Text         string
	Summary, Shown, NoLeaders, Next string
	Filtered, MadeUp, Reverse       bool // MadeUp: the prices of all rows
	Heads                           []boardHead
	Leaders                         []leader
}

// boardQuery is the query of a page with a leaderboard.
type boardQuery struct {
	at string // the path of the page
	report.LeaderboardQuery
}

// readBoardQuery reads the filters from the URL.
func readBoardQuery(at string, v url.Values) boardQuery {
	return boardQuery{at, report.LeaderboardQuery{
		Run: v.Get("run"), Symbol: v.Get("symbol"), Timeframe: v.Get("timeframe"), Outcome: v.Get("outcome"), Text: v.Get("q"),
		Sort: report.LeaderSort(v.Get("sort")), Reverse: readReverse(v), Details: true, Limit: leadersOfAPage, Cursor: v.Get("cursor"),
	}}
}

// from is the URL of the page with these filters from a cursor on.
func (q boardQuery) from(cursor string, keep []field) string {
	v := url.Values{}
	reverse := ""
	if q.Reverse {
		reverse = "true"
	}
	for _, f := range append([]field{
		{"symbol", q.Symbol},
		{"timeframe", q.Timeframe},
		{"outcome", q.Outcome},
		{"q", q.Text},
		{"sort", string(q.Sort)},
		{"reverse", reverse},
		{"cursor", cursor},
	}, keep...) {
		if f.Value != "" {
			v.Set(f.Name, f.Value)
		}
	}
	return q.at + "?" + v.Encode()
}

type leader struct {
	ID, Handle, Strategy, Symbol, Timeframe, Verdict, Mark   string
	MadeUp                                                   bool
	Skill                                                    template.HTML
	Sharpe, Error, Luck, Holdout, Deflated, Return, Drawdown string
	Trials, Trades                                           int // Trials: of the best by luck
	Hold, Cost, Checks, Reason                               string
	Others                                                   int // checks that failed beside the main reason
}

// marks are the shapes that stand before the words of a verdict.
var marks = map[string]string{
	"claimed": "claimed", "failed": "failed", "cancelled": "failed", "gate rejected": "gate", "not ended": "run",
	"not confirmed": "neutral", "being confirmed": "run", "finalist, not opened": "neutral",
	"finalist, fragile": "neutral", "finalist, examination failed": "failed",
}

// boardOf is the leaderboard as a page shows it. The fields are kept in its form.
func boardOf(b report.Leaderboard, q boardQuery, keep []field) board {
	n := board{
		At: q.at, Symbol: q.Symbol, Timeframe: q.Timeframe, Text: q.Text, Summary: b.Summary, NoLeaders: "No strategy has been tried.",
		Filtered: q.Symbol+q.Timeframe+q.Outcome+q.Text != "",
	}
	for _, f := range keep {
		if f.Value != "" {
			n.Keep = append(n.Keep, f)
		}
	}
	if n.Filtered {
		n.NoLeaders = "No strategy matches."
	}
	for _, name := range report.Sorts {
		n.Sorts = append(n.Sorts, option{Value: string(name), Name: string(name), Chosen: name == cmp.Or(q.Sort, report.Sorts[0])})
	}
	n.Outcomes = []option{{Value: "", Name: "any", Chosen: q.Outcome == ""}}
	for _, name := range report.Outcomes {
		n.Outcomes = append(n.Outcomes, option{Value: name, Name: name, Chosen: name == q.Outcome})
	}
	if b.Next != "" {
		n.Next = q.from(b.Next, n.Keep)
	}
	scale := skillScale(b.Rows)
	n.Heads = q.heads(n.Keep, scale)
	n.MadeUp, n.Reverse = madeUp(b.Rows), q.Reverse
	for i := range b.Rows {
		row := leaderOf(&b.Rows[i], scale)
		row.MadeUp = row.MadeUp && !n.MadeUp // the head says it of all
		n.Leaders = append(n.Leaders, row)
	}
	n.Shown = fmt.Sprintf("%d shown.", len(n.Leaders))
	if b.Next != "" {
		n.Shown = fmt.Sprintf("%d shown, more follow.", len(n.Leaders))
	}
	return n
}

func leaderOf(l *report.Leader, scale chart.Scale) leader {
	row := leader{
		ID: string(l.Operation), Handle: l.Operation.Tail(), Strategy: strategyName(l.Strategy), Symbol: l.Symbols, Timeframe: l.Timeframes,
		Verdict: l.Standing, Mark: marks[l.Standing], MadeUp: l.MadeUp != nil && *l.MadeUp,
		Sharpe: number(l.Sharpe, 2), Luck: missing, Holdout: "sealed", Deflated: number(l.Deflated, 3), Return: percent(l.NetReturn),
		Drawdown: share(l.MaxDrawdown), Trades: l.Trades, Hold: missing, Cost: missing, Checks: missing,
	}
	row.Reason, row.Others = mainReason(l)
	if d := l.Details; d != nil {
		row.Hold = percent(d.BuyAndHold)
		if d.CostPerSide != nil {
			row.Cost = chart.Number(*d.CostPerSide*1e4, 1)
		}
		if d.Checks > 0 {
			row.Checks = fmt.Sprintf("%d of %d", d.Passed, d.Checks)
		}
	}
	if row.Strategy == "" {
		row.Strategy = "not designed yet"
	}
	if l.Sharpe != nil {
		skill := chart.Skill{Value: *l.Sharpe, Scale: scale}
		if l.StandardError != nil {
			skill.Error, row.Error = *l.StandardError, number(l.StandardError, 2)
			skill.Luck = *l.Luck()
			row.Luck, row.Trials = chart.Number(skill.Luck, 2), l.MarketTrials
		}
		row.Skill = skill.HTML()
	}
	switch {
	case l.Holdout != nil:
		row.Holdout = number(l.Holdout.Sharpe, 2)
	case l.LookEnded: // it was opened; the row does not say what it showed
		row.Holdout = "opened"
	}
	return row
}

// skillScale holds the Sharpe ratios of all rows with their errors and luck.
func skillScale(rows []report.Leader) chart.Scale {
	s := chart.Scale{Min: -2, Max: 2}
	for _, l := range rows {
		if l.Sharpe == nil {
			continue
		}
		s = s.Include(max(*l.Sharpe, -3))
		if l.StandardError != nil {
			s = s.Include(*l.Sharpe + *l.StandardError).Include(evidence.BestByLuck(l.MarketTrials) * *l.StandardError)
		}
	}
	return s.Pad(0.04)
}

// strategyName is a name without the hash at its end.
func strategyName(name string) string {
	stem, hash, found := cutLast(name, "_")
	if found && len(hash) >= 6 && strings.Trim(hash, "0123456789abcdef") == "" {
		name = stem
	}
	return strings.ReplaceAll(plain(name), "_", " ")
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}
