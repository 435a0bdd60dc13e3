package bundle

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/research"
	"github.com/ktrdr/ktrdr/worker"
)

// Runners compute trainings, backtests, assessments without a model and looks.
type Runners map[ktrdr.Type]worker.Runner

// BarsSource finds bars that are not in a bundle. span says which bars of the series
// they are. CodeNotFound.
type BarsSource func(ctx context.Context, want jobs.Bars, span research.Span) ([]byte, error)

// again is a claim that is computed again.
type again struct {
	bundle  *Bundle
	runners Runners
	files   map[ktrdr.Hash][]byte
}

// computeAgain makes the research and its look once more, from spec, strategy and
// bars alone, and compares the results.
func (v *verification) computeAgain(ctx context.Context, b *Bundle, c *claimed, spec *research.Spec, o Options) error {
	a := &again{bundle: b, runners: o.Runners, files: map[ktrdr.Hash][]byte{}}
	if err := v.bars(ctx, a, spec, o.Bars); err != nil || len(a.files) == 0 {
		return err
	}
	finalist, weights, err := a.research(ctx, c.trial)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		v.refuse(WrongResult, "the research cannot be computed again: %v", err)
		return nil
	}
	var r research.Result
	if err := json.Unmarshal(finalist.Result, &r); err != nil {
		return err
	}
	said := Verdict{
		Strategy: r.StrategyName, Verdict: r.Verdict, Rung: r.Rung, ResultHash: r.ResultHash, Weights: weights,
		Look: b.Verdict.Look, LookHash: b.Verdict.LookHash,
	}
	switch {
	case weights != b.Verdict.Weights:
		v.refuse(WrongResult, "the training gives other weights (%.12s) than the bundle says (%.12s): strategy, seed or bars were edited",
			weights, b.Verdict.Weights)
	case r.ResultHash != c.trial.TrialFigures.Hash:
		v.refuse(WrongResult, "the research gives the result hash %.12s, and the ledger says %.12s: costs, gates, trials counted or words "+
			"were edited", r.ResultHash, c.trial.TrialFigures.Hash)
	default:
		v.pass("training, backtest and verdict computed again: weights %.12s, result hash %.12s", weights, r.ResultHash)
	}
	if !sameFigures(research.Ledger(finalist), c.trial) {
		v.refuse(WrongResult, "the figures of trial %s in the ledger are not those of its result", nameOf(c.trial))
	}
	if len(v.Refused) > 0 && v.Refused[len(v.Refused)-1].Code == WrongResult {
		return nil
	}
	return v.lookAgain(ctx, a, c, finalist, said)
}

func (v *verification) lookAgain(ctx context.Context, a *again, c *claimed, finalist *ktrdr.Operation, said Verdict) error {
	var was research.ConfirmSpec
	if err := json.Unmarshal(a.bundle.Confirm, &was); err != nil {
		return err
	}
	n, err := research.ConfirmationFrom(finalist, was.From)
	if err != nil {
		v.refuse(WrongLook, "the look cannot be made again: %v", err)
		return nil
	}
	if !bytes.Equal(n.Spec, a.bundle.Confirm) {
		v.refuse(WrongSpec, "the spec of the look does not follow from the research: rules, costs, bars or begin of the holdout were edited")
		return nil
	}
	task := ktrdr.Task{
		Operation: a.bundle.Manifest.Claim, Type: ktrdr.AgentConfirm, Epoch: 1, Attempts: 1, Spec: n.Spec,
		Look: &ktrdr.Look{Before: c.look.Before},
	}
	result, _, err := worker.Replay(ctx, a.runners[ktrdr.AgentConfirm], task, a.open)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		v.refuse(WrongLook, "the look cannot be made again: %v", err)
		return nil
	}
	var is research.Confirmation
	if err := json.Unmarshal(result, &is); err != nil {
		return err
	}
	said.Look, said.LookHash = is.Look, is.LookHash
	x, err := encode(said)
	y, err2 := encode(a.bundle.Verdict)
	told := &ktrdr.ResultEntry{Key: c.result.Key, P: is.Look.P, Adjusted: is.Look.Adjusted, Claim: is.Look.Claim, Hash: is.LookHash}
	if err != nil || err2 != nil || !bytes.Equal(x, y) || !sameResult(told, c.result) {
		v.refuse(WrongLook, "the look gives adjusted p = %s after %s and the look hash %.12s; the ledger says %s and %.12s: the holdout, "+
			"the looks before it or the verdict were edited", number(is.Look.Adjusted), plural(c.look.Before, "look", "looks"), is.LookHash,
			number(c.result.Adjusted), c.result.Hash)
		return nil //nolint:nilerr // it is refused, and the rest is verified
	}
	v.pass("look made again: p = %s, adjusted for %s p = %s, look hash %.12s", number(is.Look.P), plural(c.look.Before+1, "look", "looks"),
		number(is.Look.Adjusted), is.LookHash)
	return nil
}

// bars brings the bars that the claim needs, each checked against its hash.
func (v *verification) bars(ctx context.Context, a *again, spec *research.Spec, source BarsSource) error {
	unused := len(a.bundle.Bars)
	spans := append(append([]research.Span{}, spec.Searched...), spec.Sealed...)
	for i, want := range append(append([]jobs.Bars{}, spec.Bars...), spec.Holdout...) {
		file, inside := a.bundle.Bars[want.SHA256]
		if inside {
			unused--
		}
		if !inside && source != nil && i < len(spans) {
			var err error
			if file, err = source(ctx, want, spans[i]); err != nil && ktrdr.CodeOf(err) != ktrdr.CodeNotFound {
				return err
			}
		}
		switch {
		case file == nil:
			v.refuse(NoBars, "the %s bars of %.40s (hash %.12s) are neither in the bundle nor here: export it with --bars, or import the series "+
				"with `ktrdr data import FILE --symbol %.40s --timeframe %s --data DIR` and verify with --data DIR",
				want.Timeframe, want.Symbol, want.Hash, want.Symbol, want.Timeframe)
		case ktrdr.Hash(sha256.Sum256(file)) != want.SHA256 || int64(len(file)) != want.Size:
			code := WrongBars
			if i >= len(spec.Bars) {
				code = WrongHoldout
			}
			v.refuse(code, "the %s bars of %.40s are others than the spec names: their file does not have the sha256 %.12s", want.Timeframe,
				want.Symbol, want.SHA256)
		default:
			a.files[want.SHA256] = file
		}
	}
	if unused > 0 && len(v.Refused) == 0 {
		v.refuse(WrongBars, "the bundle holds %s that the claim does not need", plural(unused, "bars file", "bars files"))
	}
	if len(v.Refused) > 0 && v.Refused[len(v.Refused)-1].Code != WrongHead {
		a.files = nil
	}
	return nil
}

func (a *again) open(_ context.Context, h ktrdr.Hash) (io.ReadCloser, error) {
	file, ok := a.files[h]
	if !ok {
		return nil, ktrdr.Errorf(ktrdr.CodeNotFound, "blob %s is not there", h)
	}
	return io.NopCloser(bytes.NewReader(file)), nil
}

// mostSteps bounds how often the plan is asked.
const mostSteps = 16

// research asks the plan of researches what comes next, and does it, until the research
// has ended as a finalist. It returns the row and the hash of the weights.
func (a *again) research(ctx context.Context, t *ktrdr.TrialEntry) (*ktrdr.Operation, ktrdr.Hash, error) {
	plan := research.Types()[ktrdr.AgentResearch].Plan
	op := &ktrdr.Operation{
		ID: t.Operation, Type: ktrdr.AgentResearch, Status: ktrdr.Running, HasPlan: true, Session: 1, Run: t.Run, Root: t.Operation,
		Spec: a.bundle.Spec, Trials: t.Counted,
	}
	var children []ktrdr.Operation
	why := ktrdr.WhyCreated
	for range mostSteps {
		d, err := plan.Next(*op, children, why)
		if err != nil {
			return nil, ktrdr.Hash{}, err
		}
		if d.State != nil {
			op.State = d.State
		}
		if end := d.Finish; end != nil {
			op.Status, op.Result, op.Rung, op.Score = end.Outcome, end.Result, end.Rung, end.Score
			if end.Outcome != ktrdr.Completed || end.Rung != ktrdr.RungFinalist {
				return nil, ktrdr.Hash{}, fmt.Errorf("it does not end as a finalist: %s %s", end.Rung, end.ErrorMessage)
			}
			var r research.Result
			if err := json.Unmarshal(end.Result, &r); err != nil || r.Model == nil {
				return nil, ktrdr.Hash{}, fmt.Errorf("it has no model: %w", err)
			}
			return op, r.Model.SHA256, nil
		}
		for _, n := range d.Create {
			child := ktrdr.Operation{
				ID: n.ID, Type: n.Type, Status: ktrdr.Completed, Epoch: 1, Attempts: 1, Parent: op.ID, Root: op.ID, Ordinal: n.Ordinal, Spec: n.Spec,
			}
			if child.Result, err = a.child(ctx, n); err != nil {
				return nil, ktrdr.Hash{}, err
			}
			children = append(children, child)
		}
		why = ktrdr.WhyChild
	}
	return nil, ktrdr.Hash{}, fmt.Errorf("it has not ended after %d steps", mostSteps)
}

// child does the work of a child of the research. The design is the strategy of the
// bundle.
func (a *again) child(ctx context.Context, n ktrdr.NewOperation) (json.RawMessage, error) {
	switch n.Type {
	case ktrdr.AgentDesign:
		return json.Marshal(research.Design{Strategy: string(a.bundle.Strategy), Designer: research.Builtin})
	case ktrdr.AgentAssessment:
		return a.assess(ctx, n)
	}
	return a.replay(ctx, n)
}

func (a *again) replay(ctx context.Context, n ktrdr.NewOperation) (json.RawMessage, error) {
	runner := a.runners[n.Type]
	if runner == nil {
		return nil, fmt.Errorf("an operation of the type %s cannot be computed again", n.Type)
	}
	result, files, err := worker.Replay(ctx, runner, ktrdr.Task{Operation: n.ID, Type: n.Type, Epoch: 1, Attempts: 1, Spec: n.Spec}, a.open)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", n.Type, err)
	}
	for _, f := range files {
		a.files[sha256.Sum256(f.Bytes)] = f.Bytes
	}
	return result, nil
}

// assess judges without a model. What a model said of the verdict comes from the
// bundle: the result hash covers it.
func (a *again) assess(ctx context.Context, n ktrdr.NewOperation) (json.RawMessage, error) {
	spec, err := ktrdr.ParseSpec[research.AssessmentSpec](n.Spec)
	if err != nil {
		return nil, err
	}
	spec.Model = research.Builtin
	if n.Spec, err = json.Marshal(spec); err != nil {
		return nil, err
	}
	result, err := a.replay(ctx, n)
	w := a.bundle.Manifest.Words
	if err != nil || w == nil {
		return result, err
	}
	var said research.Assessment
	if err := json.Unmarshal(result, &said); err != nil {
		return nil, err
	}
	said.Assessor, said.Prompt = w.Assessor, w.Prompt
	said.Strengths, said.Weaknesses, said.Suggestions, said.Hypotheses = w.Strengths, w.Weaknesses, w.Suggestions, w.Hypotheses
	return json.Marshal(said)
}

// sameFigures says whether the ledger has the figures of a result. Words that name who
// did what are not compared.
func sameFigures(is ktrdr.LedgerEntry, t *ktrdr.TrialEntry) bool {
	if is.Trial == nil {
		return false
	}
	a, b := *is.Trial, t.TrialFigures
	a.Unaided, b.Unaided = false, false
	x, err := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err == nil && err2 == nil && bytes.Equal(x, y)
}
