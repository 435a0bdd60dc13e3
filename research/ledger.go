package research

import (
	"encoding/json"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/jobs"
)

// Ledger says what the store keeps of operations that complete: the figures of
// trials, and what looks showed. Trainings and backtests that a person started
// are trials too: a person who tunes a strategy by hand and then researches the
// best one has tried them all.
func Ledger() ktrdr.Ledger {
	return ktrdr.Ledger{
		ktrdr.AgentResearch: researched,
		ktrdr.Training:      trainedByHand,
		ktrdr.Backtesting:   backtestedByHand,
		ktrdr.AgentConfirm:  confirmed,
	}
}

// researched is what is kept of a research. What cannot be read of it is left
// out: it was a trial all the same.
func researched(op ktrdr.Operation) ktrdr.LedgerEntry {
	r, _ := resultOf[Result](&op)
	t := &ktrdr.TrialFigures{Strategy: clip(r.StrategyName, maxLine), Unaided: len(r.Instead) > 0, Hash: r.ResultHash}
	if f := r.Figures; f != nil {
		t.Sharpe, t.SharpeZ, t.Alpha, t.AlphaZ = f.Sharpe, f.SharpeZ, f.Alpha, f.AlphaZ
		t.NetReturn, t.MaxDrawdown, t.Trades = &f.NetReturn, &f.MaxDrawdown, f.Trades
		t.CheapCosts = f.CostBelowDefault
	}
	return ktrdr.LedgerEntry{Trial: t}
}

func trainedByHand(op ktrdr.Operation) ktrdr.LedgerEntry {
	if op.Parent != "" {
		return ktrdr.LedgerEntry{}
	}
	r, _ := resultOf[jobs.TrainingResult](&op)
	e := ktrdr.LedgerEntry{Trial: &ktrdr.TrialFigures{Strategy: clip(r.Strategy, maxLine), Hash: r.ResultHash}}
	return byHand(op, e)
}

func backtestedByHand(op ktrdr.Operation) ktrdr.LedgerEntry {
	if op.Parent != "" {
		return ktrdr.LedgerEntry{}
	}
	r, _ := resultOf[jobs.BacktestResult](&op)
	net, fall := r.Metrics.TotalReturnPct/100, r.Metrics.MaxDrawdownPct/100
	e := ktrdr.LedgerEntry{Trial: &ktrdr.TrialFigures{
		Strategy: clip(r.Strategy, maxLine), Sharpe: r.Metrics.Sharpe, NetReturn: &net, MaxDrawdown: &fall,
		Trades: r.Metrics.TotalTrades, Hash: r.ResultHash,
	}}
	return byHand(op, e)
}

// byHand ends the look of an operation that opened a holdout. Its figures are the
// operation's own result; they are no claim.
func byHand(op ktrdr.Operation, e ktrdr.LedgerEntry) ktrdr.LedgerEntry {
	var spec struct {
		Opens *jobs.Opening `json:"opens"`
	}
	if json.Unmarshal(op.Spec, &spec) == nil && spec.Opens != nil {
		e.Look = &ktrdr.LookResult{Hash: e.Trial.Hash}
	}
	return e
}
