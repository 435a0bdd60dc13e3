package jobs

import (
	"encoding/json"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/text"
)

// ColumnNames are the columns of a backtest's result.
var ColumnNames = []string{"trades", "equity", "positions", "curve", "returns"}

// Types defines trainings, backtests and imports. Fingerprints has what a definition
// needs of the packages that compute.
func Types() ktrdr.Types {
	return ktrdr.Types{
		ktrdr.Training: {
			Spec: ktrdr.SpecOf[TrainingSpec], Restart: ktrdr.RestartInChild,
			Ledger: trained, Route: "POST /api/v1/training/start", Verb: "train",
		},
		ktrdr.Backtesting: {
			Spec: ktrdr.SpecOf[BacktestSpec], Restart: ktrdr.RestartInChild,
			Ledger: backtested, Columns: ColumnNames, Route: "POST /api/v1/backtests/start", Verb: "backtest",
		},
		ktrdr.DataLoad: {
			Spec: ktrdr.SpecOf[LoadSpec], Fingerprint: ktrdr.NoFingerprint, Restart: ktrdr.RestartInChild, Local: true,
			Route: "POST /api/v1/data/load", Verb: "data import",
		},
	}
}

// trained and backtested tell what the ledger keeps of work that a person started.
// It is a trial too: a person who tunes a strategy by hand and then researches the
// best one has tried them all. What cannot be read of a result is left out.
func trained(op ktrdr.Operation) ktrdr.Entry {
	var r TrainingResult
	_ = json.Unmarshal(op.Result, &r)
	return byHand(op, ktrdr.TrialFigures{Strategy: r.Strategy, Hash: r.ResultHash})
}

func backtested(op ktrdr.Operation) ktrdr.Entry {
	var r BacktestResult
	_ = json.Unmarshal(op.Result, &r)
	return byHand(op, ktrdr.TrialFigures{
		Strategy: r.Strategy, Sharpe: r.Metrics.Sharpe, NetReturn: new(r.Metrics.TotalReturnPct / 100),
		MaxDrawdown: new(r.Metrics.MaxDrawdownPct / 100), Trades: r.Metrics.TotalTrades, Hash: r.ResultHash,
	})
}

// byHand is the entry of an operation without a parent. It ends the look of one that
// opened a holdout: its figures are the operation's own result, and no claim.
func byHand(op ktrdr.Operation, f ktrdr.TrialFigures) ktrdr.Entry {
	if op.Parent != "" {
		return ktrdr.Entry{}
	}
	f.Strategy = text.Cut(ktrdr.CleanText(f.Strategy), 400)
	e := ktrdr.Entry{Trial: &f}
	var spec struct {
		Opens *Opening `json:"opens"`
	}
	if json.Unmarshal(op.Spec, &spec) == nil && spec.Opens != nil {
		e.Look = &ktrdr.LookResult{Hash: f.Hash}
	}
	return e
}
