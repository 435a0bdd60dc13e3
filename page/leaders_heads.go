package page

import (
	"cmp"
	"html/template"
	"net/url"
	"strconv"

	"github.com/ktrdr/ktrdr/chart"
	"github.com/ktrdr/ktrdr/report"
)

// boardHead is the head of a column. It is a link that sorts by the column, and
// that reverses the order if the board is sorted by it already.
type boardHead struct {
	Name, Title, Class, At string
	Sorted, Arrow          string // of the column that the board is sorted by
	Axis                   template.HTML
}

// boardColumns are the columns of a leaderboard and what each sorts by.
var boardColumns = []struct {
	name, class string
	sort        report.LeaderSort
	title       string
}{
	{"Strategy", "", "strategy", ""},
	{"Symbol", "p1", "symbol", ""},
	{"Verdict", "p1", "rank", "Claims first, then what luck explains least"},
	{"Skill beside luck", "bl", "z", "The weaker of the z-values of Sharpe ratio and alpha"},
	{"Test Sharpe", "n", "sharpe", ""},
	{"Luck reaches", "n p1", "luck", "Expected best Sharpe ratio of all counted trials if none has an edge"},
	{"Holdout", "n p1", "holdout", ""},
	{"Deflated", "n p3", "deflated", "Confidence from 0 to 1 that the test part shows more than luck"},
	{"Return", "n p1", "return", ""},
	{"Buy & hold", "n p3", "hold", "Return of the same bars, fully invested"},
	{"Max DD", "n p3", "drawdown", ""},
	{"Trades", "n p3", "trades", ""},
	{"bp/side", "n p3", "cost", "Costs of one entry or exit in basis points"},
	{"Checks", "n p2", "checks", "Checks passed on the test part"},
	{"Main reason", "p2", "reason", ""},
}

func (q boardQuery) heads(keep []field, scale chart.Scale) []boardHead {
	heads := make([]boardHead, len(boardColumns))
	now := cmp.Or(q.Sort, report.Sorts[0])
	for i, c := range boardColumns {
		h := boardHead{Name: c.name, Title: c.title, Class: c.class}
		to := q
		to.Sort, to.Reverse = c.sort, false
		if c.sort == now {
			h.Sorted, h.Arrow = "descending", "↓"
			if report.Ascending(now, q.Reverse) {
				h.Sorted, h.Arrow = "ascending", "↑"
			}
			to.Reverse = !q.Reverse
		}
		if c.class == "bl" {
			h.Axis = chart.SkillAxis(scale)
		}
		h.At = to.from("", keep) + "#leaders"
		heads[i] = h
	}
	return heads
}

// readReverse reads whether the order of a board is reversed.
func readReverse(v url.Values) bool {
	yes, err := strconv.ParseBool(v.Get("reverse"))
	return err == nil && yes
}
