package agent_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/instrument"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/llm/llmtest"
	"github.com/ktrdr/ktrdr/research"
	"github.com/ktrdr/ktrdr/strategy/strategytest"
)

// trading is the small strategy with a backtest section.
func trading(c instrument.Costs) string {
	const split = "data_split: {train: 0.6, validation: 0.2, test: 0.2}\n"
	return strategytest.Small(split,
		split+fmt.Sprintf("backtest: {commission: %v, slippage: %v, spread: %v}\n", c.Commission, c.Slippage, c.Spread))
}

// parts are the configuration of a research's backtest, and the figures of its
// verdict.
func (l *lab) parts(id ktrdr.OperationID) (paid instrument.Costs, figures evidence.Figures, verdict research.Assessment) {
	l.t.Helper()
	for _, c := range l.children(id) {
		switch c.Type {
		case ktrdr.Backtesting:
			var r jobs.BacktestResult
			if err := json.Unmarshal(c.Result, &r); err != nil {
				l.t.Fatal(err)
			}
			paid = instrument.Costs{Commission: r.Config.Commission, Slippage: r.Config.Slippage, Spread: r.Config.Spread}
		case ktrdr.AgentAssessment:
			if err := json.Unmarshal(c.Result, &verdict); err != nil {
				l.t.Fatal(err)
			}
			if verdict.Figures != nil {
				figures = *verdict.Figures
			}
		}
	}
	return paid, figures, verdict
}

var (
	almostFree = instrument.Costs{Commission: 1e-8}
	set        = instrument.Costs{Commission: 0.0003, Slippage: 0.0001, Spread: 0.0002}
)

// Every strategy pays at least what its symbol costs, no matter who wrote it.
func TestCosts_EveryStrategyPaysTheFloor(t *testing.T) {
	model := llmtest.New(t, scripted(
		uses("validate_strategy", map[string]string{"yaml": trading(almostFree)}),
		uses("save_strategy", map[string]string{"yaml": trading(almostFree), "hypothesis": "Free trades earn."}),
	))
	l := talkative(t, model, llmtest.New(t, down), nil)
	for name, x := range map[string]struct {
		trigger   research.Request
		overruled bool
	}{
		"a user":                {research.Request{StrategyYAML: trading(almostFree)}, true},
		"a model":               {research.Request{Brief: "small", Model: "first"}, true},
		"the built-in designer": {research.Request{Brief: "small"}, false},
	} {
		x.trigger.BypassGates, x.trigger.Seed, x.trigger.Force, x.trigger.Costs = true, new(uint64(1)), true, "EURUSD="+set.String()
		id := l.trigger(x.trigger)[0]
		r := l.result(id)
		paid, _, _ := l.parts(id)
		if paid != set || len(r.Costs) != 1 || r.Costs[0].Costs != set || r.Costs[0].Source != research.CostsOfRun {
			t.Errorf("%s: the backtest paid %s, the result says %+v, want %s of the run", name, paid, r.Costs, set)
			continue
		}
		if got := r.Costs[0].Overruled; (got != nil) != x.overruled || got != nil && *got != almostFree {
			t.Errorf("%s: overruled %v, want it said: %t", name, got, x.overruled)
		}
		said := "The strategy's backtest section (0.0001 basis points a side) is below the cost floor of EURUSD, " +
			"so it was traded at the floor: 5 basis points a side (set for this run)."
		if strings.Contains(r.Summary, said) != x.overruled {
			t.Errorf("%s: the summary is %q", name, r.Summary)
		}
	}
	var told strings.Builder
	for _, r := range model.Requests() {
		told.Write(r.Body)
	}
	if want := "The backtest section (0.0001 basis points a side) is below the cost floor, so the strategy is traded at the floor: " +
		"5 basis points a side."; !strings.Contains(told.String(), want) {
		t.Errorf("the model was not told %q", want)
	}
}

// The training part is traded by the assessment, the test part by the backtest.
// With a cheaper section both must come to what they come to at the floor.
func TestCosts_TheVerdictTradesAtWhatTheBacktestPaid(t *testing.T) {
	l := newLab(t, quiet, nil)
	judge := func(own instrument.Costs) evidence.Figures {
		id := l.trigger(research.Request{
			StrategyYAML: trading(own), Costs: "EURUSD=" + set.String(), BypassGates: true, Seed: new(uint64(1)), Force: true,
		})[0]
		l.result(id)
		_, f, _ := l.parts(id)
		return f
	}
	at, below, above := judge(set), judge(almostFree), judge(instrument.Costs{Commission: 0.001})
	text := func(f evidence.Figures) string {
		b, err := json.Marshal([]any{f.Test, f.Decay, f.Costs, f.Trades})
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	if at.Decay.InSample == nil || at.Costs.Costs == 0 {
		t.Fatalf("nothing was traded: %s", text(at))
	}
	if text(below) != text(at) {
		t.Errorf("below the floor\n%s\nwant what the floor gives\n%s", text(below), text(at))
	}
	if *above.Decay.InSample >= *at.Decay.InSample || above.Costs.Costs <= at.Costs.Costs {
		t.Errorf("a dearer section is not heeded: %s", text(above))
	}
}

func TestCosts_BelowTheDefaultTheVerdictIsMarked(t *testing.T) {
	l := newLab(t, quiet, nil)
	for costs, marked := range map[string]bool{"EURUSD=0.1/0/0": true, "EURUSD=1.5/0/0": false} {
		id := l.trigger(research.Request{
			StrategyYAML: trading(almostFree), Costs: costs, BypassGates: true, Seed: new(uint64(1)), Force: true,
		})[0]
		r := l.result(id)
		_, _, verdict := l.parts(id)
		const said = "The costs of EURUSD (set for this run) are below the default for major FX: 0.1 basis points a side, " +
			"where the default is 1.5."
		if r.Figures.CostBelowDefault != marked || strings.Contains(r.Summary, said) != marked ||
			strings.Contains(strings.Join(verdict.Weaknesses, " "), said) != marked {
			t.Errorf("%s: marked %t, summary %q, weaknesses %q; want marked %t", costs, r.Figures.CostBelowDefault, r.Summary,
				verdict.Weaknesses, marked)
		}
	}
}
