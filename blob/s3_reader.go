package blob

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/minio/minio-go/v7"

	"github.com/ktrdr/ktrdr"
)

// s3Reader reads an object from wherever it is asked to: the first Read after
// Open or Seek makes the request, and later ones read from its answer.
type s3Reader struct {
	ctx    context.Context // of Open; a Read has no other way to be told to stop
	store  *S3
	hash   ktrdr.Hash
	size   int64
	offset int64
	body   io.ReadCloser // nil when the next Read must ask
}

func (r *s3Reader) Size() int64 { return r.size }

func (r *s3Reader) Read(p []byte) (int, error) {
	if r.offset >= r.size {
		return 0, io.EOF
	}
	if r.body == nil {
		if err := r.request(); err != nil {
			return 0, err
		}
	}
	n, err := r.body.Read(p)
	r.offset += int64(n)
	if errors.Is(err, io.EOF) {
		if r.offset >= r.size {
			return n, io.EOF
		}
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return n, fmt.Errorf("blob %s: %w", r.hash, s3Error(r.ctx, err))
	}
	return n, nil
}

// request asks for the bytes from the offset on. Collectors with old news may
// trash the blob after Open; it is brought back as Open would.
func (r *s3Reader) request() (err error) {
	var opts minio.GetObjectOptions
	if r.offset > 0 {
		if err := opts.SetRange(r.offset, r.size-1); err != nil {
			return err
		}
	}
	for range looks {
		r.body, _, _, err = r.store.client.GetObject(r.ctx, r.store.bucket, r.store.key(blobName(r.hash)), opts)
		if !isMissing(err) {
			break
		}
		if _, err := r.store.Stat(r.ctx, r.hash); err != nil {
			return err
		}
	}
	if err != nil {
		r.body = nil
		return fmt.Errorf("blob %s: %w", r.hash, s3Error(r.ctx, err))
	}
	return nil
}

func (r *s3Reader) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += r.offset
	case io.SeekEnd:
		offset += r.size
	}
	if offset < 0 {
		return 0, fmt.Errorf("blob %s: seek to %d", r.hash, offset)
	}
	if offset == r.offset {
		return offset, nil
	}
	r.offset = offset
	return offset, r.Close()
}

func (r *s3Reader) Close() error {
	if r.body == nil {
		return nil
	}
	err := r.body.Close()
	r.body = nil
	return err
}
