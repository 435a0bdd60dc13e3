package client

import (
	"context"
	"crypto/sha256"
	"errors"
	"hash"
	"io"
	"strconv"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
)

// PutBlob uploads bytes under their hash for a claim. The zero claim is for
// admins, who need none.
func (c *Client) PutBlob(ctx context.Context, of ktrdr.Claimed, h ktrdr.Hash, size int64, r io.Reader) error {
	ctx, cancel := context.WithTimeoutCause(ctx, c.timeout+api.TransferTime(size), errTimeout)
	defer cancel()
	in := api.PutBlobRequest{ByHash: api.ByHash{Hash: h}}
	if of.Operation != "" {
		in.Operation, in.Epoch = string(of.Operation), strconv.FormatInt(int64(of.Epoch), 10)
	}
	q := requestOf(api.PutBlob, in)
	q.header.Set("Expect", "100-continue")
	if size != 0 { // a body of unknown length would be sent chunked
		q.body, q.size = io.NopCloser(r), size // the caller closes r
	}
	res, err := c.do(ctx, q)
	if err != nil {
		return err
	}
	return res.Body.Close()
}

// OpenBlob reads a blob. The bytes are verified on the way: a reader that
// reaches the end has the right ones, or gets CodeCorrupt instead of io.EOF.
func (c *Client) OpenBlob(ctx context.Context, h ktrdr.Hash) (io.ReadCloser, error) {
	return c.open(ctx, requestOf(api.GetBlob, api.ByHash{Hash: h}), h)
}

// OpenFile reads a file that an operation made. It may be computed again first.
// The bytes are verified as those of a blob.
func (c *Client) OpenFile(ctx context.Context, id ktrdr.OperationID, a ktrdr.Artifact) (io.ReadCloser, error) {
	return c.open(ctx, requestOf(api.File, api.FileRequest{ByID: api.ByID{ID: id}, Name: a.Name}), a.SHA256)
}

// OpenClaim reads the bundle of a claim. The one who verifies it checks its bytes.
func (c *Client) OpenClaim(ctx context.Context, id ktrdr.OperationID, bars bool) (io.ReadCloser, error) {
	req := requestOf(api.ClaimBundle, api.ClaimRequest{ByID: api.ByID{ID: id}, Bars: bars})
	res, err := c.do(ctx, req) //nolint:bodyclose // the caller closes it
	if err != nil {
		return nil, err
	}
	return res.Body, nil
}

func (c *Client) open(ctx context.Context, q request, h ktrdr.Hash) (io.ReadCloser, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	idle := time.AfterFunc(c.timeout, func() { cancel(errTimeout) })
	res, err := c.do(ctx, q) //nolint:bodyclose // the reader closes it
	if err != nil {
		cancel(nil)
		return nil, err
	}
	return &blobReader{client: c, ctx: ctx, cancel: cancel, idle: idle, body: res.Body, want: h, sum: sha256.New()}, nil
}

// blobReader verifies what it reads, and gives up on a server that sends
// nothing for a whole timeout.
type blobReader struct {
	client *Client
	ctx    context.Context // of the request whose body is being read
	cancel context.CancelCauseFunc
	idle   *time.Timer
	body   io.ReadCloser
	want   ktrdr.Hash
	sum    hash.Hash
}

func (b *blobReader) Read(p []byte) (int, error) {
	b.idle.Reset(b.client.timeout)
	n, err := b.body.Read(p)
	b.sum.Write(p[:n])
	switch {
	case err == nil:
	case !errors.Is(err, io.EOF):
		err = b.client.away(b.ctx, err)
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
