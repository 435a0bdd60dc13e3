package compute

import (
	"crypto/sha256"
	"encoding/json"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/jobs"
)

// Types defines trainings, backtests, examinations, imports and fetches.
func Types() ktrdr.Types {
	return ktrdr.Types{
		ktrdr.Training: {
			Spec: ktrdr.SpecOf[jobs.TrainingSpec], Fingerprint: fingerprintTraining, Restart: ktrdr.RestartInChild,
			Ledger: trained, Facts: trainedFrom, Route: "POST /api/v1/training/start", Verb: "train",
		},
		ktrdr.Backtesting: {
			Spec: ktrdr.SpecOf[jobs.BacktestSpec], Fingerprint: fingerprintBacktest, Restart: ktrdr.RestartInChild,
			Ledger: backtested, Facts: backtestedFrom, Columns: jobs.ColumnNames, Route: "POST /api/v1/backtests/start", Verb: "backtest",
		},
		ktrdr.Examining: {
			Spec: ktrdr.SpecOf[jobs.ExaminationSpec], Fingerprint: fingerprintExamination, Restart: ktrdr.RestartInChild,
			Ledger: triedOnRelated, Facts: triedFrom, Route: ktrdr.Inside, Verb: ktrdr.Inside,
		},
		ktrdr.DataLoad: {
			Spec: ktrdr.SpecOf[jobs.LoadSpec], Fingerprint: ktrdr.NoFingerprint, Restart: ktrdr.RestartInChild, Local: true,
			Route: "POST /api/v1/data/load", Verb: "data import",
		},
		ktrdr.DataFetch: {
			Spec: ktrdr.SpecOf[jobs.FetchSpec], Fingerprint: ktrdr.NoFingerprint, Restart: ktrdr.RestartInChild, Local: true,
			Route: "POST /api/v1/data/fetch", Verb: "data fetch",
		},
	}
}

// trained and backtested tell what the ledger keeps of work that a person started.
// It is a trial too: a person who tunes a strategy by hand and then researches the
// best one has tried them all. What cannot be read of a result is left out.
func trained(op ktrdr.Operation) ktrdr.LedgerEntry {
	var r jobs.TrainingResult
	_ = json.Unmarshal(op.Result, &r)
	return byHand(op, ktrdr.TrialFigures{Strategy: r.Strategy, Hash: r.ResultHash})
}

func backtested(op ktrdr.Operation) ktrdr.LedgerEntry {
	var r jobs.BacktestResult
	_ = json.Unmarshal(op.Result, &r)
	return byHand(op, ktrdr.TrialFigures{
		Strategy: r.Strategy, Sharpe: r.Metrics.Sharpe, NetReturn: new(r.Metrics.TotalReturnPct / 100),
		MaxDrawdown: new(r.Metrics.MaxDrawdownPct / 100), Trades: r.Metrics.TotalTrades, Hash: r.ResultHash,
	})
}

// byHand is the entry of an operation without a parent. It ends the look of one that
// opened a holdout: its figures are the operation's own result, and no claim.
func byHand(op ktrdr.Operation, f ktrdr.TrialFigures) ktrdr.LedgerEntry {
	if op.Parent != "" {
		return ktrdr.LedgerEntry{}
	}
	f.Strategy = text.Cut(ktrdr.CleanText(f.Strategy), 400)
	e := ktrdr.LedgerEntry{Trial: &f}
	var spec struct {
		Opens *jobs.Opening `json:"opens"`
	}
	if json.Unmarshal(op.Spec, &spec) == nil && spec.Opens != nil {
		e.Look = &ktrdr.LookResult{Hash: f.Hash}
	}
	return e
}

// trainedFrom and backtestedFrom are what work by hand was made from, for the chain of
// the ledger. What cannot be read is left out.
func trainedFrom(op ktrdr.Operation) ktrdr.TrialFacts {
	f := ktrdr.TrialFacts{Spec: sha256.Sum256(op.Spec)}
	if s, err := ktrdr.ParseSpec[jobs.TrainingSpec](op.Spec); err == nil {
		f.Seed, f.KernelClass, f.StrategyYAML, f.Bars = &s.Seed, s.KernelClass, sha256.Sum256([]byte(s.Strategy)), jobs.TrialBars(s.Bars)
	}
	return f
}

func backtestedFrom(op ktrdr.Operation) ktrdr.TrialFacts {
	f := ktrdr.TrialFacts{Spec: sha256.Sum256(op.Spec)}
	s, err := ktrdr.ParseSpec[jobs.BacktestSpec](op.Spec)
	if err != nil {
		return f
	}
	f.Model, f.Bars = s.Model.SHA256, jobs.TrialBars(s.Bars)
	var r jobs.BacktestResult
	if json.Unmarshal(op.Result, &r) == nil && r.Symbol != "" {
		c := r.Config
		f.Costs = []ktrdr.TrialCosts{{Symbol: r.Symbol, Commission: c.Commission, Slippage: c.Slippage, Spread: c.Spread}}
	}
	return f
}

// triedOnRelated is what the ledgers of related symbols keep of an examination. Their
// Sharpe ratios are in its result: one row of the ledger may stand for several markets.
func triedOnRelated(op ktrdr.Operation) ktrdr.LedgerEntry {
	var r jobs.ExaminationResult
	_ = json.Unmarshal(op.Result, &r)
	return ktrdr.LedgerEntry{Trial: &ktrdr.TrialFigures{Strategy: text.Cut(ktrdr.CleanText(r.Strategy), 400), Hash: r.ResultHash}}
}

func triedFrom(op ktrdr.Operation) ktrdr.TrialFacts {
	f := ktrdr.TrialFacts{Spec: sha256.Sum256(op.Spec)}
	if s, err := ktrdr.ParseSpec[jobs.ExaminationSpec](op.Spec); err == nil {
		f.Seed, f.KernelClass, f.StrategyYAML = &s.Seed, s.KernelClass, sha256.Sum256([]byte(s.Strategy))
		f.Bars = jobs.TrialBars(s.RelatedBars)
	}
	return f
}
