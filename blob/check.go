package blob

import (
	"context"
	"fmt"
	"io"
	"iter"

	"github.com/ktrdr/ktrdr"
)

// CheckReport is what Check found, each problem with every row that it concerns.
type CheckReport struct {
	Checked      int              // distinct blobs looked at
	Bytes        int64            // their size
	Missing      []ktrdr.BlobRef  // a row names it and it is not there
	WrongSize    []ktrdr.BlobRef  // a row gives another size
	Corrupt      []ktrdr.BlobRef  // its bytes do not match its hash; without a row when nothing names it
	Unreferenced []ktrdr.BlobInfo // no row names it: a young one may be about to get its row, an old one is Collect's
}

// OK says whether every row has its blob. Unreferenced blobs are no damage.
func (r CheckReport) OK() bool {
	return len(r.Missing) == 0 && len(r.WrongSize) == 0 && len(r.Corrupt) == 0
}

// Check compares rows and blobs both ways; a deep one also reads every blob to its end. It changes
// nothing but that a trashed blob which a row names is brought back. The error is for what kept it
// from looking: what it found is in the report.
func Check(ctx context.Context, s Store, refs iter.Seq2[ktrdr.BlobRef, error], deep bool) (CheckReport, error) {
	c := checker{store: s, deep: deep, seen: make(map[ktrdr.Hash]verdict)}
	for ref, err := range refs {
		if err != nil {
			return c.report, fmt.Errorf("check blobs: read references: %w", err)
		}
		if err := c.row(ctx, ref); err != nil {
			return c.report, fmt.Errorf("check blobs: %w", err)
		}
	}
	for info, err := range s.List(ctx) {
		if err != nil {
			return c.report, fmt.Errorf("check blobs: %w", err)
		}
		if _, named := c.seen[info.Hash]; named {
			continue
		}
		if err := c.unnamed(ctx, info); err != nil {
			return c.report, fmt.Errorf("check blobs: %w", err)
		}
	}
	return c.report, nil
}

type checker struct {
	store  Store
	deep   bool
	seen   map[ktrdr.Hash]verdict
	report CheckReport
}

// verdict is what is known of a blob: many rows may name one.
type verdict struct {
	code ktrdr.Code // "", CodeNotFound or CodeCorrupt
	size int64
}

// row checks one reference, looking at its blob only the first time.
func (c *checker) row(ctx context.Context, ref ktrdr.BlobRef) error {
	v, known := c.seen[ref.SHA256]
	if !known {
		var err error
		if v, err = c.look(ctx, ref.SHA256); err != nil {
			return err
		}
		c.seen[ref.SHA256] = v
		c.report.Checked++
		c.report.Bytes += v.size
	}
	switch {
	case v.code == ktrdr.CodeNotFound:
		c.report.Missing = append(c.report.Missing, ref)
	case v.code == ktrdr.CodeCorrupt:
		c.report.Corrupt = append(c.report.Corrupt, ref)
	case v.size != ref.Size:
		c.report.WrongSize = append(c.report.WrongSize, ref)
	}
	return nil
}

// unnamed checks a blob without a row. That it goes while we look is its collector's right.
func (c *checker) unnamed(ctx context.Context, info ktrdr.BlobInfo) error {
	c.report.Unreferenced = append(c.report.Unreferenced, info)
	c.report.Checked++
	c.report.Bytes += info.Size
	v, err := c.look(ctx, info.Hash)
	if err == nil && v.code == ktrdr.CodeCorrupt {
		c.report.Corrupt = append(c.report.Corrupt, ktrdr.BlobRef{Artifact: ktrdr.Artifact{SHA256: info.Hash, Size: info.Size}})
	}
	return err
}

func (c *checker) look(ctx context.Context, h ktrdr.Hash) (v verdict, err error) {
	r, err := c.store.Open(ctx, h)
	if err == nil {
		v.size = r.Size()
		if c.deep {
			err = verify(ctx, h, io.Discard, r)
		}
		r.Close()
	}
	switch v.code = ktrdr.CodeOf(err); v.code {
	case "", ktrdr.CodeNotFound, ktrdr.CodeCorrupt:
		return v, nil
	}
	return v, err
}
