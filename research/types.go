package research

import (
	"strings"

	"github.com/ktrdr/ktrdr"
)

// Types defines researches, their designs and assessments, and the confirmations
// of a run.
func Types() ktrdr.Types {
	return ktrdr.Types{
		ktrdr.AgentResearch: {
			Spec: ktrdr.SpecOf[Spec], Plan: new(plan), Fingerprint: ktrdr.NoFingerprint, Restart: ktrdr.RestartNone, Local: true,
			Ledger: researched, Route: "POST /api/v1/agent/trigger", Verb: "research",
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
	}
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
