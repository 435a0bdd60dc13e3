package agent

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/backtest"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/fault"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/research"
	"github.com/ktrdr/ktrdr/worker"
)

// ConfirmationRunner confirms finalists on their holdout.
func ConfirmationRunner() worker.Runner { return confirmationRunner{} }

type confirmationRunner struct{}

// Run makes one look. Its number was reserved when the operation was created
// and comes with the task: a second attempt has the same number, reads the same
// bars and gives the same result.
func (confirmationRunner) Run(ctx context.Context, t *worker.Task) (json.RawMessage, error) {
	spec, err := ktrdr.ParseSpec[research.ConfirmSpec](t.Spec)
	if err != nil {
		return nil, err
	}
	if t.Look == nil {
		return nil, ktrdr.Errorf(ktrdr.CodeInvalid, "no look was reserved for %s", t.Operation)
	}
	fault.Hit(fault.LookReading)
	in := &inputs{task: t}
	defer in.close()
	holdout, run, err := holdoutOf(ctx, in, spec)
	if err != nil {
		return nil, stopped(ctx, t, err)
	}
	c := research.Confirmation{
		Strategy: spec.Strategy, MadeUp: jobs.AnyMadeUp(spec.Bars),
		Look: evidence.Confirm(holdout, t.Look.Before, spec.Rules), Daily: jobs.DailyOf(run.Sum), Line: holdout.Sketch(),
	}
	c.Summary, c.Claim = c.Look.Summary, c.Look.Claim
	if c.LookHash, err = spec.LookHash(&c.Look); err != nil {
		return nil, err
	}
	fault.Hit(fault.LookTraded)
	return json.Marshal(c)
}

// holdoutOf trades the model on the holdout. The bars before it only warm up the
// indicators.
func holdoutOf(ctx context.Context, in *inputs, spec research.ConfirmSpec) (evidence.Part, *backtest.Portfolio, error) {
	model, err := in.model(ctx, spec.Model)
	if err != nil {
		return evidence.Part{}, nil, err
	}
	seen, err := in.symbols(ctx, spec.Bars)
	if err != nil {
		return evidence.Part{}, nil, err
	}
	sealed, err := in.symbols(ctx, spec.Holdout)
	if err != nil {
		return evidence.Part{}, nil, err
	}
	part, run, err := trader{model, overrides(spec.Costs)}.holdout(seen, sealed, spec.From)
	if err != nil {
		return evidence.Part{}, nil, fmt.Errorf("holdout: %w", err)
	}
	return part, run, nil
}
