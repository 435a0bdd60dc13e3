package report

import (
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/research"
)

// leader is a row of a leaderboard.
func leader(t ktrdr.Trial, deflated *float64) Leader {
	t.Operation, t.Run, t.Type = "op_agent_research_20261115_080000_685ec14d", "run_0123456789abcdef", ktrdr.AgentResearch
	t.Symbols, t.Timeframes, t.Status = "EURUSD", "1h", ktrdr.Completed
	return Leader{Rank: 1, Trial: t, Standing: research.Standing(&t), Deflated: deflated}
}

func TestLeaderboard_AClaimedSharpeNeverStandsAlone(t *testing.T) {
	claimed := leader(ktrdr.Trial{
		TrialFigures: ktrdr.TrialFigures{Strategy: "trend_a", Sharpe: new(3.1), Alpha: new(0.123), NetReturn: new(0.2)},
		MarketTrials: 41, MarketLooks: 3, Look: "op_look", LookEnded: true, Claim: true, Adjusted: new(0.0041),
	}, new(0.97))
	claimed.MadeUp = new(true)
	claimed.Holdout = &Holdout{Sharpe: new(3.36), Low: new(0.52), High: new(4.1), Shrunk: new(2.05)}
	loser := leader(ktrdr.Trial{
		TrialFigures: ktrdr.TrialFigures{Strategy: "a_name_that_is_far_too_long_for_it", Sharpe: new(-0.42)}, Rung: ktrdr.RungRejected,
		MarketTrials: 41, MarketLooks: 3,
	}, nil)
	b := Leaderboard{
		Summary: "1 claim on 3 markets; luck alone gives up to 0.06.", Thresholds: "claimed: adjusted p <= 0.02.",
		Rows: []Leader{claimed, loser},
	}
	var text strings.Builder
	PrintLeaderboard(&text, b)
	lines := strings.Split(strings.TrimSpace(text.String()), "\n")
	for i := range lines {
		lines[i] = strings.Join(strings.Fields(lines[i]), " ")
	}
	for i, want := range []string{
		"1 claim on 3 markets; luck alone gives up to 0.06.",
		"RESEARCH STRATEGY MARKET PRICES RUN SHARPE ALPHA DEFL RETURN TRIALS LOOKS RESULT",
		"685ec14d trend_a EURUSD 1h made up run_01234567 3.10 12.3% 0.97 20.0% 41 3 claimed",
		"685ec14d a_name_that_is_far_too_long_for_it EURUSD 1h unknown run_01234567 -0.42 - - - 41 3 gate rejected",
		"685ec14d: edge claimed, p = 0.0041 after adjustment; holdout Sharpe 3.36 (95 % interval 0.52 to 4.10, shrunk for selection 2.05), " +
			"prices made up.",
		"claimed: adjusted p <= 0.02.",
	} {
		if i >= len(lines) || lines[i] != want {
			t.Errorf("line %d is not %q in:\n%s", i, want, text.String())
		}
	}
}
