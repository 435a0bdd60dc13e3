package worker

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/ktrdr/ktrdr"
)

// Checkpoint is what a runner starts from. Its state is loaded, its artifacts
// were checked against their hashes.
type Checkpoint struct {
	ktrdr.Checkpoint
	w *Worker
}

// Open reads an artifact by name; the bytes are checked once more on the way,
// and a mismatch is CodeCorrupt instead of the end of the file. CodeNotFound
// when the checkpoint has no such artifact.
func (c *Checkpoint) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	for _, a := range c.Artifacts {
		if a.Name == name {
			return c.w.openBlob(ctx, a.SHA256)
		}
	}
	return nil, ktrdr.Errorf(ktrdr.CodeNotFound, "checkpoint %s has no artifact %q", c.ID, name)
}

// load brings the checkpoint to start from. One whose blobs are missing or do
// not match their hashes is skipped, and the one before it is used. While the
// backend is away it waits: without it no work is possible.
func (j *job) load(ctx context.Context) (*Checkpoint, error) {
	from := j.task.Checkpoint
	for try := 0; from != nil; {
		c, err := j.w.read(ctx, from)
		if err == nil {
			return c, nil
		}
		switch ktrdr.CodeOf(err) {
		case ktrdr.CodeCorrupt, ktrdr.CodeNotFound:
			from, err = j.skip(ctx, from, err)
		}
		if err == nil {
			try = 0
			continue
		}
		switch judge(err) {
		case away, later:
			j.log.Warn("checkpoint cannot be read yet", "err", err)
			if !retries(j.w.patience()).Wait(ctx, try) {
				return nil, context.Cause(ctx)
			}
			try++
		case stale:
			j.dropClaim()
			return nil, ktrdr.ErrLost
		default:
			return nil, fmt.Errorf("checkpoint %s: %w", from.ID, err)
		}
	}
	return nil, nil
}

// skip tells the backend that a checkpoint cannot be used, and gets the one
// before it. When that cannot be told, the checkpoint stays the one to try.
func (j *job) skip(ctx context.Context, bad *ktrdr.StoredCheckpoint, why error) (*ktrdr.StoredCheckpoint, error) {
	ctx, cancel := context.WithTimeout(ctx, j.w.cfg.CallTimeout)
	defer cancel()
	before, err := j.w.backend.SkipCheckpoint(ctx, ktrdr.Skip{
		Operation: j.claim.op, Epoch: j.claim.epoch, Checkpoint: bad.ID, Reason: shorten(why.Error()),
	})
	if err != nil {
		return bad, err
	}
	j.log.Warn("checkpoint cannot be used; going back to the one before it", "checkpoint", bad.ID, "err", why)
	step := int64(0)
	if before != nil {
		step = before.Step
	}
	j.step.Store(step)
	return before, nil
}

// read loads the state and checks every artifact.
func (w *Worker) read(ctx context.Context, from *ktrdr.StoredCheckpoint) (*Checkpoint, error) {
	c := &Checkpoint{Checkpoint: from.Checkpoint, w: w}
	if from.StateBlob != nil {
		r, err := w.openBlob(ctx, from.StateBlob.SHA256)
		if err != nil {
			return nil, fmt.Errorf("state: %w", err)
		}
		defer r.Close() //nolint:errcheck // read to its end, and checked there
		if c.State, err = io.ReadAll(io.LimitReader(r, ktrdr.MaxState+1)); err != nil {
			return nil, fmt.Errorf("state: %w", err)
		}
		if len(c.State) > ktrdr.MaxState { // cut before its end, hence unchecked
			return nil, ktrdr.Errorf(ktrdr.CodeCorrupt, "state is over the limit of %d bytes", ktrdr.MaxState)
		}
	}
	for _, a := range c.Artifacts {
		if err := w.check(ctx, a.SHA256); err != nil {
			return nil, fmt.Errorf("artifact %s: %w", a.Name, err)
		}
	}
	return c, nil
}

// check reads a blob to its end, where its hash is compared.
func (w *Worker) check(ctx context.Context, h ktrdr.Hash) error {
	r, err := w.openBlob(ctx, h)
	if err != nil {
		return err
	}
	defer r.Close() //nolint:errcheck // read to its end, and checked there
	_, err = io.Copy(io.Discard, r)
	return err
}

func (w *Worker) openBlob(ctx context.Context, h ktrdr.Hash) (io.ReadCloser, error) {
	var r io.ReadCloser
	var err error
	if w.cfg.Blobs != nil {
		r, err = w.cfg.Blobs.Get(ctx, h)
	} else {
		r, err = w.backend.OpenBlob(ctx, h)
	}
	if err != nil {
		return nil, err
	}
	return &checked{ReadCloser: r, want: h, sum: sha256.New()}, nil
}

// checked compares what was read with its hash at the end.
type checked struct {
	io.ReadCloser
	want ktrdr.Hash
	sum  hash.Hash
}

func (c *checked) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.sum.Write(p[:n])
	if errors.Is(err, io.EOF) && ktrdr.Hash(c.sum.Sum(nil)) != c.want {
		err = ktrdr.Errorf(ktrdr.CodeCorrupt, "blob %s does not match its hash", c.want)
	}
	return n, err
}
