package blob

import (
	"context"
	"fmt"
	"iter"
	"path"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/ktrdr/ktrdr"
)

// Trash implements Store: a copy under the trash's name, then the deletion. A
// put of the same blob between the two loses nothing: its bytes are in the
// copy, which stays until a Purge of exactly that copy.
func (s *S3) Trash(ctx context.Context, h ktrdr.Hash, at time.Time) error {
	err := s.copy(ctx, blobName(h), trashName(h, at))
	if isMissing(err) {
		return nil
	}
	if err == nil {
		err = s.remove(ctx, blobName(h))
	}
	if err != nil {
		return fmt.Errorf("trash blob %s: %w", h, s3Error(ctx, err))
	}
	return nil
}

// Trashed implements Store, in the order of the hashes.
func (s *S3) Trashed(ctx context.Context) iter.Seq2[Trashed, error] {
	return s.trashed(ctx, trashDir+"/")
}

func (s *S3) trashed(ctx context.Context, under string) iter.Seq2[Trashed, error] {
	return parsedAs("trashed blobs", s.objects(ctx, under), func(o minio.ObjectInfo) (Trashed, bool) {
		t, ok := parseTrash(o.Key)
		t.Size = o.Size
		return t, ok
	})
}

// Purge implements Store.
func (s *S3) Purge(ctx context.Context, t Trashed) error {
	if err := s.remove(ctx, trashName(t.Hash, t.At)); err != nil {
		return fmt.Errorf("purge blob %s: %w", t.Hash, err)
	}
	return nil
}

// trashedAs returns the trashings of one blob.
func (s *S3) trashedAs(ctx context.Context, h ktrdr.Hash) ([]Trashed, error) {
	var all []Trashed
	for t, err := range s.trashed(ctx, path.Join(trashDir, blobName(h))+".") {
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}

// restore copies a trashed blob back and says whether there was one. The trash
// keeps its copy, for Purge: a second collector that trashes the blob under the
// same instant may be about to delete what is restored here.
func (s *S3) restore(ctx context.Context, h ktrdr.Hash) (bool, error) {
	all, err := s.trashedAs(ctx, h)
	if err != nil {
		return false, err
	}
	for _, t := range all {
		err := s.copy(ctx, trashName(h, t.At), blobName(h))
		if !isMissing(err) {
			return err == nil, s3Error(ctx, err)
		}
	}
	return false, nil
}

func (s *S3) copy(ctx context.Context, from, to string) error {
	_, err := s.client.Client.CopyObject(ctx,
		minio.CopyDestOptions{Bucket: s.bucket, Object: s.key(to)},
		minio.CopySrcOptions{Bucket: s.bucket, Object: s.key(from)})
	return err
}
