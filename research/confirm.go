package research

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/jobs"
)

// ConfirmSpec is all that a confirmation needs. It is the only spec that names
// the bars of a holdout beside that of the research itself.
type ConfirmSpec struct {
	Research   ktrdr.OperationID `json:"research_operation_id"`
	ResultHash ktrdr.Hash        `json:"result_hash"` // of the research
	Strategy   string            `json:"strategy_name"`
	RunPosition
	Model   ktrdr.Artifact `json:"model"`
	Symbols []string       `json:"symbols"` // that are traded
	Bars    []jobs.Bars    `json:"bars"`    // what the research saw; they warm up the indicators
	Holdout []jobs.Bars    `json:"holdout"`
	From    time.Time      `json:"from"`            // trading begins here
	Costs   []PaidCosts    `json:"costs,omitempty"` // that the backtest paid for each symbol; the holdout is traded at the same
	Rules   evidence.Rules `json:"rules"`
}

// Validate says what is wrong with the spec.
func (s ConfirmSpec) Validate() error {
	return errors.Join(
		require(s.Research.Valid(), "research_operation_id is not an operation"),
		require(len(s.Symbols) > 0, "there are no symbols"),
		require(len(s.Bars) > 0 && len(s.Holdout) == len(s.Bars), "it names %d series of bars and %d of the holdout",
			len(s.Bars), len(s.Holdout)),
		require(!s.From.IsZero(), "from is not set"), s.check(), s.Rules.Validate(),
	)
}

// Confirmation is what a confirmation ends with. The look's own hash covers it.
type Confirmation struct {
	Summary  string                `json:"summary"` // for people
	Strategy string                `json:"strategy_name"`
	Claim    bool                  `json:"claim"`
	MadeUp   *bool                 `json:"made_up"` // its prices, or some of them, were made up; null: not known
	Look     evidence.Confirmation `json:"look"`
	LookHash ktrdr.Hash            `json:"look_hash"`
	Daily    *jobs.Daily           `json:"daily_returns,omitempty"` // net returns on the holdout; nil in looks of earlier versions
	Line     *evidence.Sketch      `json:"line,omitempty"`          // account and buy-and-hold on the holdout, which was opened
}

// errNoMarket refuses a research of an earlier version, whose holdout has no ledger.
var errNoMarket = errors.New("the research names no market")

// ConfirmationOf is the operation that confirms a finalist: its spec is a ConfirmSpec.
func ConfirmationOf(finalist *ktrdr.Operation) (ktrdr.NewOperation, error) {
	return confirmation(finalist, time.Time{})
}

// ConfirmationFrom is the same where the holdouts of its markets begin at from.
func ConfirmationFrom(finalist *ktrdr.Operation, from time.Time) (ktrdr.NewOperation, error) {
	return confirmation(finalist, from)
}

// readFinalist reads what a look and an examination need of a finalist.
func readFinalist(op *ktrdr.Operation) (spec Spec, result Result, state PlanState, s reading, err error) {
	if spec, err = ktrdr.ParseSpec[Spec](op.Spec); err != nil {
		return spec, result, state, s, err
	}
	if result, err = resultOf[Result](op); err != nil {
		return spec, result, state, s, err
	}
	if state, err = stateOf(*op, &spec); err != nil {
		return spec, result, state, s, err
	}
	s, err = readStrategy(state.Strategy, "finalist")
	return spec, result, state, s, err
}

// confirmation confirms a finalist. from is where the holdouts of its markets begin now.
func confirmation(finalist *ktrdr.Operation, from time.Time) (ktrdr.NewOperation, error) {
	spec, result, state, s, err := readFinalist(finalist)
	if err != nil {
		return ktrdr.NewOperation{}, err
	}
	if len(spec.Markets) == 0 {
		return ktrdr.NewOperation{}, errNoMarket
	}
	if result.Model == nil {
		return ktrdr.NewOperation{}, ktrdr.Errorf(ktrdr.CodeCorrupt, "finalist %s has no model", finalist.ID)
	}
	c := ConfirmSpec{
		Research: finalist.ID, ResultHash: result.ResultHash, Strategy: state.StrategyName, RunPosition: spec.RunPosition,
		Model: *result.Model, Symbols: s.Data.Symbols, From: spec.HoldoutFrom, Rules: spec.Rules, Costs: result.Costs,
	}
	if from.After(c.From) { // see RunController.confirmation
		c.From = from
	}
	if !slices.ContainsFunc(spec.Sealed, func(s Span) bool { return s.To.After(c.From) }) {
		return ktrdr.NewOperation{}, fmt.Errorf("all its bars are before %s, where the holdout begins now", c.From.Format("2006-01-02 15:04"))
	}
	if c.Bars, err = barsOf(spec.Bars, readBy(s.Strategy), s.Name); err != nil {
		return ktrdr.NewOperation{}, err
	}
	if c.Holdout, err = barsOf(spec.Holdout, readBy(s.Strategy), s.Name); err != nil {
		return ktrdr.NewOperation{}, err
	}
	return c.operation(spec, finalist.Priority)
}

func (s ConfirmSpec) operation(of Spec, priority int) (ktrdr.NewOperation, error) {
	if err := s.Validate(); err != nil {
		return ktrdr.NewOperation{}, err
	}
	text, err := encode(s)
	if err != nil {
		return ktrdr.NewOperation{}, err
	}
	metadata, err := encode(about{Brief: clip(of.Brief, maxText), Strategy: s.Strategy, RunPosition: s.RunPosition})
	if err != nil {
		return ktrdr.NewOperation{}, err
	}
	spans, err := encode(of.Sealed)
	if err != nil {
		return ktrdr.NewOperation{}, err
	}
	look := &ktrdr.NewLook{Kind: ktrdr.LookConfirmation, Research: s.Research, Strategy: s.Strategy, Holdout: s.From, Spans: spans}
	for _, m := range slices.Concat(of.Markets, of.ContextMarkets) {
		if !slices.Contains(look.Markets, m.Market) {
			look.Markets = append(look.Markets, m.Market)
		}
	}
	return ktrdr.NewOperation{
		Type: ktrdr.AgentConfirm, Priority: priority, Run: s.Run, Generation: s.Generation,
		Spec: text, Metadata: metadata, Look: look,
	}, nil
}

// LookHash covers a look: the result it confirms, the bars, the looks before and what
// it showed, but not when, where or in how many attempts.
func (s ConfirmSpec) LookHash(c *evidence.Confirmation) (ktrdr.Hash, error) {
	return hashJSON(struct {
		Research ktrdr.Hash             `json:"research"`
		Data     []ktrdr.Hash           `json:"data"`
		Holdout  []ktrdr.Hash           `json:"holdout"`
		From     time.Time              `json:"from"`
		Look     *evidence.Confirmation `json:"look"`
	}{s.ResultHash, hashes(s.Bars), hashes(s.Holdout), s.From.UTC(), c})
}

// confirmed is what the ledger keeps of a confirmation.
func confirmed(op ktrdr.Operation) ktrdr.LedgerEntry {
	var c Confirmation
	if json.Unmarshal(op.Result, &c) != nil { // it was a look all the same
		return ktrdr.LedgerEntry{Look: &ktrdr.LookResult{}}
	}
	return ktrdr.LedgerEntry{Claim: ClaimOf(op), Look: &ktrdr.LookResult{
		P: c.Look.P, Adjusted: c.Look.Adjusted, Claim: c.Claim, Hash: c.LookHash, Result: op.Result,
	}}
}

// hashJSON hashes a value as JSON, which is the same text everywhere.
func hashJSON(v any) (ktrdr.Hash, error) {
	text, err := encode(v)
	if err != nil {
		return ktrdr.Hash{}, fmt.Errorf("hash: %w", err)
	}
	return sha256.Sum256(text), nil
}
