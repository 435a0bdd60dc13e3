package research

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/backtest"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/strategy"
)

// MostExamined is how many finalists of a generation are examined: the best by score.
const MostExamined = 2

// candidate is a finalist that may get the look of its generation.
//
//	finalist ──can be confirmed──▶ examined ──robust, or not examined──▶ may get the look
//	    └─────────no─────────▶ not opened  └──fragile, or failed──▶ not opened
type candidate struct {
	research *ktrdr.Operation
	confirm  ktrdr.NewOperation
	state    evidence.ExaminationState
	score    *float64 // of the examination
}

// candidates examines the best finalists of a generation. open says that an examination
// has not ended.
func (k *RunController) candidates(ctx context.Context, run string,
	generation int,
) (list []candidate, told examined, open bool, err error) {
	best, err := k.store.Finalists(ctx, run, generation, MostExamined)
	if err != nil {
		return nil, told, false, err
	}
	pinned, err := k.pinned(ctx, run, len(best))
	if err != nil {
		return nil, told, false, err
	}
	var ops []ktrdr.NewOperation
	var keys []ktrdr.IdempotencyKey
	for i := range best {
		c := candidate{research: &best[i]}
		var never *unconfirmed
		switch c.confirm, err = k.confirmation(ctx, c.research); {
		case errors.As(err, &never):
			told.tell(never.Error())
			continue
		case err != nil:
			return nil, told, false, fmt.Errorf("confirmation of %s: %w", c.research.ID, err)
		}
		op, err := k.examination(ctx, c.research, pinned)
		if never := new(unexamined); errors.As(err, &never) {
			told.refuse(ktrdr.Examined{Research: c.research.ID, State: string(evidence.Failed)}, never.Error())
			continue
		}
		if err != nil {
			return nil, told, false, fmt.Errorf("examination of %s: %w", c.research.ID, err)
		}
		list, ops = append(list, c), append(ops, op)
		keys = append(keys, ktrdr.IdempotencyKey{
			Key: fmt.Sprintf("run %s %d examination %s", run, generation, c.research.ID), Body: sha256.Sum256([]byte(run)),
		})
	}
	if len(ops) == 0 {
		return nil, told, false, nil
	}
	made, err := k.store.SubmitAll(ctx, ops, keys) // those that exist are returned as they stand
	if err != nil {
		return nil, told, false, fmt.Errorf("examinations of generation %d: %w", generation, err)
	}
	if slices.ContainsFunc(made, func(op ktrdr.Operation) bool { return !op.Status.Terminal() }) {
		return nil, told, true, nil
	}
	var may []candidate
	for i := range list {
		if told.judge(&list[i], &made[i]) {
			may = append(may, list[i])
		}
	}
	return may, told, false, nil
}

// examined is what examinations came to, for the time when their generation is closed.
type examined struct {
	states []ktrdr.Examined
	why    string // the first finalist that is not opened, and why
}

func (e *examined) refuse(x ktrdr.Examined, why string) {
	e.states = append(e.states, x)
	e.tell((&unconfirmed{x.Research, fmt.Errorf("%s", why)}).Error())
}

func (e *examined) tell(why string) {
	if e.why == "" {
		e.why = why
	}
}

// judge reads an examination that has ended, and says whether the look may be made.
func (e *examined) judge(c *candidate, op *ktrdr.Operation) bool {
	c.state = evidence.Failed
	summary := fmt.Sprintf("its examination %s is %s: %s", op.ID, op.Status, clip(op.ErrorMessage, maxLine))
	if op.Status == ktrdr.Completed {
		if r, err := jobs.ReadExamination(op); err == nil {
			c.state, c.score, summary = r.Examination.State, r.Examination.Score, r.Examination.Summary
		} else {
			summary = err.Error()
		}
	}
	x := ktrdr.Examined{Research: c.research.ID, Operation: op.ID, State: string(c.state)}
	if c.state.Refuses() {
		e.refuse(x, summary)
		return false
	}
	e.states = append(e.states, x)
	return true
}

// bestOf is the candidate that gets the look; nil: there are no candidates.
func bestOf(list []candidate) *candidate {
	scores := make([]*float64, len(list))
	for i := range list {
		scores[i] = list[i].score
	}
	if best := BestExamined(scores); best >= 0 {
		return &list[best]
	}
	return nil
}

// BestExamined chooses, by the scores of their examinations, the finalist that gets the look:
// the highest. Where one was not examined, the order of the scores on the test part decides,
// which is the order of the list. -1: the list is empty.
func BestExamined(scores []*float64) int {
	if len(scores) == 0 {
		return -1
	}
	best := 0
	for i, s := range scores {
		if b := scores[best]; s != nil && b != nil && *s > *b {
			best = i
		}
	}
	return best
}

// pinned are the specs of the newest examinations of a run, by research: those of the
// generation that is being closed are among them.
func (k *RunController) pinned(ctx context.Context, run string, finalists int) (map[ktrdr.OperationID]json.RawMessage, error) {
	specs := map[ktrdr.OperationID]json.RawMessage{}
	if finalists == 0 {
		return specs, nil
	}
	page, err := k.store.List(ctx, ktrdr.OperationQuery{Run: run, Type: []ktrdr.Type{ktrdr.Examining}, Limit: 8 * MostExamined})
	if err != nil {
		return nil, err
	}
	for _, op := range page.Operations {
		var of struct {
			Research ktrdr.OperationID `json:"research_operation_id"`
		}
		if json.Unmarshal(op.Spec, &of) == nil {
			specs[of.Research] = op.Spec
		}
	}
	return specs, nil
}

// unexamined says why a finalist can never be examined: nothing but its rows was read.
type unexamined struct{ error }

// examination makes the operation that examines a finalist. One that exists keeps its
// spec: the related symbols are those that there were when it was created.
func (k *RunController) examination(ctx context.Context, finalist *ktrdr.Operation,
	pinned map[ktrdr.OperationID]json.RawMessage,
) (op ktrdr.NewOperation, err error) {
	x, about, s, err := examinationOf(finalist)
	if err != nil {
		return op, &unexamined{err}
	}
	text, exists := pinned[finalist.ID]
	var trial *ktrdr.NewTrial
	if !exists {
		if k.related != nil {
			spec, err := ktrdr.ParseSpec[Spec](finalist.Spec)
			if err != nil {
				return op, &unexamined{err}
			}
			r, err := k.related(ctx, &spec, s)
			if err != nil {
				return op, err
			}
			x.Related, x.RelatedBars, trial = r.Symbols, r.Bars, r.Trial
			maps.Copy(x.Costs, r.Costs)
		}
		if text, err = encode(x); err != nil {
			return op, err
		}
	}
	metadata, err := encode(about)
	return ktrdr.NewOperation{
		Type: ktrdr.Examining, Priority: finalist.Priority, Run: x.Run, Generation: x.Generation, Spec: text, Metadata: metadata,
		Trace: finalist.Trace, Trial: trial,
	}, err
}

// ScoreExamination is the operation that examines a finalist for its score alone, without
// the steps that can only refuse a look. See BestExamined.
func ScoreExamination(finalist *ktrdr.Operation) (ktrdr.NewOperation, error) {
	x, _, _, err := examinationOf(finalist)
	if err != nil {
		return ktrdr.NewOperation{}, err
	}
	x.ScoreOnly = true
	text, err := encode(x)
	return ktrdr.NewOperation{Type: ktrdr.Examining, Spec: text}, err
}

// examinationOf is the examination of a finalist, without related symbols.
func examinationOf(finalist *ktrdr.Operation) (x jobs.ExaminationSpec, listed about, s *strategy.Strategy, err error) {
	spec, result, state, read, err := readFinalist(finalist)
	if err != nil {
		return x, listed, nil, err
	}
	x = jobs.ExaminationSpec{
		Research: finalist.ID, ResultHash: result.ResultHash, Name: state.StrategyName, Strategy: state.Strategy, Run: spec.Run,
		Generation: spec.Generation, Seed: spec.Seed, KernelClass: spec.KernelClass, Costs: map[string]backtest.Overrides{},
		Rules: evidence.ExaminationRules{}.WithDefaults(),
	}
	if x.Bars, err = barsOf(spec.Bars, readBy(read.Strategy), read.Name); err != nil {
		return x, listed, nil, err
	}
	for _, p := range result.Costs {
		x.Costs[p.Symbol] = p.overrides()
	}
	return x, about{Brief: clip(spec.Brief, maxText), Strategy: x.Name, RunPosition: spec.RunPosition}, read.Strategy, nil
}
