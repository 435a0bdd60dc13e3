// Package blob keeps immutable bytes under their sha256: in a directory or in
// an S3-compatible bucket, behind one contract.
//
// A blob is written once and never changed, so that nothing here needs a lock: two writers of one
// name write the same bytes, and a reader sees all of them or none. Rows that name a blob are
// written after it is durable; a blob that no row names is garbage, which Collect removes in two
// steps with a grace between them:
//
//	Put ──▶ live ──Trash──▶ trash ──Purge──▶ gone
//	         ▲  unnamed and   │  unnamed still, a
//	         │  older than    │  grace later
//	         │  the grace     │
//	         └─Put·Open·Stat──┘
//
// Names are the same everywhere, so that a directory may be copied into a bucket and back:
//
//	ab/cd/abcd…           a live blob
//	trash/ab/cd/abcd….ms  a trashed one, and when it was trashed
//	tmp/…                 being written (directories only)
//	identity              which root this is
package blob

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/ktrdr/ktrdr"
)

// DefaultMaxSize is the largest blob accepted unless a Config says otherwise.
const DefaultMaxSize = 2 << 30

// Store is what a directory and a bucket both are: the domain's contract and what collecting
// garbage needs. Open and Stat of a trashed blob bring it back; so does Put. Put always writes: the
// caller has the bytes, and writing them again refreshes the blob's age and repairs a damaged one.
type Store interface {
	ktrdr.Blobs

	// Trash puts a blob aside, marked with the instant of trashing. A missing blob is no error.
	Trash(ctx context.Context, h ktrdr.Hash, at time.Time) error

	// Trashed yields what was put aside. A blob may have been trashed, put
	// again and trashed again: it is yielded once for each time.
	Trashed(ctx context.Context) iter.Seq2[Trashed, error]

	// Purge deletes exactly this trashing of a blob: neither the live blob nor
	// a later trashing. A missing one is no error.
	Purge(ctx context.Context, t Trashed) error

	Close() error
}

// Trashed is a blob that was put aside.
type Trashed struct {
	Hash ktrdr.Hash
	Size int64
	At   time.Time
}

// Open opens the blob store at a location: the path of a directory, which is
// made if it is missing, or s3://bucket/prefix?endpoint=…&region=…&path_style=1
// with the credentials in AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and, if
// there is one, AWS_SESSION_TOKEN. CodeInvalid when the location is neither.
func Open(ctx context.Context, location string) (Store, error) {
	scheme, _, isURL := strings.Cut(location, "://")
	switch {
	case !isURL:
		return OpenDir(location, Config{})
	case scheme != "s3":
		return nil, ktrdr.Errorf(ktrdr.CodeInvalid, "blobs are kept in a directory or at s3://bucket/prefix, not at %q", scheme+"://…")
	}
	c, err := ParseS3(location)
	if err != nil {
		return nil, err
	}
	c.AccessKey = os.Getenv("AWS_ACCESS_KEY_ID")
	c.SecretKey = ktrdr.Secret(os.Getenv("AWS_SECRET_ACCESS_KEY"))
	c.SessionToken = ktrdr.Secret(os.Getenv("AWS_SESSION_TOKEN"))
	return OpenS3(ctx, c)
}

// verify copies r to w and compares what it hashed to. A disk that cannot give
// the bytes back has lost them: CodeCorrupt too.
func verify(ctx context.Context, want ktrdr.Hash, w io.Writer, r ktrdr.BlobReader) error {
	got, _, err := receive(ctx, w, io.LimitReader(r, r.Size()), r.Size())
	switch {
	case err == nil:
		err = match(want, got)
	case errors.Is(err, syscall.EIO):
		err = ktrdr.Errorf(ktrdr.CodeCorrupt, "the disk has lost it: %w", err)
	}
	if err != nil {
		return fmt.Errorf("blob %s: %w", want, err)
	}
	return nil
}

// match is CodeCorrupt when bytes that should hash to want hash to another.
func match(want, got ktrdr.Hash) error {
	if got != want {
		return ktrdr.Errorf(ktrdr.CodeCorrupt, "the bytes are others: their sha256 is %s", got)
	}
	return nil
}

// parsedAs yields what parse makes of files or objects; those that are no blobs of
// ours are passed over.
func parsedAs[F, T any](what string, found iter.Seq2[F, error], parse func(F) (T, bool)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for f, err := range found {
			if err != nil {
				yield(*new(T), fmt.Errorf("list %s: %w", what, err))
				return
			}
			if one, ok := parse(f); ok && !yield(one, nil) {
				return
			}
		}
	}
}

func notFound(h ktrdr.Hash) error {
	return ktrdr.Errorf(ktrdr.CodeNotFound, "there is no blob %s", h)
}

// receive copies r to w and returns what it hashed to and how much it was.
// CodeTooLarge when it is more than limit.
func receive(ctx context.Context, w io.Writer, r io.Reader, limit int64) (h ktrdr.Hash, size int64, err error) {
	sum := sha256.New()
	src := &source{ctx: ctx, r: r}
	size, err = io.Copy(io.MultiWriter(w, sum), io.LimitReader(src, limit+1))
	switch {
	case src.err != nil:
		return h, 0, fmt.Errorf("read: %w", src.err)
	case err != nil:
		return h, 0, fmt.Errorf("write: %w", diskError(err))
	case size > limit:
		return h, 0, ktrdr.Errorf(ktrdr.CodeTooLarge, "more than the %d bytes allowed", limit)
	}
	return ktrdr.Hash(sum.Sum(nil)), size, nil
}

// source reads until its context ends, and remembers that it was the reading
// that went wrong: a client that hung up is not a full disk.
type source struct {
	ctx context.Context
	r   io.Reader
	err error
}

func (s *source) Read(p []byte) (int, error) {
	if s.ctx.Err() != nil {
		s.err = context.Cause(s.ctx)
		return 0, s.err
	}
	n, err := s.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}
