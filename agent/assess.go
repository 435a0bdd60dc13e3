package agent

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/backtest"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/research"
	"github.com/ktrdr/ktrdr/train"
	"github.com/ktrdr/ktrdr/worker"
)

// AssessmentRunner assesses researches. The verdict is always its own; a model
// may be asked for what it means.
func AssessmentRunner(access ModelAccess) worker.Runner { return assessmentRunner{access} }

type assessmentRunner struct{ access ModelAccess }

// Run judges one research.
func (r assessmentRunner) Run(ctx context.Context, t *worker.Task) (json.RawMessage, error) {
	spec, err := ktrdr.ParseSpec[research.AssessmentSpec](t.Spec)
	if err != nil {
		return nil, err
	}
	if spec.Files == nil {
		return r.comment(ctx, t, spec, rejected(spec))
	}
	in := &inputs{task: t}
	defer in.close()
	a := &assessment{task: t, spec: spec, in: in}
	if err := a.judge(ctx); err != nil {
		return nil, stopped(ctx, t, err)
	}
	said := opinion(spec, a.verdict)
	said.Lines = &a.lines
	return r.comment(ctx, t, spec, said)
}

// assessment judges what a strategy did on the test part. It never sees the
// holdout: a confirmation does.
type assessment struct {
	task *worker.Task
	spec research.AssessmentSpec
	in   *inputs

	trader  trader
	seen    []train.Series // bars that research saw, of each symbol
	verdict evidence.Verdict
	lines   research.AssessedLines
}

const assessSteps = 2

func (a *assessment) tell(step int64, what string) {
	a.task.Progress(ktrdr.Progress{
		CurrentStep: what, StepsCompleted: step, StepsTotal: assessSteps, Percentage: 100 * float64(step) / assessSteps,
	})
}

func (a *assessment) judge(ctx context.Context) error {
	a.tell(0, "weighing the test part")
	files := a.spec.Files
	var err error
	if a.trader.model, err = a.in.model(ctx, files.Model); err != nil {
		return err
	}
	a.trader.overrides = overrides(files.Costs)
	if a.seen, err = a.in.symbols(ctx, files.Bars); err != nil {
		return err
	}
	c := evidence.Case{Trials: a.spec.TrialsCounted(), Collapsed: a.spec.Collapsed}
	if c.Test, err = a.test(ctx); err != nil {
		return err
	}
	a.lines.Test = c.Test.Sketch()
	a.tell(1, "looking back at the training part")
	if c.InSample, err = a.inSample(); err != nil {
		return err
	}
	a.verdict = evidence.Judge(c, a.spec.Rules)
	return context.Cause(ctx)
}

func (a *assessment) test(ctx context.Context) (evidence.Part, error) {
	file := a.spec.Files.Backtest
	text, err := a.in.read(ctx, file)
	if err != nil {
		return evidence.Part{}, err
	}
	part, err := a.trader.stored(a.seen, text)
	if err != nil {
		return evidence.Part{}, fmt.Errorf("%s: %w", file.Name, err)
	}
	return part, nil
}

func (a *assessment) inSample() (*evidence.Sharpe, error) {
	part, err := a.trader.inSample(a.seen)
	if err != nil {
		return nil, fmt.Errorf("training part: %w", err)
	}
	a.lines.InSample = part.Sketch()
	s := evidence.EstimateSharpe(part.Returns, part.BarsPerYear)
	return &s, nil
}

// overrides make a strategy pay what its backtest paid, so that the training
// part, the test part and the holdout are traded at the same costs. Where
// nothing is recorded the strategy's own backtest section decides.
func overrides(paid []research.PaidCosts) func(symbol string) backtest.Overrides {
	return func(symbol string) (o backtest.Overrides) {
		for _, p := range paid {
			if p.Symbol == symbol {
				o.Commission, o.Slippage, o.Spread = &p.Commission, &p.Slippage, &p.Spread
				o.CarryLong, o.CarryShort = p.Long, p.Short
			}
		}
		return o
	}
}

// costNotes are the weaknesses of a verdict that lie in its costs.
func costNotes(files *research.AssessedFiles) (notes []string) {
	if files == nil {
		return nil
	}
	for _, p := range files.Costs {
		notes = append(notes, p.Sentences()...)
	}
	return notes
}
