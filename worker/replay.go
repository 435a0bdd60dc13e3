package worker

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"

	"github.com/ktrdr/ktrdr"
)

// Replay runs an operation once more with the runner that ran it first, and
// returns its result and the files of its final checkpoint. Nothing is told to a
// backend and nothing is saved. open reads the inputs that the spec names.
func Replay(ctx context.Context, r Runner, op ktrdr.Operation,
	open func(context.Context, ktrdr.Hash) (io.ReadCloser, error),
) (json.RawMessage, []File, error) {
	w := &Worker{cfg: Config{Blobs: inputsOf(open)}, log: slog.New(slog.DiscardHandler), jobs: map[claim]*job{}}
	ctx, j := newJob(ctx, w, ktrdr.Task{Operation: op.ID, Type: op.Type, Epoch: op.Epoch, Attempts: op.Attempts, Spec: op.Spec})
	defer j.close()
	j.replay = true
	result, err := j.call(ctx, r, &Task{Operation: op.ID, Type: op.Type, Epoch: op.Epoch, Attempts: op.Attempts, Spec: op.Spec, job: j})
	if err != nil {
		return nil, nil, err
	}
	final, bytes := j.saves.final()
	var files []File
	if final != nil {
		for _, a := range final.Artifacts {
			files = append(files, File{Name: a.Name, Bytes: bytes[a.SHA256]})
		}
	}
	return result, files, nil
}

// inputsOf reads blobs for a replay.
type inputsOf func(context.Context, ktrdr.Hash) (io.ReadCloser, error)

func (f inputsOf) Get(ctx context.Context, h ktrdr.Hash) (io.ReadCloser, error) { return f(ctx, h) }

func (inputsOf) Put(context.Context, ktrdr.Hash, io.Reader) error { return nil }
