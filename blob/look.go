package blob

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Found is what a look at a location says.
type Found struct {
	There    bool   // the directory or bucket exists
	Identity string // which root it is; empty when it has never been used
	Blobs    bool   // it holds at least one
}

// Look looks at a location and refuses what Open would refuse. It makes
// nothing, also no directory and no identity.
func Look(ctx context.Context, location string) (found Found, err error) {
	if strings.Contains(location, "://") {
		s, err := Open(ctx, location) // a bucket is never made
		if err != nil {
			return Found{}, err
		}
		defer func() { _ = s.Close() }()
		bucket, ok := s.(*S3)
		if !ok {
			return Found{}, fmt.Errorf("blobs at %s cannot be looked at", location)
		}
		id, err := bucket.readIdentity(ctx)
		if isMissing(err) {
			id, err = "", nil
		}
		if err != nil {
			return Found{}, fmt.Errorf("identity of bucket %s: %w", bucket.bucket, s3Error(ctx, err))
		}
		found = Found{There: true, Identity: id}
		found.Blobs, err = holdsBlobs(ctx, s)
		return found, err
	}
	return lookAtDir(ctx, location)
}

func lookAtDir(ctx context.Context, dir string) (Found, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return Found{}, fmt.Errorf("blob directory %s: %w", dir, err)
	}
	root, err := os.OpenRoot(abs)
	if errors.Is(err, fs.ErrNotExist) {
		return Found{}, nil
	}
	if err == nil {
		if err = unix.Access(abs, unix.R_OK|unix.W_OK|unix.X_OK); err != nil {
			err = errors.Join(&fs.PathError{Op: "write to", Path: abs, Err: err}, root.Close())
		}
	}
	if err != nil {
		return Found{}, fmt.Errorf("blob directory: %w", err)
	}
	d := newDir(newRootDisk(root), Config{})
	defer func() { _ = d.Close() }()
	found := Found{There: true}
	found.Identity, err = d.readIdentity()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return found, fmt.Errorf("identity of the blob directory: %w", err)
	}
	found.Blobs, err = holdsBlobs(ctx, d)
	return found, err
}

func holdsBlobs(ctx context.Context, s Store) (bool, error) {
	for _, err := range s.List(ctx) {
		return err == nil, err
	}
	return false, nil
}
