package blob

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path"
	"strings"

	"github.com/minio/minio-go/v7"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/atomicfile"
)

func newIdentity() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails since Go 1.24
	return hex.EncodeToString(b[:]) + "\n"
}

// readIdentity refuses what we did not write: a root whose identity changes would
// no longer be the one that the database knows.
func readIdentity(r io.ReadCloser, err error) (string, error) {
	if err != nil {
		return "", err
	}
	defer r.Close()
	b, err := io.ReadAll(io.LimitReader(r, 1<<10))
	if err != nil {
		return "", err
	}
	id := strings.TrimSuffix(string(b), "\n")
	if raw, err := hex.DecodeString(id); err != nil || len(raw) != 16 {
		return "", ktrdr.Errorf(ktrdr.CodeCorrupt, "%q holds something else than 32 hex digits; put back the one that was there", identityName)
	}
	return id, nil
}

// Identity implements ktrdr.Blobs. Two processes that ask an empty directory at
// once get the same answer: a hard link, unlike a rename, does not replace.
func (d *Dir) Identity(context.Context) (string, error) {
	id, err := d.readIdentity()
	if errors.Is(err, fs.ErrNotExist) {
		if err = d.makeIdentity(); err == nil {
			id, err = d.readIdentity()
		}
	}
	if err == nil {
		err = d.disk.SyncDir(".") // also for one who linked it and died: what is told once must stay
	}
	if err != nil {
		return "", fmt.Errorf("identity of the blob directory: %w", err)
	}
	return id, nil
}

func (d *Dir) readIdentity() (string, error) { return readIdentity(d.disk.Open(identityName)) }

func (d *Dir) makeIdentity() error {
	if err := d.settle(tempDir); err != nil {
		return diskError(err)
	}
	temp := path.Join(tempDir, rand.Text())
	defer func() { _ = d.disk.Remove(temp) }() // what stays is swept at a later start
	err := atomicfile.Create(d.disk, temp, func(w io.Writer) error {
		_, err := io.WriteString(w, newIdentity())
		return err
	})
	if err == nil {
		err = d.disk.Link(temp, identityName)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return diskError(err)
	}
	return nil
}

// Identity implements ktrdr.Blobs. Servers that know conditional puts give two processes that ask
// an empty bucket at once the same answer; on others both read back who was last.
func (s *S3) Identity(ctx context.Context) (string, error) {
	id, err := s.readIdentity(ctx)
	if isMissing(err) {
		if err = s.makeIdentity(ctx); err == nil {
			id, err = s.readIdentity(ctx)
		}
	}
	if err != nil {
		return "", fmt.Errorf("identity of bucket %s: %w", s.bucket, s3Error(ctx, err))
	}
	return id, nil
}

func (s *S3) readIdentity(ctx context.Context) (string, error) {
	body, _, _, err := s.client.GetObject(ctx, s.bucket, s.key(identityName), minio.GetObjectOptions{})
	return readIdentity(body, err)
}

func (s *S3) makeIdentity(ctx context.Context) error {
	id := newIdentity()
	var opts minio.PutObjectOptions
	opts.SetMatchETagExcept("*")
	_, err := s.client.Client.PutObject(ctx, s.bucket, s.key(identityName), strings.NewReader(id), int64(len(id)), opts)
	if r, ok := errors.AsType[minio.ErrorResponse](err); ok && r.StatusCode == http.StatusPreconditionFailed {
		return nil // another process was first
	}
	return err
}
