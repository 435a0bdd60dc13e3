package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/designer"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/research"
	"github.com/ktrdr/ktrdr/worker"
)

// Memory tells a designer what it may know: the experiments of a run's earlier
// generations, and those of other runs up to a horizon.
type Memory interface {
	Experiments(ctx context.Context, run string, generation int, horizon string) ([]designer.Experiment, error)
}

// DesignRunner designs strategies.
func DesignRunner(m Memory) worker.Runner { return designRunner{m} }

type designRunner struct{ memory Memory }

// Run designs one strategy.
func (r designRunner) Run(ctx context.Context, t *worker.Task) (json.RawMessage, error) {
	spec, err := research.Parse[research.DesignSpec](t.Spec)
	if err != nil {
		return nil, err
	}
	if err := onlyBuiltin(spec.Model); err != nil {
		return nil, err
	}
	t.Progress(ktrdr.Progress{CurrentStep: "measuring the market", StepsTotal: designSteps})
	brief := spec.Understanding
	if brief.Stats, err = measure(ctx, t, spec); err != nil {
		return nil, stopped(ctx, t, err)
	}
	t.Progress(ktrdr.Progress{CurrentStep: "remembering", StepsCompleted: 1, StepsTotal: designSteps, Percentage: 100. / designSteps})
	past, err := r.remember(ctx, spec)
	if err != nil {
		return nil, stopped(ctx, t, err)
	}
	t.Progress(ktrdr.Progress{CurrentStep: "designing", StepsCompleted: 2, StepsTotal: designSteps, Percentage: 200. / designSteps})
	p, err := designer.Design(brief, spec.Seed, spec.Generation, spec.Index, past, spec.Costs)
	if err != nil {
		return nil, err
	}
	return json.Marshal(research.Design{
		Summary: fmt.Sprintf("%s, after %d experiments: %s", p.Name, len(past), p.Hypothesis),
		Name:    p.Name, Strategy: p.Strategy, Notes: p.Notes, Hypothesis: p.Hypothesis, Key: p.Key, Genome: &p.Genome,
	})
}

const designSteps = 3

// onlyBuiltin refuses a model that this program cannot ask.
func onlyBuiltin(model string) error {
	if model == research.Builtin {
		return nil
	}
	return ktrdr.Errorf(ktrdr.CodeInvalid, "spec: model %q cannot be asked here; %s can", model, research.Builtin)
}

// measure describes the market by the first of its series.
func measure(ctx context.Context, t *worker.Task, spec research.DesignSpec) (designer.Stats, error) {
	b := spec.Understanding
	i := slices.IndexFunc(spec.Bars, func(x jobs.Bars) bool {
		return len(b.Symbols) > 0 && x.Symbol == b.Symbols[0] && x.Timeframe == b.Timeframe
	})
	if i < 0 {
		return designer.Stats{}, ktrdr.Errorf(ktrdr.CodeInvalid, "spec: the bars are not those that the brief is about")
	}
	in, err := openInputs(t)
	if err != nil {
		return designer.Stats{}, err
	}
	defer in.close()
	bars, err := in.bars(ctx, spec.Bars[i])
	if err != nil {
		return designer.Stats{}, err
	}
	return designer.Measure(bars)
}

// remember asks memory. While it cannot be reached there is nothing to go on
// with, so it is asked again.
func (r designRunner) remember(ctx context.Context, spec research.DesignSpec) ([]designer.Experiment, error) {
	const first, longest = 100 * time.Millisecond, 5 * time.Second
	for pause := first; ; pause = min(2*pause, longest) {
		past, err := r.memory.Experiments(ctx, spec.Run, spec.Generation, spec.Horizon)
		if err == nil || !ktrdr.CodeOf(err).Retryable() {
			return past, err
		}
		t := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			t.Stop()
			return nil, context.Cause(ctx)
		case <-t.C:
		}
	}
}

// stopped is the error of work that may have been stopped. There is nothing to
// save: it begins anew in no time.
func stopped(ctx context.Context, t *worker.Task, err error) error {
	if ctx.Err() != nil {
		return t.Interrupted(ctx, 0, struct{}{})
	}
	return err
}
