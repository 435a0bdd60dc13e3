package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/fault"
	"github.com/ktrdr/ktrdr/research"
	"github.com/ktrdr/ktrdr/train"
	"github.com/ktrdr/ktrdr/worker"
)

// Looks is what a confirmation needs of the ledger.
type Looks interface {
	LookOf(ctx context.Context, op ktrdr.OperationID) (ktrdr.Look, error)
}

// ConfirmationRunner confirms finalists on their holdout.
func ConfirmationRunner(l Looks) worker.Runner { return confirmationRunner{l} }

type confirmationRunner struct{ looks Looks }

// Run makes one look. Its number was reserved when the operation was created:
// a second attempt has the same number, reads the same bars and gives the same
// result.
func (r confirmationRunner) Run(ctx context.Context, t *worker.Task) (json.RawMessage, error) {
	spec, err := ktrdr.ParseSpec[research.ConfirmSpec](t.Spec)
	if err != nil {
		return nil, err
	}
	look, err := insist(ctx, func() (ktrdr.Look, error) { return r.looks.LookOf(ctx, t.Operation) })
	if err != nil {
		return nil, stopped(ctx, t, err)
	}
	fault.Hit(fault.LookReading)
	in := &inputs{task: t}
	defer in.close()
	holdout, err := holdoutOf(ctx, in, spec)
	if err != nil {
		return nil, stopped(ctx, t, err)
	}
	c := research.Confirmation{Strategy: spec.Strategy, Look: evidence.Confirm(holdout, look.Before, spec.Rules)}
	c.Summary, c.Claim = c.Look.Summary, c.Look.Claim
	if c.LookHash, err = spec.LookHash(&c.Look); err != nil {
		return nil, err
	}
	fault.Hit(fault.LookTraded)
	return json.Marshal(c)
}

// holdoutOf trades the model on the holdout. The bars before it only warm up the
// indicators.
func holdoutOf(ctx context.Context, in *inputs, spec research.ConfirmSpec) (evidence.Part, error) {
	text, err := in.read(ctx, spec.Model)
	if err != nil {
		return evidence.Part{}, err
	}
	model, err := train.Decode(bytes.NewReader(text))
	if err != nil {
		return evidence.Part{}, ktrdr.Errorf(ktrdr.CodeInvalid, "%s: %w", spec.Model.Name, err)
	}
	seen, err := in.symbols(ctx, spec.Bars)
	if err != nil {
		return evidence.Part{}, err
	}
	sealed, err := in.symbols(ctx, spec.Holdout)
	if err != nil {
		return evidence.Part{}, err
	}
	part, _, err := trader{model, overrides(spec.Costs)}.holdout(seen, sealed, spec.From)
	if err != nil {
		return evidence.Part{}, fmt.Errorf("holdout: %w", err)
	}
	return part, nil
}
