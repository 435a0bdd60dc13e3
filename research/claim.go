package research

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/instrument"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/market"
)

// ClaimStepSpec is all that a step needs to follow a claim over the bars after it.
type ClaimStepSpec struct {
	ConfirmSpec
	Claim   ktrdr.OperationID `json:"claim_operation_id"`
	Share   float64           `json:"shrunk_share"`   // what is left of the claimed Sharpe ratio after the correction for selection
	Worst   []SymbolWorst     `json:"worst_moves"`    // of each symbol that is traded
	Current []jobs.Bars       `json:"current"`        // the series of the library, in the order of Holdout
	Held    json.RawMessage   `json:"held,omitempty"` // ClaimState of the step before; the same bars must give it again
}

// SymbolWorst is the worst move of a symbol.
type SymbolWorst struct {
	Symbol string `json:"symbol"`
	evidence.WorstMove
}

// Validate says what is wrong with the spec.
func (s ClaimStepSpec) Validate() error {
	errs := []error{
		s.ConfirmSpec.Validate(), require(s.Claim.Valid(), "claim_operation_id is not an operation"),
		require(s.Share >= 0 && s.Share <= 1, "shrunk_share is %v; it must be 0 to 1", s.Share),
		require(len(s.Current) == len(s.Holdout), "it names %d series of the library and %d of the holdout", len(s.Current), len(s.Holdout)),
		require(len(s.Worst) == len(s.Symbols), "it names worst moves of %d symbols; %d are traded", len(s.Worst), len(s.Symbols)),
	}
	for _, w := range s.Worst {
		errs = append(errs, w.Validate())
	}
	return errors.Join(errs...)
}

// Seen identifies the series of the library that a step looks at.
func Seen(current []jobs.Bars) ktrdr.Hash {
	h := sha256.New()
	for _, b := range current {
		h.Write(b.Hash[:])
	}
	return ktrdr.Hash(h.Sum(nil))
}

// ClaimState is what a step leaves to be compared with by the next.
type ClaimState struct {
	Frozen evidence.Frozen `json:"frozen"`
	Living evidence.Living `json:"living"`
	Series []ClaimSeries   `json:"series"` // in the order of the spec's bars
}

// ClaimSeries is a series up to the last bar that a step used.
type ClaimSeries struct {
	Symbol    string           `json:"symbol"`
	Timeframe market.Timeframe `json:"timeframe"`
	Bars      int              `json:"bars"`
	Hash      ktrdr.Hash       `json:"bars_hash"`
}

// ClaimStepResult is what a step ends with.
type ClaimStepResult struct {
	Summary  string            `json:"summary"` // for people
	Claim    ktrdr.OperationID `json:"claim_operation_id"`
	Strategy string            `json:"strategy_name"`
	ktrdr.ClaimLife
	Seen  ktrdr.Hash  `json:"series_hash"`
	State *ClaimState `json:"state,omitempty"` // nil where the claim is not followed
}

// stepped is what the ledger keeps of a step.
func stepped(op ktrdr.Operation) ktrdr.LedgerEntry {
	var r ClaimStepResult
	if json.Unmarshal(op.Result, &r) != nil || !r.Claim.Valid() {
		return ktrdr.LedgerEntry{}
	}
	a := &ktrdr.ClaimAdvance{Claim: r.Claim, ClaimLife: r.ClaimLife}
	a.ClaimLife.Seen = r.Seen
	if r.State != nil {
		a.ClaimLife.State, _ = encode(r.State) // it was decoded from JSON
	}
	return ktrdr.LedgerEntry{Advance: a}
}

// ClaimOf is the claim that a confirmation ended with; nil if it claims nothing.
func ClaimOf(op ktrdr.Operation) *ktrdr.NewClaim {
	var c Confirmation
	spec, err := ktrdr.ParseSpec[ConfirmSpec](op.Spec)
	if err != nil || json.Unmarshal(op.Result, &c) != nil || !c.Claim {
		return nil
	}
	return &ktrdr.NewClaim{
		Operation: op.ID, Research: spec.Research, Strategy: spec.Strategy, Symbols: strings.Join(spec.Symbols, " "),
		Timeframe: string(shortestFrame(spec.Holdout)), MadeUp: c.MadeUp, Sharpe: c.Look.Holdout.Sharpe.Ratio(), Shrunk: c.Look.Shrunk,
		P: c.Look.P, Adjusted: c.Look.Adjusted,
	}
}

func shortestFrame(bars []jobs.Bars) (best market.Timeframe) {
	for _, b := range bars {
		if best == "" || b.Timeframe.End(0) < best.End(0) {
			best = b.Timeframe
		}
	}
	return best
}

// claimPriority is below that of everything that a person waits for.
const claimPriority = -10

// ClaimStepOf is the operation that follows a claim over the current series of the library, and
// the key under which it is created once.
func ClaimStepOf(confirmed ktrdr.Operation, claim ktrdr.LivingClaim,
	current []jobs.Bars,
) (ktrdr.NewOperation, ktrdr.IdempotencyKey, error) {
	var key ktrdr.IdempotencyKey
	spec, err := ktrdr.ParseSpec[ConfirmSpec](confirmed.Spec)
	if err != nil {
		return ktrdr.NewOperation{}, key, err
	}
	s := ClaimStepSpec{ConfirmSpec: spec, Claim: claim.Operation, Current: current, Share: shareOf(claim), Held: claim.State}
	for _, symbol := range spec.Symbols {
		down, up := instrument.WorstMove(symbol)
		s.Worst = append(s.Worst, SymbolWorst{symbol, evidence.WorstMove{Down: down, Up: up}})
	}
	if err := s.Validate(); err != nil {
		return ktrdr.NewOperation{}, key, err
	}
	text, err := encode(s)
	if err != nil {
		return ktrdr.NewOperation{}, key, err
	}
	metadata, err := encode(claimAbout{Claim: claim.Operation, Strategy: spec.Strategy})
	if err != nil {
		return ktrdr.NewOperation{}, key, err
	}
	seen := Seen(current)
	// Bars that come back after a revision are followed again: the step before is part of the key.
	key = ktrdr.IdempotencyKey{
		Key:  fmt.Sprintf("claim step %s %s %s", claim.Operation, claim.Step.Tail(), seen),
		Body: sha256.Sum256([]byte(claim.Operation)),
	}
	return ktrdr.NewOperation{Type: ktrdr.ClaimStep, Priority: claimPriority, Spec: text, Metadata: metadata}, key, nil
}

type claimAbout struct {
	Claim    ktrdr.OperationID `json:"claim_operation_id"`
	Strategy string            `json:"strategy_name"`
}

// shareOf is the part of the claimed Sharpe ratio that is left after the correction for selection.
func shareOf(c ktrdr.LivingClaim) float64 {
	if c.Sharpe == nil || c.Shrunk == nil || *c.Sharpe <= 0 {
		return 0
	}
	return min(max(*c.Shrunk / *c.Sharpe, 0), 1)
}
