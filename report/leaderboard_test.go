package report

import (
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/evidence"
)

func TestLeaders_AreSortedByAFigure(t *testing.T) {
	rows := []Leader{
		{Rank: 1, Trial: ktrdr.Trial{TrialFigures: ktrdr.TrialFigures{Sharpe: new(1.0), MaxDrawdown: new(0.3), Trades: 5}}},
		{Rank: 2, Trial: ktrdr.Trial{TrialFigures: ktrdr.TrialFigures{Sharpe: new(3.0), Trades: 9}}},
		{Rank: 3, Trial: ktrdr.Trial{TrialFigures: ktrdr.TrialFigures{Sharpe: new(2.0), MaxDrawdown: new(0.1), Trades: 9}}},
	}
	for by, want := range map[string][]int{"rank": {1, 2, 3}, "sharpe": {2, 3, 1}, "drawdown": {3, 1, 2}, "trades": {2, 3, 1}} {
		sorted := append([]Leader{}, rows...)
		sortLeaders(sorted, by)
		for i, r := range sorted {
			if r.Rank != want[i] {
				t.Errorf("by %s: rank %d in place %d, want %v", by, r.Rank, i, want)
			}
		}
	}
}

func TestThresholds_AreThoseOfTheRules(t *testing.T) {
	const want = "claimed: adjusted p <= 0.02 on the holdout, with 10 trades or more; finalist: deflated Sharpe >= 0.5 on the test part " +
		"when it was judged, 30 trades or more, drawdown <= 30 %."
	if got := thresholds(evidence.Rules{}.WithDefaults()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got, want := claimsOnMarkets(1, 3), "1 claim on 3 markets; luck alone gives up to 0.06."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
