package research

import (
	"crypto/sha256"
	"encoding/json"
	"strings"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/jobs"
)

// Types defines researches, their designs and assessments, the confirmations of a
// run, and the steps that follow its claims.
func Types() ktrdr.Types {
	return ktrdr.Types{
		ktrdr.AgentResearch: {
			Spec: ktrdr.SpecOf[Spec], Plan: new(plan), Fingerprint: ktrdr.NoFingerprint, Restart: ktrdr.RestartNone, Local: true,
			Ledger: researched, Facts: madeFrom, Route: "POST /api/v1/agent/trigger", Verb: "research",
		},
		ktrdr.AgentDesign: {
			Spec: ktrdr.SpecOf[DesignSpec], Fingerprint: ktrdr.NoFingerprint, Restart: ktrdr.RestartByPlan, Local: true,
			Route: ktrdr.Inside, Verb: ktrdr.Inside,
		},
		ktrdr.AgentAssessment: {
			Spec: ktrdr.SpecOf[AssessmentSpec], Fingerprint: ktrdr.NoFingerprint, Restart: ktrdr.RestartByPlan, Local: true,
			Route: ktrdr.Inside, Verb: ktrdr.Inside,
		},
		ktrdr.AgentConfirm: {
			Spec: ktrdr.SpecOf[ConfirmSpec], Fingerprint: ktrdr.NoFingerprint, Restart: ktrdr.RestartInChild, Local: true, Look: true,
			Ledger: confirmed, Route: ktrdr.Inside, Verb: ktrdr.Inside,
		},
		ktrdr.ClaimStep: {
			Spec: ktrdr.SpecOf[ClaimStepSpec], Fingerprint: ktrdr.NoFingerprint, Restart: ktrdr.RestartInChild, Local: true, Sealed: true,
			Ledger: stepped, Route: ktrdr.Inside, Verb: ktrdr.Inside,
		},
		ktrdr.Calibration: {
			Spec: ktrdr.SpecOf[CalibrationSpec], Plan: calibrationPlan{}, Fingerprint: ktrdr.NoFingerprint, Restart: ktrdr.RestartNone,
			Route: "POST /api/v1/calibrations/start", Verb: "calibrate",
		},
		ktrdr.CalibrationPart: {
			Spec: ktrdr.SpecOf[CalibrationPartSpec], Fingerprint: FactoryFingerprint, Restart: ktrdr.RestartInChild,
			Route: ktrdr.Inside, Verb: ktrdr.Inside,
		},
		ktrdr.FactoryTest: {
			Spec: ktrdr.SpecOf[FactoryTestSpec], Plan: factoryPlan{}, Fingerprint: ktrdr.NoFingerprint, Restart: ktrdr.RestartNone,
			Ledger: tested, Route: "POST /api/v1/runs/{id}/test", Verb: "runs test",
		},
		ktrdr.FactoryPart: {
			Spec: ktrdr.SpecOf[FactoryPartSpec], Fingerprint: FactoryFingerprint, Restart: ktrdr.RestartInChild,
			Route: ktrdr.Inside, Verb: ktrdr.Inside,
		},
	}
}

// FactoryFingerprint is what a checkpoint of work on permuted copies must agree with.
func FactoryFingerprint(spec []byte) (map[string]string, error) {
	return map[string]string{"spec": ktrdr.Hash(sha256.Sum256(spec)).String(), "factory": FactoryVersion}, nil
}

// stoppedBy are the codes of the checks for which a gate stopped a research.
func stoppedBy(gates []GateResult) string {
	var codes []string
	for _, g := range gates {
		for _, r := range g.Reasons {
			if !g.Passed {
				codes = append(codes, string(r.Code))
			}
		}
	}
	return strings.Join(codes, " ")
}

// researched is what is kept of a research. What cannot be read of it is left
// out: it was a trial all the same.
func researched(op ktrdr.Operation) ktrdr.LedgerEntry {
	r, _ := resultOf[Result](&op)
	t := &ktrdr.TrialFigures{
		Strategy: clip(r.StrategyName, maxLine), Unaided: len(r.Instead) > 0, Hash: r.ResultHash, StoppedBy: stoppedBy(r.Gates),
	}
	if f := r.Figures; f != nil {
		t.Sharpe, t.SharpeZ, t.Alpha, t.AlphaZ = f.Sharpe, f.SharpeZ, f.Alpha, f.AlphaZ
		t.NetReturn, t.MaxDrawdown, t.Trades = &f.NetReturn, &f.MaxDrawdown, f.Trades
		t.CheapCosts = f.CostBelowDefault
	}
	return ktrdr.LedgerEntry{Trial: t}
}

// madeFrom is what a research was made from. What cannot be read is left out.
func madeFrom(op ktrdr.Operation) ktrdr.TrialFacts {
	var state PlanState
	_ = json.Unmarshal(op.State, &state)
	return MadeFrom(op.Spec, state.Strategy)
}

// MadeFrom is what the ledger says of the spec and the strategy of a research. A
// strategy that is empty was never designed.
func MadeFrom(text json.RawMessage, yaml string) ktrdr.TrialFacts {
	f := ktrdr.TrialFacts{Spec: sha256.Sum256(text)}
	if yaml != "" {
		f.StrategyYAML = sha256.Sum256([]byte(yaml))
	}
	spec, err := ktrdr.ParseSpec[Spec](text)
	if err != nil {
		return f
	}
	f.Seed, f.KernelClass = &spec.Seed, spec.KernelClass
	f.Bars = jobs.TrialBars(spec.Bars)
	for _, c := range spec.SymbolCosts {
		f.Costs = append(f.Costs, ktrdr.TrialCosts{Symbol: c.Symbol, Commission: c.Commission, Slippage: c.Slippage, Spread: c.Spread})
	}
	return f
}

// Ledger is what the ledger keeps of a research that has completed.
func Ledger(op *ktrdr.Operation) ktrdr.LedgerEntry { return researched(*op) }
