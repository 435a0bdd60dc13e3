package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/research"
)

// noted is how many trials and looks the ledger has.
func (l *lab) noted() (trials, looks int64) {
	l.t.Helper()
	page := decode[memoryPage](l.t, l.must("memory", "trials", "--json"))
	return page.Counts["trials"], page.Counts["looks"]
}

// What was tried by hand counts when a research is judged, and the model of a
// research is not traded on the holdout unless that is asked for.
func TestServe_WhatIsTriedByHandCountsAndAHoldoutStaysSealed(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.must("data", "synth", "--symbol", "EURUSD", "--timeframe", "1h", "--bars", "3000", "--seed", "7")
	l.serve("--workers", "2")

	mine := l.finished("train", "rsi_mean_reversion")
	l.finished("backtest", string(mine.ID))
	l.finished("train", "rsi_mean_reversion", "--seed", "2")
	if trials, _ := l.noted(); trials != 2 {
		t.Errorf("%d trials after two models, one of them backtested, want 2", trials)
	}

	// A floor of 0 lets the research trade at the strategy's own costs, as a backtest by hand does.
	l.must("research", "--strategy", "rsi_mean_reversion", "--symbol", "EURUSD", "--bypass-gates", "--costs", "EURUSD=0/0/0", "--follow")
	var full ktrdr.Operation
	for _, op := range l.ops("--type", "agent_research") {
		full = l.op(string(op.ID))
	}
	if full.Trials != 3 {
		t.Errorf("%d trials are counted against the research, want 3: two were tried by hand before", full.Trials)
	}
	var result research.Result
	if err := json.Unmarshal(full.Result, &result); err != nil {
		t.Fatal(err)
	}
	own := backtestResult(t, l.op(string(result.Backtest)))

	model := string(result.Training)
	if again := backtestResult(t, l.finished("backtest", model)); again.ResultHash != own.ResultHash || again.End != own.End {
		t.Errorf("its model by hand: to %s, hash %s; want what the research has: to %s, %s", again.End, again.ResultHash, own.End, own.ResultHash)
	}
	later := own.End.AddDate(0, 0, 5).Format("2006-01-02")
	if said := l.run("backtest", model, "--end", later, "-f"); said.code != exitOK ||
		!strings.Contains(said.err, "only the bars that "+string(full.ID)+" searched are traded: the bars after") {
		t.Errorf("an end in the holdout: %v, want it to say where it stops", said)
	}
	l.refused(exitUsage, "later bars are the holdout; --open-holdout", "backtest", model, "--start", later)
	_, before := l.noted()
	opened := backtestResult(t, l.finished("backtest", model, "--open-holdout"))
	if !opened.End.After(own.End) || opened.Opened == nil || !strings.Contains(opened.Summary, "this was a look") {
		t.Errorf("opened: to %s, %+v, %q; want past %s, and said", opened.End, opened.Opened, opened.Summary, own.End)
	}
	if _, after := l.noted(); after != before+1 {
		t.Errorf("%d looks are counted after the one by hand, and %d before; want one more", after, before)
	}
}

func backtestResult(t *testing.T, op ktrdr.Operation) (r jobs.BacktestResult) {
	t.Helper()
	if err := json.Unmarshal(op.Result, &r); err != nil {
		t.Fatalf("%s ended %s with %q: %v", op.ID, op.Status, op.Result, err)
	}
	return r
}
