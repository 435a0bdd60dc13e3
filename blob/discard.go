package blob

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ktrdr/ktrdr"
)

// Rows tells which of some blobs rows name.
type Rows func(ctx context.Context, asked []ktrdr.Hash) (map[ktrdr.Hash]bool, error)

// TrashAll puts blobs aside that rows have just stopped naming, however young
// they are, and PurgeAll removes those that no row has named meanwhile:
//
//	TrashAll ──▶ PurgeAll asks the rows ──▶ gone, or brought back
//
// Another writer may put the same bytes meanwhile and name them in a row. It
// loses nothing if its row follows its Put or Stat within the time between
// the two calls; or if it looks at its blobs with Stat once its row is committed:
// a row that was committed before the rows are asked is seen there, and after a
// later commit Stat finds the blob in the trash and brings it back, or finds it
// gone and the writer puts it again.
//
// What is put aside and not purged, because the process ends before that, is left
// to Collect.
func TrashAll(ctx context.Context, s Store, blobs []ktrdr.Hash, at time.Time) error {
	var failures []error
	for _, h := range blobs {
		failures = append(failures, s.Trash(ctx, h, at))
	}
	return errors.Join(failures...)
}

// PurgeAll removes what was put aside at an instant. See TrashAll.
func PurgeAll(ctx context.Context, s Store, blobs []ktrdr.Hash, at time.Time, rows Rows) error {
	named, err := rows(ctx, blobs)
	if err != nil {
		return fmt.Errorf("purge blobs: read references: %w", err)
	}
	var failures []error
	for _, h := range blobs {
		if named[h] {
			_, err = s.Stat(ctx, h) // which brings it back
		} else {
			err = s.Purge(ctx, Trashed{Hash: h, At: at})
		}
		if err != nil && ktrdr.CodeOf(err) != ktrdr.CodeNotFound {
			failures = append(failures, err)
		}
	}
	return errors.Join(failures...)
}
