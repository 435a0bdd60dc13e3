package research

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/jobs"
)

// Outcome is how a research ended, in a word: each ends in exactly one.
type Outcome string

// The outcomes.
const (
	OutcomeCompleted Outcome = "completed"     // it was measured and judged
	OutcomeRejected  Outcome = "gate_rejected" // a gate rejected it, and the assessment says why
	OutcomeFailed    Outcome = "failed"
	OutcomeCancelled Outcome = "cancelled"
)

// Outcomes lists them.
var Outcomes = []Outcome{OutcomeCompleted, OutcomeRejected, OutcomeFailed, OutcomeCancelled}

// OutcomeBy is how a research ended, by the columns of its row; "" if it has not.
func OutcomeBy(s ktrdr.Status, rung string) Outcome {
	switch {
	case s == ktrdr.Failed:
		return OutcomeFailed
	case s == ktrdr.Cancelled:
		return OutcomeCancelled
	case s == ktrdr.Completed && rung == ktrdr.RungRejected:
		return OutcomeRejected
	case s == ktrdr.Completed:
		return OutcomeCompleted
	}
	return ""
}

// OutcomeOf is how a research ended; "" while it has not.
func OutcomeOf(op ktrdr.Operation) Outcome {
	outcome := OutcomeBy(op.Status, "")
	if r, err := resultOf[Result](&op); outcome == OutcomeCompleted && err == nil {
		outcome = cmp.Or(r.Outcome, outcome)
	}
	return outcome
}

// lost says that a child ended because its worker or its backend died.
func lost(child *ktrdr.Operation) bool {
	return child.Status == ktrdr.Failed && child.Error != nil &&
		(child.Error.Code == ktrdr.CodeBackendRestart || child.Error.Code == ktrdr.CodeOrphaned)
}

// mostAttempts is how often a design or an assessment is started. A restart of the
// backend is not its fault, but one that kills its backend must end.
const mostAttempts = 10

func (r *research) unfinished(child *ktrdr.Operation, why ktrdr.Why) (ktrdr.Decision, error) {
	switch {
	case !child.Status.Terminal():
		return ktrdr.Decision{}, nil // it waits for it
	case why == ktrdr.WhyResumed && child.Type == ktrdr.AgentDesign && r.spec.AssistantWait > 0: // it waits for the assistant again
		d, err := r.beginWith(child.Type, child.Spec)
		return r.awaitAssistant(d), err
	case why == ktrdr.WhyResumed:
		r.state.enter(child.Type, child.ID)
		state, err := encode(r.state)
		return ktrdr.Decision{
			Phase: string(r.state.Phase), State: state, Progress: r.state.Phase.progress(), Resume: []ktrdr.OperationID{child.ID},
		}, err
	case child.Status == ktrdr.Cancelled:
		return r.cancel(child)
	case byAgent(child.Type) && lost(child) && r.attempts(child.Type) < mostAttempts:
		return r.beginWith(child.Type, child.Spec)
	}
	code := ktrdr.CodeFailed
	if child.Error != nil {
		code = child.Error.Code
	}
	return r.fail(child, code, errors.New(cmp.Or(child.ErrorMessage, "it did not say why")))
}

func (r *research) cancel(child *ktrdr.Operation) (ktrdr.Decision, error) {
	err := fmt.Errorf("%s: %s was cancelled", phaseOf(child.Type), child.ID)
	if child.CancelReason != "" {
		err = fmt.Errorf("%w: %s", err, clip(child.CancelReason, maxText))
	}
	r.stopAt(child)
	return r.finish(&ktrdr.Finished{
		Outcome: ktrdr.Cancelled, ErrorMessage: err.Error(), Error: ktrdr.NewFailure(ktrdr.CodeCancelled, err),
	}, ktrdr.CheckpointCancellation, Result{Outcome: OutcomeCancelled})
}

func (r *research) fail(child *ktrdr.Operation, code ktrdr.Code, why error) (ktrdr.Decision, error) {
	err := fmt.Errorf("%s: %s: %s", phaseOf(child.Type), child.ID, clip(why.Error(), maxText))
	r.stopAt(child)
	d, bad := r.finish(&ktrdr.Finished{
		Outcome: ktrdr.Failed, ErrorMessage: err.Error(), Error: ktrdr.NewFailure(code, err).CausedBy(child.Error),
	}, ktrdr.CheckpointFailure, Result{Outcome: OutcomeFailed})
	if bad != nil {
		return d, bad
	}
	d.Notes, bad = r.failed(err.Error())
	return d, bad
}

// stopAt leaves the research in the phase of the child that ended it.
func (r *research) stopAt(child *ktrdr.Operation) {
	r.state.Phase = phaseOf(child.Type)
	var f jobs.ProgressContext
	if child.Type == ktrdr.Training && json.Unmarshal(child.Progress.Context, &f) == nil {
		r.state.TrainingEpoch = cmp.Or(f.Epoch, r.state.TrainingEpoch)
	}
}

// finish makes the end of a research, with a checkpoint that says how it came.
func (r *research) finish(f *ktrdr.Finished, kind ktrdr.CheckpointType, result Result) (ktrdr.Decision, error) {
	state, err := encode(r.state)
	if err != nil {
		return ktrdr.Decision{}, err
	}
	result.Phase, result.StrategyName, result.RunPosition, result.Seed = r.state.Phase, r.state.StrategyName, r.spec.RunPosition, r.spec.Seed
	result.Training, result.Backtest, result.Gates = r.state.TrainingOperation, r.state.BacktestOperation, r.state.Gates
	result.MadeUp, result.Data = jobs.AnyMadeUp(r.spec.Bars), r.spec.Data
	result.Warnings = append(result.Warnings, r.spec.DataWarnings...)
	if f.Result, err = encode(result); err != nil {
		return ktrdr.Decision{}, err
	}
	f.Checkpoint = &ktrdr.NewCheckpoint{Type: kind, Step: r.state.Phase.done(), State: state}
	return ktrdr.Decision{Phase: string(r.state.Phase), State: state, Finish: f}, nil
}

func (r *research) assessed(child *ktrdr.Operation) (ktrdr.Decision, error) {
	verdict, err := resultOf[Assessment](child)
	if err != nil {
		return ktrdr.Decision{}, err
	}
	verdict = verdict.bounded()
	e, err := r.evaluated()
	if err != nil {
		return ktrdr.Decision{}, err
	}
	result := Result{
		Success: true, Outcome: OutcomeCompleted, Summary: verdict.Summary, Verdict: verdict.Verdict, Rung: RungNothing,
		Figures: e.figures().judged(verdict.Figures), Model: &e.training.Model,
	}
	if err := r.charge(&result, e.run); err != nil {
		return ktrdr.Decision{}, err
	}
	result.credit(&r.spec, e.design, &verdict)
	refused := r.state.refusal()
	switch {
	case refused != nil:
		result.Outcome, result.Rung, result.GateReason = OutcomeRejected, ktrdr.RungRejected, refused.Reason
	case verdict.Finalist:
		result.Rung = ktrdr.RungFinalist
	}
	if result.ResultHash, err = r.hash(e, &verdict); err != nil {
		return ktrdr.Decision{}, err
	}
	r.state.Phase = Done
	end := &ktrdr.Finished{Outcome: ktrdr.Completed, Rung: result.Rung}
	if f := verdict.Figures; f != nil {
		end.Score = evidence.WeakerZ(f.SharpeZ, f.AlphaZ)
	}
	d, err := r.finish(end, ktrdr.CheckpointFinal, result)
	if err != nil {
		return d, err
	}
	d.Progress = Done.progress()
	d.Notes, err = r.learnt(e, &verdict, &result)
	return d, err
}

type evaluation struct {
	design   *Design // nil where the strategy was given
	training *jobs.TrainingResult
	run      *jobs.BacktestResult // nil where it did not come to that
}

func (r *research) evaluated() (evaluation, error) {
	var e evaluation
	var err error
	if e.design, err = r.design(); err != nil {
		return e, err
	}
	if e.training, err = r.training(); err != nil {
		return e, err
	}
	if child := r.newest(ktrdr.Backtesting); child != nil {
		run, err := resultIn(&r.plan.backtests, child)
		if err != nil {
			return e, err
		}
		e.run = &run
	}
	return e, nil
}

// design is what was designed; nil where there was nothing to design.
func (r *research) design() (*Design, error) {
	child := r.newest(ktrdr.AgentDesign)
	if child == nil || child.Status != ktrdr.Completed {
		return nil, nil
	}
	d, err := resultIn(&r.plan.designs, child)
	return &d, err
}

// OutcomeCounts are a run's counts by outcome.
func OutcomeCounts(c ktrdr.RunCounts) map[string]int {
	return map[string]int{
		string(OutcomeCompleted): c.Completed, string(OutcomeRejected): c.Rejected,
		string(OutcomeFailed): c.Failed, string(OutcomeCancelled): c.Cancelled,
	}
}
