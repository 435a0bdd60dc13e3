package view

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/agent"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/report"
	"github.com/ktrdr/ktrdr/research"
)

// TestResults_FiguresHaveGroupsAndUnits prints a research and a backtest: the same
// share is a fraction in the one and a percentage in the other.
func TestResults_FiguresHaveGroupsAndUnits(t *testing.T) {
	var b bytes.Buffer
	Figures(&b, json.RawMessage(`{"summary":"A finalist.","backtest_result":{"net_return":0.0871,"sharpe_ratio":8.353,
		"max_drawdown":0.0094,"total_trades":99,"cost_share":0.7382,"cost_per_side":0.00015,"alpha":0.52,"deflated_sharpe":0.9937,
		"trials_counted":3,"unheard_of":1.5}}`))
	Figures(&b, json.RawMessage(`{"summary":"Traded.","metrics":{"total_return_pct":0.58,"max_drawdown_pct":1.105,"win_rate":0.875,
		"avg_holding_period":188.6,"cost_total":120.773,"bars_per_year":6303.086985839514}}`))
	for _, want := range []string{
		"Test part, net of costs\n  net return                 8.71 %\n", "Sharpe ratio               8.35 a year\n",
		"maximum drawdown           0.94 %\n",
		"trades                     99\n", "costs / gross profit       73.82 %\n", "cost per side              1.5 basis points\n",
		"Evidence\n  alpha                      52.00 % a year\n",
		"deflated Sharpe ratio      0.994\n", "unheard_of                 1.5\n",
		"Return\n  net return                 0.58 %\n  costs paid                 120.77\n", "maximum drawdown           1.10 %\n",
		"win rate                   87.50 %\n",
		"average holding            188.6 hours\n", "bars a year                6303\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in\n%s", want, b.String())
		}
	}
	b.Reset()
	Figures(&b,
		json.RawMessage(`{"summary":"Refused.","backtest_result":{"net_return":0.01,"alpha":null,"deflated_sharpe":null,"trials_counted":0}}`))
	if Figures(&b, json.RawMessage("null")); strings.Contains(b.String(), "null") {
		t.Errorf("an operation without a result yet prints one:\n%s", b.String())
	}
	if strings.Contains(b.String(), "Evidence") || strings.Contains(b.String(), "undefined") {
		t.Errorf("without a verdict there is no evidence to print:\n%s", b.String())
	}
}

// TestResults_EveryReasonIsShown prints a verdict: what failed comes first.
func TestResults_EveryReasonIsShown(t *testing.T) {
	var b bytes.Buffer
	Verdict(&b, false, &research.Assessment{Verdict: evidence.Poor, Suggestions: []string{"Trade less."}, Reasons: []evidence.Reason{
		{Text: "the account kept its capital", Passed: true}, {Text: "8 trades; at least 30 are needed"}, {Text: "luck is as good"},
	}})
	want := "Verdict: poor, 2 of 3 checks failed\n  ✗ 8 trades; at least 30 are needed\n  ✗ luck is as good\n" +
		"  ✔ the account kept its capital\n  try: Trade less.\n"
	if b.String() != want {
		t.Errorf("printed\n%s\nwant\n%s", b.String(), want)
	}
}

func TestConversation_IsPrintedAsItWasHeld(t *testing.T) {
	var b bytes.Buffer
	Conversation(&b, false, agent.Conversation{Operation: "op_x"})
	if !strings.Contains(b.String(), "asked no model") {
		t.Errorf("without a model: %s", b.String())
	}
	b.Reset()
	Conversation(&b, false, agent.Conversation{Talks: []agent.Talk{{
		Operation: "op_agent_design_20260101_000000_abcdef01", Type: ktrdr.AgentDesign, Models: []string{"anthropic/m1"}, Calls: 1, Input: 20,
		Output: 5, USD: 0.01,
		Turns: []agent.Turn{
			{Role: "user", Text: "Design.\nWell.\x1b[2J"},
			{Role: "assistant", Tool: "save_strategy", Input: json.RawMessage(`{"yaml":"name: x\nversion: 3","notes":"n"}`)},
			{Role: "tool", Text: "no", Error: true},
		},
	}}})
	want := "agent_design abcdef01: 1 call to anthropic/m1, 20 tokens in, 5 out, $0.0100\n" +
		"What was asked is no longer kept: its checkpoint was deleted. These are the answers.\n" +
		"\nuser\n  Design.\n  Well. [2J\n\nassistant uses save_strategy\n  yaml: \n  name: x\n  version: 3\n  notes: n\n\ntool refuses\n  no\n"
	if b.String() != want {
		t.Errorf("printed\n%q\nwant\n%q", b.String(), want)
	}
}

func TestLeaderboard_AnEmptyOneNamesTheFilter(t *testing.T) {
	for want, q := range map[string]report.LeaderboardQuery{
		"fits --symbol XAUUSD --timeframe 1d --run run_01234567.": {Symbol: "XAUUSD", Timeframe: "1d", Run: "run_0123456789abcdef"},
		"There are no more rows.":                                 {Cursor: "20"},
		"No researches that ended yet.":                           {},
	} {
		var b bytes.Buffer
		if NoLeaders(&b, q); !strings.Contains(b.String(), want) {
			t.Errorf("%+v: %q, want %q", q, b.String(), want)
		}
	}
}
