package storetest

import (
	"encoding/json"
	"math"

	"github.com/ktrdr/ktrdr"
)

// Types are the operation types of the stores under test. The plan moves all
// researches; nil: there are none.
func Types(plan ktrdr.Plan) ktrdr.Types {
	inChild := ktrdr.Definition{Restart: ktrdr.RestartInChild, Ledger: keptOf}
	byPlan := ktrdr.Definition{Restart: ktrdr.RestartByPlan, Ledger: keptOf}
	return ktrdr.Types{
		ktrdr.Dummy: inChild, ktrdr.Training: inChild, ktrdr.Backtesting: inChild, ktrdr.DataLoad: inChild,
		ktrdr.AgentDesign:     byPlan,
		ktrdr.AgentAssessment: {Restart: ktrdr.RestartByPlan, Local: true, Ledger: keptOf},
		ktrdr.AgentConfirm:    {Restart: ktrdr.RestartInChild, Look: true, Ledger: keptOf},
		ktrdr.ClaimStep:       {Restart: ktrdr.RestartInChild, Local: true, Sealed: true, Ledger: keptOf},
		ktrdr.AgentResearch:   {Restart: ktrdr.RestartNone, Plan: plan, Ledger: keptOf},
	}
}

var typeNames = Types(nil).Names()

// keptOf is what the ledger keeps of an operation: what its result says under
// "trial" and "look".
func keptOf(op ktrdr.Operation) (e ktrdr.LedgerEntry) {
	var said struct {
		Trial *ktrdr.TrialFigures `json:"trial"`
		Look  *ktrdr.LookResult   `json:"look"`
		Odd   bool                `json:"odd"` // numbers that are not finite

		Claim   *ktrdr.NewClaim     `json:"claim"`
		Advance *ktrdr.ClaimAdvance `json:"advance"`
		State   json.RawMessage     `json:"state"`
		Seen    ktrdr.Hash          `json:"seen"`
		Tested  *ktrdr.RunTested    `json:"tested"`
	}
	if json.Unmarshal(op.Result, &said) != nil {
		return e
	}
	e.Trial, e.Look, e.Claim, e.Advance, e.Tested = said.Trial, said.Look, said.Claim, said.Advance, said.Tested
	if e.Advance != nil {
		e.Advance.State, e.Advance.Seen = said.State, said.Seen
	}
	if said.Odd {
		odd := []*float64{new(math.NaN()), new(math.Inf(1)), new(math.Inf(-1))}
		e.Trial = &ktrdr.TrialFigures{Sharpe: odd[0], SharpeZ: odd[1], Alpha: odd[2], AlphaZ: new(1.0), NetReturn: odd[0], MaxDrawdown: odd[1]}
		e.Look = &ktrdr.LookResult{P: odd[0], Adjusted: odd[1]}
	}
	return e
}
