package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/research"
)

// judged is a research that ended with a verdict.
func judged(t *testing.T, r research.Result) ktrdr.Operation {
	t.Helper()
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return ktrdr.Operation{ID: "op_agent_research_20261115_080000_685ec14d", Status: ktrdr.Completed, Result: text}
}

func TestVerdicts_TheTestPartNeverStandsAlone(t *testing.T) {
	sealed := judged(t, research.Result{StrategyName: "a", Verdict: "neutral", Figures: &research.Figures{
		Sharpe: new(2.5), TestSharpe: new(2.5), Deflated: new(0.31), Trials: 40, Openings: 6, BuyAndHold: new(0.07), CostPerSide: 0.001, NetReturn: 0.2, Trades: 51,
	}})
	opened := judged(t, research.Result{StrategyName: "b", Verdict: "promising", Claim: true, HoldoutOpened: true, Figures: &research.Figures{
		TestSharpe: new(3.1), HoldoutSharpe: new(1.24), Deflated: new(0.97), Trials: 41, Openings: 7, Luck: new(0.004), CostPerSide: 0.00005,
	}})
	refused := judged(t, research.Result{StrategyName: "c", Outcome: research.OutcomeRejected, GateReason: "win_rate", Figures: &research.Figures{
		Sharpe: new(-0.42), CostPerSide: 0.00015, NetReturn: -0.03, Trades: 40,
	}})
	failed := ktrdr.Operation{ID: sealed.ID, Status: ktrdr.Failed, ErrorMessage: "TRAINING: disk full"}
	for name, c := range map[string]struct {
		ops  []ktrdr.Operation
		rows []string // without what pads them
		said string
	}{
		"nothing survived": {
			[]ktrdr.Operation{sealed, failed},
			[]string{"685ec14d a 2.50 sealed 0.31 40 7.0% 10bp 20.0% 0.0% 51 neutral", "685ec14d - - sealed - - - - - - - FAILED: TRAINING: disk full"},
			"Nothing survived: no edge is claimed by any of 2, where each verdict grants luck up to 40 trials and 6 openings of the holdout. In all, the holdout was opened 0 times.",
		},
		"a claim": {
			[]ktrdr.Operation{sealed, opened},
			[]string{"685ec14d b 3.10 1.24 0.97 41 - 0.5bp 0.0% 0.0% 0 promising, an edge is claimed"},
			"1 of 2 claim an edge: it is left after costs, on a holdout that the design did not see, where each verdict grants luck up to 41 trials and 7 openings of the holdout. In all, the holdout was opened 1 time.",
		},
		"refused by a gate": {
			[]ktrdr.Operation{refused},
			[]string{"685ec14d c -0.42 sealed - - - 1.5bp -3.0% 0.0% 40 refused by a gate: win_rate"},
			"Nothing survived: no edge is claimed by any of 1. In all, the holdout was opened 0 times.",
		},
		"no verdict at all": {[]ktrdr.Operation{failed}, nil, "Nothing survived: no edge is claimed by any of 1. In all, the holdout was opened 0 times."},
	} {
		var b strings.Builder
		printVerdicts(&b, c.ops)
		lines := strings.Split(strings.TrimSpace(b.String()), "\n")
		for i := range lines {
			lines[i] = strings.Join(strings.Fields(lines[i]), " ")
		}
		text := strings.Join(lines, "\n")
		if !strings.HasPrefix(text, "RESEARCH STRATEGY TEST SHARPE HOLDOUT DEFLATED TRIALS HOLD COST RETURN DRAWDOWN TRADES VERDICT") || lines[len(lines)-1] != c.said {
			t.Errorf("%s: %q, want it to end with %q", name, text, c.said)
		}
		for _, row := range c.rows {
			if !strings.Contains(text, row) {
				t.Errorf("%s: %q is missing in\n%s", name, row, text)
			}
		}
	}
}

func TestVerdicts_WhatAModelDidNotDoIsTold(t *testing.T) {
	aided := judged(t, research.Result{StrategyName: "a", Verdict: "neutral", Designer: "test/m"})
	unaided := judged(t, research.Result{StrategyName: "b", Verdict: "neutral", Instead: []string{"Designed by the program itself instead of test/m: it is away."}})
	var b strings.Builder
	printVerdicts(&b, []ktrdr.Operation{aided, unaided, unaided})
	if want := "In 2 of 3 the program did itself what a model was asked for. Designed by the program itself instead of test/m: it is away.\n"; !strings.HasSuffix(b.String(), want) {
		t.Errorf("%q, want it to end with %q", b.String(), want)
	}
	b.Reset()
	printVerdicts(&b, []ktrdr.Operation{aided})
	if strings.Contains(b.String(), "itself") {
		t.Errorf("%q of one that a model designed", b.String())
	}
}
