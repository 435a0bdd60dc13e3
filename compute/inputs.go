package compute

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/train"
	"github.com/ktrdr/ktrdr/worker"
)

// series brings the bars of a spec, symbol by symbol in its order.
func series(ctx context.Context, t *worker.Task, bars []jobs.Bars) ([]train.Series, error) {
	var all []train.Series
	for _, want := range bars {
		b, err := readBars(ctx, t, want)
		if err != nil {
			return nil, err
		}
		if n := len(all); n > 0 && all[n-1].Symbol == want.Symbol {
			all[n-1].Bars = append(all[n-1].Bars, b)
			continue
		}
		all = append(all, train.Series{Symbol: want.Symbol, Bars: []*market.Bars{b}})
	}
	return all, nil
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
	data, err := readVerified(r, want.Artifact)
	if err != nil {
		return nil, err
	}
	b, err := market.Decode(data)
	if err != nil {
		return nil, ktrdr.Errorf(ktrdr.CodeCorrupt, "%s: %w", want.Name, err)
	}
	return b, want.Verify(b)
}

// readVerified reads a blob to its end and compares its hash.
func readVerified(r io.Reader, a ktrdr.Artifact) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, a.Size+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", a.Name, err)
	}
	if sha256.Sum256(data) != a.SHA256 {
		return nil, ktrdr.Errorf(ktrdr.CodeCorrupt, "%s: its bytes do not match its hash", a.Name)
	}
	return data, nil
}

// restored reads the state that a checkpoint carries; nil means that there is no
// checkpoint.
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
)
