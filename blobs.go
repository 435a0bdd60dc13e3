package ktrdr

import (
	"context"
	"io"
	"iter"
	"time"
)

// Blobs keeps immutable bytes under their sha256. A blob is durable before Put
// returns; rows that name it are written afterwards, never before.
type Blobs interface {
	// Put stores what r holds under want, verified while it is written:
	// CodeCorrupt, and nothing stored, when the bytes are others. Putting what
	// is there already makes it young again, and repairs it if it was damaged.
	Put(ctx context.Context, want Hash, r io.Reader) (size int64, err error)
	// Open returns the bytes; CodeNotFound. They are not verified: the
	// reader compares the hash at the end.
	Open(ctx context.Context, h Hash) (BlobReader, error)
	// Stat tells size and age, but not whether the bytes are right. A blob that
	// it finds is as durable as one that was just put: a row may name it.
	// CodeNotFound.
	Stat(ctx context.Context, h Hash) (BlobInfo, error)
	// Delete removes a blob; a missing one is no error.
	Delete(ctx context.Context, h Hash) error
	// List yields every blob in no particular order.
	List(ctx context.Context) iter.Seq2[BlobInfo, error]
	// Identity names this root; it is made on first use and kept in it.
	Identity(ctx context.Context) (string, error)
}

// BlobReader reads one blob, from anywhere in it.
type BlobReader interface {
	io.ReadSeekCloser
	Size() int64
}

// BlobInfo describes a blob.
type BlobInfo struct {
	Hash    Hash
	Size    int64
	ModTime time.Time
}
