package library

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/market"
)

// Blobs is what a library needs of the blob store.
type Blobs interface {
	Put(ctx context.Context, want ktrdr.Hash, r io.Reader) (size int64, err error)
	Open(ctx context.Context, h ktrdr.Hash) (ktrdr.BlobReader, error)
	Stat(ctx context.Context, h ktrdr.Hash) (ktrdr.BlobInfo, error)
}

// PinBars puts a series into the blob store, unless it is there and intact. kind is
// part of its name. The series is encoded twice, the first time only for its hash:
// no file is left behind if the process dies.
func PinBars(ctx context.Context, blobs Blobs, b *market.Bars, kind string) (jobs.Bars, error) {
	return pinHashed(ctx, blobs, b, b.Hash(), kind)
}

// pinHashed is PinBars where the hash of the bars is known.
func pinHashed(ctx context.Context, blobs Blobs, b *market.Bars, hash [32]byte, kind string) (jobs.Bars, error) {
	e, err := market.NewEncoding(b, hash)
	if err != nil {
		return jobs.Bars{}, err
	}
	sum := sha256.New()
	if err := e.Write(sum); err != nil {
		return jobs.Bars{}, err
	}
	pinned := jobs.Bars{
		Symbol: b.Symbol, Timeframe: b.Timeframe, Hash: e.Hash(),
		Artifact: ktrdr.Artifact{
			Name: fmt.Sprintf("%s_%s%s%s", b.Symbol, b.Timeframe, kind, market.Suffix), SHA256: ktrdr.Hash(sum.Sum(nil)), Size: e.Size(),
		},
	}
	if there, err := isIntact(ctx, blobs, pinned.Artifact); there || err != nil {
		return pinned, err
	}
	r, w := io.Pipe()
	written := make(chan struct{})
	go func() {
		defer close(written)
		_ = w.CloseWithError(e.Write(w)) // the reader is told
	}()
	_, err = blobs.Put(ctx, pinned.SHA256, r)
	_ = r.Close() // so that the writer ends, whatever was read
	<-written
	return pinned, err
}

func isIntact(ctx context.Context, blobs Blobs, a ktrdr.Artifact) (bool, error) {
	info, err := blobs.Stat(ctx, a.SHA256) // a row may name what it finds
	if ktrdr.CodeOf(err) == ktrdr.CodeNotFound || (err == nil && info.Size != a.Size) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	r, err := blobs.Open(ctx, a.SHA256)
	if err != nil {
		return false, err
	}
	defer func() { _ = r.Close() }() // only read
	sum := sha256.New()
	if _, err := io.Copy(sum, r); err != nil {
		return false, err
	}
	return ktrdr.Hash(sum.Sum(nil)) == a.SHA256, nil
}

// ReadVerified reads a blob to its end and compares its hash.
func ReadVerified(r io.Reader, a ktrdr.Artifact) ([]byte, error) {
	const most = 256 << 20                                                            // bytes of room that are made before anything is read
	data := bytes.NewBuffer(make([]byte, 0, max(0, min(a.Size, most))+bytes.MinRead)) // one that grows is in memory twice
	if _, err := data.ReadFrom(io.LimitReader(r, a.Size+1)); err != nil {
		return nil, fmt.Errorf("%s: %w", a.Name, err)
	}
	if sha256.Sum256(data.Bytes()) != a.SHA256 {
		return nil, ktrdr.Errorf(ktrdr.CodeCorrupt, "%s: its bytes do not match its hash: it is damaged", a.Name)
	}
	return data.Bytes(), nil
}

// ReadBlob reads a blob to its end and compares its hash.
func ReadBlob(ctx context.Context, blobs Blobs, a ktrdr.Artifact) ([]byte, error) {
	f, err := blobs.Open(ctx, a.SHA256)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	return ReadVerified(f, a)
}
