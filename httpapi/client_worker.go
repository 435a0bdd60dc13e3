package httpapi

import (
	"context"
	"crypto/sha256"
	"errors"
	"hash"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/ktrdr/ktrdr"
)

// This file is a worker's side of the client.

// Register introduces a worker. CodeProtocol when the versions do not fit.
func (cl *Client) Register(ctx context.Context, r ktrdr.Registration) (out ktrdr.Registered, err error) {
	err = cl.post(ctx, "workers/register", r, &out)
	return out, err
}

// Heartbeat says what a worker runs. CodeNotFound when the server has
// forgotten the worker.
func (cl *Client) Heartbeat(ctx context.Context, h ktrdr.Heartbeat) (out ktrdr.Orders, err error) {
	err = cl.post(ctx, "workers/heartbeat", h, &out)
	return out, err
}

// Claim waits for an operation or for orders, as long as the request says and
// a little longer for the answer.
func (cl *Client) Claim(ctx context.Context, c ktrdr.ClaimRequest) (out ktrdr.ClaimReply, err error) {
	wait := min(time.Duration(c.Wait*float64(time.Second)), maxPoll)
	ctx, cancel := context.WithTimeoutCause(ctx, max(wait, 0)+cl.timeout, errTimeout)
	defer cancel()
	_, err = cl.roundTrip(ctx, request{method: http.MethodPost, path: "workers/claim"}, c, &out)
	return out, err
}

// Progress overwrites an operation's progress.
func (cl *Client) Progress(ctx context.Context, p ktrdr.ProgressReport) error {
	return cl.post(ctx, "workers/progress", p, nil)
}

// Checkpoint stores a checkpoint whose blobs were uploaded before.
func (cl *Client) Checkpoint(ctx context.Context, c ktrdr.NewCheckpoint) (out ktrdr.CheckpointInfo, err error) {
	err = cl.post(ctx, "workers/checkpoint", c, &out)
	return out, err
}

// SkipCheckpoint says that a checkpoint cannot be used and returns the one to
// use instead; nil means none.
func (cl *Client) SkipCheckpoint(ctx context.Context, s ktrdr.Skip) (out *ktrdr.StoredCheckpoint, err error) {
	err = cl.post(ctx, "workers/skip", s, &out)
	return out, err
}

// Finish ends an operation.
func (cl *Client) Finish(ctx context.Context, f ktrdr.Finished) error {
	return cl.post(ctx, "workers/finish", f, nil)
}

// Release gives an operation back.
func (cl *Client) Release(ctx context.Context, r ktrdr.Released) error {
	return cl.post(ctx, "workers/release", r, nil)
}

// Unregister forgets a worker that has stopped for good.
func (cl *Client) Unregister(ctx context.Context, id ktrdr.WorkerID) error {
	return cl.delete(ctx, "workers/"+url.PathEscape(string(id)), nil, nil)
}

// PutBlob uploads bytes under their hash for a claim.
func (cl *Client) PutBlob(ctx context.Context, c ktrdr.Claimed, h ktrdr.Hash, size int64, r io.Reader) error {
	ctx, cancel := context.WithTimeoutCause(ctx, cl.timeout+transferTime(size), errTimeout)
	defer cancel()
	body := io.NopCloser(r) // whoever opened r closes it
	if size == 0 {
		body = http.NoBody // else it would be sent chunked
	}
	res, err := cl.do(ctx, request{
		method: http.MethodPut, path: "blobs/" + h.String(), body: body, size: size,
		header: map[string]string{
			"Content-Type": contentBytes, "Expect": "100-continue",
			headerOperation: string(c.Operation), headerEpoch: strconv.FormatInt(int64(c.Epoch), 10),
		},
	})
	if err != nil {
		return err
	}
	return res.Body.Close()
}

// OpenBlob reads a blob. The bytes are verified on the way: a reader that
// reaches the end has the right ones, or gets CodeCorrupt instead of io.EOF.
func (cl *Client) OpenBlob(ctx context.Context, h ktrdr.Hash) (io.ReadCloser, error) {
	return cl.open(ctx, "blobs/"+h.String(), h)
}

// OpenFile reads a file that an operation made, which may be computed again for
// it. The bytes are verified as those of a blob.
func (cl *Client) OpenFile(ctx context.Context, id ktrdr.OperationID, a ktrdr.Artifact) (io.ReadCloser, error) {
	return cl.open(ctx, operationPath(id, "/files/"+url.PathEscape(a.Name)), a.SHA256)
}

func (cl *Client) open(ctx context.Context, path string, h ktrdr.Hash) (io.ReadCloser, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	idle := time.AfterFunc(cl.timeout, func() { cancel(errTimeout) })
	res, err := cl.do(ctx, request{method: http.MethodGet, path: path}) //nolint:bodyclose // the reader closes it
	if err != nil {
		cancel(nil)
		return nil, err
	}
	return &blobReader{cl: cl, ctx: ctx, cancel: cancel, idle: idle, body: res.Body, want: h, sum: sha256.New()}, nil
}

// blobReader verifies what it reads, and gives up on a server that sends
// nothing for a whole timeout.
type blobReader struct {
	cl     *Client
	ctx    context.Context // of the request whose body is being read
	cancel context.CancelCauseFunc
	idle   *time.Timer
	body   io.ReadCloser
	want   ktrdr.Hash
	sum    hash.Hash
}

func (b *blobReader) Read(p []byte) (int, error) {
	b.idle.Reset(b.cl.timeout)
	n, err := b.body.Read(p)
	b.sum.Write(p[:n])
	switch {
	case err == nil:
	case !errors.Is(err, io.EOF):
		err = b.cl.away(b.ctx, err)
	case ktrdr.Hash(b.sum.Sum(nil)) != b.want:
		err = ktrdr.Errorf(ktrdr.CodeCorrupt, "blob %s came with other bytes: their hash is %x", b.want, b.sum.Sum(nil))
	}
	return n, err
}

func (b *blobReader) Close() error {
	b.idle.Stop()
	b.cancel(nil)
	return b.body.Close()
}
