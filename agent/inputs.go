package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/train"
	"github.com/ktrdr/ktrdr/worker"
)

// inputs holds the bars of a spec as files while they are read: files without a
// name, which go with the process, however it ends.
type inputs struct {
	task    *worker.Task
	closers []io.Closer
}

// close gives everything back. Bars that were read are gone with it.
func (in *inputs) close() {
	for _, c := range in.closers {
		_ = c.Close() // a mapping; nothing is written
	}
}

// read brings a blob, checked against its hash.
func (in *inputs) read(ctx context.Context, a ktrdr.Artifact) ([]byte, error) {
	r, err := in.task.Open(ctx, a)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(r)
	return b, errors.Join(err, r.Close())
}

func (in *inputs) model(ctx context.Context, a ktrdr.Artifact) (*train.TrainedModel, error) {
	file, err := in.read(ctx, a)
	if err != nil {
		return nil, err
	}
	m, err := train.Decode(bytes.NewReader(file))
	if err != nil {
		return nil, ktrdr.Errorf(ktrdr.CodeInvalid, "%s: %w", a.Name, err)
	}
	return m, nil
}

func (in *inputs) bars(ctx context.Context, want jobs.Bars) (*market.Bars, error) {
	data, err := in.read(ctx, want.Artifact)
	if err != nil {
		return nil, err
	}
	b, c, err := mapped(data)
	if err != nil {
		return nil, ktrdr.Errorf(ktrdr.CodeCorrupt, "%s: %w", want.Name, err)
	}
	in.closers = append(in.closers, c)
	return b, want.Verify(b)
}

// mapped opens bars as a file that has lost its name before they are in it.
func mapped(data []byte) (*market.Bars, io.Closer, error) {
	f, err := os.CreateTemp("", "ktrdr-bars-*"+market.Suffix)
	if err != nil {
		return nil, nil, fmt.Errorf("place for the inputs: %w", err)
	}
	defer f.Close()
	if err = os.Remove(f.Name()); err == nil {
		_, err = f.Write(data)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("place for the inputs: %w", err)
	}
	return market.MapVerified(f)
}

func of(s train.Series, tf market.Timeframe) (*market.Bars, error) {
	i := slices.IndexFunc(s.Bars, func(b *market.Bars) bool { return b.Timeframe == tf })
	if i < 0 || s.Bars[i].Len() == 0 {
		return nil, ktrdr.Errorf(ktrdr.CodeInvalid, "spec: there are no %s bars of %s", tf, s.Symbol)
	}
	return s.Bars[i], nil
}

// join puts what came later behind what came before, timeframe by timeframe.
func join(before, after train.Series) (train.Series, error) {
	joined := train.Series{Symbol: before.Symbol}
	var err error
	if joined.Bars, err = joinBars(before.Bars, after.Bars); err != nil {
		return joined, err
	}
	joined.Context, err = joinBars(before.Context, after.Context)
	return joined, err
}

func joinBars(before, after []*market.Bars) (joined []*market.Bars, err error) {
	for _, a := range before {
		i := slices.IndexFunc(after, func(b *market.Bars) bool { return b.Symbol == a.Symbol && b.Timeframe == a.Timeframe })
		if i < 0 || after[i].Len() == 0 {
			return nil, ktrdr.Errorf(ktrdr.CodeInvalid, "spec: there are no %s bars of %s", a.Timeframe, a.Symbol)
		}
		b := after[i]
		if n := a.Len(); n > 0 && b.Time[0] <= a.Time[n-1] {
			return nil, ktrdr.Errorf(ktrdr.CodeInvalid, "spec: the holdout of %s %s does not come after the bars that research saw",
				a.Symbol, a.Timeframe)
		}
		both := &market.Bars{
			Symbol: a.Symbol, Timeframe: a.Timeframe, Time: slices.Concat(a.Time, b.Time),
			Open: slices.Concat(a.Open, b.Open), High: slices.Concat(a.High, b.High), Low: slices.Concat(a.Low, b.Low),
			Close: slices.Concat(a.Close, b.Close), Volume: slices.Concat(a.Volume, b.Volume),
		}
		if a.Spread != nil && b.Spread != nil {
			both.Spread = slices.Concat(a.Spread, b.Spread)
		}
		joined = append(joined, both)
	}
	return joined, nil
}
