package report

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/research"
)

func TestLeaders_AreSortedByAFigure(t *testing.T) {
	rows := []Leader{
		{Rank: 1, Trial: ktrdr.Trial{TrialFigures: ktrdr.TrialFigures{Sharpe: new(1.0), MaxDrawdown: new(0.3), Trades: 5}}},
		{Rank: 2, Trial: ktrdr.Trial{TrialFigures: ktrdr.TrialFigures{Sharpe: new(3.0), Trades: 9}}},
		{Rank: 3, Trial: ktrdr.Trial{TrialFigures: ktrdr.TrialFigures{Sharpe: new(2.0), MaxDrawdown: new(0.1), Trades: 9}}},
	}
	for i, name := range []string{"trend", "", "momentum"} {
		rows[i].Strategy, rows[i].Details = name, &LeaderDetails{Checks: 9, Passed: []int{7, 9, 8}[i]}
	}
	rows[1].Details.Checks = 0 // it was not judged
	for by, want := range map[LeaderSort][]int{
		"rank": {1, 2, 3}, "sharpe": {2, 3, 1}, "drawdown": {3, 1, 2}, "trades": {2, 3, 1}, "strategy": {3, 1, 2}, "checks": {3, 1, 2},
		"-rank": {3, 2, 1}, "-sharpe": {1, 3, 2}, "-drawdown": {1, 3, 2}, "-strategy": {1, 3, 2}, "-checks": {1, 3, 2},
	} {
		sorted := append([]Leader{}, rows...)
		name, reverse := strings.CutPrefix(string(by), "-")
		sortLeaders(sorted, LeaderSort(name), reverse)
		for i, r := range sorted {
			if r.Rank != want[i] {
				t.Errorf("by %s: rank %d in place %d, want %v", by, r.Rank, i, want)
			}
		}
	}
}

func TestLeaders_HaveAnOrderForEverySort(t *testing.T) {
	if len(orders) != len(Sorts)-1 { // but rank
		t.Errorf("%d sorts have an order, want %d", len(orders), len(Sorts)-1)
	}
	for _, by := range Sorts[1:] {
		if o, known := orders[by]; !known || (o.figure == nil) == (o.text == nil) {
			t.Errorf("%s has no order by a figure or by a text", by)
		}
	}
}

func TestLeaderDetails_AreOfTheNewestAssessment(t *testing.T) {
	var d LeaderDetails
	for _, result := range []string{
		`{"reasons": [{"code": "enough_trades", "passed": true}, {"code": "beats_luck"}, {"code": "beats_buy_and_hold"}]}`,
		`{"reasons": [{"code": "not_ruined"}]}`, `[]`,
	} {
		d.read(&ktrdr.Operation{Type: ktrdr.AgentAssessment, Result: json.RawMessage(result)})
	}
	d.read(&ktrdr.Operation{
		Type:   ktrdr.Backtesting,
		Result: json.RawMessage(`{"metrics": {"buy_and_hold_return_pct": -9.5}, "config": {"commission": 0.0001, "slippage": 0.00005}}`),
	})
	if d.Checks != 3 || d.Passed != 1 || d.Failures != 2 || d.Failed == nil || d.Failed.Code != evidence.BeatsLuck {
		t.Errorf("the checks are %+v", d)
	}
	if d.BuyAndHold == nil || *d.BuyAndHold != -0.095 || d.CostPerSide == nil || math.Abs(*d.CostPerSide-0.00015) > 1e-9 {
		t.Errorf("the figures are %+v", d)
	}
}

func TestThresholds_AreThoseOfTheRules(t *testing.T) {
	const want = "claimed: adjusted p <= 0.02 on the holdout, with 10 trades or more; " +
		"finalist: passed all nine checks (`ktrdr help research`)."
	if n := len(evidence.Judge(evidence.Case{}, evidence.Rules{}).Reasons); n != 9 {
		t.Errorf("a strategy has %d checks, and the leaderboard says nine", n)
	}
	if got := thresholds(evidence.Rules{}.WithDefaults()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got, want := claimsOnMarkets(1, 3), "1 claim on 3 markets; luck alone gives up to 0.06."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Whatever a research that ended came to, a leaderboard can be limited to it.
func TestOutcomes_NameEveryStanding(t *testing.T) {
	finalist := ktrdr.Trial{Status: ktrdr.Completed, Type: ktrdr.AgentResearch, Rung: ktrdr.RungFinalist}
	fragile, broken, rejected := finalist, finalist, finalist
	fragile.Examined, broken.Examined, rejected.Rung = string(evidence.Fragile), string(evidence.Failed), ktrdr.RungRejected
	for _, trial := range []ktrdr.Trial{
		finalist, fragile, broken, rejected,
		{Status: ktrdr.Completed, Type: ktrdr.AgentResearch},
		{Status: ktrdr.Failed},
		{Status: ktrdr.Cancelled},
		{Claim: true},
		{Status: ktrdr.Completed, Look: "op_look"},
		{Status: ktrdr.Completed, Look: "op_look", LookEnded: true},
	} {
		if said := research.Standing(&trial); !slices.Contains(Outcomes, strings.ReplaceAll(said, ",", "")) {
			t.Errorf("%q is not among the outcomes", said)
		}
	}
}

func TestRanking_SelectsByOutcomeAndText(t *testing.T) {
	rows := []Leader{
		{Standing: "finalist, not opened", Trial: ktrdr.Trial{Operation: "op_agent_research_20260101_000000_0000aaaa"}},
		{Standing: "no edge", Trial: ktrdr.Trial{Operation: "op_agent_research_20260101_000000_0000bbbb"}},
	}
	rows[0].Strategy, rows[1].Strategy = "mean_reversion_1234abcd", "Breakout_9"
	for _, c := range []struct {
		outcome, text string
		want          [2]bool
	}{
		{"", "", [2]bool{true, true}},
		{"finalist not opened", "", [2]bool{true, false}},
		{"no edge", "", [2]bool{false, true}},
		{"", "Mean Rev", [2]bool{true, false}},
		{"", "breakout", [2]bool{false, true}},
		{"", "0000bbbb", [2]bool{false, true}},
		{"no edge", "mean", [2]bool{false, false}},
	} {
		q := ranking{outcome: c.outcome, text: c.text}
		if got := [2]bool{q.selects(&rows[0]), q.selects(&rows[1])}; got != c.want {
			t.Errorf("outcome %q, text %q: %v, want %v", c.outcome, c.text, got, c.want)
		}
	}
}
