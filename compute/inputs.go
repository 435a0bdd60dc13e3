package compute

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/library"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/neural"
	"github.com/ktrdr/ktrdr/train"
	"github.com/ktrdr/ktrdr/worker"
)

// series brings the bars of a spec, symbol by symbol in its order.
func series(ctx context.Context, t *worker.Task, bars []jobs.Bars) ([]train.Series, error) {
	all := make([]*market.Bars, len(bars))
	for i, want := range bars {
		var err error
		if all[i], err = readBars(ctx, t, want); err != nil {
			return nil, err
		}
	}
	return train.Arrange(all, func(i int) bool { return bars[i].Context }), nil
}

func readBars(ctx context.Context, t *worker.Task, want jobs.Bars) (*market.Bars, error) {
	f, err := t.Open(ctx, want.Artifact)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	return decodeBars(f, want)
}

func decodeBars(r io.Reader, want jobs.Bars) (*market.Bars, error) {
	data, err := library.ReadVerified(r, want.Artifact)
	if err != nil {
		return nil, err
	}
	b, err := market.Decode(data)
	if err != nil {
		return nil, ktrdr.Errorf(ktrdr.CodeCorrupt, "%s: %w", want.Name, err)
	}
	return b, want.Verify(b)
}

// restored reads the state of a checkpoint; nil: there is no checkpoint.
func restored(ctx context.Context, t *worker.Task, name string) ([]byte, error) {
	if t.Checkpoint == nil {
		return nil, nil
	}
	f, err := t.Checkpoint.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // read to its end
	state, err := io.ReadAll(f)
	if err != nil {
		return nil, fmt.Errorf("%s of checkpoint %s: %w", name, t.Checkpoint.ID, err)
	}
	return state, nil
}

const (
	trainingState = "training.state"
	backtestState = "backtest.state"

	examinationState = "examination.state"
)

// kernelFor is the preferred kernel if it gives the bits of the class, else the
// fastest that does.
func kernelFor(preferred neural.Kernel, class string) (neural.Kernel, error) {
	if preferred.Class() == class {
		return preferred, nil
	}
	return neural.KernelFor(class)
}

func artifact(name string, b []byte) ktrdr.Artifact {
	return ktrdr.Artifact{Name: name, SHA256: sha256.Sum256(b), Size: int64(len(b))}
}

// hashOf is the sha256 of v as JSON, which is the same text everywhere.
func hashOf(v any) (ktrdr.Hash, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return ktrdr.Hash{}, fmt.Errorf("result hash: %w", err)
	}
	return sha256.Sum256(text), nil
}
