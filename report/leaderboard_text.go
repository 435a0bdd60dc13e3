package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/internal/text"
)

// PrintLeaderboard prints a leaderboard, its claims and what it takes to claim.
func PrintLeaderboard(w io.Writer, b Leaderboard) {
	fmt.Fprintln(w, b.Summary)
	head, cells := LeaderHead, leaderCells
	if len(b.Rows) > 0 && b.Rows[0].Details != nil {
		head = append(slices.Clone(head), "HOLD", "BP/SIDE", "CHECKS", "FAILED")
		cells = func(l Leader) []any { return append(leaderCells(l), l.Details.cells()...) }
	}
	term.Table(w, strings.Join(head, "\t"), b.Rows, cells)
	PrintCostLegend(w, belowDefault(b.Rows))
	for _, l := range b.Rows {
		if l.Claim {
			fmt.Fprintln(w, term.Plain(claimLine(l)))
		}
	}
	fmt.Fprintln(w, b.Thresholds)
}

// LeaderHead are the columns that leaderCells fills.
var LeaderHead = []string{
	"RESEARCH", "STRATEGY", "MARKET", "PRICES", "RUN", "SHARPE", "ALPHA", "DEFL", "RETURN", "TRIALS", "LOOKS", "RESULT",
}

func leaderCells(l Leader) []any {
	if l.CheapCosts {
		l.Standing += " *"
	}
	return []any{
		l.Operation.Tail(), term.Dash(l.Strategy), l.Symbols + " " + l.Timeframes, term.Prices(l.MadeUp),
		term.Dash(ktrdr.ShortRun(l.Run)), term.Hundredths(l.Sharpe), term.Percent(l.Alpha), term.Hundredths(l.Deflated),
		term.Percent(l.NetReturn), l.MarketTrials, l.MarketLooks, l.Standing,
	}
}

// belowDefault says whether a row has a marked cost.
func belowDefault(rows []Leader) bool {
	return slices.ContainsFunc(rows, func(l Leader) bool { return l.CheapCosts })
}

// claimLine is a claim with the Sharpe ratio of its holdout, and how far that can
// be trusted.
func claimLine(l Leader) string {
	said := fmt.Sprintf("%s: edge claimed, %s after adjustment", l.Operation.Tail(), PValue(l.Adjusted))
	if h := l.Holdout; h != nil {
		said += "; holdout Sharpe " + HoldoutText(h)
	}
	return term.OnMadeUp(said, l.MadeUp) + "."
}

// Significant is a p-value with two digits.
func Significant(x *float64) string {
	if x == nil {
		return "unknown"
	}
	return text.Probability(*x)
}

// PValue is a p-value with its letter.
func PValue(x *float64) string {
	if x == nil {
		return "p unknown"
	}
	return text.PValue(*x)
}

// HoldoutText is a Sharpe ratio of a holdout with how far it can be trusted.
func HoldoutText(h *Holdout) string {
	said := fmt.Sprintf("%s (95 %% interval %s to %s", term.Hundredths(h.Sharpe), term.Hundredths(h.Low), term.Hundredths(h.High))
	if h.Shrunk != nil {
		said += ", shrunk for selection " + term.Hundredths(h.Shrunk)
	}
	return said + ")"
}

// CostLegend explains the mark of a cost in a table.
const CostLegend = "* The cost is below the default for the asset class: see `ktrdr help research`."

// PrintCostLegend explains the mark below a table that has one.
func PrintCostLegend(w io.Writer, marked bool) {
	if marked {
		fmt.Fprintln(w, CostLegend)
	}
}
