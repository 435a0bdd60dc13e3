package blob

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"os"
	"path"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/ktrdr/ktrdr"
)

// s3Tries bounds how often a request to the bucket is sent, with the client's own growing and
// jittered pauses. A longer outage is for the caller, who knows what waits.
const s3Tries = 4

// S3 is a Store in an S3-compatible bucket. Only what every such server has is
// used: whole puts, which are atomic, ranged gets, copies, deletes, listings.
type S3 struct {
	client    minio.Core
	transport *http.Transport
	bucket    string
	prefix    string
	spoolDir  string
	maxSize   int64
}

var _ Store = (*S3)(nil)

// OpenS3 opens the store in an existing bucket. CodeInvalid when the settings or the bucket are
// wrong, CodeUnavailable when the server cannot be reached or refuses us.
func OpenS3(ctx context.Context, c S3Config) (*S3, error) {
	host, secure, err := c.endpoint()
	if err != nil {
		return nil, err
	}
	if c.AccessKey == "" || c.SecretKey == "" {
		return nil, ktrdr.Errorf(ktrdr.CodeInvalid, "bucket %s needs credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY", c.Bucket)
	}
	transport, err := minio.DefaultTransport(secure)
	if err != nil {
		return nil, fmt.Errorf("bucket %s: %w", c.Bucket, err)
	}
	lookup := minio.BucketLookupAuto
	if c.PathStyle {
		lookup = minio.BucketLookupPath
	}
	client, err := minio.NewCore(host, &minio.Options{
		Creds:        credentials.NewStaticV4(c.AccessKey, c.SecretKey.Reveal(), c.SessionToken.Reveal()),
		Secure:       secure,
		Region:       c.Region,
		BucketLookup: lookup,
		Transport:    transport,
		MaxRetries:   s3Tries,
	})
	if err != nil {
		return nil, ktrdr.Errorf(ktrdr.CodeInvalid, "bucket %s: %w", c.Bucket, err)
	}
	s := &S3{
		client: *client, transport: transport,
		bucket: c.Bucket, prefix: strings.Trim(path.Clean("/"+c.Prefix), "/"),
		spoolDir: c.SpoolDir, maxSize: cmp.Or(c.MaxSize, DefaultMaxSize),
	}
	if err := s.checkBucket(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *S3) checkBucket(ctx context.Context) error {
	exists, err := s.client.BucketExists(ctx, s.bucket)
	if err != nil {
		return fmt.Errorf("bucket %s: %w", s.bucket, s3Error(ctx, err))
	}
	if !exists {
		return ktrdr.Errorf(ktrdr.CodeInvalid, "there is no bucket %s; make it first", s.bucket)
	}
	return nil
}

func (s *S3) key(name string) string { return path.Join(s.prefix, name) }

// Put implements ktrdr.Blobs. CodeCorrupt, CodeTooLarge, CodeNoSpace, CodeUnavailable.
func (s *S3) Put(ctx context.Context, want ktrdr.Hash, r io.Reader) (int64, error) {
	size, err := s.put(ctx, want, r)
	if err != nil {
		return 0, fmt.Errorf("put blob %s: %w", want, err)
	}
	return size, nil
}

// put spools r to a local file first: an object may not exist before its hash
// is known to be right, and a client that hangs up must leave nothing.
func (s *S3) put(ctx context.Context, want ktrdr.Hash, r io.Reader) (int64, error) {
	spool, err := os.CreateTemp(s.spoolDir, "ktrdr-blob-")
	if err != nil {
		return 0, diskError(err)
	}
	defer spool.Close()
	// Without a name from the start, it goes with the process, however that ends.
	if err := os.Remove(spool.Name()); err != nil {
		return 0, err
	}
	got, size, err := receive(ctx, spool, r, s.maxSize)
	if err == nil {
		err = match(want, got)
	}
	if err != nil {
		return 0, err
	}
	// In one part: a multipart upload that is killed leaves hidden parts behind that cost money.
	// The hash goes with it as the payload's signed sha256, so that the server verifies it too.
	_, err = s.client.PutObject(ctx, s.bucket, s.key(blobName(want)), io.NewSectionReader(spool, 0, size), size,
		"", want.String(), minio.PutObjectOptions{DisableContentSha256: true})
	return size, s3Error(ctx, err)
}

// Open implements ktrdr.Blobs. CodeNotFound, CodeUnavailable.
func (s *S3) Open(ctx context.Context, h ktrdr.Hash) (ktrdr.BlobReader, error) {
	info, err := s.Stat(ctx, h)
	if err != nil {
		return nil, err
	}
	return &s3Reader{ctx: ctx, store: s, hash: h, size: info.Size}, nil
}

// Stat implements ktrdr.Blobs. CodeNotFound, CodeUnavailable.
func (s *S3) Stat(ctx context.Context, h ktrdr.Hash) (ktrdr.BlobInfo, error) {
	for look := range looks {
		o, err := s.head(ctx, h)
		if err == nil {
			return ktrdr.BlobInfo{Hash: h, Size: o.Size, ModTime: o.LastModified}, nil
		}
		if !isMissing(err) {
			return ktrdr.BlobInfo{}, fmt.Errorf("blob %s: %w", h, s3Error(ctx, err))
		}
		restored, err := s.restore(ctx, h)
		if err != nil {
			return ktrdr.BlobInfo{}, fmt.Errorf("restore blob %s: %w", h, err)
		}
		if !restored && look > 0 {
			break // twice in neither place
		}
	}
	return ktrdr.BlobInfo{}, notFound(h)
}

func (s *S3) head(ctx context.Context, h ktrdr.Hash) (minio.ObjectInfo, error) {
	return s.client.StatObject(ctx, s.bucket, s.key(blobName(h)), minio.StatObjectOptions{})
}

// Delete implements ktrdr.Blobs: at once, the trash included. It is for what is
// known to be unwanted; garbage is for Collect.
func (s *S3) Delete(ctx context.Context, h ktrdr.Hash) error {
	trashed, err := s.trashedAs(ctx, h)
	if err != nil {
		return fmt.Errorf("delete blob %s: %w", h, err)
	}
	if err := s.remove(ctx, blobName(h)); err != nil {
		return fmt.Errorf("delete blob %s: %w", h, err)
	}
	for _, t := range trashed {
		if err := s.Purge(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

func (s *S3) remove(ctx context.Context, name string) error {
	err := s.client.RemoveObject(ctx, s.bucket, s.key(name), minio.RemoveObjectOptions{})
	if err == nil || isMissing(err) {
		return nil
	}
	return s3Error(ctx, err)
}

// List implements ktrdr.Blobs, in the order of the hashes. Objects that are no
// blobs of ours are passed over.
func (s *S3) List(ctx context.Context) iter.Seq2[ktrdr.BlobInfo, error] {
	return parsedAs("blobs", s.objects(ctx, ""), func(o minio.ObjectInfo) (ktrdr.BlobInfo, bool) {
		h, ok := parseBlob(o.Key)
		return ktrdr.BlobInfo{Hash: h, Size: o.Size, ModTime: o.LastModified}, ok
	})
}

// objects yields the objects whose names begin with the given one; their keys
// are without our prefix.
func (s *S3) objects(ctx context.Context, under string) iter.Seq2[minio.ObjectInfo, error] {
	prefix := s.prefix
	if prefix != "" {
		prefix += "/"
	}
	return func(yield func(minio.ObjectInfo, error) bool) {
		// The client's listing runs until its context ends.
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		for o := range s.client.ListObjectsIter(ctx, s.bucket, minio.ListObjectsOptions{Prefix: prefix + under, Recursive: true}) {
			if o.Err != nil {
				yield(o, s3Error(ctx, o.Err))
				return
			}
			o.Key = strings.TrimPrefix(o.Key, prefix)
			if !yield(o, nil) {
				return
			}
		}
		if ctx.Err() != nil {
			yield(minio.ObjectInfo{}, context.Cause(ctx)) // a listing cut short must not look complete
		}
	}
}

// Close releases idle connections.
func (s *S3) Close() error {
	s.transport.CloseIdleConnections()
	return nil
}

func isMissing(err error) bool {
	r, ok := errors.AsType[minio.ErrorResponse](err)
	return ok && r.Code == minio.NoSuchKey
}

// s3Error gives an error of the client its code. Whatever the server's reason,
// a lapsed credential included, our own callers did nothing wrong and may
// repeat the request once an operator has seen to it.
func s3Error(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if _, ok := errors.AsType[*ktrdr.Error](err); ok {
		return err
	}
	if r, ok := errors.AsType[minio.ErrorResponse](err); ok {
		switch {
		case r.Code == minio.EntityTooLarge:
			return ktrdr.Errorf(ktrdr.CodeTooLarge, "the S3 server takes no object of that size: %w", err)
		case r.StatusCode == http.StatusInsufficientStorage:
			return ktrdr.Errorf(ktrdr.CodeNoSpace, "the S3 server has no space left: %w", err)
		case r.StatusCode == http.StatusForbidden:
			return ktrdr.Errorf(ktrdr.CodeUnavailable, "the S3 server refuses our credentials or our clock (%s): %w", r.Code, err)
		}
	}
	return ktrdr.Errorf(ktrdr.CodeUnavailable, "the S3 server did not do it: %w", err)
}
