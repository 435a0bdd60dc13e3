package jobs

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/backtest"
	"github.com/ktrdr/ktrdr/evidence"
)

// ExaminationSpec is all that the examination of a finalist needs. Nothing of a holdout is
// in it.
type ExaminationSpec struct {
	Research   ktrdr.OperationID `json:"research_operation_id"`
	ResultHash ktrdr.Hash        `json:"result_hash"` // of the research
	Name       string            `json:"strategy_name"`
	Strategy   string            `json:"strategy_yaml"`
	Run        string            `json:"run"`
	Generation int               `json:"generation"`

	Seed        uint64 `json:"seed"`
	KernelClass string `json:"kernel_class"` // which bits: see neural.Kernel
	Bars        []Bars `json:"bars"`         // what the research saw

	// Related are symbols of the same kind that the strategy is also trained and traded on.
	// The examination is a trial on their markets.
	Related     []RelatedSymbol `json:"related,omitempty"`
	RelatedBars []Bars          `json:"related_bars,omitempty"` // their research parts, not beyond that of the finalist

	Costs map[string]backtest.Overrides `json:"costs,omitempty"` // that the backtest paid for each symbol; of a related one its floor
	Rules evidence.ExaminationRules     `json:"rules"`

	// ScoreOnly leaves out what can only refuse a look: the walk-forward and its changes.
	ScoreOnly bool `json:"score_only,omitempty"`
}

// RelatedSymbol is a symbol of the kind of another.
type RelatedSymbol struct {
	Symbol      string  `json:"symbol"`
	Market      string  `json:"market"`
	Correlation float64 `json:"correlation"` // of the returns of the bars that both have
	Shared      int     `json:"shared_bars"`
}

// Validate says what is wrong with the spec, apart from its strategy.
func (s ExaminationSpec) Validate() error {
	return errors.Join(
		require(s.Research.Valid(), "research_operation_id is not an operation"),
		require(s.Strategy != "", "strategy_yaml is empty"),
		require(s.Seed <= MaxSeed, "seed is %d; at most %d is allowed", s.Seed, uint64(MaxSeed)),
		checkBars(s.Bars), s.checkRelated(), s.Rules.Validate(),
	)
}

func (s ExaminationSpec) checkRelated() error {
	if len(s.RelatedBars) == 0 {
		return require(len(s.Related) == 0, "it names %d related symbols without bars", len(s.Related))
	}
	return checkBars(s.RelatedBars)
}

// CostsOf are those of a symbol's account.
func (s ExaminationSpec) CostsOf(symbol string) backtest.Overrides { return s.Costs[symbol] }

// ExaminationResult is what an examination ends with.
type ExaminationResult struct {
	Summary     string               `json:"summary"` // for people
	Strategy    string               `json:"strategy_name"`
	Research    ktrdr.OperationID    `json:"research_operation_id"`
	MadeUp      *bool                `json:"made_up"` // its prices, or some of them, were made up; null: not known
	Examination evidence.Examination `json:"examination"`
	ResultHash  ktrdr.Hash           `json:"result_hash"`
}

// ReadExamination reads the result of an examination that has completed.
func ReadExamination(op *ktrdr.Operation) (ExaminationResult, error) {
	var r ExaminationResult
	if err := json.Unmarshal(op.Result, &r); err != nil {
		return r, fmt.Errorf("result of %s: %w", op.ID, err)
	}
	return r, nil
}
