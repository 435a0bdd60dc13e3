package worker

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"

	"github.com/ktrdr/ktrdr"
)

// Replay runs the runner of a task outside of a worker, and returns its result and
// the files of its final checkpoint. Nothing is told to a backend and nothing is
// saved. open reads the inputs that the spec names.
func Replay(ctx context.Context, r Runner, t ktrdr.Task, open func(context.Context, ktrdr.Hash) (io.ReadCloser, error),
) (json.RawMessage, []File, error) {
	w := &Worker{cfg: Config{Blobs: inputsOf(open)}, log: slog.New(slog.DiscardHandler), jobs: map[claim]*job{}}
	ctx, j := newJob(ctx, w, t)
	defer j.close()
	j.replay = true
	result, err := j.call(ctx, r, j.newTask(nil))
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
