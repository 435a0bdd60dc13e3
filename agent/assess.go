package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/backtest"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/research"
	"github.com/ktrdr/ktrdr/strategy"
	"github.com/ktrdr/ktrdr/train"
	"github.com/ktrdr/ktrdr/worker"
)

// AssessmentRunner assesses researches. The verdict is always its own; a model
// may be asked for what it means.
func AssessmentRunner(m Memory, minds Minds) worker.Runner { return assessmentRunner{m, minds} }

type assessmentRunner struct {
	memory Memory
	minds  Minds
}

// Run judges one research.
func (r assessmentRunner) Run(ctx context.Context, t *worker.Task) (json.RawMessage, error) {
	spec, err := ktrdr.ParseSpec[research.AssessmentSpec](t.Spec)
	if err != nil {
		return nil, err
	}
	if spec.Files == nil {
		return r.comment(ctx, t, spec, refused(spec), refused(spec))
	}
	in := &inputs{task: t}
	defer in.close()
	a := &assessment{task: t, spec: spec, in: in, memory: r.memory}
	if err := a.judge(ctx); err != nil {
		return nil, stopped(ctx, t, err)
	}
	return r.comment(ctx, t, spec, opinion(spec, a.verdict, a.opened), opinion(spec, a.sealed, false))
}

// assessment is one on its way.
//
//	test part ──Judge──▶ no edge: done, the holdout stays sealed
//	              └────▶ holdout due ──▶ opened ──Judge──▶ done
type assessment struct {
	task *worker.Task
	spec research.AssessmentSpec
	in   *inputs

	memory Memory

	model   *train.Model
	seen    train.Series // bars that research saw
	verdict evidence.Verdict
	sealed  evidence.Verdict // as it was before the holdout was opened
	opened  bool
}

const assessSteps = 3

func (a *assessment) tell(step int64, what string) {
	a.task.Progress(ktrdr.Progress{
		CurrentStep: what, StepsCompleted: step, StepsTotal: assessSteps, Percentage: 100 * float64(step) / assessSteps,
	})
}

func (a *assessment) judge(ctx context.Context) error {
	a.tell(0, "weighing the test part")
	files := a.spec.Files
	text, err := a.in.read(ctx, files.Model)
	if err != nil {
		return err
	}
	if a.model, err = train.Decode(bytes.NewReader(text)); err != nil {
		return ktrdr.Errorf(ktrdr.CodeInvalid, "%s: %w", files.Model.Name, err)
	}
	if a.seen, err = a.in.series(ctx, files.Symbol, files.Bars); err != nil {
		return err
	}
	c := evidence.Case{Trials: a.spec.Trials, Openings: a.spec.Openings, Collapsed: a.spec.Collapsed}
	earlier, err := insist(ctx, func() (int, error) { return a.memory.Openings(ctx, a.spec.Place, files.Sealed) })
	if err != nil {
		return err
	}
	c.Openings.Known += earlier
	if c.Test, err = a.test(ctx); err != nil {
		return err
	}
	a.tell(1, "looking back at the training part")
	if c.InSample, err = a.inSample(); err != nil {
		return err
	}
	a.verdict = evidence.Judge(c, a.spec.Rules)
	a.sealed = a.verdict
	if !a.verdict.HoldoutDue || ctx.Err() != nil {
		return context.Cause(ctx)
	}
	a.tell(2, "opening the holdout")
	if c.Holdout, err = a.holdout(ctx); err != nil {
		return err
	}
	a.opened, a.verdict = true, evidence.Judge(c, a.spec.Rules)
	return nil
}

// test is what the backtest showed.
func (a *assessment) test(ctx context.Context) (evidence.Part, error) {
	file := a.spec.Files.Backtest
	text, err := a.in.read(ctx, file)
	if err != nil {
		return evidence.Part{}, err
	}
	run, err := backtest.Decode(text)
	if err != nil {
		return evidence.Part{}, ktrdr.Errorf(ktrdr.CodeCorrupt, "%s: %w", file.Name, err)
	}
	bars, err := of(a.seen, a.model.Strategy.Data.Base)
	if err != nil {
		return evidence.Part{}, err
	}
	return evidence.PartOf(bars, run)
}

// inSample is the Sharpe ratio on the bars that the model was made with, which
// are those before its test part.
func (a *assessment) inSample() (*evidence.Sharpe, error) {
	bars, err := of(a.seen, a.model.Strategy.Data.Base)
	if err != nil {
		return nil, err
	}
	part, err := a.trade(a.seen, strategy.Span{Start: at(bars.Time[0]), End: at(a.model.Info.Split.Test)})
	if err != nil {
		return nil, fmt.Errorf("training part: %w", err)
	}
	s := evidence.EstimateSharpe(part.Returns, part.BarsPerYear)
	return &s, nil
}

// holdout trades the bars that nobody has seen. Those before them only warm up
// the indicators.
func (a *assessment) holdout(ctx context.Context) (*evidence.Part, error) {
	sealed, err := a.in.series(ctx, a.spec.Files.Symbol, a.spec.Files.Holdout)
	if err != nil {
		return nil, err
	}
	base, err := of(sealed, a.model.Strategy.Data.Base)
	if err != nil {
		return nil, err
	}
	whole, err := join(a.seen, sealed)
	if err != nil {
		return nil, err
	}
	last := base.Time[base.Len()-1]
	part, err := a.trade(whole, strategy.Span{Start: at(base.Time[0]), End: at(base.Timeframe.End(last))})
	if err != nil {
		return nil, fmt.Errorf("holdout: %w", err)
	}
	return &part, nil
}

// trade runs the model over a span.
func (a *assessment) trade(data train.Series, span strategy.Span) (evidence.Part, error) {
	plan, err := train.NewPlan(a.model, data, span, train.Overrides{})
	if err != nil {
		return evidence.Part{}, err
	}
	run, err := backtest.Backtest(plan.Bars, plan.Signals.Signal, plan.Config)
	if err != nil {
		return evidence.Part{}, err
	}
	return evidence.PartOf(plan.Bars, run)
}

func at(seconds int64) time.Time { return time.Unix(seconds, 0).UTC() }
