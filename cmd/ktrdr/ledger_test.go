package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/research"
)

// noted is how many trials and openings the ledger has.
func (l *lab) noted() (trials, openings int64) {
	l.t.Helper()
	page := decode[memoryPage](l.t, l.must("memory", "trials", "--json"))
	return page.Counts["trials"], page.Counts["openings"]
}

// What was tried by hand counts when a research is judged, and nothing but
// asking for it trades a research's holdout.
func TestServe_WhatIsTriedByHandCountsAndAHoldoutStaysSealed(t *testing.T) {
	l := newLab(t)
	l.must("data", "synth", "--symbol", "EURUSD", "--timeframe", "1h", "--bars", "3000", "--seed", "7")
	l.serve("--workers", "2")

	mine := l.finished("train", "rsi_mean_reversion")
	l.finished("backtest", string(mine.ID))
	l.finished("train", "rsi_mean_reversion", "--seed", "2")
	if trials, _ := l.noted(); trials != 2 {
		t.Errorf("%d trials after two models, one of them backtested, want 2", trials)
	}

	l.must("research", "--strategy", "rsi_mean_reversion", "--symbol", "EURUSD", "--bypass-gates", "--follow")
	var whole ktrdr.Operation
	for _, op := range decode[[]ktrdr.Operation](t, l.must("ops", "--type", "agent_research", "--json")) {
		whole = l.op(string(op.ID))
	}
	spec, err := ktrdr.ParseSpec[research.Spec](whole.Spec)
	if err != nil {
		t.Fatal(err)
	}
	if spec.Trials.Count != 3 || spec.Openings.Known != 2 {
		t.Errorf("the research is trial %d, with its holdout seen %d times; want 3 and 2: it is judged for what was tried before", spec.Trials.Count, spec.Openings.Known)
	}
	var result research.Result
	if err := json.Unmarshal(whole.Result, &result); err != nil {
		t.Fatal(err)
	}
	own := backtestResult(t, l.op(string(result.Backtest)))

	model := string(result.Training)
	if again := backtestResult(t, l.finished("backtest", model)); again.ResultHash != own.ResultHash || again.End != own.End {
		t.Errorf("its model by hand: to %s, hash %s; want what the research has: to %s, %s", again.End, again.ResultHash, own.End, own.ResultHash)
	}
	later := own.End.AddDate(0, 0, 5).Format("2006-01-02")
	l.refused(exitFailed, "are the holdout of "+string(whole.ID), "backtest", model, "--end", later)
	_, before := l.noted()
	opened := backtestResult(t, l.finished("backtest", model, "--open-holdout"))
	if !opened.End.After(own.End) || opened.Opened == nil || !strings.Contains(opened.Summary, "opened for it") {
		t.Errorf("opened: to %s, %+v, %q; want past %s, and said", opened.End, opened.Opened, opened.Summary, own.End)
	}
	if _, after := l.noted(); after != before+1 {
		t.Errorf("%d openings are noted after the one by hand, and %d before; want one more", after, before)
	}
}

func backtestResult(t *testing.T, op ktrdr.Operation) (r jobs.BacktestResult) {
	t.Helper()
	if err := json.Unmarshal(op.Result, &r); err != nil {
		t.Fatalf("%s ended %s with %q: %v", op.ID, op.Status, op.Result, err)
	}
	return r
}
