package compute

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/library"
	"github.com/ktrdr/ktrdr/worker"
)

// File returns a file that an operation made. A missing or damaged file of a
// compacted operation is computed again from its spec, and checked against its hash
// and the result hash. CodeNotFound, or CodeMismatch if it is computed differently.
func (d *Service) File(ctx context.Context, op ktrdr.Operation, name string) ([]byte, error) {
	return d.made(ctx, op, name, true)
}

func (d *Service) made(ctx context.Context, op ktrdr.Operation, name string, turn bool) ([]byte, error) {
	a, err := fileOf(op, name)
	if err != nil {
		return nil, err
	}
	stored, err := library.ReadBlob(ctx, d.cfg.Blobs, a)
	switch {
	case err == nil:
		return stored, nil
	case !lost(err) || !op.Compacted:
		return nil, fmt.Errorf("%s of %s: %w", a.Name, op.ID, err)
	}
	if b, known := d.rebuilt.Get(a.SHA256); known {
		return b, nil
	}
	if turn { // a backtest that needs its model computes it in its own turn
		select {
		case d.rebuilds <- struct{}{}:
			defer func() { <-d.rebuilds }()
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return d.rebuild(ctx, op, a)
}

func lost(err error) bool {
	code := ktrdr.CodeOf(err)
	return code == ktrdr.CodeNotFound || code == ktrdr.CodeCorrupt
}

func fileOf(op ktrdr.Operation, name string) (ktrdr.Artifact, error) {
	var r struct {
		Artifacts []ktrdr.Artifact `json:"artifacts"`
	}
	if len(op.Result) > 0 {
		if err := json.Unmarshal(op.Result, &r); err != nil {
			return ktrdr.Artifact{}, fmt.Errorf("result of %s: %w", op.ID, err)
		}
	}
	i := slices.IndexFunc(r.Artifacts, func(a ktrdr.Artifact) bool { return a.Name == name })
	if i < 0 {
		return ktrdr.Artifact{}, ktrdr.Errorf(ktrdr.CodeNotFound, "%s has stored no %s", op.ID, name)
	}
	return r.Artifacts[i], nil
}

func (d *Service) rebuild(ctx context.Context, op ktrdr.Operation, want ktrdr.Artifact) ([]byte, error) {
	runners := map[ktrdr.Type]worker.Runner{ktrdr.Training: TrainingRunner(d.cfg.Kernel), ktrdr.Backtesting: BacktestRunner(d.cfg.Kernel)}
	runner, ok := runners[op.Type]
	if !ok {
		return nil, ktrdr.Errorf(ktrdr.CodeNotFound, "%s of %s is not kept, and an operation of type %s cannot be computed again",
			want.Name, op.ID, op.Type)
	}
	task := ktrdr.Task{Operation: op.ID, Type: op.Type, Epoch: op.Epoch, Attempts: op.Attempts, Spec: op.Spec}
	result, files, err := worker.Replay(ctx, runner, task, func(ctx context.Context, h ktrdr.Hash) (io.ReadCloser, error) {
		return d.input(ctx, op, h)
	})
	if err != nil {
		return nil, fmt.Errorf("%s of %s is not kept and cannot be computed again: %w", want.Name, op.ID, err)
	}
	was, err := resultHash(op.Result)
	if err != nil {
		return nil, err
	}
	is, err := resultHash(result)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(files, func(f worker.File) bool { return f.Name == want.Name })
	if i < 0 || is != was || ktrdr.Hash(sha256.Sum256(files[i].Bytes)) != want.SHA256 {
		return nil, ktrdr.Errorf(ktrdr.CodeMismatch,
			"%s of %s is not kept, and this version of ktrdr computes it differently: result hash %s instead of %s; "+
				"its figures are those of the version that computed it first",
			want.Name, op.ID, is, was)
	}
	d.rebuilt.Put(want.SHA256, files[i].Bytes, len(files[i].Bytes))
	return files[i].Bytes, nil
}

func resultHash(result json.RawMessage) (ktrdr.Hash, error) {
	var r struct {
		Hash ktrdr.Hash `json:"result_hash"`
	}
	if err := json.Unmarshal(result, &r); err != nil {
		return r.Hash, fmt.Errorf("result: %w", err)
	}
	return r.Hash, nil
}

// input reads what the spec of a compacted operation names: bars, or the model of a
// training of the same research, which may have to be computed again too.
func (d *Service) input(ctx context.Context, op ktrdr.Operation, h ktrdr.Hash) (io.ReadCloser, error) {
	var trained ktrdr.OperationPage
	if op.Type == ktrdr.Backtesting && op.Parent != "" {
		var err error
		trained, err = d.cfg.Operations.List(ctx, ktrdr.OperationQuery{
			Parent: op.Parent, Type: []ktrdr.Type{ktrdr.Training}, Status: []ktrdr.Status{ktrdr.Completed}, Limit: 1000,
		})
		if err != nil {
			return nil, err
		}
	}
	for _, training := range trained.Operations {
		if a, err := fileOf(training, jobs.ModelFile); training.Parent == op.Parent && err == nil && a.SHA256 == h {
			b, err := d.made(ctx, training, jobs.ModelFile, false)
			return io.NopCloser(bytes.NewReader(b)), err
		}
	}
	f, err := d.cfg.Blobs.Open(ctx, h)
	if ktrdr.CodeOf(err) != ktrdr.CodeNotFound {
		return f, err
	}
	return nil, ktrdr.Errorf(ktrdr.CodeNotFound, "the bars that it was computed from are deleted (blob %s)", h)
}

// Pins is what the Service needs of the engine to pin researches.
type Pins interface {
	SetPinned(ctx context.Context, id ktrdr.OperationID, pinned, restored bool) (ktrdr.Operation, error)
}

// Pin keeps the files of the research that an operation belongs to. What is not
// kept any more is computed again and stored first. Unpinning lets a research
// that claims nothing be compacted again.
func (d *Service) Pin(ctx context.Context, id ktrdr.OperationID, pinned bool) (ktrdr.Operation, error) {
	op, err := d.cfg.Pins.SetPinned(ctx, id, pinned, false)
	if ktrdr.CodeOf(err) != ktrdr.CodeConflict {
		return op, err
	}
	if op, err = d.cfg.Operations.Operation(ctx, id); err != nil {
		return op, err
	}
	files, err := d.restore(ctx, op.Root)
	if err != nil {
		return op, err
	}
	if op, err = d.cfg.Pins.SetPinned(ctx, op.Root, pinned, true); err != nil {
		return op, err
	}
	for h, b := range files { // one may have been deleted in the moment before a row named it again
		if _, err := d.cfg.Blobs.Stat(ctx, h); ktrdr.CodeOf(err) == ktrdr.CodeNotFound {
			if _, err := d.cfg.Blobs.Put(ctx, h, bytes.NewReader(b)); err != nil {
				return op, fmt.Errorf("files of %s: %w", op.ID, err)
			}
		}
	}
	return op, nil
}

func (d *Service) restore(ctx context.Context, research ktrdr.OperationID) (map[ktrdr.Hash][]byte, error) {
	children, err := d.cfg.Operations.List(ctx, ktrdr.OperationQuery{
		Parent: research, Type: []ktrdr.Type{ktrdr.Training, ktrdr.Backtesting}, Status: []ktrdr.Status{ktrdr.Completed}, Limit: 1000,
	})
	if err != nil {
		return nil, err
	}
	files := make(map[ktrdr.Hash][]byte)
	for _, op := range children.Operations {
		name := jobs.ModelFile
		if op.Type == ktrdr.Backtesting {
			name = jobs.BacktestFile
		}
		b, err := d.File(ctx, op, name)
		if err != nil {
			return nil, err
		}
		h := ktrdr.Hash(sha256.Sum256(b))
		if _, err := d.cfg.Blobs.Put(ctx, h, bytes.NewReader(b)); err != nil {
			return nil, fmt.Errorf("%s of %s: %w", name, op.ID, err)
		}
		files[h] = b
	}
	return files, nil
}

// maxRebuilt bounds the files in memory, for a client that pages through a curve.
const maxRebuilt = 64 << 20
