package research

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/ktrdr/ktrdr"
)

// Phase is what a research is in the middle of.
type Phase string

// The phases, in their order.
const (
	Idle        Phase = "IDLE" // it waits for its turn
	Designing   Phase = "DESIGNING"
	Training    Phase = "TRAINING"
	Backtesting Phase = "BACKTESTING"
	Assessing   Phase = "ASSESSING"
	Done        Phase = "DONE"
)

// Phases lists them.
var Phases = []Phase{Idle, Designing, Training, Backtesting, Assessing, Done}

// The phases of work that belongs to no research: to a run, a claim, a calibration or the
// test of a run.
const (
	examining   Phase = "EXAMINING"
	confirming  Phase = "CONFIRMING"
	following   Phase = "FOLLOWING"
	calibrating Phase = "CALIBRATING"
	copying     Phase = "COPYING"
)

var outside = []Phase{examining, confirming, following, calibrating, copying}

func phaseOf(t ktrdr.Type) Phase {
	return cmp.Or(map[ktrdr.Type]Phase{
		ktrdr.AgentDesign: Designing, ktrdr.Training: Training, ktrdr.Backtesting: Backtesting, ktrdr.AgentAssessment: Assessing,
		ktrdr.Examining: examining, ktrdr.AgentConfirm: confirming, ktrdr.ClaimStep: following,
		ktrdr.CalibrationPart: calibrating, ktrdr.FactoryPart: copying,
	}[t], Idle)
}

// steps is how many phases there are to do, for progress.
const steps = 4

// done is how many of them lie before a phase.
func (p Phase) done() int64 { return max(0, int64(slices.Index(Phases, p)-1)) }

func (p Phase) progress() *ktrdr.Progress {
	return &ktrdr.Progress{
		Percentage: 100 * float64(p.done()) / steps, CurrentStep: strings.ToLower(string(p)),
		StepsCompleted: p.done(), StepsTotal: steps,
	}
}

// PlanState is what a research remembers: the state of its row and its checkpoints.
type PlanState struct {
	Session int64 `json:"session_id"`
	Phase   Phase `json:"phase"`

	StrategyName string `json:"strategy_name,omitempty"`
	Strategy     string `json:"strategy_config,omitempty"` // YAML
	Notes        string `json:"research_notes,omitempty"`
	Hypothesis   string `json:"hypothesis,omitempty"`

	StrategyHash ktrdr.Hash      `json:"strategy_hash,omitzero"` // of what the strategy means
	Tests        *HypothesisNote `json:"tests,omitempty"`        // the hypothesis of an earlier research that it tests

	DesignOperation     ktrdr.OperationID `json:"design_operation_id,omitempty"`
	TrainingOperation   ktrdr.OperationID `json:"training_operation_id,omitempty"`
	TrainingEpoch       int               `json:"training_checkpoint_epoch,omitempty"`
	BacktestOperation   ktrdr.OperationID `json:"backtest_operation_id,omitempty"`
	AssessmentOperation ktrdr.OperationID `json:"assessment_operation_id,omitempty"`

	Gates []GateResult `json:"gates,omitempty"`

	TriggerReason string `json:"trigger_reason"`
	Brief         string `json:"brief,omitempty"` // its beginning; the spec has all of it
	Seed          uint64 `json:"seed"`
	Horizon       string `json:"horizon"`
	Budget        Budget `json:"budget"`
	RunPosition
}

// stateOf is what a research remembers when it is asked.
func stateOf(parent ktrdr.Operation, spec *Spec) (PlanState, error) {
	if len(parent.State) > 0 {
		var s PlanState
		if err := json.Unmarshal(parent.State, &s); err != nil {
			return s, ktrdr.Errorf(ktrdr.CodeCorrupt, "state of %s: %w", parent.ID, err)
		}
		if s.Run != "" {
			return s, nil
		}
	}
	return PlanState{
		Session: parent.Session, Phase: Idle, TriggerReason: spec.TriggerReason, Brief: clip(spec.Brief, maxText),
		Seed: spec.Seed, Horizon: spec.Horizon, Budget: spec.Budget, RunPosition: spec.RunPosition,
	}, nil
}

func (s *PlanState) enter(t ktrdr.Type, child ktrdr.OperationID) {
	s.Phase = phaseOf(t)
	*s.child() = child
}

// child is the operation that does the work of the phase.
func (s *PlanState) child() *ktrdr.OperationID {
	switch s.Phase {
	case Designing:
		return &s.DesignOperation
	case Training:
		return &s.TrainingOperation
	case Backtesting:
		return &s.BacktestOperation
	case Assessing:
		return &s.AssessmentOperation
	case Idle, Done:
	}
	return new(ktrdr.OperationID)
}

// gate notes what a gate said. A gate that is asked again says the same.
func (s *PlanState) gate(r GateResult) {
	if i := slices.IndexFunc(s.Gates, func(known GateResult) bool { return known.Gate == r.Gate }); i >= 0 {
		s.Gates[i] = r
		return
	}
	s.Gates = append(s.Gates, r)
}

// refusal is the gate that let the research go no further; nil if none did.
func (s *PlanState) refusal() *GateResult {
	for i := range s.Gates {
		if !s.Gates[i].Passed {
			return &s.Gates[i]
		}
	}
	return nil
}

// childID names the attempt'th child of a type, the same each time a plan is asked. The
// stamp is the parent's; the tail is made of its session, which is unique.
func childID(parent *ktrdr.Operation, t ktrdr.Type, attempt int) ktrdr.OperationID {
	tail := uint32(parent.Session)*0x9e3779b1 + uint32(attempt)*0x85ebca6b // odd factors: neighbours do not meet
	if parent.Session == 0 {
		sum := sha256.Sum256([]byte(parent.ID))
		tail += binary.BigEndian.Uint32(sum[:])
	}
	return ktrdr.OperationID(fmt.Sprintf("op_%s_%s_%08x", t, parent.CreatedAt.UTC().Format("20060102_150405"), tail))
}
